// The lock of a LocalStore: taking it, waiting for it, taking it over from the dead.
//
// Two facts are looked at: whether somebody holds the kernel's lock on PATH.lock (then he lives),
// and whose name stands in it. A free lock with a name in it is left behind: by a dead process of
// this host, which is taken over; or by another host, whose kernel cannot be asked from here, which
// is refused.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "providers/base/text.h"
#include "state/store.h"
#include "state/stores/local_store.h"

namespace podctl {
namespace {

constexpr std::string_view kLockSuffix = ".lock";
constexpr std::uint64_t kMaxLockTextBytes = 65536;
// A look costs three system calls, and a lock that is free should not lie idle while twenty wait.
constexpr std::chrono::milliseconds kFirstPause{100};
constexpr std::chrono::milliseconds kLongestPause{1000};
constexpr std::chrono::seconds kWordPace{10};  // between two words to who waits
// The holder writes its name just after it has taken the lock: half a second in all.
constexpr int kNameRounds = 25;
constexpr std::chrono::milliseconds kNamePause{20};

class LocalLock final : public StateLock {
 public:
  LocalLock(FileSystem& files, std::unique_ptr<FileLock> lock, std::string note)
      : files_(files), lock_(std::move(lock)), note_(std::move(note)) {}
  // A lock file that cannot be removed keeps nobody out: the kernel's lock ends with this process,
  // and its text names a dead process then.
  ~LocalLock() override { (void)files_.Unlock(std::move(lock_)); }
  std::string TakeoverNote() const override { return note_; }

 private:
  FileSystem& files_;
  std::unique_ptr<FileLock> lock_;
  std::string note_;
};

Error Locked(const std::string& why, LockInfo holder, const std::string& path,
             const std::string& hint) {
  holder.path = path;  // whatever the holder's text says, or if it could not be read
  return MakeError(
      ErrorCode::kLocked,
      fmt::format("Error acquiring the state lock: {}\n{}", why, LockInfoBlock(holder)), hint);
}

// `state: yarn` would have podctl lock, write to and remove yarn.lock.
Error ForeignFile(const std::string& path) {
  return MakeError(ErrorCode::kFailedPrecondition,
                   fmt::format("cannot lock the state: {} is no lock of podctl", path),
                   "Give the state another name (`state:` in the spec), or move that file away.");
}

Error Cancelled() {
  return MakeError(ErrorCode::kCancelled, "stopped while waiting for the state lock");
}

}  // namespace

Result<std::unique_ptr<StateLock>> LocalStore::Lock(const LockInfo& info, const LockWait& wait,
                                                    std::stop_token stop) {
  if (stop.stop_requested()) return Cancelled();
  if (!options_.lock) return NoStateLock();
  Result<std::string> target = Target();
  if (!target) return target.error();
  const Clock::SteadyTime began = clock_.Steady();
  const Clock::SteadyTime deadline = began + wait.timeout;
  Clock::SteadyTime next_word = began;
  bool again = false;
  for (std::chrono::milliseconds pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    LockInfo holder;
    Result<std::unique_ptr<StateLock>> lock = TryLockOnce(*target, info, again, &holder);
    again = true;
    if (lock) {
      RemoveLeftovers(*target);
      return lock;
    }
    if (lock.error().code != ErrorCode::kLocked) return lock;
    const Clock::SteadyTime now = clock_.Steady();
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now);
    if (left.count() <= 0) return lock;
    if (wait.on_wait && now >= next_word) {
      const bool first = std::exchange(next_word, now + kWordPace) == began;
      const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(now - began);
      wait.on_wait(holder, first ? std::chrono::milliseconds(0) : waited);
    }
    // A quarter more or less: of many that wait, not all look in the same moment.
    const std::chrono::milliseconds jittered(static_cast<std::int64_t>(
        static_cast<double>(pause.count()) * (0.75 + random_.Uniform() / 2)));
    if (!clock_.SleepFor(std::min(jittered, left), stop)) return Cancelled();
  }
}

// Takes the kernel's lock; kLocked with the holder's name in `holder` when another has it. `again`:
// this is not the first try, so whose name stands there has been doubted before.
Result<FileSystem::Locked> LocalStore::TryHold(const std::string& path, bool again,
                                               LockInfo* holder) {
  for (int round = 0;; ++round) {
    Result<FileSystem::Locked> taken = files_.TryLock(path);
    if (taken || taken.error().code != ErrorCode::kLocked) return taken;
    const Result<std::string> text = files_.Read(path, kMaxLockTextBytes);
    *holder = LockInfoFromJson(text.value_or("")).value_or(LockInfo{});
    // No name yet, or still that of the dead run before: the next look tells more. When there is no
    // file any more, the next one may even find the lock free.
    const bool dead = holder->host == self_.host && holder->pid > 0 &&
                      !self_.process_ran_at(holder->pid, holder->created);
    const bool named = !holder->id.empty() && (!dead || again);
    if (named || round == kNameRounds) return taken;
    const bool gone = !text && text.error().code == ErrorCode::kNotFound;
    if (!gone) clock_.SleepFor(kNamePause, {});
  }
}

