// The lock of a JournalStore: taking it, waiting for it, taking it over. What keeps it is in
// lease.h.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "providers/base/text.h"
#include "state/stores/journal_store.h"

namespace podctl {
namespace {

constexpr int kMostLostAnswers = 5;  // to requests for a lock that is not there afterwards
constexpr std::chrono::milliseconds kFirstLook{250};
// Each look is a request that somebody pays for.
constexpr std::chrono::milliseconds kLongestLook{5000};
constexpr int kLooksToRunOut = 6;  // in the TTL of another's lock, which is looked at so often
constexpr std::chrono::seconds kWaitWordPace{10};  // between two words to who waits
constexpr std::chrono::seconds kHolderPatience{1};
constexpr int kMostTakeRounds = 20;  // the lock changed hands under each of them

Error LeaseHeld(LockInfo holder, std::chrono::milliseconds ttl, const std::string& where) {
  holder.path = where;  // whatever its text says
  const std::string after =
      ttl.count() > 0
          ? fmt::format(" One that died is taken over {} s after its last sign of life.",
                        std::chrono::ceil<std::chrono::seconds>(ttl).count())
          : fmt::format(" If it is sure that it has ended: podctl unlock {}",
                        ShellQuote(VisibleControls(holder.id)));
  return MakeError(ErrorCode::kLocked,
                   "Error acquiring the state lock: another run holds it\n" + LockInfoBlock(holder),
                   "Wait for that run to end, or let podctl wait: --lock-timeout 5m." + after);
}

Error StoppedWaiting() {
  return MakeError(ErrorCode::kCancelled, "stopped while waiting for the state lock");
}

Error NoLock(const std::string& where) {
  return MakeError(
      ErrorCode::kFailedPrecondition,
      fmt::format("cannot lock the state {0}: {0}/{1} is not a lock of podctl's making", where,
                  kLeaseName),
      "Another tool may keep a state there: give podctl's another prefix (`state:` in the spec). "
      "If nobody needs that object, delete it.");
}

}  // namespace

class JournalStore::HeldLock final : public StateLock {
 public:
  HeldLock(std::shared_ptr<Lease> lease, Clock& clock, bool beat, std::string note,
           std::function<void(const Error&)> on_left)
      : lease_(std::move(lease)), note_(std::move(note)), on_left_(std::move(on_left)) {
    if (beat) beats_.emplace(*lease_, clock);
  }
  // A lock that cannot be removed runs out by itself; one that may not be is told of.
  ~HeldLock() override {
    beats_.reset();
    const Result<void> released = lease_->Release();
    if (!released && !MayPass(released.error().code)) on_left_(released.error());
  }
  std::string TakeoverNote() const override { return note_; }

