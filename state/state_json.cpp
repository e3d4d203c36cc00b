#include "state/state_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "state/state_writer.h"

namespace podctl {
namespace {

constexpr int kMaxWorker = 99999;
constexpr int kMaxSlices = 9999;
constexpr std::string_view kResourcesLine = "\n  \"resources\": ";
constexpr std::size_t kMostHeaderBytes = 4096;  // of a text as podctl lays it out
constexpr std::string_view kEnd = "\n}\n";

// ---- Reading.

// Takes the members out of one JSON object, each of which must be of its kind; those that say
// nothing when they are empty may be missing (Spare…), the others not. Remembers the first problem
// of the whole document in `problem`; after one, what is read is of no use.
class ObjectReader {
 public:
  ObjectReader(Value& object, std::string where, std::string& problem)
      : object_(object), where_(std::move(where)), problem_(problem) {
    if (!object_.is_map()) Fail("is not an object");
  }

  std::string Text(std::string_view key) {
    return TakeText(Member(key), [&] { FailMember(key, "is not a string"); });
  }
  std::string SpareText(std::string_view key) { return IsThere(key) ? Text(key) : ""; }
  bool SpareFlag(std::string_view key) { return IsThere(key) && Flag(key); }
  std::vector<std::string> SpareTexts(std::string_view key) {
    return IsThere(key) ? Texts(key) : std::vector<std::string>();
  }
  std::map<std::string, std::string> SpareTextMap(std::string_view key) {
    return IsThere(key) ? TextMap(key) : std::map<std::string, std::string>();
  }
  bool IsThere(std::string_view key) const { return object_.Find(key) != nullptr; }
  bool Flag(std::string_view key) {
    const Value& value = Member(key);
    if (!value.is_bool()) FailMember(key, "is not true or false");
    return value.AsBool();
  }
  std::int64_t Number(std::string_view key, std::int64_t least, std::int64_t most) {
    const Value& value = Member(key);
    if (!value.is_int()) {
      FailMember(key, "is not a whole number");
      return least;
    }
    if (value.AsInt() < least || value.AsInt() > most) FailMember(key, "is out of range");
    return value.AsInt();
  }
  Value Any(std::string_view key) { return std::move(Member(key)); }
  // To be read where it stands.
  Value& At(std::string_view key) { return Member(key); }
  Value::Map& Map(std::string_view key) {
    Value& value = Member(key);
    if (!value.is_map()) FailMember(key, "is not an object");
    return value.MutableMap();
  }
  Value::List& List(std::string_view key) {
    Value& value = Member(key);
    if (!value.is_list()) FailMember(key, "is not a list");
    return value.MutableList();
  }
  std::vector<std::string> Texts(std::string_view key) {
    return TextList(Member(key), fmt::format("`{}`", key));
  }
  std::map<std::string, std::string> TextMap(std::string_view key) {
    std::map<std::string, std::string> texts;
    for (auto& [name, value] : Map(key)) {
      texts.emplace_hint(texts.end(), name, TakeText(value, [&] {
                           FailMember(key, "holds something other than strings");
                         }));
    }
    return texts;
  }
  Value* Optional(std::string_view key) {
    asked_.push_back(key);
    if (!object_.is_map()) return nullptr;
    auto found = object_.MutableMap().find(key);
    if (found == object_.MutableMap().end()) return nullptr;
    ++found_;
    return &found->second;
  }
  std::vector<std::string> TextList(Value& value, const std::string& what) {
    if (!value.is_list()) Fail(what + " is not a list");
    std::vector<std::string> texts;
    for (Value& item : value.MutableList()) {
      texts.push_back(TakeText(item, [&] { Fail(what + " holds something other than strings"); }));
    }
    return texts;
  }
  Address AddressIn(const std::string& text, std::string_view key) {
    const auto address = ParseAddress(text);
    if (!address) FailMember(key, fmt::format("holds `{}`, which is no address", text));
    return address.value_or(Address{});
  }
  // "0", "12": a worker's number as written by this room, so not "007".
  int Worker(const std::string& text) {
    int worker = -1;
    const char* end = text.data() + text.size();
    auto [rest, code] = std::from_chars(text.data(), end, worker);
    if (code != std::errc() || rest != end || worker < 0 || worker > kMaxWorker ||
        std::to_string(worker) != text) {
      Fail(fmt::format("has a worker with a bad number, `{}`", text));
    }
    return worker;
  }
  // Call last: what this podctl does not know it would drop with the next save.
  void RefuseUnknownMembers() {
    if (found_ == object_.AsMap().size()) return;
    for (const auto& [key, value] : object_.AsMap()) {
      if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) {
        Fail(fmt::format("has an unknown key `{}`", key));
      }
    }
  }
  void Fail(const std::string& what) {
    if (problem_.empty()) problem_ = where_.empty() ? "the document " + what : where_ + " " + what;
  }

