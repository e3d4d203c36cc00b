// The pods of the state, by the names that a command line gives them: how their workers are
// reached, what is remembered of them, and what to do about one that lets nobody in. The API is
// asked only for what the state lacks (endpoints, host keys), and whether a pod is still there that
// may be taken back at any time; and OS Login as whom to enter.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "plans/fleet/pod_target.h"
#include "plans/fleet/run/supervise.h"
#include "plans/kinds/pod/backing.h"
#include "plans/session/access.h"
#include "providers/provider.h"
#include "providers/ssh/keys/known_hosts.h"
#include "providers/ssh/transport.h"
#include "state/store.h"

namespace podctl {

struct PodDoors {
  AccessDoors entry;
  Result<Provider*> provider;  // an error where the endpoint is none; told once it is asked
  ssh::KnownHostsFiles& known_hosts;
  std::function<std::unique_ptr<StateStore>()> open_store;
  std::string flags;               // by which another command finds the same state
  std::function<LockInfo()> lock;  // of who remembers host keys
  std::stop_token stop;
  // Of a pod that is not entered as who runs podctl.
  std::function<void(const std::string& remark)> on_remark;
  // Host keys seen for the first time could not be remembered.
  std::function<void(const Error& why)> on_forgotten;
  // Whether the spec at hand has `podctl watch` make a pod anew that the service takes. May be
  // empty.
  std::function<bool(const std::string& pod)> is_watched = {};
};

struct ChosenWorkers {
  PodTarget target;
  std::vector<WorkerAccess> workers;  // those that are meant
};

class KnownPods {
 public:
  explicit KnownPods(PodDoors doors) : doors_(std::move(doors)) {}

  // `name` as it was given, with workers or without. `lineage`, where it is wanted: the state's.
  Result<PodRecord> Record(const std::string& name, std::string* lineage = nullptr) const;
  Result<PodTarget> TargetOf(const std::string& name, PodRecord record) const;
  Result<PodTarget> Find(const std::string& name) const;
  // `selection` as --worker has it; empty: `fallback`.
  Result<ChosenWorkers> Choose(const std::string& name, const std::string& selection,
                               const std::string& fallback = "all") const;

  // Whether the spec at hand has `podctl watch` make it anew when the service takes it.
  bool IsWatched(const std::string& pod) const {
    return doors_.is_watched && doors_.is_watched(BarePodName(pod));
  }

  // Remembers keys that were trusted on first use. Best effort: nobody waits for the state's lock.
  void Remember(const std::string& address, const std::map<int, HostKeyText>& learned) const;

  // That the pod's node was taken back, or is gone, and what to do about it: two sentences; the
  // second alone where AskLoss has found that since Find, as the workers' results tell it then.
  // Empty: it is there, or nobody can tell. Asks the service.
  std::string LossAdvice(const std::string& pod) const;
  // The same as an error, for a pod whose record was read; nullopt: it is there, or nobody can
  // tell. Waits some seconds at most, and not beyond `stop`. Thread safe.
  std::optional<Error> AskLoss(const std::string& pod, const PodRecord& record,
                               const std::stop_token& stop) const;
  // Of a node that was there when it was last asked for, why its workers may be silent: "Pod `a` is
  // REPAIRING: …". Empty: nothing is known. Asks nobody. Thread safe.
  std::string TroubleSeen(const std::string& pod) const;
  // The same as what can follow the pod's name: "is REPAIRING".
  std::string TroubleWords(const std::string& pod) const;
  // Both of these.
  std::string StandingAdvice(const std::string& pod) const;
  // What to do about a worker that takes none of our keys, as far as its node tells: a sentence.
  // Empty where nothing is known.
  std::string RefusedKeyAdvice(const std::string& pod) const;
  // The same for workers that were not reached, whatever the reason.
  std::string SilenceAdvice(const std::string& pod,
                            const std::vector<ssh::WorkerResult>& results) const;

 private:
  Result<void> CheckAlive(const std::string& pod, const PodRecord& record,
                          const std::stop_token& stop) const;
  Result<void> CheckWorkers(const std::string& pod, const PodRecord& record) const;
  Error WithoutWorkers(const std::string& pod, const NodeRequest& request) const;
  // Of a pod that has no node: what the service says of the request for one.
  Error WithRequest(const std::string& pod, const PodRecord& record, const std::string& lineage,
                    Error error) const;
  void NoteTrouble(const std::string& pod, const Value& node) const;

  const PodDoors doors_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, Error> losses_;  // as last asked, by pod
  mutable std::map<std::string, std::string> troubles_;
};

// One of them, for a job. `pods` is lent.
class PodByName final : public JobPod {
 public:
  PodByName(const KnownPods& pods, std::string name) : pods_(pods), name_(std::move(name)) {}
  Result<PodRecord> Record() override { return pods_.Record(name_); }
  Result<PodTarget> Target() override { return pods_.Find(name_); }

 private:
  const KnownPods& pods_;
  const std::string name_;
};

}  // namespace podctl
