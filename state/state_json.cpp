#include "state/state_json.h"

#include <fmt/format.h>

#include <charconv>
#include <set>
#include <utility>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "state/digest.h"

namespace podctl {
namespace {

constexpr int kMaxWorker = 99999;
constexpr std::string_view kPodPrefix = "pod.";
constexpr std::string_view kStepPrefix = "bootstrap.";

constexpr std::pair<PendingAction::Kind, std::string_view> kPendingKinds[] = {
    {PendingAction::Kind::kCreate, "create"},
    {PendingAction::Kind::kPatch, "patch"},
    {PendingAction::Kind::kDelete, "delete"},
};

// ---- Writing.

Value TextsToValue(const std::vector<std::string>& texts) {
  return Value(Value::List(texts.begin(), texts.end()));
}

Value TextMapToValue(const std::map<std::string, std::string>& texts) {
  return Value(Value::Map(texts.begin(), texts.end()));
}

Value PendingToValue(const PendingAction& pending) {
  Value out = Value::EmptyMap();
  for (const auto& [kind, name] : kPendingKinds) {
    if (kind == pending.kind) out.Set("kind", name);
  }
  out.Set("operation", pending.operation);
  out.Set("begun_at", pending.begun_at);
  out.Set("run", pending.run);
  return out;
}

Value SshToValue(const SshSettings& ssh) {
  Value out = Value::EmptyMap();
  out.Set("user", ssh.user);
  out.Set("port", ssh.port);
  out.Set("identity_file", ssh.identity_file);
  out.Set("internal_address", ssh.internal_address);
  out.Set("strict_host_keys", ssh.strict_host_keys);
  return out;
}

Value PodToValue(const PodRecord& pod) {
  Value out = Value::EmptyMap();
  out.Set("type", "pod");
  out.Set("project", pod.project);
  out.Set("zone", pod.zone);
  out.Set("node_id", pod.node_id);
  out.Set("uid", pod.uid);
  out.Set("exists", pod.exists);
  out.Set("applied", pod.applied);
  out.Set("metadata", TextMapToValue(pod.metadata));
  out.Set("sensitive_keys", TextsToValue(pod.sensitive_keys));
  out.Set("observed", pod.observed);
  Value host_keys = Value::EmptyMap();
  for (const auto& [worker, keys] : pod.host_keys) {
    host_keys.Set(std::to_string(worker), TextsToValue(keys));
  }
  out.Set("host_keys", std::move(host_keys));
  out.Set("host_keys_source", pod.host_keys_source);
  out.Set("ssh", SshToValue(pod.ssh));
  out.Set("exec_env", TextMapToValue(pod.exec_env));
  out.Set("depends_on", TextsToValue(pod.depends_on));
  out.Set("prevent_destroy", pod.prevent_destroy);
  if (pod.pending) out.Set("pending", PendingToValue(*pod.pending));
  return out;
}

Value StepToValue(const StepRecord& step) {
  Value workers = Value::EmptyMap();
  for (const auto& [worker, record] : step.workers) {
    Value entry = Value::EmptyMap();
    entry.Set("digest", record.digest);
    entry.Set("uid", record.uid);
    entry.Set("applied_at", record.applied_at);
    workers.Set(std::to_string(worker), std::move(entry));
  }
  Value out = Value::EmptyMap();
  out.Set("type", "bootstrap");
  out.Set("pod", step.pod);
  out.Set("workers", std::move(workers));
  return out;
}

// The document with an empty checksum, compact and with sorted keys: what the checksum covers. It
// does not change when a person or an editor lays the file out anew.
std::string ChecksumOf(Value document) {
  document.Set("checksum", "");
  return "sha256:" + Sha256Hex(ToJson(document));
}

// ---- Reading.

// Reads the members of one JSON object, each of which must be there and of its kind. Remembers the
// first problem of the whole document in `problem`; after one, what is read is of no use.
class ObjectReader {
 public:
  ObjectReader(const Value& object, std::string where, std::string& problem)
      : object_(object), where_(std::move(where)), problem_(problem) {
    if (!object_.is_map()) Fail("is not an object");
  }

