#include "state/state_writer.h"

#include <fmt/format.h>

#include <array>
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
void Put(const Intent& intent, std::string* out);
void Put(const Goal& goal, std::string* out);
void Put(const SshSettings& ssh, std::string* out);
void Put(const QueuedRecord& queued, std::string* out);
void Put(const Recovery& recovery, std::string* out);
void Put(const StepWorkerRecord& worker, std::string* out);
template <typename Worker>
void Put(const std::map<int, Worker>& workers, std::string* out);
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

void Put(const Intent& intent, std::string* out) {
  ObjectWriter object(out);
  object.Member("begun_at", intent.begun_at);
  object.Member("operation", intent.operation);
  object.Spare("request_id", intent.request_id);
  object.Member("run", intent.run);
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

const Intent* IntentOf(const Life& life) {
  if (const auto* creating = std::get_if<Creating>(&life)) return &creating->intent;
  if (const auto* changing = std::get_if<Changing>(&life)) return &changing->intent;
  if (const auto* deleting = std::get_if<Deleting>(&life)) return &deleting->intent;
  return nullptr;
}

void PutObject(const Object& it, std::string_view role, std::string* out) {
  ObjectWriter object(out);
  if (const Intent* intent = IntentOf(it.life)) object.Member("intent", *intent);
  object.Member("life", LifeName(it.life));
  object.Member("locator", it.locator);
  object.Member("role", role);
  const bool open =
      std::holds_alternative<Creating>(it.life) || std::holds_alternative<Deleting>(it.life);
  if (open) object.Member("seen", it.exists());
  object.Spare("uid", it.uid);
}

void PutObjects(const Record& record, std::string* out) {
  *out += '[';
  PutObject(record.current, kCurrentRole, out);
  for (const Object& object : record.deposed) {
    *out += ',';
    PutObject(object, kDeposedRole, out);
  }
  for (const Object& object : record.auxiliary) {
    *out += ',';
    PutObject(object, kAuxiliaryRole, out);
  }
  *out += ']';
}

void Put(const Goal& goal, std::string* out) {
  ObjectWriter object(out);
  if (const auto* recovering = std::get_if<Recovering>(&goal)) {
    object.Member("because", recovering->because);
    object.Member("goal", GoalName(goal));
    object.Spare("replace_because", recovering->replace_because);
    object.Spare("seeking_since", recovering->seeking_since);
    object.Member("since", recovering->since);
  } else if (const auto* replacing = std::get_if<Replacing>(&goal)) {
    object.Member("because", replacing->because);
    object.Member("goal", GoalName(goal));
    object.Spare("seeking_since", replacing->seeking_since);
  } else {
    object.Member("goal", GoalName(goal));
    if (const auto* seeking = std::get_if<Seeking>(&goal)) object.Member("since", seeking->since);
  }
}

// What stands beside the payload.
void PutMembers(const Record& record, ObjectWriter* object) {
  if (!std::holds_alternative<Settled>(record.goal)) object->Member("goal", record.goal);
  PutObjects(record, object->Key("objects"));
}

template <typename OnePayload>
void PutRecord(const Record& record, std::string_view type, const OnePayload& put_payload,
               std::string* out) {
  ObjectWriter object(out);
  PutMembers(record, &object);
  put_payload(object.Key("payload"));
  if (record.recovered) object.Member("recovered", *record.recovered);
  object.Member("type", type);
}

void Put(const StepWorkerRecord& worker, std::string* out) {
  ObjectWriter object(out);
  object.Member("applied_at", worker.applied_at);
  object.Member("digest", worker.digest);
  object.Member("uid", worker.uid);
}

// Workers by number as text, so "10" before "2".
template <typename Worker>
void Put(const std::map<int, Worker>& workers, std::string* out) {
  std::map<std::string, const Worker*> by_text;
  for (const auto& [worker, record] : workers) by_text[std::to_string(worker)] = &record;
  ObjectWriter object(out);
  for (const auto& [worker, record] : by_text) object.Member(worker, *record);
}

void PutPayload(const PodRecord& pod, std::string* out) {
  ObjectWriter object(out);
  if (pod.api_version != ApiVersion::kV2) {
    object.Member("api_version", ApiVersionName(pod.api_version));
  }
  object.Member("applied", pod.applied);
  object.Spare("depends_on", pod.depends_on);
  object.Spare("exec_env", pod.exec_env);
  object.Spare("host_keys", pod.host_keys);
  object.Spare("host_keys_source", pod.host_keys_source);
  object.Spare("metadata", pod.metadata);
  object.Member("observed", pod.observed);
  object.Spare("own_keys", pod.own_keys);
  object.Spare("prevent_destroy", pod.prevent_destroy);
  object.Member("project", pod.project);
  if (pod.queued) object.Member("queued", *pod.queued);
  object.Spare("sensitive_keys", pod.sensitive_keys);
  object.Spare("ssh", pod.ssh);
  object.Spare("team_keys", pod.team_keys);
  object.Spare("vm_names", pod.vm_names);
  object.Spare("wanted_node_id", pod.wanted_node_id);
  object.Member("zone", pod.zone);
}

void PutPayload(const StepRecord& step, std::string* out) {
  ObjectWriter object(out);
  object.Member("pod", step.pod);
  object.Member("workers", step.workers);
}

void PutPayload(const TrainingRecord& job, std::string* out) {
  ObjectWriter object(out);
  object.Member("applied", job.applied);
  object.Member("error", job.error);
  object.Member("project", job.project);
  object.Member("region", job.region);
  object.Member("state", job.state);
}

void Put(const PodRecord& pod, std::string* out) {
  PutRecord(
      pod, kPodKind, [&](std::string* into) { PutPayload(pod, into); }, out);
}

void Put(const StepRecord& step, std::string* out) {
  ObjectWriter object(out);
  PutPayload(step, object.Key("payload"));
  object.Member("type", kStepKind);
}

void Put(const TrainingRecord& job, std::string* out) {
  PutRecord(
      job, kTrainingKind, [&](std::string* into) { PutPayload(job, into); }, out);
}

}  // namespace

std::string_view LifeName(const Life& life) {
  constexpr std::array<std::string_view, std::variant_size_v<Life>> kNames = {
      "absent", "creating", "present", "changing", "deleting"};
  return kNames[life.index()];
}

std::string_view GoalName(const Goal& goal) {
  constexpr std::array<std::string_view, std::variant_size_v<Goal>> kNames = {
      "settled", "seeking", "recovering", "replacing", "leaving"};
  return kNames[goal.index()];
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
