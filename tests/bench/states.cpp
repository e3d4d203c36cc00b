#include "tests/bench/states.h"

#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "providers/base/json.h"
#include "providers/base/value.h"
#include "providers/http/curl_transport.h"
#include "tests/bench/measure.h"
#include "tests/bench/plans.h"
#include "tests/bench/workbench.h"

namespace podctl::bench {
namespace {

constexpr int kLatencyMs = 30;  // added to each request to the storage
constexpr const char* kStatesDelay = "1s";

// What is asked of the emulator besides what is measured.
class Storage {
 public:
  explicit Storage(std::string url) : url_(std::move(url)), http_("podctl-bench") {}

  Value Call(const std::string& method, const std::string& path, const std::string& body = "") {
    http::Request request;
    request.method = method;
    request.url = url_ + path;
    request.headers = {{"Content-Type", "application/json"}};
    request.body = body;
    auto answer = http_.Send(request, {});
    if (!answer) Fail(path + ": " + answer.error().message);
    if (answer->status >= 300) Fail(fmt::format("{}: HTTP status {}", path, answer->status));
    return answer->body.empty() ? Value() : ParseJson(answer->body).value_or(Value());
  }
  void MakeBucket(const std::string& name) {
    Call("POST", "/storage/v1/b?project=p",
         fmt::format(R"({{"name": "{}", "versioning": {{"enabled": true}}}})", name));
  }
  void AddLatency() {
    Call("POST", "/emulator/faults",
         fmt::format(R"({{"path": "/storage/v1/", "delayMs": {}, "every": 1}})", kLatencyMs));
  }
  void CountAnew() { Call("DELETE", "/emulator/requests"); }
  // To the storage, since it was counted anew.
  std::int64_t Requests() {
    std::int64_t count = 0;
    const Value counted = Call("GET", "/emulator/requests");
    for (const auto& [call, times] : counted["byMethod"].AsMap()) {
      if (call.starts_with("storage.")) count += times.AsInt();
    }
    return count;
  }
  // Written into the bucket so far: nothing is removed from it, since it keeps all versions.
  std::int64_t BytesWritten(const std::string& bucket) {
    std::int64_t bytes = 0;
    std::string page;
    do {
      const Value listed =
          Call("GET", fmt::format("/storage/v1/b/{}/o?versions=true&pageToken={}", bucket, page));
      for (const Value& item : listed["items"].AsList()) bytes += item["size"].AsInt();
      page = listed["nextPageToken"].AsString();
    } while (!page.empty());
    return bytes;
  }

 private:
  const std::string url_;
  http::CurlTransport http_;
};

struct Place {
  std::string name;
  std::string bucket;  // "" : a local file
  bool terraform = false;
};

// One row: an apply from nothing, and no-op plans after it.
void Measure(const std::string& podctl, const Place& place, int count, double* local_apply) {
  const Workbench bench(podctl, {"--workers", "none", "--operation-delay", kStatesDelay});
  Storage storage(std::getenv("PODCTL_ENDPOINT"));
  setenv("STORAGE_EMULATOR_HOST", std::getenv("PODCTL_ENDPOINT"), 1);
  const std::string folder = bench.folder().string();
  if (!place.bucket.empty()) {
    storage.MakeBucket(place.bucket);
    storage.AddLatency();
  }
  const std::string program = place.terraform ? "terraform" : podctl;
  if (place.terraform) {
    WriteFile(bench.folder() / "main.tf",
              ManyBlocks(count) +
                  fmt::format("terraform {{\n  backend \"gcs\" {{\n    bucket = \"{}\"\n"
                              "    access_token = \"none\"\n    storage_custom_endpoint = "
                              "\"{}/storage/v1/\"\n  }}\n}}\n",
                              place.bucket, std::getenv("PODCTL_ENDPOINT")));
    Run({"terraform", "init"}, folder);
  } else {
    WriteFile(bench.folder() / "podctl.yaml",
              (place.bucket.empty() ? "" : fmt::format("state: gs://{}/x\n", place.bucket)) +
                  ManyPods(count));
  }
  storage.CountAnew();
  const Sample apply =
      Run({program, "apply", place.terraform ? "-auto-approve" : "--auto-approve"}, folder);
  const std::int64_t requests = storage.Requests();
  const double kib = place.bucket.empty()
                         ? apply.written_mib * 1024
                         : static_cast<double>(storage.BytesWritten(place.bucket)) / 1024;
  storage.CountAnew();
  constexpr int kPlans = 5;
  Series plans{"plan", {}};
  for (int i = 0; i < kPlans; ++i) {
    plans.samples.push_back(Run(
        {program, "plan", place.terraform ? "-detailed-exitcode" : "--detailed-exitcode"}, folder));
  }
  if (*local_apply == 0) *local_apply = apply.wall_seconds;
  fmt::print("  {:<34} {:>6}  {:>8.2f} {:>6.2f}  {:>8} {:>9.0f}  {:>8.2f} {:>8.1f}\n", place.name,
             count, apply.wall_seconds, apply.wall_seconds / *local_apply, requests, kib,
             plans.Median(&Sample::wall_seconds), static_cast<double>(storage.Requests()) / kPlans);
}

}  // namespace

void CompareStates(const std::string& podctl, bool all) {
  setenv("CHECKPOINT_DISABLE", "1", 1);
  const bool has_terraform = HasProgram("terraform");
  fmt::print(
      "\nThe state in each of its places. podctl: nodes on its emulator, of which every operation\n"
      "takes {}; terraform: `terraform_data` blocks, which wait for nothing. Cloud Storage is the\n"
      "emulator's, with {} ms added to each request. \"written\": to the place, versions and "
      "locks\n"
      "included; to the disk, of the local file. Plans: no changes, median of 5.\n\n"
      "  {:<34} {:>6}  {:>8} {:>6}  {:>8} {:>9}  {:>8} {:>8}\n",
      kStatesDelay, kLatencyMs, "", "objects", "apply s", "x local", "requests", "written K",
      "plan s", "requests");
  if (!has_terraform) fmt::print("  terraform is not on this machine: podctl alone.\n");
  std::vector<int> sizes = {100, 1000};
  if (all) sizes.push_back(5000);
  for (const int count : sizes) {
    double local_apply = 0;
    Measure(podctl, {"podctl, local file", ""}, count, &local_apply);
    Measure(podctl, {"podctl, gs://", "ours"}, count, &local_apply);
    if (has_terraform) {
      Measure(podctl, {"terraform, backend gcs", "theirs", true}, count, &local_apply);
    }
  }
}

}  // namespace podctl::bench