Result<std::unique_ptr<StateLock>> LocalStore::TryLockOnce(const std::string& target,
                                                           const LockInfo& info, bool again,
                                                           LockInfo* holder) {
  const std::string path = target + std::string(kLockSuffix);
  Result<FileSystem::Locked> taken = TryHold(path, again, holder);
  if (!taken && taken.error().code == ErrorCode::kLocked) {
    return Locked("another run holds it", *holder, path_,
                  "Wait for that run to end, or let podctl wait: --lock-timeout 5m.");
  }
  if (!taken) {
    return MakeError(taken.error().code, "cannot lock the state: " + taken.error().message,
                     taken.error().hint);
  }

  std::string note;
  if (std::optional<LockInfo> left = LockInfoFromJson(taken->content)) {
    *holder = *left;
    const std::string unlock =
        fmt::format("If it is sure that this run has ended: podctl unlock {}",
                    ShellQuote(VisibleControls(left->id)));
    if (left->host != self_.host) {
      return Locked(fmt::format("a run on host {} did not release it", VisibleControls(left->host)),
                    *left, path_, unlock);
    }
    if (left->pid != self_.pid && self_.process_ran_at(left->pid, left->created)) {
      return Locked(fmt::format("process {} of this host is still there", left->pid), *left, path_,
                    unlock);
    }
    note = fmt::format(
        "took over the state lock of {} ({}, process {}), which ended without releasing it",
        VisibleControls(left->who), VisibleControls(left->operation), left->pid);
  } else if (!MayBeCutLockInfo(taken->content)) {
    return ForeignFile(path);
  } else if (!taken->content.empty()) {
    note = "took over a state lock that nobody holds and whose text cannot be read";
  }
  // The run before may have died between a save's rename and its confirmation by the disk: what
  // this run reads, and tells of, must not go back when the power fails.
  if (!note.empty()) {
    if (Result<void> synced = files_.SyncFolder(FolderOf(target)); !synced) {
      (void)files_.Unlock(std::move(taken->lock));
      return MakeError(synced.error().code, "cannot lock the state: " + synced.error().message,
                       "Check the disk.");
    }
  }

  LockInfo mine = info;
  if (mine.id.empty()) mine.id = random_.Uuid();
  if (mine.who.empty()) mine.who = self_.who;
  if (mine.host.empty()) mine.host = self_.host;
  if (mine.pid == 0) mine.pid = self_.pid;
  if (mine.created.empty()) mine.created = FormatTimestamp(clock_.Now());
  if (mine.path.empty()) mine.path = path_;
  if (mine.version.empty()) mine.version = PODCTL_VERSION;
  if (Result<void> named = files_.ReplaceLockText(*taken->lock, LockInfoToJson(mine)); !named) {
    (void)files_.Unlock(std::move(taken->lock));
    return MakeError(named.error().code, "cannot lock the state: " + named.error().message);
  }
  return std::unique_ptr<StateLock>(
      std::make_unique<LocalLock>(files_, std::move(taken->lock), std::move(note)));
}

// Whose name stands in the lock; nullopt: nobody's.
std::optional<LockInfo> LocalStore::NamedInLock() {
  const Result<std::string> target = Target();
  if (!target) return std::nullopt;
  const auto text = files_.Read(*target + std::string(kLockSuffix), kMaxLockTextBytes);
  return LockInfoFromJson(text.value_or(""));
}

// Of another host it is not known.
bool LocalStore::IsKnownDead(const LockInfo& holder) const {
  if (holder.host != self_.host) return false;
  return holder.pid == self_.pid || !self_.process_ran_at(holder.pid, holder.created);
}

// The kernel's lock is not tried: that would keep out, for a moment, who comes to take it.
std::optional<LockInfo> LocalStore::Holder() {
  auto named = NamedInLock();
  return !named || IsKnownDead(*named) ? std::nullopt : std::move(named);
}

std::optional<LockInfo> LocalStore::LeftBehind() {
  auto named = NamedInLock();
  return !named || !IsKnownDead(*named) ? std::nullopt : std::move(named);
}

Result<void> LocalStore::CheckLockPlace() {
  const Result<std::string> target = Target();
  if (!target) return target.error();
  const std::string path = *target + std::string(kLockSuffix);
  const auto text = files_.Read(path, kMaxLockTextBytes);
  if (!text || LockInfoFromJson(*text) || MayBeCutLockInfo(*text)) return {};
  return ForeignFile(path);
}

Result<void> LocalStore::ForceUnlock(const std::string& id) {
  Result<std::string> target = Target();
  if (!target) return target.error();
  const std::string path = *target + std::string(kLockSuffix);
  const Error not_locked =
      MakeError(ErrorCode::kNotFound, fmt::format("the state {} is not locked", path_));
  Result<std::string> text = files_.Read(path, kMaxLockTextBytes);
  if (!text && text.error().code == ErrorCode::kNotFound) return not_locked;
  if (!text) return text.error();
  const std::optional<LockInfo> holder = LockInfoFromJson(*text);
  if (!holder && !MayBeCutLockInfo(*text)) return ForeignFile(path);
  if (holder && holder->id != id) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("the lock of the state {} has another ID\n{}", path_, LockInfoBlock(*holder)));
  }
  Result<FileSystem::Locked> taken = files_.TryLock(path);
  if (!taken && taken.error().code == ErrorCode::kLocked) {
    return MakeError(
        ErrorCode::kLocked,
        fmt::format("the run that holds the lock of the state {} is alive", path_),
        holder && holder->pid > 0
            ? fmt::format("End process {} on {} first.", holder->pid, VisibleControls(holder->host))
            : "End that run first.");
  }
  if (!taken) return taken.error();
  // Another run may have come and gone, or come and died, between the reading and the taking.
  if (taken->content != *text) return not_locked;
  return files_.Unlock(std::move(taken->lock));
}

}  // namespace podctl
