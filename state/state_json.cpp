#include "state/state_json.h"

#include <fmt/format.h>

#include <type_traits>
#include <utility>
#include <vector>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "state/object_reader.h"
#include "state/record_json.h"
#include "state/state_writer.h"

namespace podctl {
namespace {

constexpr int kMaxSlices = 9999;
constexpr std::string_view kResourcesLine = "\n  \"resources\": ";
constexpr std::size_t kMostHeaderBytes = 4096;  // of a text as podctl lays it out
constexpr std::string_view kEnd = "\n}\n";

// ---- Reading.

SshSettings SshFromValue(Value& value, const std::string& where, std::string& problem) {
  ObjectReader in(value, where, problem);
  SshSettings ssh;
  ssh.user = in.SpareText("user");
  if (in.IsThere("port")) ssh.port = static_cast<int>(in.Number("port", 1, 65535));
  ssh.identity_file = in.SpareText("identity_file");
  ssh.internal_address = in.SpareFlag("internal_address");
  ssh.strict_host_keys = in.SpareFlag("strict_host_keys");
  if (const Value* transport = in.Optional("transport")) {
    if (*transport != Value("openssh")) in.Fail("names a transport that is not `openssh`");
    ssh.transport = "openssh";
  }
  if (in.IsThere("proxy_jump")) ssh.proxy_jump = in.Text("proxy_jump");
  if (const Value* iap = in.Optional("iap")) {
    if (*iap != Value(true)) in.Fail("has an `iap` that is not true");
    ssh.iap = true;
  }
  if (in.IsThere("os_login_user")) ssh.os_login_user = in.Text("os_login_user");
  if (const Value* external = in.Optional("external_address")) {
    if (*external != Value(true)) in.Fail("has an `external_address` that is not true");
    ssh.external_address = true;
  }
  if (const Value* withhold = in.Optional("withhold_key")) {
    if (*withhold != Value(true)) in.Fail("has a `withhold_key` that is not true");
    ssh.withhold_key = true;
  }
  in.RefuseUnknownMembers();
  return ssh;
}

// Its id is the locator of the auxiliary object.
QueuedRecord QueuedFromValue(Value& value, const std::string& where, const Record& record,
                             bool with_id, std::string& problem) {
  ObjectReader in(value, where, problem);
  QueuedRecord queued;
  if (with_id) in.Text("id");
  if (record.auxiliary.size() == 1) queued.id = record.auxiliary.front().locator;
  queued.slices = static_cast<int>(in.Number("slices", 1, kMaxSlices));
  queued.state = in.Text("state");
  queued.terms = in.Any("terms");
  if (!queued.terms.is_map()) in.Fail("has `terms` that are not an object");
  in.RefuseUnknownMembers();
  return queued;
}

void ReadPod(ObjectReader& in, const std::string& address, int version, PodRecord* pod,
             std::string& problem) {
  pod->project = in.Text("project");
  pod->zone = in.Text("zone");
  pod->applied = in.Any("applied");
  pod->metadata = in.SpareTextMap("metadata");
  pod->sensitive_keys = in.SpareTexts("sensitive_keys");
  pod->team_keys = in.SpareTexts("team_keys");
  pod->own_keys = in.SpareTexts("own_keys");
  pod->observed = in.Any("observed");
  if (in.IsThere("host_keys")) {
    for (auto& [worker, keys] : in.Map("host_keys")) {
      pod->host_keys[in.Worker(worker)] = in.TextList(keys, "`host_keys`");
    }
  }
  pod->host_keys_source = in.SpareText("host_keys_source");
  if (Value* ssh = in.Optional("ssh")) {
    pod->ssh = SshFromValue(*ssh, address + ".ssh", problem);
  }
  pod->exec_env = in.SpareTextMap("exec_env");
  for (const std::string& text : in.SpareTexts("depends_on")) {
    pod->depends_on.push_back(in.AddressIn(text, "depends_on"));
  }
  pod->prevent_destroy = in.SpareFlag("prevent_destroy");
  pod->wanted_node_id = in.SpareText("wanted_node_id");
  if (const Value* name = in.Optional("api_version")) {
    const auto spoken = ParseApiVersion(name->AsString());
    if (!spoken) in.Fail("has an unknown `api_version`");
    pod->api_version = spoken.value_or(ApiVersion::kV2);
  }
  if (Value* queued = in.Optional("queued")) {
    const bool with_id = version < kFormatOfObjects;
    pod->queued = QueuedFromValue(*queued, address + ".queued", *pod, with_id, problem);
  }
  if (pod->auxiliary.size() != (pod->queued ? 1U : 0U)) {
    in.Fail("has auxiliary objects that are not its queued resource");
  }
  for (auto& [worker, name] : in.SpareTextMap("vm_names")) pod->vm_names[in.Worker(worker)] = name;
}

void ReadStep(ObjectReader& in, const std::string& address, int /*version*/, StepRecord* step,
              std::string& problem) {
  step->pod = ParseAddress(in.Text("pod")).value_or(Address{});
  if (step->pod.kind != kPodKind) in.Fail("belongs to no pod");
  for (auto& [worker, entry] : in.Map("workers")) {
    ObjectReader reader(entry, address + ".workers", problem);
    StepWorkerRecord& record = step->workers[in.Worker(worker)];
    record.digest = reader.Text("digest");
    record.uid = reader.Text("uid");
    record.applied_at = reader.Text("applied_at");
    reader.RefuseUnknownMembers();
  }
}

void ReadTraining(ObjectReader& in, const std::string& /*address*/, int /*version*/,
                  TrainingRecord* job, std::string& /*problem*/) {
  job->project = in.Text("project");
  job->region = in.Text("region");
  job->applied = in.Any("applied");
  job->state = in.Text("state");
  job->error = in.Text("error");
}

// Below kFormatOfObjects what the objects say and the payload stood side by side.
template <typename OneRecord, typename ReadPayload>
OneRecord RecordFromValue(Value& value, const std::string& address, int version,
                          const ReadPayload& read_payload, std::string& problem) {
  ObjectReader in(value, address, problem);
  OneRecord record;
  in.Text("type");  // looked at by the caller
  constexpr bool kHasObjects = std::is_base_of_v<Record, OneRecord>;
  if (version >= kFormatOfObjects) {
    if constexpr (kHasObjects) ReadRecord(in, address, &record, problem);
    ObjectReader payload(in.At("payload"), address + ".payload", problem);
    read_payload(payload, address + ".payload", version, &record, problem);
    payload.RefuseUnknownMembers();
  } else {
    if constexpr (std::is_same_v<OneRecord, PodRecord>) {
      ReadRecordBefore5(in, address, "node_id", &record, problem);
    } else if constexpr (kHasObjects) {
      ReadRecordBefore5(in, address, "job", &record, problem);
    }
    read_payload(in, address, version, &record, problem);
  }
  in.RefuseUnknownMembers();
  return record;
}

// Version 1 had no `wanted_node_id`, `replace_because` and `deposed`, versions below 3 no training
// jobs, versions below 4 wrote every member, empty or not, and versions below 5 had no objects.
State StateFromDocument(Value& document, std::string& problem) {
  ObjectReader in(document, "", problem);
  State state;
  const int version = static_cast<int>(in.Number("format_version", 1, kStateFormatVersion));
  in.Text("podctl_version");
  in.Text("checksum");
  state.lineage = in.Text("lineage");
  if (state.lineage.empty()) in.Fail("has an empty `lineage`");
  state.serial = static_cast<std::uint64_t>(in.Number("serial", 0, INT64_MAX));
  state.digest_key = in.Text("digest_key");
  for (auto& [text, value] : in.Map("resources")) {
    const std::string type = std::as_const(value)["type"].AsString();
    auto address = ParseAddress(text);
    if (!address) {
      in.Fail(fmt::format("has a resource `{}`, which is no address", text));
    } else if (type == kPodKind && address->kind == kPodKind) {
      state.pods.emplace_hint(state.pods.end(), *std::move(address),
                              RecordFromValue<PodRecord>(value, text, version, ReadPod, problem));
    } else if (type == kStepKind && address->kind == kStepKind) {
      state.steps.emplace_hint(
          state.steps.end(), *std::move(address),
          RecordFromValue<StepRecord>(value, text, version, ReadStep, problem));
    } else if (type == kTrainingKind && address->kind == kTrainingKind && version >= 3) {
      state.training_jobs.emplace_hint(
          state.training_jobs.end(), *std::move(address),
          RecordFromValue<TrainingRecord>(value, text, version, ReadTraining, problem));
    } else {
      in.Fail(fmt::format("has a resource `{}` of the wrong type `{}`", text, type));
    }
    value = Value();  // its memory serves for the records that follow
  }
  in.RefuseUnknownMembers();
  return state;
}

// ---- The checksum of a text.

// The member `resources` in a text as StateToJson lays it out: the last member, and the only line
// that begins so, since strings hold no line breaks. Empty for any other layout.
std::string_view ResourcesIn(std::string_view text) {
  const std::size_t begin = text.find(kResourcesLine);
  if (begin == std::string_view::npos || !text.ends_with(kEnd)) return {};
  text.remove_prefix(begin + kResourcesLine.size());
  if (text.size() < kEnd.size()) return {};
  text.remove_suffix(kEnd.size());
  return text;
}

bool ChecksumHolds(std::string_view text, const Value& document) {
  StateHeader header;
  header.format_version = static_cast<int>(document["format_version"].AsInt());
  header.podctl_version = document["podctl_version"].AsString();
  header.lineage = document["lineage"].AsString();
  header.serial = static_cast<std::uint64_t>(document["serial"].AsInt());
  header.digest_key = document["digest_key"].AsString();
  const std::string& checksum = document["checksum"].AsString();
  // As podctl wrote it, the text is canonical but for its layout. In any other form its meaning is
  // written anew, which takes longer.
  if (ChecksumOf(header, WithoutLayout(ResourcesIn(text))) == checksum) return true;
  return ChecksumOf(header, ToJson(document["resources"])) == checksum;
}

// ---- What is said about a text that is no state. Names from it are data, of any length.

std::string Shown(const std::string& text) {
  constexpr std::size_t kMostBytes = 500;
  return VisibleControls(text.size() <= kMostBytes ? text : text.substr(0, kMostBytes) + "…");
}

Error Damaged(const std::string& origin, const std::string& what) {
  return MakeError(ErrorCode::kDataLoss,
                   fmt::format("the state {} is damaged: {}", origin, Shown(what)),
                   "Put a good copy of it back: `podctl state history` lists the "
                   "generations kept, `podctl state restore` takes one. podctl never takes a "
                   "damaged state for an empty "
                   "one; without the state it would not know the pods it made.");
}

bool HasConflictMarkers(std::string_view text) {
  return (text.starts_with("<<<<<<< ") || text.find("\n<<<<<<< ") != std::string_view::npos) &&
         text.find("\n>>>>>>> ") != std::string_view::npos;
}

Error TooNew(const std::string& origin, const Value& document) {
  const std::string& writer = document["podctl_version"].AsString();
  return MakeError(
      ErrorCode::kUnimplemented,
      fmt::format("the state {} has format version {}, and this podctl ({}) reads up "
                  "to version {}",
                  origin, document["format_version"].AsInt(), PODCTL_VERSION, kStateFormatVersion),
      writer.empty() ? "Use the podctl that wrote it."
                     : fmt::format("Use podctl {} or newer.", Shown(writer)));
}

// ---- Writing.

StateHeader HeaderOf(const State& state) {
  return {kStateFormatVersion, PODCTL_VERSION, state.lineage, state.serial, state.digest_key};
}

// Members in the order a person wants to read them, not in the order of the alphabet.
std::string FirstLines() {
  return fmt::format("{{\n  \"format_version\": {},\n  \"podctl_version\": \"{}\",\n",
                     kStateFormatVersion, PODCTL_VERSION);
}

}  // namespace

std::string StateToJson(const State& state) {
  return StateText(state).Text();
}

StateText::StateText(const State& state) : state_(state), resources_(CanonicalResources(state)) {}

bool StateText::SaidBy(std::string_view stored) const {
  const std::string_view begin = stored.substr(0, kMostHeaderBytes);
  if (begin.starts_with(FirstLines())) {
    // The checksum of an accepted text stands for its content.
    return begin.find(fmt::format("\n  \"checksum\": \"{}\",\n",
                                  ChecksumOf(HeaderOf(state_), resources_))) !=
           std::string_view::npos;
  }
  // Written by another podctl, or laid out anew: its checksum covers other words.
  Result<State> other = StateFromJson(stored, "");
  return other && *other == state_;
}

std::string StateText::Text() const {
  const StateHeader header = HeaderOf(state_);
  std::string text = FirstLines();
  text += "  \"lineage\": ";
  AppendJsonText(header.lineage, &text);
  text += fmt::format(",\n  \"serial\": {},\n  \"checksum\": \"{}\",\n  \"digest_key\": ",
                      header.serial, ChecksumOf(header, resources_));
  AppendJsonText(header.digest_key, &text);
  text += ",";
  text += kResourcesLine;
  AppendIndentedJson(resources_, 1, &text);
  return text += kEnd;
}

Result<State> StateFromJson(std::string_view text, const std::string& origin,
                            std::size_t readable) {
  if (text.empty()) return Damaged(origin, "it is empty");
  if (text.size() > kMaxStateBytes) {
    return Damaged(origin, fmt::format("it is larger than {} MiB", kMaxStateBytes >> 20));
  }
  // What podctl never writes, and a JSON reader may overlook: a tool or a transfer rewrote the
  // file.
  if (text.starts_with("\xEF\xBB\xBF")) return Damaged(origin, "it begins with a byte order mark");
  if (text.find('\r') != std::string_view::npos) {
    return Damaged(origin, "it holds carriage returns, which podctl does not write");
  }
  Result<Value> document = ParseJson(text, readable);
  if (!document && HasConflictMarkers(text)) {
    return MakeError(
        ErrorCode::kDataLoss,
        fmt::format("the state {} holds the marks of a merge that git left unresolved", origin),
        "Two runs saved it apart from each other. Take the newer one whole (`git "
        "checkout --theirs` or `--ours`): a state cannot be merged by its lines. "
        "`podctl plan` then names what only the other one knew, for `podctl import`.");
  }
  if (!document) return Damaged(origin, document.error().message);
  if (!document->is_map()) return Damaged(origin, "it is not a JSON object");
  // Before anything else: what a newer podctl means by the other keys is not known here.
  const Value& version = (*document)["format_version"];
  if (version.is_int() && version.AsInt() > kStateFormatVersion) return TooNew(origin, *document);

  const bool whole = ChecksumHolds(text, *document);
  std::string problem;
  State state = StateFromDocument(*document, problem);
  // The more telling of the two first.
  if (!problem.empty()) return Damaged(origin, problem);
  if (!whole) return Damaged(origin, "its content does not match its checksum");
  return state;
}

}  // namespace podctl