 private:
  template <typename OnWrongKind>
  static std::string TakeText(Value& value, const OnWrongKind& on_wrong_kind) {
    if (!value.is_string()) {
      on_wrong_kind();
      return {};
    }
    return std::move(value.MutableString());
  }
  Value& Member(std::string_view key) {
    if (Value* found = Optional(key)) return *found;
    FailMember(key, "is missing");
    missing_ = Value();
    return missing_;
  }
  void FailMember(std::string_view key, std::string_view what) {
    if (!problem_.empty()) return;
    problem_ = where_.empty() ? fmt::format("`{}` {}", key, what)
                              : fmt::format("`{}` of {} {}", key, where_, what);
  }

  Value& object_;
  std::string where_;
  std::string& problem_;
  std::vector<std::string_view> asked_;  // each once, and from literals
  std::size_t found_ = 0;
  Value missing_;
};

PendingAction PendingFromValue(Value& value, const std::string& where, std::string& problem) {
  ObjectReader in(value, where, problem);
  PendingAction pending;
  const std::string kind = in.Text("kind");
  bool known = false;
  for (auto candidate :
       {PendingAction::Kind::kCreate, PendingAction::Kind::kPatch, PendingAction::Kind::kDelete}) {
    if (PendingKindName(candidate) != kind) continue;
    pending.kind = candidate;
    known = true;
  }
  if (!known) in.Fail(fmt::format("has an unknown kind `{}`", kind));
  pending.operation = in.Text("operation");
  pending.begun_at = in.Text("begun_at");
  pending.run = static_cast<std::uint64_t>(in.Number("run", 0, INT64_MAX));
  pending.request_id = in.SpareText("request_id");
  in.RefuseUnknownMembers();
  return pending;
}

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

QueuedRecord QueuedFromValue(Value& value, const std::string& where, std::string& problem) {
  ObjectReader in(value, where, problem);
  QueuedRecord queued;
  queued.id = in.Text("id");
  queued.slices = static_cast<int>(in.Number("slices", 1, kMaxSlices));
  queued.state = in.Text("state");
  queued.terms = in.Any("terms");
  if (!queued.terms.is_map()) in.Fail("has `terms` that are not an object");
  in.RefuseUnknownMembers();
  return queued;
}

Recovery RecoveryFromValue(Value& value, const std::string& where, std::string& problem) {
  ObjectReader in(value, where, problem);
  Recovery recovery;
  recovery.because = in.Text("because");
  recovery.since = in.Text("since");
  recovery.done = in.Text("done");
  recovery.times = static_cast<int>(in.Number("times", 1, INT32_MAX));
  in.RefuseUnknownMembers();
  return recovery;
}

std::vector<DeposedNode> DeposedFromValue(Value::List& list, const std::string& where,
                                          std::string& problem) {
  std::vector<DeposedNode> nodes;
  for (Value& value : list) {
    ObjectReader in(value, where, problem);
    DeposedNode& node = nodes.emplace_back();
    node.node_id = in.Text("node_id");
    node.uid = in.Text("uid");
    if (Value* pending = in.Optional("pending")) {
      node.pending = PendingFromValue(*pending, where + ".pending", problem);
    }
    in.RefuseUnknownMembers();
  }
  return nodes;
}

PodRecord PodFromValue(Value& value, const std::string& address, std::string& problem) {
  ObjectReader in(value, address, problem);
  PodRecord pod;
  in.Text("type");  // looked at by the caller
  pod.project = in.Text("project");
  pod.zone = in.Text("zone");
  pod.node_id = in.Text("node_id");
  pod.uid = in.Text("uid");
  pod.exists = in.Flag("exists");
  pod.applied = in.Any("applied");
  pod.metadata = in.SpareTextMap("metadata");
  pod.sensitive_keys = in.SpareTexts("sensitive_keys");
  pod.team_keys = in.SpareTexts("team_keys");
  pod.own_keys = in.SpareTexts("own_keys");
  pod.observed = in.Any("observed");
  if (in.IsThere("host_keys")) {
    for (auto& [worker, keys] : in.Map("host_keys")) {
      pod.host_keys[in.Worker(worker)] = in.TextList(keys, "`host_keys`");
    }
  }
  pod.host_keys_source = in.SpareText("host_keys_source");
  if (Value* ssh = in.Optional("ssh")) {
    pod.ssh = SshFromValue(*ssh, address + ".ssh", problem);
  }
  pod.exec_env = in.SpareTextMap("exec_env");
  for (const std::string& text : in.SpareTexts("depends_on")) {
    pod.depends_on.push_back(in.AddressIn(text, "depends_on"));
  }
  pod.prevent_destroy = in.SpareFlag("prevent_destroy");
  pod.wanted_node_id = in.SpareText("wanted_node_id");
  pod.replace_because = in.SpareText("replace_because");
  if (in.IsThere("deposed")) {
    pod.deposed = DeposedFromValue(in.List("deposed"), address + ".deposed", problem);
  }
  if (const Value* name = in.Optional("api_version")) {
    const auto spoken = ParseApiVersion(name->AsString());
    if (!spoken) in.Fail("has an unknown `api_version`");
    pod.api_version = spoken.value_or(ApiVersion::kV2);
  }
  if (Value* queued = in.Optional("queued")) {
    pod.queued = QueuedFromValue(*queued, address + ".queued", problem);
  }
  for (auto& [worker, name] : in.SpareTextMap("vm_names")) pod.vm_names[in.Worker(worker)] = name;
  if (Value* pending = in.Optional("pending")) {
    pod.pending = PendingFromValue(*pending, address + ".pending", problem);
  }
  pod.capacity_since = in.SpareText("capacity_since");
  if (Value* recovery = in.Optional("recovery")) {
    pod.recovery = RecoveryFromValue(*recovery, address + ".recovery", problem);
  }
  in.RefuseUnknownMembers();
  return pod;
}

StepRecord StepFromValue(Value& value, const std::string& address, std::string& problem) {
  ObjectReader in(value, address, problem);
  StepRecord step;
  in.Text("type");
  step.pod = ParseAddress(in.Text("pod")).value_or(Address{});
  if (step.pod.kind != kPodKind) in.Fail("belongs to no pod");
  for (auto& [worker, entry] : in.Map("workers")) {
    ObjectReader reader(entry, address + ".workers", problem);
    StepWorkerRecord& record = step.workers[in.Worker(worker)];
    record.digest = reader.Text("digest");
    record.uid = reader.Text("uid");
    record.applied_at = reader.Text("applied_at");
    reader.RefuseUnknownMembers();
  }
  in.RefuseUnknownMembers();
  return step;
}

TrainingRecord TrainingFromValue(Value& value, const std::string& address, std::string& problem) {
  ObjectReader in(value, address, problem);
  TrainingRecord job;
  in.Text("type");
  job.project = in.Text("project");
  job.region = in.Text("region");
  job.job = in.Text("job");
  job.applied = in.Any("applied");
  job.state = in.Text("state");
  job.error = in.Text("error");
  if (Value* pending = in.Optional("pending")) {
    job.pending = PendingFromValue(*pending, address + ".pending", problem);
  }
  in.RefuseUnknownMembers();
  return job;
}

// Version 1 had no `wanted_node_id`, `replace_because` and `deposed`, versions below 3 no training
// jobs, and versions below 4 wrote every member, empty or not. All that reads the same.
State StateFromDocument(Value& document, std::string& problem) {
  ObjectReader in(document, "", problem);
  State state;
  const std::int64_t version = in.Number("format_version", 1, kStateFormatVersion);
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
                              PodFromValue(value, text, problem));
    } else if (type == kStepKind && address->kind == kStepKind) {
      state.steps.emplace_hint(state.steps.end(), *std::move(address),
                               StepFromValue(value, text, problem));
    } else if (type == kTrainingKind && address->kind == kTrainingKind && version >= 3) {
      state.training_jobs.emplace_hint(state.training_jobs.end(), *std::move(address),
                                       TrainingFromValue(value, text, problem));
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
