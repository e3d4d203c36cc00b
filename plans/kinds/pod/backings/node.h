// Pods that are Cloud TPU nodes, asked for by themselves.
#pragma once

#include "plans/kinds/pod/backing.h"

namespace podctl {

class NodeBacking : public Backing {
 public:
  std::unique_ptr<KindSurvey> Survey(const SurveyInput& input, BackedPods pods) const override;
  void Remember(const PodRecord& record, PodSurvey* seen) const override;
  std::optional<Diagnostic> WhyTaken(const PodSpec& pod, const Address& address,
                                     const PodSurvey& survey, const State& state,
                                     const StatePlace& place) const override;
  Terms TermsOf(const PodSpec& pod) const override;
  bool MayBeTaken(const PodRecord& record) const override;

  std::unique_ptr<Task> Create(const PodSpec& pod, CreateKind kind,
                               TaskContext& context) const override;
  std::unique_ptr<Task> Delete(const Address& address, bool forget,
                               TaskContext& context) const override;
  std::vector<Endpoint> EndpointsOf(const PodRecord& record) const override;
  Result<std::vector<WorkerAttributes>> AskWorkers(Provider& provider, const PodRecord& record,
                                                   std::stop_token stop) const override;
};

}  // namespace podctl
