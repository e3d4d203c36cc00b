// The lock of an HttpStore: taking it, waiting for it, taking it over from the dead.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "providers/base/text.h"
#include "state/stores/http/http_store.h"

namespace podctl {
namespace {

constexpr std::chrono::milliseconds kFirstTry{250};
constexpr std::chrono::milliseconds kLongestTry{5'000};
constexpr std::chrono::seconds kWaitTellPace{10};  // between two words to who waits
constexpr int kMostRounds = 20;                    // the lock changed hands under each of them
// At its end a run does not wait for long: it keeps nobody waiting but those who want the lock.
constexpr std::chrono::seconds kReleasePatience{15};

bool IsLockHeld(int status) {
  return status == 409 || status == 423;
}

bool IsDone(int status) {
  return status == 200 || status == 201 || status == 204;
}

Error EndedWaiting() {
  return MakeError(ErrorCode::kCancelled, "stopped while waiting for the state lock");
}

}  // namespace

class HttpStore::HeldLock final : public StateLock {
 public:
  HeldLock(std::shared_ptr<HttpStateClient> client, std::shared_ptr<const HttpLock> lock,
           std::string note, std::function<void(const std::string&)> on_warning)
      : client_(std::move(client)),
        lock_(std::move(lock)),
        note_(std::move(note)),
        on_warning_(std::move(on_warning)) {}
  // One that cannot be released is told of by who finds it, and taken over on this machine; one
  // that may not be stands for everybody else.
  ~HeldLock() override {
    const auto unlocked = client_->Unlock(*lock_, kReleasePatience);
    if (!unlocked || !on_warning_ || (unlocked->status != 401 && unlocked->status != 403)) return;
    const Error why = client_->ErrorOf(HttpDeed::kUnlock, *unlocked);
    on_warning_(fmt::format("the lock {} stays: {}{}{}", lock_->info.id, why.message,
                            why.hint.empty() ? "" : ". ", why.hint));
  }
  std::string TakeoverNote() const override { return note_; }

