#include "state/stores/journal_format.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "providers/base/digest.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "state/object_json.h"
#include "state/state_json.h"

namespace podctl {
namespace {

constexpr std::string_view kEntryPrefix = "journal/";
constexpr std::string_view kEntrySuffix = ".json";
constexpr std::size_t kNumberDigits = 12;  // so that names sort as numbers do
constexpr std::string_view kSumBegin = ",\"checksum\":\"sha256:";
constexpr std::string_view kSumEnd = "\"}\n";
constexpr std::size_t kSumDigits = 64;
constexpr std::string_view kHeadBegin = "{\"journal\":";
constexpr std::string_view kStateBegin = ",\n\"state\":\n";
constexpr std::string_view kSnapshotEnd = "}\n";

constexpr std::pair<const char*, std::string Provenance::*> kProvenanceTexts[] = {
    {"who", &Provenance::who},         {"operation", &Provenance::operation},
    {"command", &Provenance::command}, {"podctl", &Provenance::podctl},
    {"commit", &Provenance::commit},   {"ci", &Provenance::ci},
    {"run_url", &Provenance::run_url}, {"run_id", &Provenance::run_id},
    {"attempt", &Provenance::attempt}};

// What a text from elsewhere says, of any length, for a message.
std::string ShownOf(const std::string& text) {
  constexpr std::size_t kMostBytes = 500;
  return VisibleControls(text.size() <= kMostBytes ? text : text.substr(0, kMostBytes) + "…");
}

std::optional<std::uint64_t> NumberIn(std::string_view digits) {
  std::uint64_t number = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (code != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

Value ProvenanceToValue(const Provenance& run) {
  Value out = Value::EmptyMap();
  for (const auto& [name, member] : kProvenanceTexts) {
    if (!(run.*member).empty()) out.Set(name, run.*member);
  }
  if (run.dirty) out.Set("dirty", true);
  return out;
}

Provenance ProvenanceFromValue(const Value& value) {
  Provenance run;
  for (const auto& [name, member] : kProvenanceTexts) run.*member = value[name].AsString();
  run.dirty = value["dirty"].AsBool();
  return run;
}

Value NeededFormat(bool tells_move) {
  Value out = Value::EmptyMap();
  out.Set("format", tells_move ? kJournalFormatOfMoves : kJournalFormat);
  out.Set("podctl", PODCTL_VERSION);
  return out;
}

std::optional<Error> WhyTooNew(const Value& needed, const std::string& where,
                               const std::string& name) {
  if (needed["format"].AsInt() <= kJournalFormatOfMoves) return std::nullopt;
  const std::string& writer = needed["podctl"].AsString();
  return MakeError(
      ErrorCode::kUnimplemented,
      fmt::format("the state {} is kept in format {} ({}), and this podctl ({}) knows up to "
                  "format {}",
                  where, needed["format"].AsInt(), name, PODCTL_VERSION, kJournalFormatOfMoves),
      writer.empty() ? "Use the podctl that wrote it."
                     : fmt::format("Use podctl {} or newer.", ShownOf(writer)));
}

std::uint64_t TakeCount(ObjectReader& in, std::string_view key) {
  return static_cast<std::uint64_t>(in.Number(key, 0, INT64_MAX));
}

Value IdToValue(const EntryId& id) {
  Value out = Value::EmptyMap();
  out.Set("number", id.number);
  out.Set("write_id", id.write_id);
  return out;
}

Value EntryHead(const JournalEntry& entry) {
  Value head = IdToValue(entry.id);
  head.Set("needs", NeededFormat(entry.move.has_value()));
  head.Set("previous", entry.previous);
  head.Set("epoch", entry.epoch);
  if (entry.fence) {
    head.Set("fence", true);
    head.Set("run", ProvenanceToValue(entry.run));
  }
  if (entry.reset) head.Set("reset", true);
  if (entry.move) head.Set("move", MoveToValue(*entry.move));
  head.Set("lineage", entry.lineage);
  if (!entry.replaces.empty()) head.Set("replaces", entry.replaces);
  head.Set("serial", entry.serial);
  head.Set("digest_key", entry.digest_key);
  head.Set("saved_at", entry.saved_at);
  return head;
}

// The part of an entry's text that its checksum covers; empty: it is not the checksum of it.
std::string_view SummedPart(std::string_view text) {
  const std::size_t tail = kSumBegin.size() + kSumDigits + kSumEnd.size();
  if (text.size() < tail || !text.ends_with(kSumEnd)) return {};
  const std::string_view part = text.substr(0, text.size() - tail);
  const std::string_view sum = text.substr(part.size());
  if (!sum.starts_with(kSumBegin)) return {};
  return sum.substr(kSumBegin.size(), kSumDigits) == Sha256Hex(part) ? part : std::string_view();
}

void ReadEntryHead(ObjectReader& in, JournalEntry* entry) {
  entry->id = {TakeCount(in, "number"), in.Text("write_id")};
  entry->previous = in.Text("previous");
  entry->epoch = TakeCount(in, "epoch");
  entry->fence = in.SpareFlag("fence");
  entry->reset = in.SpareFlag("reset");
  entry->lineage = in.Text("lineage");
  entry->replaces = in.SpareText("replaces");
  entry->serial = static_cast<std::uint64_t>(in.Number("serial", 0, std::int64_t{kMaxSerial}));
  entry->digest_key = in.Text("digest_key");
  entry->saved_at = in.Text("saved_at");
}

Value SnapshotHead(const JournalSnapshot& snapshot) {
  Value head = Value::EmptyMap();
  head.Set("write_id", snapshot.write_id);
  head.Set("least_reader", NeededFormat(snapshot.move.has_value()));
  head.Set("least_writer", NeededFormat(snapshot.move.has_value()));
  head.Set("last", IdToValue(snapshot.last));
  head.Set("journal_from", snapshot.journal_from);
  head.Set("epoch", snapshot.epoch);
  head.Set("saved_at", snapshot.saved_at);
  head.Set("run", ProvenanceToValue(snapshot.run));
  head.Set("deleted_before", snapshot.deleted_before);
  Value fences = Value::EmptyList();
  for (const std::uint64_t fence : snapshot.fences) fences.MutableList().emplace_back(fence);
  head.Set("fences", std::move(fences));
  Value covers = Value::EmptyList();
  for (const SnapshotCover& cover : snapshot.covers) {
    Value one = Value::EmptyMap();
    one.Set("before", cover.before);
    one.Set(
        "at_ms",
        static_cast<std::int64_t>(
            std::chrono::floor<std::chrono::milliseconds>(cover.at.time_since_epoch()).count()));
    covers.MutableList().push_back(std::move(one));
  }
  head.Set("covers", std::move(covers));
  if (snapshot.move) head.Set("move", MoveToValue(*snapshot.move));
  return head;
}

void ReadSnapshotHead(Value& value, JournalSnapshot* snapshot, std::string& problem) {
  ObjectReader in(value, "", problem);
  snapshot->write_id = in.Text("write_id");
  Value& last = in.At("last");
  ObjectReader id = in.Inner(last, "last");
  snapshot->last = {TakeCount(id, "number"), id.Text("write_id")};
  snapshot->journal_from = TakeCount(in, "journal_from");
  snapshot->epoch = TakeCount(in, "epoch");
  snapshot->saved_at = in.Text("saved_at");
  snapshot->run = ProvenanceFromValue(in.At("run"));
  snapshot->move = MoveFromValue(std::as_const(value)["move"]);
  snapshot->deleted_before = TakeCount(in, "deleted_before");
  for (const Value& fence : in.List("fences")) {
    if (!fence.is_int() || fence.AsInt() < 0) in.Fail("has a fence that is no number");
    snapshot->fences.push_back(static_cast<std::uint64_t>(fence.AsInt()));
  }
  for (Value& one : in.List("covers")) {
    ObjectReader cover = in.Inner(one, "covers");
    const std::uint64_t before = TakeCount(cover, "before");
    const std::int64_t at = cover.Number("at_ms", INT64_MIN / 2000000, INT64_MAX / 2000000);
    snapshot->covers.push_back(
        {before, std::chrono::system_clock::time_point(std::chrono::milliseconds(at))});
  }
}

// Head and state of a snapshot's text. As podctl lays it out, the state is not parsed on the way.
struct SnapshotParts {
  Value head;
  std::string laid_out;    // holds `state` where the text is laid out in another way
  std::string_view state;  // "null\n": none
};

Result<SnapshotParts> PartsOf(std::string_view text) {
  SnapshotParts parts;
  const std::size_t end = text.find('\n');
  const std::size_t cut = end == std::string_view::npos || end == 0 ? 0 : end - 1;
  if (text.starts_with(kHeadBegin) && text.substr(cut).starts_with(kStateBegin) &&
      text.ends_with(kSnapshotEnd)) {
    Result<Value> head = ParseJson(text.substr(kHeadBegin.size(), cut - kHeadBegin.size()));
    if (!head) return head.error();
    parts.head = *std::move(head);
    parts.state = text.substr(cut + kStateBegin.size());
    parts.state.remove_suffix(std::min(kSnapshotEnd.size(), parts.state.size()));
    return parts;
  }
  Result<Value> document = ParseJson(text);
  if (!document) return document.error();
  parts.head = (*document)["journal"];
  if (!parts.head.is_map() || document->Find("state") == nullptr) {
    return MakeError(ErrorCode::kInvalidArgument, "it is no snapshot of podctl");
  }
  parts.laid_out = ToJson((*document)["state"]) + "\n";
  return parts;
}

}  // namespace

Error DamagedJournal(const std::string& where, const std::string& name, const std::string& what) {
  return MakeError(
      ErrorCode::kDataLoss,
      fmt::format("the state {} is damaged: {} {}", where, name, ShownOf(what)),
      "Bring that object back from a version of it that the place keeps, or put a good state "
      "there: `podctl state history` lists the generations kept, `podctl state restore` takes "
      "one. podctl never takes a damaged state for an empty one; without the state it would not "
      "know the pods it made.");
}

std::string EntryName(std::uint64_t number) {
  return fmt::format("{}{:0{}}{}", kEntryPrefix, number, kNumberDigits, kEntrySuffix);
}

std::optional<std::uint64_t> EntryNumber(std::string_view name) {
  if (!name.starts_with(kEntryPrefix) || !name.ends_with(kEntrySuffix) ||
      name.size() != kEntryPrefix.size() + kNumberDigits + kEntrySuffix.size()) {
    return std::nullopt;
  }
  return NumberIn(name.substr(kEntryPrefix.size(), kNumberDigits));
}

std::string HistoryName(std::uint64_t number, std::uint64_t serial) {
  return fmt::format("{}{:0{}}-{}{}", kHistoryPrefix, number, kNumberDigits, serial, kEntrySuffix);
}

std::optional<std::uint64_t> HistorySerial(std::string_view name) {
  const std::string_view prefix = kHistoryPrefix;
  const std::size_t begin = prefix.size() + kNumberDigits + 1;
  if (!name.starts_with(prefix) || !name.ends_with(kEntrySuffix) ||
      name.size() <= begin + kEntrySuffix.size() || name[begin - 1] != '-') {
    return std::nullopt;
  }
  return NumberIn(name.substr(begin, name.size() - begin - kEntrySuffix.size()));
}

std::string EntryText(const JournalEntry& entry) {
  std::string text = "{\"entry\":" + ToJson(EntryHead(entry)) + ",\"changes\":{";
  bool first = true;
  for (const RecordChange& change : entry.changes) {
    if (!std::exchange(first, false)) text += ',';
    AppendJsonText(change.address.Text(), &text);
    text += ':';
    text += change.after ? RecordToJson(*change.after) : "null";
  }
  text += '}';
  const std::string sum = Sha256Hex(text);
  text += kSumBegin;
  text += sum;
  return text += kSumEnd;
}

Result<JournalEntry> EntryFromText(std::string_view text, std::uint64_t number, RecordKinds kinds,
                                   const std::string& where) {
  const std::string name = EntryName(number);
  if (text.empty()) return DamagedJournal(where, name, "is empty");
  Result<Value> document = ParseJson(text);
  if (document) {
    if (auto too_new = WhyTooNew((*document)["entry"]["needs"], where, name)) return *too_new;
  }
  if (SummedPart(text).empty() || !document) {
    return DamagedJournal(where, name, "is cut, changed or not podctl's");
  }
  JournalEntry entry;
  std::string problem;
  Value head = (*document)["entry"];
  ObjectReader in(head, "entry", problem);
  ReadEntryHead(in, &entry);
  for (const char* object : {"run", "move"}) {
    if (in.IsThere(object)) (void)in.Map(object);
  }
  entry.run = ProvenanceFromValue(head["run"]);
  entry.move = MoveFromValue(head["move"]);
  // With other changes than were written, or none, it would still follow the entry before it.
  if (!(*document)["changes"].is_map()) {
    return DamagedJournal(where, name, "cannot be read: `changes` is not an object");
  }
  for (const auto& [address_text, record_text] : (*document)["changes"].AsMap()) {
    const auto address = ParseAddress(address_text);
    if (!address) return DamagedJournal(where, name, "names what is no address");
    RecordChange& change = entry.changes.emplace_back(RecordChange{*address, {}, {}});
    if (record_text.is_null()) continue;
    auto record = RecordFromJson(ToJson(record_text), *address, kinds, where + ", " + name);
    if (!record) return record.error();
    change.after = *std::move(record);
  }
  if (!problem.empty()) return DamagedJournal(where, name, "cannot be read: " + problem);
  if (entry.id.number != number) {
    return DamagedJournal(where, name, fmt::format("holds entry {}", entry.id.number));
  }
  return entry;
}

std::string SnapshotText(const JournalSnapshot& snapshot) {
  Value head = SnapshotHead(snapshot);
  head.Set("checksum", "sha256:" + Sha256Hex(ToJson(head)));
  std::string text(kHeadBegin);
  text += ToJson(head);
  text += kStateBegin;
  text += snapshot.state ? StateToJson(*snapshot.state) : "null\n";
  return text += kSnapshotEnd;
}

Result<JournalSnapshot> SnapshotFromText(std::string_view text, const std::string& name,
                                         RecordKinds kinds, const std::string& where) {
  if (text.empty()) return DamagedJournal(where, name, "is empty");
  Result<SnapshotParts> parts = PartsOf(text);
  if (!parts) return DamagedJournal(where, name, "cannot be read: " + parts.error().message);
  if (auto too_new = WhyTooNew(parts->head["least_reader"], where, name)) return *too_new;
  const std::string sum = parts->head["checksum"].AsString();
  parts->head.Erase("checksum");
  if (sum != "sha256:" + Sha256Hex(ToJson(parts->head))) {
    return DamagedJournal(where, name, "does not match its checksum");
  }
  JournalSnapshot snapshot;
  std::string problem;
  ReadSnapshotHead(parts->head, &snapshot, problem);
  if (!problem.empty()) return DamagedJournal(where, name, "cannot be read: " + problem);
  const std::string_view state = parts->laid_out.empty() ? parts->state : parts->laid_out;
  if (state != "null\n") {
    Result<State> read = StateFromJson(state, where + ", " + name, kinds);
    if (!read) return read.error();
    // With a new one each sensitive value would look as if it were another.
    if (read->digest_key.empty()) return DamagedJournal(where, name, "has an empty `digest_key`");
    snapshot.state = *std::move(read);
  }
  snapshot.read_only = WhyTooNew(parts->head["least_writer"], where, name);
  return snapshot;
}

}  // namespace podctl
