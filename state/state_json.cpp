#include "state/state_json.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "state/object_reader.h"
#include "state/record_codec.h"
#include "state/record_json.h"
#include "state/shared_objects.h"
#include "state/state_writer.h"

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
  state.serial = static_cast<std::uint64_t>(in.Number("serial", 0, INT64_MAX));
  state.digest_key = in.Text("digest_key");
  for (auto& [text, value] : in.Map("resources")) {
    const std::string type = std::as_const(value)["type"].AsString();
    auto address = ParseAddress(text);
    if (!address) {
      in.Fail(fmt::format("has a resource `{}`, which is no address", text));
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

StateText::StateText(const State& state) : state_(state), resources_(CanonicalResources(state)) {}

bool StateText::SaidBy(std::string_view stored, RecordKinds kinds) const {
  const std::string_view begin = stored.substr(0, kMostHeaderBytes);
  if (begin.starts_with(FirstLines())) {
    // The checksum of an accepted text stands for its content.
    return begin.find(fmt::format("\n  \"checksum\": \"{}\",\n",
                                  ChecksumOf(HeaderOf(state_), resources_))) !=
           std::string_view::npos;
  }
  // Written by another podctl, or laid out anew: its checksum covers other words.
  Result<State> other = StateFromJson(stored, "", kinds);
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
  // Before anything else: what a newer podctl means by the other keys is not known here.
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

}  // namespace podctl