  std::string Text(std::string_view key) {
    const Value& value = Member(key);
    if (!value.is_string()) FailMember(key, "is not a string");
    return value.AsString();
  }
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
  const Value& Any(std::string_view key) { return Member(key); }
  const Value::Map& Map(std::string_view key) {
    const Value& value = Member(key);
    if (!value.is_map()) FailMember(key, "is not an object");
    return value.AsMap();
  }
  std::vector<std::string> Texts(std::string_view key) {
    return TextList(Member(key), fmt::format("`{}`", key));
  }
  std::map<std::string, std::string> TextMap(std::string_view key) {
    std::map<std::string, std::string> texts;
    for (const auto& [name, value] : Map(key)) {
      if (!value.is_string()) FailMember(key, "holds something other than strings");
      texts.emplace(name, value.AsString());
    }
    return texts;
  }
  const Value* Optional(std::string_view key) {
    known_.emplace(key);
    return object_.Find(key);
  }
  std::vector<std::string> TextList(const Value& value, const std::string& what) {
    if (!value.is_list()) Fail(what + " is not a list");
    std::vector<std::string> texts;
    for (const Value& item : value.AsList()) {
      if (!item.is_string()) Fail(what + " holds something other than strings");
      texts.push_back(item.AsString());
    }
    return texts;
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
    for (const auto& [key, value] : object_.AsMap()) {
      if (!known_.contains(key)) Fail(fmt::format("has an unknown key `{}`", key));
    }
  }
  void Fail(const std::string& what) {
    if (problem_.empty()) problem_ = where_.empty() ? "the document " + what : where_ + " " + what;
  }

 private:
  const Value& Member(std::string_view key) {
    known_.emplace(key);
    const Value* found = object_.Find(key);
    if (found == nullptr) FailMember(key, "is missing");
    return object_[key];
  }
  void FailMember(std::string_view key, std::string_view what) {
    if (!problem_.empty()) return;
    problem_ = where_.empty() ? fmt::format("`{}` {}", key, what)
                              : fmt::format("`{}` of {} {}", key, where_, what);
  }

