#include "plans/session/watch_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "plans/engine/kind.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "state/state.h"

namespace podctl {
namespace {

class Policy {
 public:
  Policy(const Spec& spec, const State& state, const Plan& plan) : state_(state), plan_(plan) {
    for (const PodSpec* pod : DeclaredPods(spec)) pods_[PodAddress(pod->name)] = pod;
    for (const Declared& declared : spec.declared) declared_[declared.address] = &declared;
    for (const Change& change : plan.changes) changes_[change.address] = &change;
  }

  WatchedPlan Run() {
    for (const Change& change : plan_.changes) {
      if (MayDo(change)) allowed_.insert(change.address);
    }
    HoldBack();
    WatchedPlan watched;
    watched.plan = plan_;
    watched.plan.changes.clear();
    watched.plan.drift.clear();
    watched.acts = !allowed_.empty();
    const std::set<Address> grounds = Grounds();
    for (const Change& change : plan_.changes) {
      const bool keep = IsKeep(change);
      if (allowed_.contains(change.address) || (keep && grounds.contains(change.address))) {
        watched.plan.changes.push_back(change);
      }
      if (!keep && !allowed_.contains(change.address)) watched.left.push_back(Told(change));
    }
    return watched;
  }

 private:
  static std::string LostOf(const Change& change) {
    const PodChange* pod = AsPod(change);
    return pod == nullptr ? "" : pod->lost;
  }

  const PodSpec* PodOf(const Change& change) const {
    const auto pod = pods_.find(PodAddress(PodNameOf(change.address)));
    return pod == pods_.end() ? nullptr : pod->second;
  }

  bool IsRecoveringPod(const Address& address) const {
    const PodRecord* record = Pods(state_).Get(address);
    return record != nullptr && IsRecovering(*record);
  }

  // By itself; what it waits for is looked at in HoldBack.
  bool MayDo(const Change& change) const {
    const PodSpec* pod = PodOf(change);
    if (pod == nullptr) {
      const Kind* kind = change.payload.kind();
      return kind->follows(change) && std::any_of(change.waits_for.begin(), change.waits_for.end(),
                                                  [&](const Address& address) {
                                                    const auto base = changes_.find(address);
                                                    return base != changes_.end() &&
                                                           MayDo(*base->second);
                                                  });
    }
    if (!pod->recreate_when_lost) return false;
    if (Makes(change)) return !LostOf(change).empty();
    if (change.verb != Verb::kRun) return false;
    const Address address = PodAddress(PodNameOf(change.address));
    const auto of_pod = changes_.find(address);
    if (of_pod == changes_.end()) return false;
    // The bootstrap of a pod that is made anew, or was, by a run that did not come to its end.
    return IsKeep(*of_pod->second) ? IsRecoveringPod(address) : MayDo(*of_pod->second);
  }

  // What builds on something that is not done here cannot be done either.
  void HoldBack() {
    for (bool again = true; again;) {
      again = false;
      for (const Change& change : plan_.changes) {
        if (!allowed_.contains(change.address)) continue;
        for (const Address& address : change.waits_for) {
          const auto other = changes_.find(address);
          const bool done =
              other == changes_.end() || IsKeep(*other->second) || allowed_.contains(address);
          if (done) continue;
          allowed_.erase(change.address);
          held_[change.address] = address;
          again = true;
          break;
        }
      }
    }
  }

  // What is done, what that builds on, which it may refer to, and pods whose recovery is complete
  // but for a note.
  std::set<Address> Grounds() const {
    std::vector<Address> open;
    for (const Address& address : allowed_) {
      const std::string pod = PodNameOf(address);
      open.push_back(pod.empty() ? address : PodAddress(pod));
    }
    for (const auto& [address, record] : Pods(state_)) {
      if (IsRecovering(record) && !HasStepsLeft(address)) open.push_back(address);
    }
    std::set<Address> grounds;
    while (!open.empty()) {
      const Address address = open.back();
      open.pop_back();
      if (!grounds.insert(address).second) continue;
      if (const auto thing = declared_.find(address); thing != declared_.end()) {
        for (const Address& base : thing->second->builds_on) open.push_back(base);
      }
    }
    return grounds;
  }

  bool HasStepsLeft(const Address& address) const {
    for (const Change& change : plan_.changes) {
      if (change.verb == Verb::kRun && PodNameOf(change.address) == address.name) return true;
    }
    return false;
  }

  std::string Told(const Change& change) const {
    const auto held = held_.find(change.address);
    if (held != held_.end()) {
      return fmt::format("{} waits for {}, which is not done here", change.address, held->second);
    }
    if (const std::string lost = LostOf(change); !lost.empty()) {
      return fmt::format("{} is {}, and its `onPreemption` is not `recreate`", change.address,
                         lost);
    }
    return fmt::format("{}: {}{}", change.address, WordOf(change.verb),
                       change.reason.empty() ? "" : ", because " + change.reason);
  }

  const State& state_;
  const Plan& plan_;
  std::map<Address, const PodSpec*> pods_;
  std::map<Address, const Declared*> declared_;
  std::map<Address, const Change*> changes_;
  std::set<Address> allowed_;
  std::map<Address, Address> held_;  // for what
};

}  // namespace

WatchedPlan ApplyWatchPolicy(const Spec& spec, const State& state, const Plan& plan) {
  return Policy(spec, state, plan).Run();
}

}  // namespace podctl
