// From a pod's name and its record to its workers: what everything that is done on them begins
// with. Knows no store: who calls it has read the state.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "plans/kinds/pod/record.h"
#include "providers/provider.h"
#include "providers/ssh/keys/known_hosts.h"
#include "providers/worker.h"
#include "state/state.h"
#include "state/store.h"

namespace podctl {

struct PodTarget {
  std::string address;
  std::vector<WorkerAccess> workers;            // all of them, by number
  std::map<std::string, std::string> exec_env;  // for what is started
  // The workers that were named after the pod, as WorkerSelection reads them: "[1]/3" of
  // "research[1]/3", "0-3" of "research/0-3". Empty: none, and where only slices are,
  // `within_named` are still to be chosen of each of these.
  std::string named = {};
  bool within_named = false;
};

// "pod.research", "research" and "research[1]/3" -> "research".
std::string BarePodName(const std::string& name);
// What the state holds of the pod; without its `exec_env` where tpu-runtime takes that. `kept`:
// HistoryHint of a store that has no state.
Result<PodRecord> FindRecord(const State& state, const std::string& name, const std::string& kept);
// An error when the pod has no workers that could answer. `is_watched` is asked where the service
// has taken its node: whether the spec has `podctl watch` make it anew then. May be empty.
Result<void> CheckUsable(const std::string& name, const PodRecord& record,
                         const std::function<bool()>& is_watched = {});
// Of a pod whose node the service has taken, who `does` ("makes it anew") what is to be done.
std::string AdviceForLost(const Address& pod, bool watched, std::string_view does);

// For a record that LacksAttributes (route.h): takes over what the API tells of the workers. What
// is returned is why it did not.
std::optional<Error> LearnAttributes(Provider& provider, const std::stop_token& stop,
                                     PodRecord* record);
// `name` as it was given, with workers or without; `unread`: of LearnAttributes.
PodTarget TargetOf(const std::string& name, const PodRecord& record,
                   const std::optional<Error>& unread, ssh::KnownHostsFiles& known_hosts);

// Takes over the workers that `name` holds beside the pod's.
void TakeNamedWorkers(const std::string& name, PodTarget* target);

// The workers that `selection` means (providers/base/worker_selection.h); empty: `fallback`. Where
// slices alone were named with the pod, the numbers are those within each of them.
Result<std::vector<WorkerAccess>> SelectWorkers(const PodTarget& target,
                                                const std::string& selection,
                                                const std::string& fallback);

// Puts keys that were trusted on first use into the state, under its lock; waits for nobody.
Result<void> RememberHostKeys(StateStore& store, const LockInfo& who, const std::string& address,
                              const std::map<int, HostKeyText>& learned);

// "export A='1'; " for each, before a command.
std::string ExportLine(const std::map<std::string, std::string>& env);

// The words after `--` as one command for the remote shell. A single word is shell text, as with
// ssh; several are quoted one by one, so that each arrives as it was given. `env` is exported
// first.
std::string RemoteCommand(const std::vector<std::string>& words,
                          const std::map<std::string, std::string>& env);

// ---- Why a worker lets nobody in with a key that is ours, as far as its node tells.

enum class KeyStatus {
  kUnknown,      // the node could not be asked
  kNotTakenUp,   // the node has it, and the worker does not go by it yet
  kNotInSpec,    // the node lacks it, and the spec writes `ssh-keys` itself
  kWithheld,     // the spec wants it not to be published
  kUnpublished,  // the next apply publishes it
};

// `ours`: lines of `ssh-keys`, any of which would do; at least one.
KeyStatus StatusOfKey(const PodRecord& record, const std::vector<std::string>& ours,
                      Provider& provider, const std::stop_token& stop);

}  // namespace podctl