 private:
  std::shared_ptr<HttpStateClient> client_;
  std::shared_ptr<const HttpLock> lock_;
  std::string note_;
  std::function<void(const std::string&)> on_warning_;
};

std::string HttpStore::HeldId() const {
  const auto held = held_.lock();
  return held ? held->id : "";
}

HttpLock HttpStore::Mine(const LockInfo& info) const {
  HttpLock mine{info, "", self_.mark};
  if (mine.info.id.empty()) mine.info.id = random_.Uuid();
  if (mine.info.who.empty()) mine.info.who = self_.who;
  if (mine.info.host.empty()) mine.info.host = self_.host;
  if (mine.info.pid == 0) mine.info.pid = self_.pid;
  if (mine.info.created.empty()) mine.info.created = FormatTimestamp(clock_.Now());
  if (mine.info.path.empty()) mine.info.path = Where();
  if (mine.info.version.empty()) mine.info.version = PODCTL_VERSION;
  mine.id = HttpLockId(mine.info, mine.mark);
  return mine;
}

std::optional<HttpLock> HttpStore::HolderIn(const http::Response& response) const {
  return HttpLockFromJson(response.body, client_->place().server, self_.mark);
}

bool HttpStore::HasEnded(const HttpLock& lock) const {
  return !lock.mark.empty() && self_.has_ended && self_.has_ended(lock.mark);
}

// Whether its process surely runs on this machine.
bool HttpStore::IsAlive(const HttpLock& lock) const {
  if (lock.ran_elsewhere) return false;  // its number is another process here
  if (!lock.mark.empty()) return !HasEnded(lock);
  return lock.info.pid > 0 && lock.info.host == self_.host &&
         self_.process_ran_at(lock.info.pid, lock.info.created);
}

Error HttpStore::HeldByAnother(const HttpLock& holder) const {
  LockInfo shown = holder.info;
  shown.path = Where();  // whatever its text says
  const std::string command = holder.is_podctls ? "podctl unlock" : "terraform force-unlock";
  const std::string unlock =
      shown.id.empty()
          ? ""
          : fmt::format(" {} does not run out: if it is sure that the run has ended, {} {}",
                        holder.is_podctls ? "It" : "The lock", command,
                        ShellQuote(VisibleControls(shown.id)));
  if (!holder.is_podctls) {
    return MakeError(ErrorCode::kLocked,
                     "Error acquiring the state lock: another tool holds it, such as Terraform or "
                     "OpenTofu\n" +
                         LockInfoBlock(shown),
                     "Two tools cannot share one state: if that one keeps its state there, give "
                     "podctl's a name of its own (`state` in the spec)." +
                         unlock);
  }
  return MakeError(ErrorCode::kLocked,
                   "Error acquiring the state lock: another run holds it\n" + LockInfoBlock(shown),
                   "Wait for that run to end, or let podctl wait: --lock-timeout 5m." + unlock);
}

Result<void> HttpStore::CheckIsNotTerraforms(const HttpLock& holder, const std::stop_token& stop) {
  if (holder.is_podctls) return {};
  const auto stored = Fetch(stop);
  if (stored || stored.error().code != ErrorCode::kFailedPrecondition) return {};
  return stored.error();
}

Error HttpStore::NoServerLock() const {
  return MakeError(
      ErrorCode::kFailedPrecondition,
      fmt::format("cannot lock the state {}: it is not known how its server locks", Where()),
      "Set TF_HTTP_LOCK_ADDRESS (and TF_HTTP_LOCK_METHOD, TF_HTTP_UNLOCK_METHOD) as the server "
      "wants them. If it has no locks, nothing keeps two runs apart: whoever sees to that "
      "otherwise "
      "runs podctl with --lock=false.");
}

// A save was refused because of the lock.
Error HttpStore::LockRefused(const http::Response& response) const {
  const auto holder = HolderIn(response);
  if (HeldId().empty()) return HeldByAnother(holder.value_or(HttpLock{}));
  const LockInfo shown = holder ? holder->info : LockInfo{};
  return MakeError(ErrorCode::kFailedPrecondition,
                   fmt::format("the lock of the state {} was taken from this run\n{}", Where(),
                               LockInfoBlock(shown)),
                   "Somebody unlocked the state. Run the command again: it then starts from the "
                   "state that is stored now.");
}

Result<std::optional<std::string>> HttpStore::TryTake(const HttpLock& mine, HttpLock* other,
                                                      const std::stop_token& stop) {
  std::string note;
  for (int round = 0; round < kMostRounds; ++round) {
    const auto answer = client_->Lock(mine, stop);
    if (answer && IsDone(answer->status)) return std::make_optional(note);
    if (!answer || !IsLockHeld(answer->status)) {
      const Error error = answer ? client_->ErrorOf(HttpDeed::kLock, *answer)
                                 : client_->ErrorOf(HttpDeed::kLock, answer.error());
      // It may have been taken all the same, and would stand for ever.
      const bool open = answer ? answer->status >= 500 || answer->status == 408
                               : error.code == ErrorCode::kReplyLost || stop.stop_requested();
      if (open) (void)client_->Unlock(mine, kFirstTry);
      return error;
    }
    const auto holder = HolderIn(*answer);
    // By a request of this very call whose answer was lost.
    if (holder && holder->id == mine.id) return std::make_optional(note);
    *other = holder.value_or(HttpLock{});
    if (!holder || !HasEnded(*holder)) return std::optional<std::string>();
    const auto unlocked = client_->Unlock(*holder, kReleasePatience);
    if (!unlocked) return client_->ErrorOf(HttpDeed::kUnlock, unlocked.error());
    if (!IsDone(unlocked->status) && !IsLockHeld(unlocked->status)) {
      return client_->ErrorOf(HttpDeed::kUnlock, *unlocked);
    }
    const std::string run = holder->info.run_url.empty()
                                ? fmt::format("process {}", holder->info.pid)
                                : VisibleControls(holder->info.run_url);
    note = fmt::format("took over the state lock of {} ({}, {}), which ended without releasing it",
                       VisibleControls(holder->info.who), VisibleControls(holder->info.operation),
                       run);
  }
  return std::optional<std::string>();
}

Result<std::unique_ptr<StateLock>> HttpStore::Lock(const LockInfo& info, const LockWait& wait,
                                                   std::stop_token stop) {
  if (stop.stop_requested()) return EndedWaiting();
  options_.run.operation = info.operation;
  if (!options_.lock) return NoStateLock();
  if (client_->place().lock_url.empty()) return NoServerLock();
  const HttpLock mine = Mine(info);
  const Clock::SteadyTime began = clock_.Steady();
  const Clock::SteadyTime deadline = began + wait.timeout;
  Clock::SteadyTime next_word = began;
  bool is_looked_at = false;
  for (std::chrono::milliseconds pause = kFirstTry;; pause = std::min(2 * pause, kLongestTry)) {
    HttpLock other;
    Result<std::optional<std::string>> took = TryTake(mine, &other, stop);
    if (!took) return stop.stop_requested() ? EndedWaiting() : took.error();
    if (*took) {
      auto lock = std::make_shared<const HttpLock>(mine);
      held_ = lock;
      return std::unique_ptr<StateLock>(
          std::make_unique<HeldLock>(client_, std::move(lock), **took, options_.on_warning));
    }
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock_.Steady());
    // At first, for the words of who waits, and at the end, for what was saved meanwhile.
    if (!std::exchange(is_looked_at, true) || left.count() <= 0) {
      if (auto is_not = CheckIsNotTerraforms(other, stop); !is_not) return is_not.error();
    }
    const Clock::SteadyTime now = clock_.Steady();
    left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now);
    if (left.count() <= 0) return HeldByAnother(other);
    if (wait.on_wait && now >= next_word) {
      const bool first = std::exchange(next_word, now + kWaitTellPace) == began;
      const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(now - began);
      wait.on_wait(other.info, first ? std::chrono::milliseconds(0) : waited);
    }
    // A quarter more or less: of many that wait, not all ask in the same moment.
    const std::chrono::milliseconds jittered(static_cast<std::int64_t>(
        static_cast<double>(pause.count()) * (0.75 + random_.Uniform() / 2)));
    if (!clock_.SleepFor(std::min(jittered, left), stop)) return EndedWaiting();
  }
}

