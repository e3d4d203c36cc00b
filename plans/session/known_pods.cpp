#include "plans/session/known_pods.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "plans/fleet/pod_target.h"
#include "plans/kinds/pod/backing.h"
#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/node_trouble.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/published_keys.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/route.h"
#include "plans/kinds/pod/settle.h"
#include "plans/session/history_hint.h"
#include "providers/base/text.h"
#include "providers/ssh/cause.h"

namespace podctl {

Result<PodRecord> KnownPods::Record(const std::string& name, std::string* lineage) const {
  const auto store = doors_.open_store();
  auto stored = store->Load();
  if (!stored) return stored.error();
  if (lineage != nullptr && stored->state) *lineage = stored->state->lineage;
  const std::string kept = stored->state ? "" : HistoryHint(*store, doors_.flags);
  return FindRecord(std::move(stored->state).value_or(State{}), name, kept);
}

Result<PodTarget> KnownPods::TargetOf(const std::string& name, PodRecord record) const {
  std::optional<Error> unread;
  if (LacksAttributes(record)) {
    if (!doors_.provider) return doors_.provider.error();
    unread = LearnAttributes(**doors_.provider, doors_.stop, &record);
  }
  if (const auto why = LogInAsCaller(*doors_.entry.login(), &record)) {
    doors_.on_remark(why->asked
                         ? why->why.message + ", and the spec says `publishKey: false`."
                         : fmt::format("OS Login could not be asked ({}); entering as {}.",
                                       why->why.message,
                                       why->instead.empty() ? "the local user" : why->instead));
  }
  return podctl::TargetOf(name, record, unread, doors_.known_hosts);
}

namespace {

// Ends a question after a while, so that nobody waits for it who can do without the answer.
class Patience {
 public:
  explicit Patience(const std::stop_token& stop) : with_(stop, [this] { end_.request_stop(); }) {
    thread_ = std::jthread([this](const std::stop_token& answered) {
      constexpr std::chrono::seconds kLongest{3};
      std::mutex mutex;
      std::unique_lock lock(mutex);
      std::condition_variable_any over;
      over.wait_for(lock, answered, kLongest, [] { return false; });
      end_.request_stop();
    });
  }
  std::stop_token token() const { return end_.get_token(); }

