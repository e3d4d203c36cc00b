#include "tests/bench/plans.h"

#include <fmt/format.h>

#include <cstdlib>
#include <functional>
#include <vector>

#include "tests/bench/measure.h"
#include "tests/bench/workbench.h"

namespace podctl::bench {

std::string ManyPods(int count) {
  std::string spec = "project: p\nzone: europe-west4-a\ndefaults: {ssh: {check: false}}\npods:\n";
  for (int i = 0; i < count; ++i) {
    spec += fmt::format(
        "  pod-{:05}:\n    acceleratorType: v3-8\n    runtimeVersion: tpu-ubuntu2204-base\n"
        "    labels: {{team: vision, index: \"{}\"}}\n",
        i, i);
  }
  return spec;
}

// Separate blocks, as people write them.
std::string ManyBlocks(int count) {
  std::string config;
  for (int i = 0; i < count; ++i) {
    config += fmt::format(
        "resource \"terraform_data\" \"pod_{:05}\" {{\n  input = {{ type = \"v3-8\", team = "
        "\"vision\", index = \"{}\" }}\n}}\n",
        i, i);
  }
  return config;
}

namespace {

constexpr double kOperationDelay = 2;  // seconds that an operation of the emulator takes

// What terraform's apply of ManyBlocks leaves (state format version 4), but for the ids.
std::string AppliedBlocks(int count) {
  std::string state =
      R"({"version": 4, "terraform_version": "1.0.0", "serial": 1,)"
      R"( "lineage": "5d5a2f0c-54a5-4d6b-9b31-6a1d5f7f0001", "outputs": {}, "resources": [)";
  for (int i = 0; i < count; ++i) {
    const std::string value = fmt::format(
        R"({{"type": ["object", {{"index": "string", "team": "string", "type": "string"}}],)"
        R"( "value": {{"index": "{}", "team": "vision", "type": "v3-8"}}}})",
        i);
    state += fmt::format(
        R"({}{{"mode": "managed", "type": "terraform_data", "name": "pod_{:05}",)"
        R"( "provider": "provider[\"terraform.io/builtin/terraform\"]", "instances": [)"
        R"({{"schema_version": 0, "attributes": {{"id": "00000000-0000-4000-8000-{:012}",)"
        R"( "input": {}, "output": {}, "triggers_replace": null}}, "sensitive_attributes": []}}]}})",
        i == 0 ? "" : ",\n", i, i, value, value);
  }
  return state + R"(], "check_results": null})";
}

struct Size {
  int count;
  int runs;
  bool applies;       // else only the first plan is made
  bool peer_applies;  // else terraform's state is written by AppliedBlocks
};

// One size: `runs` times over, from nothing to everything applied.
class Story {
 public:
  Story(std::string podctl, const Size& size, bool has_terraform)
      : podctl_(std::move(podctl)), size_(size), has_terraform_(has_terraform) {}

  void Run() {
    for (int run = 0; run < size_.runs; ++run) RunOnce();
    const auto title = [&](std::string_view what) {
      return fmt::format("{} of {} objects", what, size_.count);
    };
    Print(title("first plan"), size_.count, {ours_first_, theirs_first_});
    if (!size_.applies) return;
    Print(title("no-op plan"), size_.count, {ours_noop_, theirs_noop_});
    Print(title("apply"), size_.count, {ours_apply_, theirs_apply_});
  }

 private:
  void RunOnce() {
    const Workbench bench(
        podctl_, {"--workers", "none", "--operation-delay", fmt::format("{}s", kOperationDelay)});
    const std::string folder = bench.folder().string();
    WriteFile(bench.folder() / "podctl.yaml", ManyPods(size_.count));
    if (has_terraform_) {
      WriteFile(bench.folder() / "main.tf", ManyBlocks(size_.count));
      bench::Run({"terraform", "init"}, folder);
    }
    const auto ours = [&](Series* series, std::vector<std::string> words) {
      words.insert(words.begin(), podctl_);
      const double before = bench.ServerCpuSeconds();
      Sample sample = bench::Run(words, folder);
      sample.server_cpu_seconds = bench.ServerCpuSeconds() - before;
      series->samples.push_back(sample);
    };
    const auto theirs = [&](Series* series, std::vector<std::string> words) {
      if (!has_terraform_) return;
      words.insert(words.begin(), "terraform");
      series->samples.push_back(bench::Run(words, folder));
    };
    ours(&ours_first_, {"plan"});
    theirs(&theirs_first_, {"plan"});
    if (!size_.applies) return;
    ours(&ours_apply_, {"apply", "--auto-approve"});
    if (size_.peer_applies) {
      theirs(&theirs_apply_, {"apply", "-auto-approve"});
    } else if (has_terraform_) {
      WriteFile(bench.folder() / "terraform.tfstate", AppliedBlocks(size_.count));
    }
    // A plan that is not empty exits with 2, and ends the bench.
    for (int repeat = 0; repeat < 3; ++repeat) {
      ours(&ours_noop_, {"plan", "--detailed-exitcode"});
      theirs(&theirs_noop_, {"plan", "-detailed-exitcode"});
    }
  }

  const std::string podctl_;
  const Size size_;
  const bool has_terraform_;
  Series ours_first_{"podctl", {}};
  Series ours_apply_{"podctl", {}};
  Series ours_noop_{"podctl", {}};
  Series theirs_first_{"terraform", {}};
  Series theirs_apply_{"terraform", {}};
  Series theirs_noop_{"terraform", {}};
};

}  // namespace

void ComparePlans(const std::string& podctl, bool all) {
  const bool has_terraform = HasProgram("terraform");
  fmt::print(
      "\nPlans and applies. podctl: nodes on its emulator, of which every operation takes {} s;\n"
      "\"server\" is the emulator's own CPU, which shares the cores. CPU and peak are of the\n"
      "client process. terraform: `terraform_data` blocks, which ask no API and wait for "
      "nothing.\n",
      kOperationDelay);
  if (!all) fmt::print("20000 objects are planned only; --all applies them too.\n");
  if (!has_terraform) {
    fmt::print("terraform is not on this machine: podctl alone.\n");
  } else if (!all) {
    fmt::print(
        "terraform's apply of 5000 objects takes minutes, and is left out without --all; its\n"
        "no-op plan of 5000 starts from a state written by the bench.\n");
  }
  setenv("CHECKPOINT_DISABLE", "1", 1);
  for (const Size& size : {Size{1000, 3, true, true}, Size{5000, all ? 1 : 2, true, all},
                           Size{20'000, 3, all, false}}) {
    Story(podctl, size, has_terraform).Run();
  }
}

}  // namespace podctl::bench