// Only Gitea tells it to who does not try the lock: to unlock with an ID of nobody does nothing,
// and says whether it is locked.
std::optional<LockInfo> HttpStore::Holder() {
  tells_holder_ = false;
  // To who cannot lock it, it tells nothing either; and who only reads is to send nothing else.
  const bool may_ask =
      client_->place().server == HttpServer::kGitea && !client_->place().user.empty();
  if (!may_ask) return std::nullopt;
  LockInfo nobody;
  nobody.operation = "status";
  const HttpLock unknown = Mine(nobody);
  const auto free = client_->Unlock(unknown, kReleasePatience);
  if (!free || (!IsDone(free->status) && !IsLockHeld(free->status))) return std::nullopt;
  tells_holder_ = true;
  if (IsDone(free->status)) return std::nullopt;
  const auto answer = client_->AskWhoLocks();
  const auto holder = answer && IsLockHeld(answer->status) ? HolderIn(*answer) : std::nullopt;
  if (!holder) return std::nullopt;  // released meanwhile
  const bool own = holder->id == HeldId() || (!self_.mark.empty() && holder->mark == self_.mark);
  return own || HasEnded(*holder) ? std::nullopt : std::optional<LockInfo>(holder->info);
}

Result<void> HttpStore::ForceUnlock(const std::string& id) {
  if (client_->place().lock_url.empty()) return NoServerLock();
  LockInfo info;
  info.operation = "unlock";
  const HttpLock mine = Mine(info);
  const auto tried = client_->Lock(mine, {});
  if (!tried) return client_->ErrorOf(HttpDeed::kLock, tried.error());
  auto holder = HolderIn(*tried);
  if (IsDone(tried->status) || (IsLockHeld(tried->status) && holder && holder->id == mine.id)) {
    (void)client_->Unlock(mine, kReleasePatience);
    return MakeError(ErrorCode::kNotFound, fmt::format("the state {} is not locked", Where()));
  }
  if (!IsLockHeld(tried->status)) return client_->ErrorOf(HttpDeed::kLock, *tried);
  if (holder && !holder->is_podctls) {
    if (holder->info.path.empty()) holder->info.path = Where();
    return MakeError(
        ErrorCode::kLocked,
        fmt::format("the lock of the state {} is another tool's, such as Terraform's or "
                    "OpenTofu's\n{}",
                    Where(), LockInfoBlock(holder->info)),
        fmt::format("podctl releases its own locks only. If it is sure that the run has ended: "
                    "terraform force-unlock {}",
                    ShellQuote(VisibleControls(holder->info.id))));
  }
  if (holder && holder->info.id != id && holder->id != id) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("the lock of the state {} has another ID\n{}", Where(),
                                 LockInfoBlock(holder->info)));
  }
  if (holder && IsAlive(*holder)) {
    return MakeError(ErrorCode::kLocked,
                     fmt::format("the run that holds the lock of the state {} is alive", Where()),
                     fmt::format("End process {} of this machine first.", holder->info.pid));
  }
  if (!holder) {
    // A server that does not say who: as Terraform, by the ID alone.
    holder = Mine(info);
    holder->info.id = id;
    holder->id = id;
  }
  const auto unlocked = client_->Unlock(*holder, kReleasePatience);
  if (!unlocked) return client_->ErrorOf(HttpDeed::kUnlock, unlocked.error());
  if (IsDone(unlocked->status)) return {};
  return client_->ErrorOf(HttpDeed::kUnlock, *unlocked);
}

}  // namespace podctl