 private:
  std::shared_ptr<Lease> lease_;
  std::optional<LeaseBeats> beats_;
  std::string note_;
  std::function<void(const Error&)> on_left_;
};

// `what`: of the lock.
std::function<void(const Error&)> JournalStore::WarnerOf(const std::string& what) const {
  return [what, where = Where(), warn = options_.on_warning](const Error& why) {
    if (!warn) return;
    const std::string hint = why.hint.empty() ? "" : ". What helps: " + why.hint;
    warn(fmt::format("the lock of the state {} {}: {}{}", where, what, why.message, hint));
  };
}

// A lock has to be written over and removed: where the place says of what it is given that it keeps
// it, and not whether this can be done all the same, it is tried before anything is begun.
Result<void> JournalStore::TryReplacing(Lease& lease, const std::stop_token& stop) {
  Result<bool> can = blobs_.CanReplace(stop);
  if (!can) return can.error();
  if (*can) return {};
  Result<void> renewed = AskUntilAnswered(Pauses(), stop, [&] { return lease.Renew(stop); });
  if (renewed || MayPass(renewed.error().code)) return {};
  Error error = renewed.error();
  error.message = fmt::format(
      "the lock of the state {} can be made and not renewed: {}. Nothing else was begun, and {} "
      "stays",
      Where(), error.message, kLeaseName);
  return error;
}

bool JournalStore::MayStart() {
  const std::shared_ptr<Lease> lease = lease_.lock();
  return !lease || lease->MayStart();
}

Result<void> JournalStore::MayAct() {
  return CheckLock(&Lease::ConfirmStart);
}

bool JournalStore::Beat() {
  const std::shared_ptr<Lease> lease = lease_.lock();
  return lease && lease->Beat({}) == lease->Pace();
}

LockInfo JournalStore::FilledIn(LockInfo info) {
  if (info.id.empty()) info.id = random_.Uuid();
  if (info.who.empty()) info.who = self_.who;
  if (info.host.empty()) info.host = self_.host;
  if (info.pid == 0) info.pid = self_.pid;
  if (info.created.empty()) info.created = FormatTimestamp(clock_.Now());
  if (info.path.empty()) info.path = Where();
  if (info.version.empty()) info.version = PODCTL_VERSION;
  if (info.commit.empty()) info.commit = CommitText(options_.run);
  if (info.run_url.empty()) info.run_url = options_.run.run_url;
  return info;
}

// Why another's lock may be taken over, as what its run did; empty: it may not.
std::string JournalStore::WhyFree(const LeaseText& other, const LeaseWatch& watch) const {
  if (!other.mark.empty() && self_.has_ended && self_.has_ended(other.mark)) {
    return "ended without releasing it";
  }
  if (!watch.RanOut()) return "";
  return fmt::format("gave no sign of life for {} s",
                     std::chrono::ceil<std::chrono::seconds>(other.ttl).count());
}

// nullopt: another holds it.
Result<std::optional<JournalStore::Taken>> JournalStore::TryTake(const LeaseText& mine,
                                                                 LeaseWatch& watch,
                                                                 LeaseText* other,
                                                                 const std::stop_token& stop) {
  const std::string text = LeaseToJson(mine);
  std::string note;
  std::optional<Clock::SteadyTime> first_sent;
  RequestPauses pauses = Pauses();
  int lost = 0;
  for (int round = 0; round < kMostTakeRounds; ++round) {
    const Clock::SteadyTime asked = clock_.Steady();
    Result<std::optional<Blob>> blob =
        AskUntilAnswered(Pauses(), stop, [&] { return blobs_.Get(kLeaseName, stop); });
    if (!blob) return blob.error();
    const auto read = *blob ? LeaseFromJson((*blob)->bytes) : std::nullopt;
    if (*blob && !read) return NoLock(Where());
    // By a request of this very call whose answer was lost; by which of them is not known.
    if (read && read->info.id == mine.info.id) {
      return std::optional<Taken>(
          {(*blob)->version, first_sent.value_or(Clock::SteadyTime()), note});
    }
    if (read) {
      *other = *read;
      watch.Saw((*blob)->version, read->ttl, asked, clock_.Steady());
      const std::string why = WhyFree(*read, watch);
      if (why.empty()) return std::optional<Taken>();
      const std::string whose =
          read->info.run_url.empty()
              ? fmt::format("process {} on {}", read->info.pid, VisibleControls(read->info.host))
              : VisibleControls(read->info.run_url);
      note = fmt::format("took over the state lock of {} ({}, {}), which {}",
                         VisibleControls(read->info.who), VisibleControls(read->info.operation),
                         whose, why);
    }
    if (!*blob && !first_sent) {
      if (Result<bool> can = blobs_.CanReplace(stop); !can) return can.error();
    }
    const Clock::SteadyTime sent = clock_.SinceBoot();
    if (!first_sent) first_sent = sent;
    Result<BlobVersion> taken = *blob ? blobs_.ReplaceIf(kLeaseName, text, (*blob)->version, stop)
                                      : blobs_.CreateIfAbsent(kLeaseName, text, stop);
    if (taken) return std::optional<Taken>({*std::move(taken), sent, *blob ? note : ""});
    // No other run does that: a database that is full answers so.
    const bool answers = taken.error().code != ErrorCode::kReplyLost;
    if (!answers && ++lost == kMostLostAnswers) return taken.error();
    const ErrorCode code = taken.error().code;
    if (code == ErrorCode::kFailedPrecondition || code == ErrorCode::kReplyLost) continue;
    if (!MayPass(code) || !pauses.Again(taken.error(), stop)) return taken.error();
  }
  return std::optional<Taken>();
}

Result<std::unique_ptr<StateLock>> JournalStore::Lock(const LockInfo& info, const LockWait& wait,
                                                      std::stop_token stop) {
  if (stop.stop_requested()) return StoppedWaiting();
  if (options_.run.operation.empty()) options_.run.operation = info.operation;
  if (options_.run.command.empty()) options_.run.command = info.command;
  if (auto complete = std::exchange(options_.complete_run, {})) complete(&options_.run);
  if (!options_.lock) return NoStateLock();
  const LeaseText mine{FilledIn(info), options_.ttl, 0, self_.mark};
  const Clock::SteadyTime began = clock_.Steady();
  const Clock::SteadyTime deadline = began + wait.timeout;
  Clock::SteadyTime next_word = began;
  LeaseWatch watch;
  for (std::chrono::milliseconds pause = kFirstLook;;) {
    LeaseText other;
    Result<std::optional<Taken>> taken = TryTake(mine, watch, &other, stop);
    if (!taken && stop.stop_requested()) return StoppedWaiting();
    if (!taken) return OfThisState("lock", taken.error());
    if (*taken) {
      auto lease =
          std::make_shared<Lease>(blobs_, clock_, mine, (*taken)->version, (*taken)->sent,
                                  WarnerOf("cannot be renewed, so that others may take it over"));
      if (Result<void> kept = TryReplacing(*lease, stop); !kept) {
        (void)lease->Release();
        return kept.error();
      }
      lease_ = lease;
      return std::unique_ptr<StateLock>(std::make_unique<HeldLock>(
          std::move(lease), clock_, options_.beat, (*taken)->note,
          WarnerOf(fmt::format("could not be removed, and {} stays", kLeaseName))));
    }
    const Clock::SteadyTime now = clock_.Steady();
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now);
    if (left.count() <= 0) return LeaseHeld(other.info, other.ttl, Where());
    if (wait.on_wait && now >= next_word) {
      const bool first = std::exchange(next_word, now + kWaitWordPace) == began;
      const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(now - began);
      wait.on_wait(other.info, first ? std::chrono::milliseconds(0) : waited);
    }
    const std::chrono::milliseconds jittered(static_cast<std::int64_t>(
        static_cast<double>(pause.count()) * (0.75 + random_.Uniform() / 2)));
    if (!clock_.SleepFor(std::min(jittered, left), stop)) return StoppedWaiting();
    pause = std::min(2 * pause, kLongestLook);
    if (other.ttl.count() > 0) pause = std::min(pause, other.ttl / kLooksToRunOut);
  }
}

