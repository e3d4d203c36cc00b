#include "state/stores/journal_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "providers/base/text.h"
#include "state/state_json.h"

namespace podctl {
namespace {

constexpr int kMostFences = 20;  // refused one after the other: others save without a pause
constexpr std::string_view kRunAgain =
    "Run the command again: it then starts from the state that is stored now.";

// "alice@host, apply, https://ci/run/7".
std::string RunText(const Provenance& run) {
  std::vector<std::string> parts;
  for (const std::string* part : {&run.who, &run.operation, &run.run_url}) {
    if (!part->empty()) parts.push_back(VisibleControls(*part));
  }
  return parts.empty() ? "a run that did not say who it is" : Join(parts, ", ");
}

}  // namespace

Generation JournalStore::GenerationOf(const EntryId& id) {
  return id.number == 0 ? Generation{} : Generation{fmt::format("{}:{}", id.number, id.write_id)};
}

JournalStore::JournalStore(BlobStore& blobs, FileSystem& files, Clock& clock, Random& random,
                           LockHolder self, RecordKinds kinds, JournalStoreOptions options)
    : blobs_(blobs),
      files_(files),
      clock_(clock),
      random_(random),
      self_(std::move(self)),
      kinds_(kinds),
      options_(std::move(options)),
      reader_(blobs, clock, random, kinds, options_.patience, options_.on_pause) {}

Generation JournalStore::Now() const {
  return known_ && known_->state ? PlaceNow() : Generation{};
}

Generation JournalStore::PlaceNow() const {
  return known_ ? GenerationOf(known_->last) : Generation{};
}

Snapshot JournalStore::Known() const {
  return {known_->state, Now()};
}

Result<void> JournalStore::Refresh() {
  const std::string last = known_ ? known_->last.write_id : "";
  if (known_) {
    if (Result<void> refreshed = reader_.Refresh(&*known_); !refreshed) {
      known_.reset();  // what is damaged now may have been read whole before
      return refreshed;
    }
  } else {
    Result<JournalView> view = reader_.Read();
    if (!view) return view.error();
    known_ = *std::move(view);
  }
  // Somebody else's entry after this run's: its epoch is over.
  if (known_->last.write_id != last) fence_.clear();
  return {};
}

// Of an outage: that it is the state which it is about. Several things may lie where it does.
Error JournalStore::OfThisState(std::string_view deed, Error error) const {
  if (MayPass(error.code)) {
    error.message = fmt::format("cannot {} the state {}: {}", deed, Where(), error.message);
  }
  return error;
}

Result<Snapshot> JournalStore::Load() {
  // What is not known to stand there is given up with this; should it come to stand there after
  // all, the next save finds it at its own number, and is refused.
  pending_.reset();
  if (Result<void> refreshed = Refresh(); !refreshed) return OfThisState("read", refreshed.error());
  if (known_->move) return WhyMoved(*known_->move, Where());
  base_ = Now();
  return Known();
}

Result<Snapshot> JournalStore::LoadWithHolder(std::optional<LockInfo>* holder) {
  holder->reset();
  for (bool again = false;; again = true) {
    Result<Snapshot> loaded = Load();
    if (loaded && !known_->locked) return loaded;
    *holder = Holder();
    // Who has gone since then may have saved more before that.
    if (!loaded || holder->has_value() || again) return loaded;
  }
}

// ---- A place that a state leaves or comes to.

Result<PlacedAt> JournalStore::LoadPlace() {
  pending_.reset();
  if (Result<void> refreshed = Refresh(); !refreshed) return OfThisState("read", refreshed.error());
  return PlacedAt{{known_->state, known_->move}, PlaceNow()};
}

Result<void> JournalStore::PutPlace(const PlacedState& placed, Generation* at) {
  if (Result<void> locked = CheckLock(); !locked) return locked;
  if (Result<void> refreshed = Refresh(); !refreshed) return refreshed;
  if (PlaceNow() != *at) return Stale(*at);
  if (known_->snapshot.read_only) return *known_->snapshot.read_only;
  // What is there and is no earlier generation of it goes first.
  if (placed.state && known_->state && known_->state != placed.state) {
    if (Result<void> emptied = PutPlaceEntry({}); !emptied) return emptied;
  }
  if (Result<void> put = PutPlaceEntry(placed); !put) return put;
  *at = PlaceNow();
  return {};
}

Result<void> JournalStore::PutPlaceEntry(const PlacedState& placed) {
  JournalEntry entry = NextEntry();
  entry.move = placed.move;
  entry.reset = !placed.state.has_value();
  entry.lineage = random_.Uuid();
  if (placed.state) {
    entry.lineage = placed.state->lineage;
    entry.serial = placed.state->serial;
    entry.digest_key = placed.state->digest_key;
    entry.changes = ChangesBetween(known_->state.value_or(State{}), *placed.state);
  }
  return Write(std::move(entry));
}

// ---- Saving.

Result<void> JournalStore::CheckLock(Result<void> (Lease::*confirm)(const std::stop_token&)) {
  const std::shared_ptr<Lease> lease = lease_.lock();
  if (!lease) return {};
  Result<void> confirmed =
      AskUntilAnswered(Pauses(), {}, [&] { return ((*lease).*confirm)(std::stop_token()); });
  if (confirmed || confirmed.error().code != ErrorCode::kLocked) return confirmed;
  // As for every save that comes too late: what is known is saved aside.
  Error error = confirmed.error();
  error.code = ErrorCode::kFailedPrecondition;
  return error;
}

// What a save that comes too late is told.
Error JournalStore::Stale(const Generation& at) {
  const std::string hint(kRunAgain);
  if (known_ && known_->move) return WhyMoved(*known_->move, Where());
  if (!known_ || !known_->state) {
    return MakeError(ErrorCode::kFailedPrecondition,
                     fmt::format("the state {} was removed since it was read", Where()), hint);
  }
  const std::string by = RunText(known_->run);
  if (at.none()) {
    return MakeError(
        ErrorCode::kFailedPrecondition,
        fmt::format("the state {} was made by somebody else (serial {}, by {}) since this run "
                    "began",
                    Where(), known_->state->serial, by),
        hint);
  }
  return MakeError(ErrorCode::kFailedPrecondition,
                   fmt::format("the state {} was changed by somebody else since it was read "
                               "(serial {} is stored, by {})",
                               Where(), known_->state->serial, by),
                   hint);
}

Result<void> JournalStore::CheckContinues(const State& state) const {
  if (!known_->state) return {};
  const State& stored = *known_->state;
  if (state.lineage != stored.lineage) {
    return MakeError(
        ErrorCode::kFailedPrecondition,
        fmt::format("the state {} has lineage {}, not {}: it is another state", Where(),
                    stored.lineage, state.lineage.empty() ? "that of a new state" : state.lineage),
        "Check `state` in the spec: two specs must not share one state.");
  }
  if (state.serial != stored.serial) {
    return MakeError(ErrorCode::kFailedPrecondition,
                     fmt::format("the state {} is at serial {}, what is to be saved follows serial "
                                 "{}",
                                 Where(), stored.serial, state.serial),
                     std::string(kRunAgain));
  }
  return {};
}

// Finds out what became of the entry of an earlier save whose answer was lost, by asking for the
// same once more. Where it stands, the caller goes on from it.
Result<void> JournalStore::Settle(State* state, Generation* at, Put how) {
  if (Result<void> sent = Send(); !sent) return sent;
  if (how == Put::kSave) {
    state->lineage = known_->state->lineage;
    state->serial = known_->state->serial;
    if (state->digest_key.empty()) state->digest_key = known_->state->digest_key;
  }
  *at = Now();
  base_ = *at;
  return {};
}

Result<void> JournalStore::Save(State& state, Generation* at) {
  return Noted(PutState(state, at, Put::kSave));
}

Result<void> JournalStore::Push(State& state, Generation* at) {
  return Noted(PutState(state, at, Put::kPush));
}

Result<void> JournalStore::Append(State& state, const std::vector<RecordChange>& changes,
                                  Generation* at) {
  return Noted(AppendChanges(state, changes, at));
}

Result<void> JournalStore::Noted(Result<void> saved) {
  out_of_reach_ = !saved && MayPass(saved.error().code);
  if (saved) base_ = Now();
  return saved;
}

Result<void> JournalStore::PutState(State& state, Generation* at, Put how) {
  if (Result<void> locked = CheckLock(); !locked) return locked;
  if (MustSettle(*at)) {
    if (Result<void> settled = Settle(&state, at, how); !settled) return settled;
  }
  if (Result<void> refreshed = Refresh(); !refreshed) return refreshed;
  if (Now() != *at) return Stale(*at);
  if (how == Put::kSave) {
    if (Result<void> continues = CheckContinues(state); !continues) return continues;
  }
  if (known_->state == state) return {};
  return PutChanges(state, ChangesBetween(known_->state.value_or(State{}), state), at, how);
}

Result<void> JournalStore::AppendChanges(State& state, const std::vector<RecordChange>& changes,
                                         Generation* at) {
  if (Result<void> locked = CheckLock(); !locked) return locked;
  const bool settle = MustSettle(*at);
  if (settle) {
    if (Result<void> settled = Settle(&state, at, Put::kSave); !settled) return settled;
  } else if (!known_ || Now() != *at) {
    if (Result<void> refreshed = Refresh(); !refreshed) return refreshed;
  }
  if (Now() != *at || !known_->state) return Stale(*at);
  if (Result<void> continues = CheckContinues(state); !continues) return continues;
  // After a settled entry the changes begin with what was stored before it.
  std::vector<RecordChange> now = settle ? ChangesBetween(*known_->state, state) : changes;
  if (now.empty() && known_->state->digest_key == state.digest_key) return {};
  return PutChanges(state, std::move(now), at, Put::kSave);
}

Result<void> JournalStore::PutChanges(State& state, std::vector<RecordChange> changes,
                                      Generation* at, Put how) {
  if (known_->move) return WhyMoved(*known_->move, Where());
  if (known_->snapshot.read_only) return *known_->snapshot.read_only;
  if (Result<void> own = CheckIsOfThisPlace(); !own) return own;
  const std::uint64_t last = known_->state ? known_->state->serial : 0;
  JournalEntry entry = NextEntry();
  entry.lineage = state.lineage.empty() ? random_.Uuid() : state.lineage;
  if (known_->state && known_->state->lineage != entry.lineage) {
    entry.replaces = known_->state->lineage;
  }
  entry.digest_key = state.digest_key.empty() ? NewDigestKey(random_) : state.digest_key;
  const bool keeps = how == Put::kPush && state.serial > last && state.serial < kMaxSerial;
  entry.serial = keeps ? state.serial : last + 1;
  if (entry.serial > kMaxSerial) {
    return MakeError(ErrorCode::kOutOfRange,
                     fmt::format("the state {} has no serial left after {}", Where(), last));
  }
  entry.changes = std::move(changes);
  if (Result<void> written = Write(std::move(entry)); !written) return written;
  state.lineage = known_->state->lineage;
  state.digest_key = known_->state->digest_key;
  state.serial = known_->state->serial;
  *at = Now();
  // One try: the save is done, and the next one may be waited for.
  if (IsDue()) CompactFor(std::chrono::milliseconds(0));
  return {};
}

// Before the first entry of a run: a snapshot that was copied here from elsewhere tells of another
// state, and what it leads to must not be carried out. The entry that it ends with is the newest
// one of its journal, and so is never deleted; where there are entries and not this one, they are
// of another. (Where there are none at all, somebody has cleaned up.)
Result<void> JournalStore::CheckIsOfThisPlace() {
  const EntryId& last = known_->last;
  if (!fence_.empty() || last.number == 0 || last.number + 1 != known_->snapshot.journal_from) {
    return {};
  }
  std::uint64_t bytes = 0;
  Result<std::optional<JournalEntry>> entry = reader_.Entry(last.number, &bytes);
  if (!entry) return entry.error();
  if (*entry && (*entry)->id == last) return {};
  bool has_others = entry->has_value();
  if (!has_others) {
    Result<std::vector<BlobEntry>> list =
        AskUntilAnswered(Pauses(), {}, [&] { return blobs_.ListFrom("journal/", "", {}); });
    if (!list) return list.error();
    has_others = std::any_of(list->begin(), list->end(), [](const BlobEntry& listed) {
      return EntryNumber(listed.name).has_value();
    });
  }
  if (!has_others) return {};
  Result<std::optional<Blob>> snapshot =
      AskUntilAnswered(Pauses(), {}, [&] { return blobs_.Get(kSnapshotName, {}); });
  if (!snapshot) return snapshot.error();
  // Another one by now, after a long sleep: its own entry tells this run that it was overtaken.
  if (!*snapshot || (*snapshot)->version != known_->snapshot_version) return {};
  return MakeError(
      ErrorCode::kDataLoss,
      fmt::format("{} in {} follows entry {} of another journal: it is the snapshot of another "
                  "state, which somebody has copied here",
                  kSnapshotName, Where(), last.number),
      "Bring its own version back (`gcloud storage ls -a` lists them), or go back to an earlier "
      "generation: `podctl state restore`.");
}

// The entry after the last one, without what it says; a fence if this run has none that lasts.
JournalEntry JournalStore::NextEntry() const {
  JournalEntry entry;
  entry.id = {known_->last.number + 1, random_.Uuid()};
  entry.previous = known_->last.write_id;
  entry.fence = fence_.empty();
  entry.epoch = known_->epoch + (entry.fence ? 1 : 0);
  entry.saved_at = FormatTimestamp(clock_.Now());
  if (entry.fence) {
    entry.run = options_.run;
    if (entry.run.who.empty()) entry.run.who = self_.who;
    if (entry.run.podctl.empty()) entry.run.podctl = PODCTL_VERSION;
  }
  return entry;
}

Result<void> JournalStore::Write(JournalEntry entry) {
  std::string text = EntryText(entry);
  if (text.size() > kMaxStateBytes) {
    return MakeError(
        ErrorCode::kResourceExhausted,
        fmt::format("the state {} would be larger than {} MiB", Where(), kMaxStateBytes >> 20));
  }
  pending_ = Pending{std::move(entry), std::move(text)};
  return Send();
}

// Sends the pending entry until its fate is known, or the patience ends. Its bytes and its number
// stay the same, so that it can come to stand there only once.
Result<void> JournalStore::Send() {
  const std::string name = EntryName(pending_->entry.id.number);
  for (RequestPauses pauses = Pauses();;) {
    Result<BlobVersion> created = blobs_.CreateIfAbsent(name, pending_->text, {});
    const ErrorCode code = created ? ErrorCode::kUnknown : created.error().code;
    if (!created && code == ErrorCode::kFailedPrecondition) {
      pending_->sent = true;
      Result<bool> own = StandsThere(*pending_);
      if (!own) return own.error();
      if (!*own) return Overtaken();
    } else if (!created) {
      if (code == ErrorCode::kReplyLost) pending_->sent = true;
      if (MayPass(code) && pauses.Again(created.error(), {})) continue;
      // Surely nowhere: the next save begins anew, with what there is to say by then.
      if (!pending_->sent) pending_.reset();
      return MakeError(
          code, fmt::format("cannot save the state {}: {}", Where(), created.error().message),
          created.error().hint);
    }
    pending_->sent = true;
    if (pending_->entry.fence) {
      Result<bool> counts = FenceCounts(pending_->entry.id.number);
      if (!counts) return counts.error();
      if (!*counts) return Overtaken();
    }
    const Pending written = *std::exchange(pending_, std::nullopt);
    if (written.entry.fence) fence_ = written.entry.id.write_id;
    return known_->Follow(written.entry, written.text.size(), Where());
  }
}

// What is to be saved follows what is not the newest any more.
Error JournalStore::Overtaken() {
  const Generation before = Now();
  pending_.reset();
  fence_.clear();
  Result<void> refreshed = Refresh();
  return refreshed ? Stale(before) : refreshed.error();
}

// A run that read the state and then slept for days, before its first entry, may find that entry's
// number free because another run's was covered and deleted: nobody would ever read it there. As
// long as no snapshot covers the number now that it is taken, it was never deleted.
Result<bool> JournalStore::FenceCounts(std::uint64_t number) {
  Result<std::vector<BlobEntry>> list =
      AskUntilAnswered(Pauses(), {}, [&] { return blobs_.ListFrom("", EntryName(number), {}); });
  if (!list) return list.error();
  for (const BlobEntry& listed : *list) {
    if (listed.name == kSnapshotName && listed.version == known_->snapshot_version) return true;
  }
  Result<std::optional<Blob>> blob =
      AskUntilAnswered(Pauses(), {}, [&] { return blobs_.Get(kSnapshotName, {}); });
  if (!blob) return blob.error();
  if (!*blob) return !known_->snapshot_version;
  auto snapshot = SnapshotFromText((*blob)->bytes, kSnapshotName, kinds_, Where());
  if (!snapshot) return snapshot.error();
  return snapshot->journal_from <= number;
}

// Whether what stands at the number of the pending entry is that entry.
Result<bool> JournalStore::StandsThere(const Pending& pending) {
  Result<std::optional<Blob>> blob = AskUntilAnswered(
      Pauses(), {}, [&] { return blobs_.Get(EntryName(pending.entry.id.number), {}); });
  if (!blob) return blob.error();
  return *blob && (*blob)->bytes == pending.text;
}

Result<Snapshot> JournalStore::Fence() {
  for (int round = 0; round < kMostFences; ++round) {
    if (Result<void> locked = CheckLock(); !locked) return locked.error();
    Result<Snapshot> loaded = Load();
    if (!loaded || !loaded->state || !fence_.empty()) return loaded;
    if (known_->snapshot.read_only) return *known_->snapshot.read_only;
    if (Result<void> own = CheckIsOfThisPlace(); !own) return own.error();
    JournalEntry entry = NextEntry();
    entry.lineage = loaded->state->lineage;
    entry.serial = loaded->state->serial;
    entry.digest_key = loaded->state->digest_key;
    Result<void> written = Write(std::move(entry));
    if (written) {
      base_ = Now();
      return Known();
    }
    if (written.error().code != ErrorCode::kFailedPrecondition) return written.error();
  }
  return MakeError(ErrorCode::kUnavailable,
                   fmt::format("others save the state {} without a pause", Where()),
                   "Look who they are: podctl lock status.");
}

}  // namespace podctl
