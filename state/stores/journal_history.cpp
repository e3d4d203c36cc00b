// What a JournalStore keeps beside the state: how earlier runs left it, what could not be saved at
// all, and what was found damaged.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "state/state_json.h"
#include "state/stores/aside_file.h"
#include "state/stores/journal_store.h"

namespace podctl {
namespace {

constexpr int kMostAsideNames = 10;  // that are found taken before it is given up
constexpr std::chrono::milliseconds kAsidePatience{5000};

}  // namespace

// The newest first.
Result<std::vector<BlobEntry>> JournalStore::ListHistory() {
  Result<std::vector<BlobEntry>> list =
      AskUntilAnswered(Pauses(), {}, [&] { return blobs_.ListFrom(kHistoryPrefix, "", {}); });
  if (!list) return list;
  std::erase_if(*list, [](const BlobEntry& entry) { return !HistorySerial(entry.name); });
  std::reverse(list->begin(), list->end());
  return list;
}

void JournalStore::PruneHistory() {
  if (options_.keep == 0) return;
  Result<std::vector<BlobEntry>> list = ListHistory();
  if (!list) return;  // one too many costs space and nothing else
  for (std::size_t i = options_.keep; i < list->size(); ++i) {
    if (!blobs_.DeleteIf((*list)[i].name, (*list)[i].version, {})) return;
  }
}

Result<std::vector<HistoryEntry>> JournalStore::History() {
  Result<std::vector<BlobEntry>> list = ListHistory();
  if (!list) return list.error();
  std::vector<HistoryEntry> entries;
  for (const BlobEntry& kept : *list) {
    Result<std::optional<Blob>> blob =
        AskUntilAnswered(Pauses(), {}, [&] { return blobs_.Get(kept.name, {}); });
    if (!blob) return blob.error();
    if (!*blob) continue;  // a run that ended meanwhile keeps newer ones
    HistoryEntry entry;
    entry.serial = *HistorySerial(kept.name);
    auto snapshot = SnapshotFromText((*blob)->bytes, kept.name, kinds_, Where());
    if (snapshot && snapshot->state) {
      entry.saved_at = snapshot->saved_at;
      entry.bytes = (*blob)->bytes.size();
      entry.records = RecordCounts(*snapshot->state);
      entry.lineage = snapshot->state->lineage;
      entry.remarks = Remarks(*snapshot->state);
      entry.run = snapshot->run;
    } else {
      entry.problem = snapshot ? "it holds no state" : snapshot.error().message;
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<State> JournalStore::LoadHistory(std::uint64_t serial) {
  Result<std::vector<BlobEntry>> list = ListHistory();
  if (!list) return list.error();
  for (const BlobEntry& kept : *list) {
    if (HistorySerial(kept.name) != serial) continue;
    Result<std::optional<Blob>> blob =
        AskUntilAnswered(Pauses(), {}, [&] { return blobs_.Get(kept.name, {}); });
    if (!blob) return blob.error();
    if (!*blob) continue;
    auto snapshot = SnapshotFromText((*blob)->bytes, kept.name, kinds_, Where());
    if (!snapshot) return snapshot.error();
    if (snapshot->state) return *std::move(snapshot->state);
  }
  return MakeError(ErrorCode::kNotFound,
                   fmt::format("generation {} of the state {} is not kept", serial, Where()),
                   "`podctl state history` lists those that are.");
}

// What `state` would have become, and what it was to follow: a generation that is not this run's
// own does not count, be it known by now or not.
RunNotes JournalStore::NotesOf(const State& state) const {
  RunNotes notes{state};
  State& next = notes.state;
  if (next.lineage.empty()) next.lineage = random_.Uuid();
  if (next.digest_key.empty()) next.digest_key = NewDigestKey(random_);
  next.serial = std::min(next.serial + 1, kMaxSerial);  // so that it can be read back
  notes.base = base_;
  if (pending_ && pending_->sent) notes.sent = GenerationOf(pending_->entry.id);
  notes.epoch = known_ ? known_->epoch : 0;
  notes.run = options_.run;
  return notes;
}

Result<std::string> JournalStore::SaveAside(const State& state) {
  const RunNotes notes = NotesOf(state);
  const std::string text = NotesToJson(notes);
  const std::string name = fmt::format("errored-{}", notes.state.serial);
  std::string problem = out_of_reach_ ? "it is out of reach" : "the names are all taken";
  for (int number = 1; number <= kMostAsideNames && !out_of_reach_; ++number) {
    const std::string object = (number > 1 ? fmt::format("{}-{}", name, number) : name) + ".json";
    Result<void> put = PutNew(object, text, std::min(kAsidePatience, options_.patience));
    if (put) return *asides_.insert(Where() + "/" + object).first;
    if (put.error().code == ErrorCode::kAlreadyExists) continue;
    problem = put.error().message;
    break;
  }
  Result<std::string> aside = WriteAside(files_, options_.aside_folders, name, text);
  if (aside) return *asides_.insert(*std::move(aside)).first;
  if (!aside.error().message.empty()) problem += "; " + aside.error().message;
  return MakeError(ErrorCode::kIo,
                   fmt::format("what could not be saved in {} could not be written anywhere else: "
                               "{}",
                               Where(), problem));
}

void JournalStore::DropAside(const std::string& where) {
  if (asides_.erase(where) == 0) return;
  const std::string prefix = Where() + "/";
  if (!where.starts_with(prefix)) {
    (void)files_.Remove(where);
    return;
  }
  const std::string name = where.substr(prefix.size());
  const Result<std::optional<Blob>> blob = blobs_.Get(name, {});
  if (blob && *blob) (void)blobs_.DeleteIf(name, (*blob)->version, {});
}

// The entry makes sure that nobody who knew the damaged state adds to it, and that its numbers are
// never used again; the snapshot, that readers begin after it.
Result<JournalSnapshot> JournalStore::ResetAfter(const std::vector<BlobEntry>& list) {
  JournalEntry entry;
  for (const BlobEntry& listed : list) {
    const std::optional<std::uint64_t> number = EntryNumber(listed.name);
    if (!number) continue;
    entry.id.number = std::max(entry.id.number, *number);
  }
  // A snapshot that can be read may cover entries that nobody kept.
  Result<std::optional<Blob>> blob =
      AskUntilAnswered(Pauses(), {}, [&] { return blobs_.Get(kSnapshotName, {}); });
  if (!blob) return blob.error();
  if (*blob) {
    auto snapshot = SnapshotFromText((*blob)->bytes, kSnapshotName, kinds_, Where());
    if (snapshot) {
      entry.id.number = std::max(entry.id.number, snapshot->last.number);
      entry.epoch = snapshot->epoch;
    }
  }
  ++entry.id.number;
  entry.id.write_id = random_.Uuid();
  // Each entry begins one epoch at most.
  entry.epoch = std::max(entry.epoch, entry.id.number);
  entry.fence = true;
  entry.reset = true;
  entry.lineage = random_.Uuid();
  entry.saved_at = FormatTimestamp(clock_.Now());
  entry.run = options_.run;
  const std::string text = EntryText(entry);
  Result<void> put = PutNew(EntryName(entry.id.number), text, options_.patience);
  if (!put) return put.error();
  JournalSnapshot next;
  next.write_id = random_.Uuid();
  next.last = entry.id;
  next.journal_from = entry.id.number + 1;
  next.epoch = entry.epoch;
  next.saved_at = entry.saved_at;
  next.run = entry.run;
  next.deleted_before = next.journal_from;  // which of the others are fences is not known
  next.fences = {entry.id.number};
  return next;
}

Result<std::string> JournalStore::SetAside() {
  known_.reset();
  pending_.reset();
  fence_.clear();
  Result<std::vector<BlobEntry>> list =
      AskUntilAnswered(Pauses(), {}, [&] { return blobs_.ListFrom("", EntryName(0), {}); });
  if (!list) return list.error();
  Result<std::optional<Blob>> damaged =
      AskUntilAnswered(Pauses(), {}, [&] { return blobs_.Get(kSnapshotName, {}); });
  if (!damaged) return damaged.error();
  std::optional<BlobVersion> version;
  std::string aside = "damaged-" + FormatTimestamp(clock_.Now()) + ".json";
  std::erase_if(aside, [](char c) { return c == ':'; });
  if (*damaged) {
    version = (*damaged)->version;
    Result<void> put = PutNew(aside, (*damaged)->bytes, options_.patience);
    if (!put) return put.error();
  }
  Result<JournalSnapshot> next = ResetAfter(*list);
  if (!next) return next.error();
  Result<BlobVersion> written = WriteSnapshot(SnapshotText(*next), version, options_.patience);
  if (!written) return written.error();
  // The entries stay where they are.
  return Where() + "/" + (version ? aside : std::string("journal/"));
}

}  // namespace podctl
