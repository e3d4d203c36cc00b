#include "state/stores/journal_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "state/stores/lease.h"

namespace podctl {
namespace {

// A reader that is overtaken by a snapshot each time it reads would have to be slower than a run.
constexpr int kMostRounds = 8;

const BlobEntry* FindSnapshot(const std::vector<BlobEntry>& list) {
  const auto found = std::find_if(
      list.begin(), list.end(), [](const BlobEntry& entry) { return entry.name == kSnapshotName; });
  return found == list.end() ? nullptr : &*found;
}

bool IsVersion(const std::optional<BlobVersion>& known, const BlobEntry* listed) {
  return listed == nullptr ? !known.has_value() : known == listed->version;
}

}  // namespace

Result<void> JournalView::Follow(const JournalEntry& entry, std::uint64_t bytes,
                                 const std::string& where) {
  const std::string name = EntryName(entry.id.number);
  const bool own_epoch = entry.epoch == epoch + (entry.fence ? 1 : 0);
  // One that puts a damaged past aside may not know how far that went.
  if (!entry.reset && (entry.previous != last.write_id || !own_epoch)) {
    return DamagedJournal(where, name, "does not follow the entry before it");
  }
  if (!entry.reset && state && entry.lineage != state->lineage &&
      entry.replaces != state->lineage) {
    return DamagedJournal(
        where, name,
        fmt::format("is of the state with lineage {}, and what it follows of that "
                    "with lineage {}",
                    entry.lineage, state->lineage));
  }
  const bool changes_nothing = entry.changes.empty() && state && entry.lineage == state->lineage &&
                               entry.digest_key == state->digest_key;
  const std::uint64_t serial = state ? state->serial : 0;
  if (!entry.reset && (changes_nothing ? entry.serial < serial : entry.serial <= serial)) {
    return DamagedJournal(where, name,
                          fmt::format("has serial {} after serial {}", entry.serial, serial));
  }
  if (entry.fence) {
    if (state) ended.push_back({last, saved_at, run, epoch, *state});
    fences.push_back(entry.id.number);
    run = entry.run;
  }
  last = entry.id;
  epoch = entry.epoch;
  saved_at = entry.saved_at;
  move = entry.move;
  ++entries;
  entry_bytes += bytes;
  if (entry.reset) {
    state.reset();
    return {};
  }
  if (!state) state.emplace();
  state->lineage = entry.lineage;
  state->serial = entry.serial;
  state->digest_key = entry.digest_key;
  Apply(entry.changes, &*state);
  return {};
}

Result<std::optional<Blob>> JournalReader::Get(const std::string& name) {
  return AskUntilAnswered(RequestPauses(clock_, random_, patience_, on_pause_), {},
                          [&] { return blobs_.Get(name, {}); });
}

Result<std::vector<BlobEntry>> JournalReader::ListFrom(const std::string& name) {
  // In the order of names the snapshot comes after the entries, so its version is never older than
  // what is listed of them.
  return AskUntilAnswered(RequestPauses(clock_, random_, patience_, on_pause_), {},
                          [&] { return blobs_.ListFrom("", name, {}); });
}

Result<std::optional<JournalEntry>> JournalReader::Entry(std::uint64_t number,
                                                         std::uint64_t* bytes) {
  Result<std::optional<Blob>> blob = Get(EntryName(number));
  if (!blob) return blob.error();
  if (!*blob) return std::optional<JournalEntry>();
  *bytes = (*blob)->bytes.size();
  auto entry = EntryFromText((*blob)->bytes, number, kinds_, blobs_.Where());
  if (!entry) return entry.error();
  return std::optional<JournalEntry>(*std::move(entry));
}

Result<JournalView> JournalReader::ReadSnapshot() {
  Result<std::optional<Blob>> blob = Get(kSnapshotName);
  if (!blob) return blob.error();
  JournalView view;
  if (!*blob) return view;
  auto snapshot = SnapshotFromText((*blob)->bytes, kSnapshotName, kinds_, blobs_.Where());
  if (!snapshot) return snapshot.error();
  view.state = std::exchange(snapshot->state, std::nullopt);
  view.last = snapshot->last;
  view.epoch = snapshot->epoch;
  view.saved_at = snapshot->saved_at;
  view.run = snapshot->run;
  view.move = snapshot->move;
  view.snapshot_bytes = (*blob)->bytes.size();
  view.snapshot_version = (*blob)->version;
  view.snapshot = *std::move(snapshot);
  if (view.last.number + 1 != view.snapshot.journal_from) {
    return DamagedJournal(blobs_.Where(), kSnapshotName,
                          fmt::format("ends with entry {} and is to be read on from entry {}",
                                      view.last.number, view.snapshot.journal_from));
  }
  return view;
}

// Entry `number` is in no list, but later ones are.
Result<JournalReader::Round> JournalReader::MissingEntry(const JournalView& view,
                                                         std::uint64_t number) {
  // A list may lack what was written while it was made.
  Result<std::optional<Blob>> entry = Get(EntryName(number));
  if (!entry) return entry.error();
  if (*entry) return Round::kDone;
  Result<std::optional<Blob>> snapshot = Get(kSnapshotName);
  if (!snapshot) return snapshot.error();
  const auto version = *snapshot ? std::optional<BlobVersion>((*snapshot)->version) : std::nullopt;
  if (version != view.snapshot_version) return Round::kStartOver;
  return DamagedJournal(blobs_.Where(), EntryName(number), "is missing, and later ones are there");
}

Result<JournalReader::Round> JournalReader::FollowList(const std::vector<BlobEntry>& list,
                                                       JournalView* view) {
  for (const BlobEntry& listed : list) {
    const std::optional<std::uint64_t> number = EntryNumber(listed.name);
    if (!number || *number <= view->last.number) continue;
    while (view->last.number < *number) {
      const std::uint64_t next = view->last.number + 1;
      if (next != *number) {
        Result<Round> missing = MissingEntry(*view, next);
        if (!missing || *missing == Round::kStartOver) return missing;
      }
      std::uint64_t bytes = 0;
      Result<std::optional<JournalEntry>> entry = Entry(next, &bytes);
      if (!entry) return entry.error();
      if (!*entry) return Round::kStartOver;  // covered and deleted since the list
      if (auto followed = view->Follow(**entry, bytes, blobs_.Where()); !followed) {
        return followed.error();
      }
    }
  }
  return Round::kDone;
}

Result<JournalReader::Round> JournalReader::FollowEntries(JournalView* view) {
  Result<std::vector<BlobEntry>> list = ListFrom(EntryName(view->last.number + 1));
  if (!list) return list.error();
  const BlobEntry* snapshot = FindSnapshot(*list);
  if (!IsVersion(view->snapshot_version, snapshot)) return Round::kStartOver;
  if (snapshot != nullptr) view->snapshot_written = snapshot->written;
  view->locked = std::any_of(list->begin(), list->end(),
                             [](const BlobEntry& entry) { return entry.name == kLeaseName; });
  return FollowList(*list, view);
}

Result<JournalView> JournalReader::Read() {
  for (int round = 0; round < kMostRounds; ++round) {
    Result<JournalView> view = ReadSnapshot();
    if (!view) return view;
    Result<Round> followed = FollowEntries(&*view);
    if (!followed) return followed.error();
    if (*followed == Round::kDone) return view;
  }
  return MakeError(
      ErrorCode::kUnavailable,
      fmt::format("the state {} is replaced faster than it can be read", blobs_.Where()),
      "Try again.");
}

Result<void> JournalReader::Refresh(JournalView* view) {
  JournalView next = *view;
  Result<Round> followed = FollowEntries(&next);
  if (!followed) return followed.error();
  if (*followed == Round::kStartOver) {
    Result<JournalView> whole = Read();
    if (!whole) return whole.error();
    next = *std::move(whole);
  }
  *view = std::move(next);
  return {};
}

}  // namespace podctl
