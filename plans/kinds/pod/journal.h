// What is written down of pods while they are changed: intents before they are acted on, results
// before anything that depends on them starts.
//
// A view of a run's journal, made where it is needed; on the executor's loop only. Changes the life
// and the goal of a record by state/transitions.h alone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plans/engine/task.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/references.h"
#include "providers/base/value.h"
#include "state/state.h"

namespace podctl {

class PodJournal {
 public:
  explicit PodJournal(TaskContext& context) : context_(context) {}

  // nullptr when the address is not in the state.
  const PodRecord* Find(const Address& address) const;
  // The same, to be changed.
  PodRecord* Known(const Address& address);
  std::string Now() const;

  // Bookkeeping that needs no request, of a pod that is as the spec wants it: what podctl owns of
  // it, how to reach it, its dependencies, its protection. Forgets steps the spec has no more.
  void NotePod(const PodSpec& pod);
  // Room for the pod's node is sought, in `pod.zone` next. The record stays until it is found or
  // given up; `since` is kept where it is known already, and returned.
  std::string SeekCapacity(const PodSpec& pod);
  void GiveUpCapacity(const Address& address);
  // `request_id`: by which the service will know a repeat; empty where the method takes none.
  void BeginCreate(const PodSpec& pod, const std::string& request_id = {});
  // The pod's node is deposed, to be deleted when the new one (under another id) works.
  void BeginCreateBeforeDelete(const PodSpec& pod, const std::string& request_id = {});
  void BeginPatch(const Address& address);
  // Here and below `deposed` is empty for the pod's node, or the id of a deposed one of the pod.
  void BeginDelete(const Address& address, const std::string& deposed = {},
                   const std::string& request_id = {});
  void OperationStarted(const Address& address, const std::string& operation,
                        const std::string& deposed = {});
  // The request changed nothing: forget the intent. Where no node exists (nor, after a delete, what
  // it comes from) the record goes too, or the node that was deposed for the new one is the pod's
  // again.
  void Withdraw(const Address& address, const std::string& deposed = {});

  // Nothing will come of what was asked for, though the request is there all the same.
  void RequestOver(const Address& address);
  // A node is there that this run or an earlier one began to make, whatever became of it.
  void NodeFound(const Address& address, const Value& node);
  // `sent` is the body of the create.
  void PodCreated(const PodSpec& pod, const Value& sent, const Value& node);
  // The node holds what the spec wants.
  void PodPatched(const PodSpec& pod, const Value& node);
  void PodGone(const Address& address, const std::string& deposed = {});
  // The new node's workers are still to be proved usable; and: they were.
  void ReadinessWanted(const std::string& pod);
  void ReadinessProved(const std::string& pod);
  // What references to the pod are read from, from now on.
  void Publish(const Address& address, const Value& node);
  void HostKeys(const Address& address, const std::map<int, std::vector<HostKeyText>>& keys,
                const std::string& source);
  // The same, and the names of the VMs, as the workers tell them.
  void NoteWorkers(const Address& address, const std::vector<WorkerAttributes>& workers);
  void StepApplied(const Address& step, const Address& pod, int worker, const std::string& digest);
  // It begins to run on a worker, where something else may have been run as this step: until it is
  // through nobody knows what is there, so that a run that fails or ends in the middle is not taken
  // for one that changed nothing.
  void StepBegins(const Address& step, const Address& pod, int worker);

 private:
  PodRecord& At(const Address& address);
  State& Edit() { return context_.journal.EditState(); }
  void CopyBookkeeping(const PodSpec& pod, PodRecord* record) const;
  void Remember(const MetadataEntry& entry, const std::string& key, const std::string& value,
                PodRecord* record) const;
  void Own(const PodSpec& pod, PodRecord* record) const;
  void ForgetOldSteps(const PodSpec& pod);

  TaskContext& context_;
};

// ---- What the state keeps of a pod beside the node itself, so that exec, ssh and destroy need no
// spec: how the workers are reached, what it depends on, whether it is protected. Pure.

// `lookup` is what references of the pod's runtimeEnv are read from. A sensitive value is never
// kept.
void TakeBookkeeping(const PodSpec& pod, const ReferenceLookup& lookup, PodRecord* record);

}  // namespace podctl