 private:
  std::stop_source end_;
  const std::stop_callback<std::function<void()>> with_;
  std::jthread thread_;  // the last member: it uses the others
};

}  // namespace

// Of a pod whose request has come to its end, which tells more than its node does.
Error KnownPods::WithoutWorkers(const std::string& pod, const NodeRequest& request) const {
  const bool taken = request.state.starts_with("SUSPEND");
  return MakeError(ErrorCode::kFailedPrecondition,
                   fmt::format("pod `{}` has no workers: {}", pod, RequestWords(request)),
                   AdviceForLost(PodAddress(pod), taken && IsWatched(pod), "asks for it anew"));
}

Result<void> KnownPods::CheckWorkers(const std::string& pod, const PodRecord& record) const {
  return CheckUsable(pod, record, [&] { return IsWatched(pod); });
}

// An error where the service says that the pod has no node that could answer.
Result<void> KnownPods::CheckAlive(const std::string& pod, const PodRecord& record,
                                   const std::stop_token& stop) const {
  if (!doors_.provider || !record.exists()) return {};
  const Patience patience(stop);
  const auto node =
      (*doors_.provider)->InVersion(record.api_version).GetNode(NameOf(record), patience.token());
  PodRecord now = record;
  if (node) {
    if (!record.uid().empty() && !IsSameUid(record.uid(), NodeUid(*node))) {
      return MakeError(ErrorCode::kFailedPrecondition,
                       fmt::format("pod `{}` is gone: `{}` is another node by now, made outside of "
                                   "podctl",
                                   pod, record.current.locator),
                       "`podctl plan` shows what is to be done about it.");
    }
    TakeObserved(*node, &now);
    const std::string state = NodeState(now.observed);
    if (!IsTerminalState(state) && !IsStopped(*node) && state != "DELETING") {
      NoteTrouble(pod, *node);
      return {};
    }
  } else if (node.error().code == ErrorCode::kNotFound) {
    now.observed = Value();
  } else {
    return {};  // nobody can tell
  }
  std::string lineage;
  static_cast<void>(Record(pod, &lineage));
  const auto asked = BackingOf(record).AskRequest(
      **doors_.provider, record, node ? &*node : nullptr, lineage, patience.token());
  if (asked && *asked && (*asked)->over) return WithoutWorkers(pod, **asked);
  return CheckWorkers(pod, now);
}

void KnownPods::NoteTrouble(const std::string& pod, const Value& node) const {
  auto trouble = TroubleOfState(NodeState(node));
  if (!trouble) trouble = TroubleOfHealth(NodeHealth(node));
  const std::lock_guard lock(mutex_);
  troubles_.erase(pod);
  if (!trouble) return;
  const std::string why = NodeHealthDescription(node);
  troubles_[pod] = trouble->what + (why.empty() ? "" : fmt::format(" ({})", why));
}

std::string KnownPods::StandingAdvice(const std::string& pod) const {
  std::string loss = LossAdvice(pod);
  return loss.empty() ? TroubleSeen(pod) : loss;
}

std::string KnownPods::TroubleSeen(const std::string& pod) const {
  const std::string name = BarePodName(pod);
  const std::string what = TroubleWords(name);
  return what.empty()
             ? std::string()
             : fmt::format("Pod `{0}` {1}. `podctl doctor {0}` says what to do.", name, what);
}

std::string KnownPods::TroubleWords(const std::string& pod) const {
  const std::lock_guard lock(mutex_);
  const auto trouble = troubles_.find(BarePodName(pod));
  return trouble == troubles_.end() ? std::string() : trouble->second;
}

std::string KnownPods::LossAdvice(const std::string& pod) const {
  {
    const std::lock_guard lock(mutex_);
    const auto reported = losses_.find(BarePodName(pod));
    if (reported != losses_.end()) return reported->second.hint;
  }
  const auto record = Record(pod);
  if (!record) return {};
  const auto loss = AskLoss(pod, *record, doors_.stop);
  return loss ? fmt::format("{} {}", Sentence(loss->message), loss->hint) : std::string();
}

std::optional<Error> KnownPods::AskLoss(const std::string& pod, const PodRecord& record,
                                        const std::stop_token& stop) const {
  const std::string name = BarePodName(pod);
  const auto alive = CheckAlive(name, record, stop);
  const std::lock_guard lock(mutex_);
  losses_.erase(name);
  if (alive) return std::nullopt;
  return losses_.emplace(name, alive.error()).first->second;
}

Error KnownPods::WithRequest(const std::string& pod, const PodRecord& record,
                             const std::string& lineage, Error error) const {
  const auto pending = record.pending();
  const bool goes = pending && pending->kind == PendingAction::Kind::kDelete;
  if (!doors_.provider || goes) return error;
  const Patience patience(doors_.stop);
  const auto asked =
      BackingOf(record).AskRequest(**doors_.provider, record, nullptr, lineage, patience.token());
  if (!asked || !*asked) return error;
  const NodeRequest& request = **asked;
  if (request.over || (!request.waits && !record.exists())) return WithoutWorkers(pod, request);
  if (record.exists()) return error;
  error.message += fmt::format(": {}", RequestWords(request));
  error.hint = fmt::format("`podctl apply --target {}` waits for it.", PodAddress(pod));
  return error;
}

Result<PodTarget> KnownPods::Find(const std::string& name) const {
  std::string lineage;
  auto record = Record(name, &lineage);
  if (!record) return record.error();
  if (auto usable = CheckWorkers(BarePodName(name), *record); !usable) {
    return WithRequest(BarePodName(name), *record, lineage, usable.error());
  }
  // Else its workers would be waited for, and nobody would know why they do not answer.
  if (BackingOf(*record).MayBeTaken(*record)) {
    if (auto alive = CheckAlive(BarePodName(name), *record, doors_.stop); !alive) {
      return alive.error();
    }
  }
  {
    const std::lock_guard lock(mutex_);
    losses_.erase(BarePodName(name));  // it may have been made anew since
  }
  return TargetOf(name, *std::move(record));
}

Result<ChosenWorkers> KnownPods::Choose(const std::string& name, const std::string& selection,
                                        const std::string& fallback) const {
  auto target = Find(name);
  if (!target) return target.error();
  auto workers = SelectWorkers(*target, selection, fallback);
  if (!workers) return workers.error();
  return ChosenWorkers{*std::move(target), *std::move(workers)};
}

void KnownPods::Remember(const std::string& address,
                         const std::map<int, HostKeyText>& learned) const {
  if (learned.empty()) return;
  const auto kept = RememberHostKeys(*doors_.open_store(), doors_.lock(), address, learned);
  if (!kept) doors_.on_forgotten(kept.error());
}

std::string KnownPods::RefusedKeyAdvice(const std::string& pod) const {
  const auto record = Record(pod);
  if (!record || record->ssh.os_login_user) return {};
  const auto ours = doors_.entry.Keys().For(record->ssh, false);
  if (!ours || ours->empty() || !doors_.provider) return {};
  const std::string& first = ours->front();
  const std::string lack = fmt::format("The node's `ssh-keys` do not hold our key for `{}` ({})",
                                       KeyUser(first), KeyWords(first));
  switch (StatusOfKey(*record, *ours, **doors_.provider, doors_.stop)) {
    case KeyStatus::kUnknown:
      return {};
    case KeyStatus::kNotTakenUp:
      return fmt::format(
          "The node's `ssh-keys` hold our key for `{}`, but the worker does not go by them yet: "
          "its guest agent takes them up, within a minute when it is well.",
          KeyUser(first));
    case KeyStatus::kNotInSpec:
      return lack + ": add it to `metadata.ssh-keys` of the spec.";
    case KeyStatus::kWithheld:
      return lack + ", and the spec says `publishKey: false`: list it under `ssh.publishKeys`.";
    case KeyStatus::kUnpublished:
      return fmt::format("{}: `podctl apply --target {}` publishes it.", lack,
                         PodAddress(BarePodName(pod)));
  }
  return {};
}

namespace {

// Its SSH server was there, whatever became of the command.
bool HasAnswered(const ssh::WorkerResult& result) {
  return result.outcome == ssh::Outcome::kExited || result.outcome == ssh::Outcome::kSignaled ||
         result.outcome == ssh::Outcome::kTimedOut;
}

}  // namespace

std::string KnownPods::SilenceAdvice(const std::string& pod,
                                     const std::vector<ssh::WorkerResult>& results) const {
  std::string advice;
  const bool alone = std::any_of(results.begin(), results.end(), HasAnswered);
  bool asked = false;
  for (const ssh::WorkerResult& result : results) {
    if (result.outcome == ssh::Outcome::kAuthRefused) return RefusedKeyAdvice(pod);
    if (result.outcome == ssh::Outcome::kHostKeyChanged) {
      if (std::string loss = LossAdvice(pod); !loss.empty()) return loss;
      return "If the machine was made anew, the API has its new key: podctl apply --refresh-only";
    }
    const bool silent =
        result.outcome == ssh::Outcome::kUnreachable || result.outcome == ssh::Outcome::kLost;
    if (silent && !std::exchange(asked, true)) {
      if (std::string status = StandingAdvice(pod); !status.empty()) return status;
    }
    if (result.outcome == ssh::Outcome::kUnreachable && advice.empty()) {
      advice = alone ? ssh::AloneAdvice(result.cause) : ssh::ReachAdvice(result.cause);
      if (alone && !advice.empty()) {
        advice += fmt::format(" `podctl doctor {}` says what to do.", BarePodName(pod));
      }
    }
  }
  return advice;
}

}  // namespace podctl