  const Value& object_;
  std::string where_;
  std::string& problem_;
  std::set<std::string, std::less<>> known_;
};

PendingAction PendingFromValue(const Value& value, const std::string& where, std::string& problem) {
  ObjectReader in(value, where, problem);
  PendingAction pending;
  const std::string kind = in.Text("kind");
  bool known = false;
  for (const auto& [candidate, name] : kPendingKinds) {
    if (name != kind) continue;
    pending.kind = candidate;
    known = true;
  }
  if (!known) in.Fail(fmt::format("has an unknown kind `{}`", kind));
  pending.operation = in.Text("operation");
  pending.begun_at = in.Text("begun_at");
  pending.run = static_cast<std::uint64_t>(in.Number("run", 0, INT64_MAX));
  in.RefuseUnknownMembers();
  return pending;
}

SshSettings SshFromValue(const Value& value, const std::string& where, std::string& problem) {
  ObjectReader in(value, where, problem);
  SshSettings ssh;
  ssh.user = in.Text("user");
  ssh.port = static_cast<int>(in.Number("port", 1, 65535));
  ssh.identity_file = in.Text("identity_file");
  ssh.internal_address = in.Flag("internal_address");
  ssh.strict_host_keys = in.Flag("strict_host_keys");
  in.RefuseUnknownMembers();
  return ssh;
}

PodRecord PodFromValue(const Value& value, const std::string& address, std::string& problem) {
  ObjectReader in(value, address, problem);
  PodRecord pod;
  in.Any("type");  // looked at by the caller
  pod.project = in.Text("project");
  pod.zone = in.Text("zone");
  pod.node_id = in.Text("node_id");
  pod.uid = in.Text("uid");
  pod.exists = in.Flag("exists");
  pod.applied = in.Any("applied");
  pod.metadata = in.TextMap("metadata");
  pod.sensitive_keys = in.Texts("sensitive_keys");
  pod.observed = in.Any("observed");
  for (const auto& [worker, keys] : in.Map("host_keys")) {
    pod.host_keys[in.Worker(worker)] = in.TextList(keys, "`host_keys`");
  }
  pod.host_keys_source = in.Text("host_keys_source");
  pod.ssh = SshFromValue(in.Any("ssh"), address + ".ssh", problem);
  pod.exec_env = in.TextMap("exec_env");
  pod.depends_on = in.Texts("depends_on");
  pod.prevent_destroy = in.Flag("prevent_destroy");
  if (const Value* pending = in.Optional("pending")) {
    pod.pending = PendingFromValue(*pending, address + ".pending", problem);
  }
  in.RefuseUnknownMembers();
  return pod;
}

StepRecord StepFromValue(const Value& value, const std::string& address, std::string& problem) {
  ObjectReader in(value, address, problem);
  StepRecord step;
  in.Any("type");
  step.pod = in.Text("pod");
  if (!step.pod.starts_with(kPodPrefix)) in.Fail("belongs to no pod");
  for (const auto& [worker, entry] : in.Map("workers")) {
    ObjectReader reader(entry, fmt::format("{}.workers.{}", address, worker), problem);
    StepWorkerRecord& record = step.workers[in.Worker(worker)];
    record.digest = reader.Text("digest");
    record.uid = reader.Text("uid");
    record.applied_at = reader.Text("applied_at");
    reader.RefuseUnknownMembers();
  }
  in.RefuseUnknownMembers();
  return step;
}

State StateFromDocument(const Value& document, std::string& problem) {
  ObjectReader in(document, "", problem);
  State state;
  in.Number("format_version", kStateFormatVersion, kStateFormatVersion);
  in.Text("podctl_version");
  in.Text("checksum");
  state.lineage = in.Text("lineage");
  if (state.lineage.empty()) in.Fail("has an empty `lineage`");
  state.serial = static_cast<std::uint64_t>(in.Number("serial", 0, INT64_MAX));
  state.digest_key = in.Text("digest_key");
  for (const auto& [address, value] : in.Map("resources")) {
    const std::string& type = value["type"].AsString();
    if (VisibleControls(address) != address) {
      in.Fail(fmt::format("has a resource `{}`, which is no address", address));
    } else if (type == "pod" && address.starts_with(kPodPrefix)) {
      state.pods.emplace(address, PodFromValue(value, address, problem));
    } else if (type == "bootstrap" && address.starts_with(kStepPrefix)) {
      state.steps.emplace(address, StepFromValue(value, address, problem));
    } else {
      in.Fail(fmt::format("has a resource `{}` of the wrong type `{}`", address, type));
    }
  }
  in.RefuseUnknownMembers();
  return state;
}

// ---- What is said about a text that is no state. Names from it are data, of any length.

std::string Shown(const std::string& text) {
  constexpr std::size_t kMostBytes = 500;
  return VisibleControls(text.size() <= kMostBytes ? text : text.substr(0, kMostBytes) + "…");
}

Error Damaged(const std::string& origin, const std::string& what) {
  return MakeError(ErrorCode::kDataLoss,
                   fmt::format("the state {} is damaged: {}", origin, Shown(what)),
                   "Put a good copy of it back. podctl never takes a damaged state for an empty "
                   "one; without the state it would not know the pods it made.");
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

}  // namespace

std::string StateToJson(const State& state) {
  Value resources = Value::EmptyMap();
  for (const auto& [address, pod] : state.pods) resources.Set(address, PodToValue(pod));
  for (const auto& [address, step] : state.steps) resources.Set(address, StepToValue(step));

  Value document = Value::EmptyMap();
  document.Set("format_version", kStateFormatVersion);
  document.Set("podctl_version", PODCTL_VERSION);
  document.Set("lineage", state.lineage);
  document.Set("serial", state.serial);
  document.Set("digest_key", state.digest_key);
  document.Set("resources", std::move(resources));
  document.Set("checksum", ChecksumOf(document));

  // Members in the order a person wants to read them, not in the order of the alphabet.
  std::string text = "{";
  std::string_view separator = "\n";
  for (std::string_view key : {"format_version", "podctl_version", "lineage", "serial", "checksum",
                               "digest_key", "resources"}) {
    text += fmt::format("{}  \"{}\": ", separator, key);
    // A newline in the JSON text is always layout: inside a string it is written \n.
    for (char c : ToJson(document[key], JsonStyle::kIndented)) {
      text += c;
      if (c == '\n') text += "  ";
    }
    separator = ",\n";
  }
  return text + "\n}\n";
}

Result<State> StateFromJson(std::string_view text, const std::string& origin) {
  if (text.empty()) return Damaged(origin, "it is empty");
  if (text.size() > kMaxStateBytes) {
    return Damaged(origin, fmt::format("it is larger than {} MiB", kMaxStateBytes >> 20));
  }
  Result<Value> document = ParseJson(text);
  if (!document) return Damaged(origin, document.error().message);
  if (!document->is_map()) return Damaged(origin, "it is not a JSON object");
  // Before anything else: what a newer podctl means by the other keys is not known here.
  const Value& version = (*document)["format_version"];
  if (version.is_int() && version.AsInt() > kStateFormatVersion) return TooNew(origin, *document);

  std::string problem;
  State state = StateFromDocument(*document, problem);
  if (!problem.empty()) return Damaged(origin, problem);
  if ((*document)["checksum"].AsString() != ChecksumOf(*document)) {
    return Damaged(origin, "its content does not match its checksum");
  }
  return state;
}

}  // namespace podctl
