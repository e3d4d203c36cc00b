#include "state/state_writer.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "providers/base/digest.h"
#include "providers/base/error.h"
#include "providers/base/json.h"

namespace podctl {
namespace {

// A typical pod with four workers takes this much.
constexpr std::size_t kBytesAPod = 4096;

void Put(const std::string& text, std::string* out) {
  AppendJsonText(text, out);
}
void Put(std::string_view text, std::string* out) {
  AppendJsonText(text, out);
}
void Put(bool flag, std::string* out) {
  *out += flag ? "true" : "false";
}
void Put(std::uint64_t number, std::string* out) {
  *out += fmt::format_int(number).c_str();
}
void Put(int number, std::string* out) {
  *out += fmt::format_int(number).c_str();
}
void Put(const Value& value, std::string* out) {
  AppendJson(value, out);
}

// Declared ahead of the templates that call them.
void Put(const Address& address, std::string* out);
void Put(const std::vector<Address>& addresses, std::string* out);
void Put(const std::vector<std::string>& texts, std::string* out);
void Put(const std::map<std::string, std::string>& texts, std::string* out);
void Put(const PendingAction& pending, std::string* out);
void Put(const SshSettings& ssh, std::string* out);
void Put(const QueuedRecord& queued, std::string* out);
void Put(const Recovery& recovery, std::string* out);
void Put(const DeposedNode& node, std::string* out);
void Put(const std::vector<DeposedNode>& nodes, std::string* out);
void Put(const StepWorkerRecord& worker, std::string* out);
template <typename Record>
void Put(const std::map<int, Record>& workers, std::string* out);
void Put(const PodRecord& pod, std::string* out);
void Put(const StepRecord& step, std::string* out);
void Put(const TrainingRecord& job, std::string* out);

// Writes the members of one object, which must come in the order of their keys.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string* out) : out_(out) { *out_ += '{'; }
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;
  ~ObjectWriter() { *out_ += '}'; }

  std::string* Key(std::string_view key) {
    if (!first_) *out_ += ',';
    first_ = false;
    AppendJsonText(key, out_);
    *out_ += ':';
    return out_;
  }
  template <typename T>
  void Member(std::string_view key, const T& value) {
    Put(value, Key(key));
  }
  // What says nothing when it is empty (zero, false), as most of a record does, is left out.
  template <typename T>
  void Spare(std::string_view key, const T& value) {
    if (value != T()) Member(key, value);
  }

