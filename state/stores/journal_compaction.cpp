// Snapshots of a JournalStore, and what is deleted after them. All of it can be left undone: the
// entries say the same.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "state/state_json.h"
#include "state/stores/journal_store.h"

namespace podctl {
namespace {

// For as long an overtaken writer, or a reader, may still ask for what a snapshot covers.
constexpr std::chrono::hours kDeleteAfter{24};
// Of snapshots that follow each other closely one is remembered.
constexpr std::chrono::hours kCoverPace{1};

// Adds what is known of a snapshot that is about to be replaced, and drops what says nothing more.
void AddCover(const SnapshotCover& cover, std::vector<SnapshotCover>* covers) {
  // The place's clock was set back: what stood there before has stood there by now.
  for (SnapshotCover& known : *covers) known.at = std::min(known.at, cover.at);
  if (covers->empty() || cover.at - covers->back().at >= kCoverPace) covers->push_back(cover);
  // Of those that are old enough the newest covers the most.
  while (covers->size() > 1 && cover.at - (*covers)[1].at >= kDeleteAfter) {
    covers->erase(covers->begin());
  }
}

// Entries below it were covered for long enough at `now`.
std::uint64_t DeletableBelow(const std::vector<SnapshotCover>& covers,
                             std::chrono::system_clock::time_point now) {
  std::uint64_t below = 0;
  for (const SnapshotCover& cover : covers) {
    if (now - cover.at >= kDeleteAfter) below = std::max(below, cover.before);
  }
  return below;
}

}  // namespace

bool JournalStore::IsDue() const {
  return known_->entries >= options_.most_entries ||
         (known_->entries >= options_.compact_entries &&
          known_->entry_bytes >= known_->snapshot_bytes);
}

// Makes sure that an object with these bytes is there.
Result<void> JournalStore::PutNew(const std::string& name, const std::string& bytes,
                                  std::chrono::milliseconds patience) {
  for (RequestPauses pauses = Pauses(patience);;) {
    Result<BlobVersion> made = blobs_.CreateIfAbsent(name, bytes, {});
    if (made) return {};
    if (made.error().code == ErrorCode::kFailedPrecondition) {
      Result<std::optional<Blob>> there =
          AskUntilAnswered(Pauses(patience), {}, [&] { return blobs_.Get(name, {}); });
      if (!there) return there.error();
      if (*there && (*there)->bytes == bytes) return {};
      return MakeError(ErrorCode::kAlreadyExists, fmt::format("{} is there already", name));
    }
    if (!MayPass(made.error().code) || !pauses.Again(made.error(), {})) return made.error();
  }
}

JournalSnapshot JournalStore::NextSnapshot() const {
  JournalSnapshot next;
  next.write_id = random_.Uuid();
  next.last = known_->last;
  next.journal_from = known_->last.number + 1;
  next.epoch = known_->epoch;
  next.saved_at = known_->saved_at;
  next.run = known_->run;
  next.deleted_before = known_->snapshot.deleted_before;
  for (const auto* fences : {&known_->snapshot.fences, &known_->fences}) {
    for (const std::uint64_t fence : *fences) {
      if (fence >= next.deleted_before) next.fences.push_back(fence);
    }
  }
  next.covers = known_->snapshot.covers;
  if (known_->snapshot_version && known_->snapshot_written) {
    AddCover({known_->snapshot.journal_from, *known_->snapshot_written}, &next.covers);
  }
  next.state = known_->state;
  next.move = known_->move;
  return next;
}

// `version`: of the one to replace; nullopt: there is none. kFailedPrecondition when another run
// was first.
Result<BlobVersion> JournalStore::WriteSnapshot(const std::string& text,
                                                const std::optional<BlobVersion>& version,
                                                std::chrono::milliseconds patience) {
  bool lost = false;
  for (RequestPauses pauses = Pauses(patience);;) {
    Result<BlobVersion> written = version ? blobs_.ReplaceIf(kSnapshotName, text, *version, {})
                                          : blobs_.CreateIfAbsent(kSnapshotName, text, {});
    if (written) return written;
    const ErrorCode code = written.error().code;
    if (code == ErrorCode::kFailedPrecondition && lost) {
      Result<std::optional<Blob>> there =
          AskUntilAnswered(Pauses(patience), {}, [&] { return blobs_.Get(kSnapshotName, {}); });
      if (!there) return there.error();
      if (*there && (*there)->bytes == text) return (*there)->version;
    }
    if (code == ErrorCode::kReplyLost) lost = true;
    if (!MayPass(code) || !pauses.Again(written.error(), {})) return written;
  }
}

// The truth goes before the past: that a generation cannot be kept stops nothing, but is told.
void JournalStore::KeepEndedRuns(std::chrono::milliseconds patience) {
  if (options_.keep == 0) return;
  for (const EndedRun& run : known_->ended) {
    JournalSnapshot kept;
    kept.write_id = run.last.write_id;
    kept.last = run.last;
    kept.journal_from = run.last.number + 1;
    kept.epoch = run.epoch;
    kept.saved_at = run.saved_at;
    kept.run = run.run;
    kept.state = run.state;
    Result<void> put =
        PutNew(HistoryName(run.last.number, run.state.serial), SnapshotText(kept), patience);
    // Another run that saw the same end keeps the same.
    if (put || put.error().code == ErrorCode::kAlreadyExists) continue;
    warnings_.push_back(fmt::format(
        "the state's generation {} could not be kept in {}, so `podctl state restore` will not "
        "find it: {}",
        run.state.serial, Where(), put.error().message));
  }
}

bool JournalStore::CompactFor(std::chrono::milliseconds patience) {
  KeepEndedRuns(patience);
  JournalSnapshot next = NextSnapshot();
  const std::string text = SnapshotText(next);
  // Until the entries outweigh it again, whether it is written or not.
  const std::uint64_t entries = std::exchange(known_->entries, 0);
  known_->entry_bytes = 0;
  Result<BlobVersion> written =
      text.size() > kMaxStateBytes
          ? MakeError(ErrorCode::kResourceExhausted,
                      fmt::format("it is larger than {} MiB", kMaxStateBytes >> 20))
          : WriteSnapshot(text, known_->snapshot_version, patience);
  if (!written) {
    // Another run's says what was true when it was written, and entries follow it.
    if (written.error().code == ErrorCode::kFailedPrecondition) return false;
    warnings_.push_back(
        fmt::format("no snapshot of the state {} could be written, so that {} "
                    "entries are read the next time: {}",
                    Where(), entries, written.error().message));
    return false;
  }
  next.state.reset();
  known_->snapshot = std::move(next);
  known_->snapshot_version = *std::move(written);
  known_->snapshot_written.reset();
  known_->snapshot_bytes = text.size();
  known_->fences.clear();
  known_->ended.clear();
  return true;
}

void JournalStore::Compact() {
  if (!known_ || known_->entries == 0) return;
  // Where somebody has removed the snapshot, and every entry is there still, a run that saved
  // nothing makes it again: once the first entries are deleted, nobody can.
  const bool is_missing = !known_->snapshot_version && known_->state;
  if (fence_.empty() && !is_missing) return;
  if (!CompactFor(options_.patience)) return;
  DeleteOld();
  PruneHistory();
}

// Deletes what the rule at the head of journal_store.h allows.
void JournalStore::DeleteOld() {
  const std::string from = EntryName(known_->snapshot.deleted_before);
  Result<std::vector<BlobEntry>> list =
      AskUntilAnswered(Pauses(), {}, [&] { return blobs_.ListFrom("", from, {}); });
  if (!list) return;  // one too many costs space and nothing else
  const auto snapshot = std::find_if(list->begin(), list->end(), [](const BlobEntry& entry) {
    return entry.name == kSnapshotName;
  });
  if (snapshot == list->end() || snapshot->version != known_->snapshot_version) return;
  known_->snapshot_written = snapshot->written;
  if (!snapshot->written) return;
  const std::uint64_t horizon = DeletableBelow(known_->snapshot.covers, *snapshot->written);
  if (horizon <= known_->snapshot.deleted_before || !DeleteBelow(horizon, *list)) return;
  known_->snapshot.deleted_before = horizon;  // written down with the next snapshot
}

// False: some are left.
bool JournalStore::DeleteBelow(std::uint64_t horizon, const std::vector<BlobEntry>& list) {
  const std::vector<std::uint64_t>& fences = known_->snapshot.fences;
  const auto is_fence = [&](std::uint64_t number) {
    return std::find(fences.begin(), fences.end(), number) != fences.end();
  };
  std::size_t deleted = 0;
  for (const BlobEntry& listed : list) {
    const std::optional<std::uint64_t> number = EntryNumber(listed.name);
    if (!number || *number >= horizon) continue;
    if (is_fence(*number) || is_fence(*number + 1) || *number == known_->last.number) continue;
    if (deleted++ == options_.most_deleted) return false;
    Result<void> gone = blobs_.DeleteIf(listed.name, listed.version, {});
    if (gone || gone.error().code == ErrorCode::kFailedPrecondition) continue;
    if (!MayPass(gone.error().code)) {
      warnings_.push_back(
          fmt::format("old entries of the state {} could not be deleted, and take space: {}",
                      Where(), gone.error().message));
    }
    return false;
  }
  return true;
}

}  // namespace podctl