std::optional<LockInfo> JournalStore::Holder() {
  // Who asks is told of an outage by what he asks next.
  Result<std::optional<Blob>> blob =
      AskUntilAnswered(Pauses(kHolderPatience), {}, [&] { return blobs_.Get(kLeaseName, {}); });
  if (!blob || !*blob) return std::nullopt;
  const std::optional<LeaseText> text = LeaseFromJson((*blob)->bytes);
  const bool ended = text && self_.has_ended && self_.has_ended(text->mark);
  const bool own = text && !self_.mark.empty() && text->mark == self_.mark;
  return text && !ended && !own ? std::optional<LockInfo>(text->info) : std::nullopt;
}

Result<void> JournalStore::CheckLockPlace() {
  Result<std::optional<Blob>> blob =
      AskUntilAnswered(Pauses(), {}, [&] { return blobs_.Get(kLeaseName, {}); });
  if (!blob) return blob.error();
  return !*blob || LeaseFromJson((*blob)->bytes) ? Result<void>() : NoLock(Where());
}

Result<void> JournalStore::ForceUnlock(const std::string& id) {
  for (RequestPauses pauses = Pauses();;) {
    Result<std::optional<Blob>> blob =
        AskUntilAnswered(Pauses(), {}, [&] { return blobs_.Get(kLeaseName, {}); });
    if (!blob) return blob.error();
    if (!*blob) {
      return MakeError(ErrorCode::kNotFound, fmt::format("the state {} is not locked", Where()));
    }
    const std::optional<LeaseText> text = LeaseFromJson((*blob)->bytes);
    if (!text) return NoLock(Where());
    const LockInfo& holder = text->info;
    if (holder.id != id) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("the lock of the state {} has another ID\n{}", Where(),
                                   LockInfoBlock(holder)));
    }
    const bool unknown_here =
        RanElsewhere(text->mark, self_.mark) || (self_.has_ended && self_.has_ended(text->mark));
    if (!unknown_here && holder.host == self_.host &&
        self_.process_ran_at(holder.pid, holder.created)) {
      return MakeError(
          ErrorCode::kLocked,
          fmt::format("the run that holds the lock of the state {} is alive", Where()),
          fmt::format("End process {} on {} first.", holder.pid, VisibleControls(holder.host)));
    }
    Result<void> deleted = blobs_.DeleteIf(kLeaseName, (*blob)->version, {});
    if (deleted) return {};
    const ErrorCode code = deleted.error().code;
    if (code == ErrorCode::kFailedPrecondition) {
      // It beat, or it released the lock, or another was first.
      Result<std::optional<Blob>> now =
          AskUntilAnswered(Pauses(), {}, [&] { return blobs_.Get(kLeaseName, {}); });
      if (!now) return now.error();
      if (!*now) return {};
      return MakeError(ErrorCode::kLocked,
                       fmt::format("the run that holds the lock of the state {} is alive", Where()),
                       "End that run first.");
    }
    if (!MayPass(code) || !pauses.Again(deleted.error(), {})) return deleted;
  }
}

}  // namespace podctl
