#include "state/state_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "providers/base/digest.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "state/object_json.h"
#include "state/record_codec.h"
#include "state/state_move.h"
#include "state/transitions.h"

namespace podctl {
namespace {

constexpr std::string_view kResourcesLine = "\n  \"resources\": ";
constexpr std::size_t kMostHeaderBytes = 4096;  // of a text as podctl lays it out
constexpr std::string_view kEnd = "\n}\n";

// ---- Reading.

const RecordCodec* CodecOf(RecordKinds kinds, std::string_view kind, int version) {
  for (const RecordCodec* codec : kinds) {
    if (codec->kind() == kind && version >= codec->since_version()) return codec;
  }
  return nullptr;
}

bool AreAll(std::string_view text, std::string_view allowed) {
  return text.find_first_not_of(allowed) == std::string_view::npos;
}

constexpr std::string_view kHexDigits = "0123456789abcdef";

// As Random::Uuid writes it: "8f14e45f-ceea-467f-a0e6-c1a5b1b7d3aa".
bool IsUuid(std::string_view text) {
  constexpr std::size_t kLength = 36;
  if (text.size() != kLength) return false;
  for (std::size_t i = 0; i < kLength; ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (!AreAll(text.substr(i, 1), dash ? "-" : kHexDigits)) return false;
  }
  return true;
}

// What NewDigestKey makes, or half of it: with less, what it hides could be guessed.
bool IsDigestKey(std::string_view text) {
  constexpr std::size_t kFewest = 32;
  return text.size() >= kFewest && AreAll(text, kHexDigits);
}

// podctl writes addresses into commands for people to copy, and none but those of a spec ever into
// a state. Of a kind that is not known the caller says so.
bool CouldBeInSpec(const Address& address, RecordKinds kinds) {
  if (!address.deposed.empty() || !address.key.empty()) return false;
  return std::none_of(kinds.begin(), kinds.end(), [&](const RecordCodec* codec) {
    const std::string_view form = codec->form();
    return codec->kind() == address.kind &&
           std::count(form.begin(), form.end(), '.') !=
               std::count(address.name.begin(), address.name.end(), '.') + 1;
  });
}

// Below kFormatOfObjects what the objects say and the payload stood side by side.
AnyRecord RecordFromValue(Value& value, const std::string& address, int version,
                          const RecordCodec& codec, std::string& problem) {
  ObjectReader in(value, address, problem);
  AnyRecord record = codec.New();
  in.Text("type");  // looked at by the caller
  Record* objects = record.EditObjects();
  if (version >= kFormatOfObjects) {
    if (objects != nullptr) ReadRecord(in, address, objects, problem);
    ObjectReader payload = in.Inner(in.At("payload"), "payload");
    codec.ReadPayload(payload, version, &record);
    payload.RefuseUnknownMembers();
  } else {
    if (objects != nullptr) {
      ReadRecordBefore5(in, address, codec.old_locator(), objects, problem);
    }
    codec.ReadPayload(in, version, &record);
  }
  in.RefuseUnknownMembers();
  return record;
}

// Version 1 had no `wanted_node_id`, `replace_because` and `deposed`, versions below 3 no training
// jobs, versions below 4 wrote every member, empty or not, and versions below 5 had no objects.
State StateFromDocument(Value& document, RecordKinds kinds, std::string& problem) {
  ObjectReader in(document, "", problem);
  State state;
  const int version = static_cast<int>(in.Number("format_version", 1, kStateFormatVersion));
  in.Text("podctl_version");
  in.Text("checksum");
  state.lineage = in.Text("lineage");
  if (state.lineage.empty()) in.Fail("has an empty `lineage`");
  // It becomes a label of nodes, by which this state's are told from others'.
  if (!IsUuid(state.lineage)) in.Fail("has a `lineage` that is no UUID");
  state.serial = static_cast<std::uint64_t>(in.Number("serial", 0, std::int64_t{kMaxSerial}));
  state.digest_key = in.Text("digest_key");
  // A saved plan holds a state without it.
  if (!state.digest_key.empty() && !IsDigestKey(state.digest_key)) {
    in.Fail("has a `digest_key` that is none");
  }
  for (auto& [text, value] : in.Map("resources")) {
    const std::string type = std::as_const(value)["type"].AsString();
    auto address = ParseAddress(text);
    if (!address || !CouldBeInSpec(*address, kinds)) {
      in.Fail(
          fmt::format("has a resource `{}`, which is no address of a spec: names are of "
                      "letters, digits, - and _",
                      text));
    } else if (const RecordCodec* codec = CodecOf(kinds, type, version);
               codec != nullptr && type == address->kind) {
      state.records.emplace_hint(state.records.end(), *std::move(address),
                                 RecordFromValue(value, text, version, *codec, problem));
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

int VersionFor(const State& state) {
  int version = kFormatOfObjects;
  for (const auto& [address, record] : state.records) {
    version = std::max(version, record.codec().VersionOf(record));
  }
  return version;
}

StateHeader HeaderOf(const State& state) {
  return {VersionFor(state), PODCTL_VERSION, state.lineage, state.serial, state.digest_key};
}

// Members in the order a person wants to read them, not in the order of the alphabet.
std::string FirstLines(const StateHeader& header) {
  return fmt::format("{{\n  \"format_version\": {},\n  \"podctl_version\": \"{}\",\n",
                     header.format_version, header.podctl_version);
}

}  // namespace

std::string StateToJson(const State& state) {
  return StateText(state).Text();
}

std::string RecordToJson(const AnyRecord& record) {
  return CanonicalRecord(record);
}

Result<AnyRecord> RecordFromJson(std::string_view text, const Address& address, RecordKinds kinds,
                                 const std::string& origin) {
  Result<Value> value = ParseJson(text);
  if (!value) return Damaged(origin, value.error().message);
  const std::string type = std::as_const(*value)["type"].AsString();
  const RecordCodec* codec = CodecOf(kinds, type, kStateFormatVersion);
  if (codec == nullptr || type != address.kind) {
    return Damaged(origin, fmt::format("`{}` is of the wrong type `{}`", address, type));
  }
  std::string problem;
  AnyRecord record = RecordFromValue(*value, address.Text(), kStateFormatVersion, *codec, problem);
  if (!problem.empty()) return Damaged(origin, problem);
  return record;
}

std::string WhyUnreadable(const AnyRecord& record, const Address& address) {
  const RecordCodec* const own[] = {&record.codec()};
  if (ParseAddress(address.Text()) != address || !CouldBeInSpec(address, own)) {
    return "its address is none";
  }
  Result<Value> value = ParseJson(CanonicalRecord(record));
  if (!value) return value.error().message;
  std::string problem;
  RecordFromValue(*value, address.Text(), kStateFormatVersion, record.codec(), problem);
  return problem;
}

StateText::StateText(const State& state) : state_(state), resources_(CanonicalResources(state)) {}

bool StateText::SaidBy(std::string_view stored, RecordKinds kinds) const {
  const std::string_view begin = stored.substr(0, kMostHeaderBytes);
  const StateHeader header = HeaderOf(state_);
  if (begin.starts_with(FirstLines(header))) {
    // The checksum of an accepted text stands for its content.
    return begin.find(fmt::format("\n  \"checksum\": \"{}\",\n", ChecksumOf(header, resources_))) !=
           std::string_view::npos;
  }
  // Written by another podctl, or laid out anew: its checksum covers other words.
  Result<State> other = StateFromJson(stored, "", kinds);
  return other && *other == state_;
}

std::string StateText::Text() const {
  const StateHeader header = HeaderOf(state_);
  std::string text = FirstLines(header);
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

bool IsStateOfTerraform(const Value& document) {
  if (!document.is_map() || document["format_version"].is_int()) return false;
  return document["terraform_version"].is_string() || document["encrypted_data"].is_string() ||
         (document["version"].is_int() && document["lineage"].is_string());
}

Result<State> StateFromJson(std::string_view text, const std::string& origin, RecordKinds kinds,
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
  if (IsStateOfTerraform(*document)) {
    return MakeError(
        ErrorCode::kDataLoss,
        fmt::format("{} is a state of Terraform or OpenTofu, and none of podctl", origin),
        "podctl keeps a state of its own, in another place: `state:` in the spec, or "
        "--state.");
  }
  // Before anything else: what a newer podctl means by the other keys is not known here.
  if (const auto move = MoveOfDocument(*document)) return WhyMoved(*move, origin);
  const Value& version = (*document)["format_version"];
  if (version.is_int() && version.AsInt() > kStateFormatVersion) return TooNew(origin, *document);

  const bool whole = ChecksumHolds(text, *document);
  std::string problem;
  State state = StateFromDocument(*document, kinds, problem);
  // The more telling of the two first.
  if (!problem.empty()) return Damaged(origin, problem);
  if (!whole) return Damaged(origin, "its content does not match its checksum");
  if (const std::string shared = WhatIsShared(state); !shared.empty()) {
    return Damaged(origin, shared);
  }
  return state;
}

// Found by ObjectWriter.
static void PutMembers(const Intent& intent, ObjectWriter& out) {
  out.Member("begun_at", intent.begun_at);
  out.Member("operation", intent.operation);
  out.Spare("request_id", intent.request_id);
  out.Member("run", intent.run);
}

static void PutMembers(const Recovery& recovery, ObjectWriter& out) {
  out.Member("because", recovery.because);
  out.Member("done", recovery.done);
  out.Member("since", recovery.since);
  out.Member("times", recovery.times);
}

namespace {

// A typical pod with four workers takes this much.
constexpr std::size_t kBytesARecord = 4096;

struct ObjectInRole {
  const Object& object;
  std::string_view role;
};

void PutMembers(const ObjectInRole& it, ObjectWriter& out) {
  const Life& life = it.object.life;
  if (const Intent* intent = IntentOf(life)) out.Member("intent", *intent);
  out.Member("life", LifeName(life));
  out.Member("locator", it.object.locator);
  out.Member("role", it.role);
  const bool open =
      std::holds_alternative<Creating>(life) || std::holds_alternative<Deleting>(life);
  if (open) out.Member("seen", it.object.exists());
  out.Spare("uid", it.object.uid);
}

std::vector<ObjectInRole> ObjectsOf(const Record& record) {
  std::vector<ObjectInRole> objects = {{record.current, kCurrentRole}};
  for (const Object& object : record.deposed) objects.push_back({object, kDeposedRole});
  for (const Object& object : record.auxiliary) objects.push_back({object, kAuxiliaryRole});
  return objects;
}

void PutMembers(const Goal& goal, ObjectWriter& out) {
  if (const auto* recovering = std::get_if<Recovering>(&goal)) {
    out.Member("because", recovering->because);
    out.Member("goal", GoalName(goal));
    out.Spare("replace_because", recovering->replace_because);
    out.Spare("seeking_since", recovering->seeking_since);
    out.Member("since", recovering->since);
  } else if (const auto* replacing = std::get_if<Replacing>(&goal)) {
    out.Member("because", replacing->because);
    out.Member("goal", GoalName(goal));
    out.Spare("seeking_since", replacing->seeking_since);
  } else {
    out.Member("goal", GoalName(goal));
    if (const auto* seeking = std::get_if<Seeking>(&goal)) out.Member("since", seeking->since);
  }
}

void PutRecord(const AnyRecord& record, std::string* text) {
  ObjectWriter out(text);
  const Record* known = record.objects();
  if (known != nullptr && !std::holds_alternative<Settled>(known->goal)) {
    ObjectWriter goal(out.Key("goal"));
    PutMembers(known->goal, goal);
  }
  if (known != nullptr) out.Member("objects", ObjectsOf(*known));
  {
    ObjectWriter payload(out.Key("payload"));
    record.codec().WritePayload(record, payload);
  }
  if (known != nullptr && known->recovered) out.Member("recovered", *known->recovered);
  out.Member("type", record.codec().kind());
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
  std::string text;
  text.reserve(state.records.size() * kBytesARecord);
  {
    ObjectWriter out(&text);
    for (const auto& [address, record] : state.records) PutRecord(record, out.Key(address.Text()));
  }
  return text;
}

std::string CanonicalRecord(const AnyRecord& record) {
  std::string text;
  PutRecord(record, &text);
  return text;
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

namespace {

Intent ReadIntent(ObjectReader& in) {
  Intent intent;
  intent.operation = in.Text("operation");
  intent.begun_at = in.Text("begun_at");
  intent.run = static_cast<std::uint64_t>(in.Number("run", 0, INT64_MAX));
  intent.request_id = in.SpareText("request_id");
  return intent;
}

Intent IntentFromValue(Value& value, const std::string& where, std::string& problem) {
  ObjectReader in(value, where, problem);
  Intent intent = ReadIntent(in);
  in.RefuseUnknownMembers();
  return intent;
}

Life ReadLife(ObjectReader& in, const std::string& where, std::string& problem) {
  const std::string word = in.Text("life");
  const auto intent = [&] { return IntentFromValue(in.At("intent"), where + ".intent", problem); };
  if (word == LifeName(Absent{})) return Absent{};
  if (word == LifeName(Present{})) return Present{};
  if (word == LifeName(Changing{})) return Changing{intent()};
  if (word == LifeName(Creating{})) return Creating{intent(), in.Flag("seen")};
  if (word == LifeName(Deleting{})) return Deleting{intent(), in.Flag("seen")};
  in.Fail(fmt::format("has an unknown `life`, `{}`", word));
  return Absent{};
}

Goal GoalFromValue(Value& value, const std::string& where, std::string& problem) {
  ObjectReader in(value, where, problem);
  const std::string word = in.Text("goal");
  Goal goal;
  if (word == GoalName(Seeking{})) {
    goal = Seeking{in.Text("since")};
  } else if (word == GoalName(Recovering{})) {
    Recovering recovering{in.Text("because"), in.Text("since")};
    recovering.seeking_since = in.SpareText("seeking_since");
    recovering.replace_because = in.SpareText("replace_because");
    goal = std::move(recovering);
  } else if (word == GoalName(Replacing{})) {
    Replacing replacing{in.Text("because")};
    replacing.seeking_since = in.SpareText("seeking_since");
    goal = std::move(replacing);
  } else if (word == GoalName(Leaving{})) {
    goal = Leaving{};
  } else {
    in.Fail(fmt::format("is unknown: `{}`", word));
  }
  in.RefuseUnknownMembers();
  return goal;
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

// ---- Before version 5.

PendingAction PendingFromValue(Value& value, const std::string& where, std::string& problem) {
  ObjectReader in(value, where, problem);
  const std::string kind = in.Text("kind");
  PendingAction pending(PendingAction::Kind::kCreate, ReadIntent(in));
  bool known = false;
  for (auto candidate :
       {PendingAction::Kind::kCreate, PendingAction::Kind::kPatch, PendingAction::Kind::kDelete}) {
    if (PendingKindName(candidate) != kind) continue;
    pending.kind = candidate;
    known = true;
  }
  if (!known) in.Fail(fmt::format("has an unknown kind `{}`", kind));
  in.RefuseUnknownMembers();
  return pending;
}

Life LifeOf(const std::optional<PendingAction>& pending, bool exists) {
  if (!pending) return exists ? Life(Present{}) : Life(Absent{});
  switch (pending->kind) {
    case PendingAction::Kind::kCreate:
      return Creating{*pending, exists};
    case PendingAction::Kind::kPatch:
      return Changing{*pending};
    case PendingAction::Kind::kDelete:
      return Deleting{*pending, exists};
  }
  return Absent{};
}

std::optional<PendingAction> SparePending(ObjectReader& in, const std::string& where,
                                          std::string& problem) {
  Value* pending = in.Optional("pending");
  if (pending == nullptr) return std::nullopt;
  return PendingFromValue(*pending, where + ".pending", problem);
}

bool IsCreate(const std::optional<PendingAction>& pending) {
  return pending && pending->kind == PendingAction::Kind::kCreate;
}

void ReadDeposed(Value::List& list, const std::string& where, Record* record,
                 std::string& problem) {
  for (Value& value : list) {
    ObjectReader in(value, where, problem);
    Object& object = record->deposed.emplace_back();
    object.locator = in.Text("node_id");
    object.uid = in.Text("uid");
    object.life = LifeOf(SparePending(in, where, problem), true);
    in.RefuseUnknownMembers();
  }
}

}  // namespace

std::string_view PendingKindName(PendingAction::Kind kind) {
  constexpr std::string_view kNames[] = {"create", "patch", "delete"};
  return kNames[static_cast<std::size_t>(kind)];
}

void ReadRecord(ObjectReader& in, const std::string& address, Record* record,
                std::string& problem) {
  bool has_current = false;
  for (Value& value : in.List("objects")) {
    ObjectReader one(value, address + ".objects", problem);
    const std::string role = one.Text("role");
    Object object;
    object.locator = one.Text("locator");
    object.uid = one.SpareText("uid");
    object.life = ReadLife(one, address + ".objects", problem);
    one.RefuseUnknownMembers();
    if (role == kCurrentRole && !has_current) {
      record->current = std::move(object);
      has_current = true;
    } else if (role == kDeposedRole) {
      record->deposed.push_back(std::move(object));
    } else if (role == kAuxiliaryRole) {
      record->auxiliary.push_back(std::move(object));
    } else {
      one.Fail(fmt::format("has an object too many, or of an unknown role: `{}`", role));
    }
  }
  if (!has_current) in.Fail("has no current object");
  if (Value* goal = in.Optional("goal")) {
    record->goal = GoalFromValue(*goal, address + ".goal", problem);
  }
  if (Value* recovered = in.Optional("recovered")) {
    record->recovered = RecoveryFromValue(*recovered, address + ".recovered", problem);
  }
  // What stands for nothing is no damage: the next run forgets it.
  const std::string_view why = WhatCannotBe(*record);
  if (!why.empty() && !IsEmpty(*record)) in.Fail(std::string(why));
}

void ReadRecordBefore5(ObjectReader& in, const std::string& address, std::string_view locator,
                       Record* record, std::string& problem) {
  record->current.locator = in.Text(locator);
  record->current.uid = in.SpareText("uid");
  const bool exists = in.IsThere("exists") ? in.Flag("exists") : !record->current.locator.empty();
  const auto pending = SparePending(in, address, problem);
  const bool queued = in.IsThere("queued");
  if (queued && !(pending && pending->kind == PendingAction::Kind::kPatch)) {
    // What was under way was the queued resource's; its node comes and goes with it.
    record->current.life = LifeOf(std::nullopt, exists);
    record->auxiliary.push_back(
        {in.TextIn("queued", "id"), "", LifeOf(pending, !IsCreate(pending))});
  } else {
    record->current.life = LifeOf(pending, exists);
    if (queued) record->auxiliary.push_back({in.TextIn("queued", "id"), "", Present{}});
  }
  if (in.IsThere("deposed")) {
    ReadDeposed(in.List("deposed"), address + ".deposed", record, problem);
  }
  const std::string because = in.SpareText("replace_because");
  if (!because.empty()) WantReplacement(because, record);
  if (Value* value = in.Optional("recovery")) {
    Recovery recovery = RecoveryFromValue(*value, address + ".recovery", problem);
    if (!recovery.done.empty()) {
      record->recovered = std::move(recovery);
    } else {
      BeginRecovery(recovery.because, recovery.since, record);
      // The one before it was not kept, but that there was one.
      if (recovery.times > 1) record->recovered = Recovery{"", "", "", recovery.times - 1};
    }
  }
  const std::string since = in.SpareText("capacity_since");
  if (!since.empty()) Seek(since, record);
}

}  // namespace podctl