 private:
  std::string* out_;
  bool first_ = true;
};

template <typename Items, typename PutItem>
void PutList(const Items& items, std::string* out, const PutItem& put) {
  *out += '[';
  bool first = true;
  for (const auto& item : items) {
    if (!first) *out += ',';
    first = false;
    put(item);
  }
  *out += ']';
}

void Put(const Address& address, std::string* out) {
  Put(address.Text(), out);
}

void Put(const std::vector<Address>& addresses, std::string* out) {
  PutList(addresses, out, [&](const Address& address) { Put(address, out); });
}

void Put(const std::vector<std::string>& texts, std::string* out) {
  PutList(texts, out, [&](const std::string& text) { Put(text, out); });
}

void Put(const std::map<std::string, std::string>& texts, std::string* out) {
  ObjectWriter object(out);
  for (const auto& [key, text] : texts) object.Member(key, text);
}

void Put(const PendingAction& pending, std::string* out) {
  ObjectWriter object(out);
  object.Member("begun_at", pending.begun_at);
  object.Member("kind", PendingKindName(pending.kind));
  object.Member("operation", pending.operation);
  object.Spare("request_id", pending.request_id);
  object.Member("run", pending.run);
}

void Put(const SshSettings& ssh, std::string* out) {
  ObjectWriter object(out);
  if (ssh.external_address) object.Member("external_address", *ssh.external_address);
  if (ssh.iap) object.Member("iap", *ssh.iap);
  object.Spare("identity_file", ssh.identity_file);
  object.Spare("internal_address", ssh.internal_address);
  if (ssh.os_login_user) object.Member("os_login_user", *ssh.os_login_user);
  if (ssh.port != SshSettings().port) object.Member("port", ssh.port);
  if (ssh.proxy_jump) object.Member("proxy_jump", *ssh.proxy_jump);
  object.Spare("strict_host_keys", ssh.strict_host_keys);
  if (ssh.transport) object.Member("transport", *ssh.transport);
  object.Spare("user", ssh.user);
  if (ssh.withhold_key) object.Member("withhold_key", *ssh.withhold_key);
}

void Put(const QueuedRecord& queued, std::string* out) {
  ObjectWriter object(out);
  object.Member("id", queued.id);
  object.Member("slices", queued.slices);
  object.Member("state", queued.state);
  object.Member("terms", queued.terms);
}

void Put(const Recovery& recovery, std::string* out) {
  ObjectWriter object(out);
  object.Member("because", recovery.because);
  object.Member("done", recovery.done);
  object.Member("since", recovery.since);
  object.Member("times", recovery.times);
}

void Put(const DeposedNode& node, std::string* out) {
  ObjectWriter object(out);
  object.Member("node_id", node.node_id);
  if (node.pending) object.Member("pending", *node.pending);
  object.Member("uid", node.uid);
}

void Put(const std::vector<DeposedNode>& nodes, std::string* out) {
  PutList(nodes, out, [&](const DeposedNode& node) { Put(node, out); });
}

void Put(const StepWorkerRecord& worker, std::string* out) {
  ObjectWriter object(out);
  object.Member("applied_at", worker.applied_at);
  object.Member("digest", worker.digest);
  object.Member("uid", worker.uid);
}

// Workers by number as text, so "10" before "2".
template <typename Record>
void Put(const std::map<int, Record>& workers, std::string* out) {
  std::map<std::string, const Record*> by_text;
  for (const auto& [worker, record] : workers) by_text[std::to_string(worker)] = &record;
  ObjectWriter object(out);
  for (const auto& [worker, record] : by_text) object.Member(worker, *record);
}

void Put(const PodRecord& pod, std::string* out) {
  ObjectWriter object(out);
  if (pod.api_version != ApiVersion::kV2) {
    object.Member("api_version", ApiVersionName(pod.api_version));
  }
  object.Member("applied", pod.applied);
  object.Spare("capacity_since", pod.capacity_since);
  object.Spare("depends_on", pod.depends_on);
  object.Spare("deposed", pod.deposed);
  object.Spare("exec_env", pod.exec_env);
  object.Member("exists", pod.exists);
  object.Spare("host_keys", pod.host_keys);
  object.Spare("host_keys_source", pod.host_keys_source);
  object.Spare("metadata", pod.metadata);
  object.Member("node_id", pod.node_id);
  object.Member("observed", pod.observed);
  object.Spare("own_keys", pod.own_keys);
  if (pod.pending) object.Member("pending", *pod.pending);
  object.Spare("prevent_destroy", pod.prevent_destroy);
  object.Member("project", pod.project);
  if (pod.queued) object.Member("queued", *pod.queued);
  if (pod.recovery) object.Member("recovery", *pod.recovery);
  object.Spare("replace_because", pod.replace_because);
  object.Spare("sensitive_keys", pod.sensitive_keys);
  object.Spare("ssh", pod.ssh);
  object.Spare("team_keys", pod.team_keys);
  object.Member("type", std::string_view("pod"));
  object.Member("uid", pod.uid);
  object.Spare("vm_names", pod.vm_names);
  object.Spare("wanted_node_id", pod.wanted_node_id);
  object.Member("zone", pod.zone);
}

void Put(const StepRecord& step, std::string* out) {
  ObjectWriter object(out);
  object.Member("pod", step.pod);
  object.Member("type", std::string_view("bootstrap"));
  object.Member("workers", step.workers);
}

void Put(const TrainingRecord& job, std::string* out) {
  ObjectWriter object(out);
  object.Member("applied", job.applied);
  object.Member("error", job.error);
  object.Member("job", job.job);
  if (job.pending) object.Member("pending", *job.pending);
  object.Member("project", job.project);
  object.Member("region", job.region);
  object.Member("state", job.state);
  object.Member("type", std::string_view("trainingJob"));
}

}  // namespace

std::string_view PendingKindName(PendingAction::Kind kind) {
  switch (kind) {
    case PendingAction::Kind::kCreate:
      return "create";
    case PendingAction::Kind::kPatch:
      return "patch";
    case PendingAction::Kind::kDelete:
      return "delete";
  }
  return "";
}

std::string CanonicalResources(const State& state) {
  std::string out;
  out.reserve(state.pods.size() * kBytesAPod);
  {
    ObjectWriter object(&out);
    // In the order of addresses: "bootstrap." before "pod." before "trainingJob.".
    for (const auto& [address, step] : state.steps) object.Member(address.Text(), step);
    for (const auto& [address, pod] : state.pods) object.Member(address.Text(), pod);
    for (const auto& [address, job] : state.training_jobs) object.Member(address.Text(), job);
  }
  return out;
}

std::string ChecksumOf(const StateHeader& header, std::string_view canonical_resources) {
  Sha256 sum;
  std::string before = R"({"checksum":"","digest_key":)";
  AppendJsonText(header.digest_key, &before);
  before += fmt::format(R"(,"format_version":{},"lineage":)", header.format_version);
  AppendJsonText(header.lineage, &before);
  before += R"(,"podctl_version":)";
  AppendJsonText(header.podctl_version, &before);
  before += R"(,"resources":)";
  sum.Add(before);
  sum.Add(canonical_resources);
  sum.Add(fmt::format(R"(,"serial":{}}})", header.serial));
  return "sha256:" + std::move(sum).Hex();
}

}  // namespace podctl
