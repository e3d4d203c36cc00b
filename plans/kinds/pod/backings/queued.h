// Pods that are asked for through a queued resource, which waits for capacity and makes their node
// or nodes.
#pragma once

#include "plans/engine/task.h"
#include "plans/kinds/pod/backings/node.h"

namespace podctl {

class QueuedBacking final : public NodeBacking {
 public:
  explicit constexpr QueuedBacking(const NodeBacking& nodes) : nodes_(nodes) {}

  const Backing* below() const override { return &nodes_; }

  std::unique_ptr<KindSurvey> Survey(const SurveyInput& input, BackedPods pods) const override;
  void Remember(const PodRecord& record, PodSurvey* seen) const override;
  bool Settle(const PodSurvey& survey, const std::string& lineage, const Value* node,
              PodRecord* record) const override;
  std::string WhoseRequest(const PodRecord& record, const Value* node, const PodSurvey& survey,
                           const std::string& lineage) const override;

  std::string NoteAsked(const PodSpec& pod, PodRecord* record) const override;
  void Forget(PodRecord* record) const override { record->queued.reset(); }
  int SlicesOf(const PodSpec& pod) const override { return pod.queued->slices; }
  int SlicesOf(const PodRecord& record) const override { return record.queued->slices; }

  BackingStatus Judge(const PodRecord& record, const Value* node, const PodSurvey& survey,
                      const std::string& lineage) const override;
  std::optional<Diagnostic> WhyTaken(const PodSpec& pod, const Address& address,
                                     const PodSurvey& survey, const State& state,
                                     const StatePlace& place) const override;
  std::string WhyAlone() const override;
  std::map<std::string, Value> Lines(const PodSpec& pod, const PodRecord* record) const override;
  std::map<std::string, Value> Lines(const PodRecord& record) const override;
  Terms TermsOf(const PodSpec& pod) const override;
  bool MayBeTaken(const PodRecord& record) const override;
  bool HasMoreThanNode(const PodRecord& record) const override;

  Result<std::optional<NodeRequest>> AskRequest(Provider& provider, const PodRecord& record,
                                                const Value* node, const std::string& lineage,
                                                const std::stop_token& stop) const override;

  std::unique_ptr<Task> Create(const PodSpec& pod, CreateKind kind,
                               TaskContext& context) const override;
  std::unique_ptr<Task> Delete(const Address& address, bool forget,
                               TaskContext& context) const override;

 private:
  const NodeBacking& nodes_;
};

// Both of a pod that has one.
QueuedName QueuedNameOf(const PodSpec& pod);
QueuedName QueuedNameOf(const PodRecord& record);
// As it was seen; nullptr: it is not there.
const Value* FindQueued(const PodSurvey& survey, const QueuedName& name);
// The lineage of the state that it was asked for from, by the label of its node to be; empty: not
// known.
std::string LineageOfRequest(const Value& queued);
// Whether `queued`, under the name that the record has, was asked for from another state than that
// of `lineage`. It is the record's all the same where the node that it made is: as after an import,
// from when on it is known by the time when it was made. `node`: the pod's own; nullptr: there is
// none.
bool IsRequestOfAnotherState(const Value& queued, const PodRecord& record, const Value* node,
                             const std::string& lineage);
// "was made with another state, of lineage …".
std::string MadeWithAnotherState(const std::string& lineage);

// `resume`: it is there already.
std::unique_ptr<Task> MakeQueuedCreateTask(const PodSpec& pod, bool resume, TaskContext& context);
std::unique_ptr<Task> MakeQueuedDeleteTask(const Address& address, bool forget,
                                           TaskContext& context);

}  // namespace podctl
