// That nobody waits for workers whose pod is not there any more: when a first try to reach one has
// come to nothing, the service is asked once what became of the node, beside the tries that go on.
// Where everybody answers nobody is asked.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "plans/session/known_pods.h"
#include "providers/base/error.h"
#include "providers/ssh/transport.h"

namespace podctl {

// Of one pod, for as long as it is waited for. Thread safe.
class LossWatch {
 public:
  // `pods` is lent. `on_loss` is called at most once, on another thread, when loss() is known;
  // `on_silence`, where there is one, likewise where the node is there and its state says why its
  // workers may be silent: "Pod `a` is REPAIRING: …".
  LossWatch(const KnownPods& pods, std::string pod, std::function<void()> on_loss,
            std::function<void(const std::string&)> on_silence = {})
      : pods_(pods),
        pod_(std::move(pod)),
        on_loss_(std::move(on_loss)),
        on_silence_(std::move(on_silence)) {}

  // A try came to nothing, and another one follows. Does not wait for the service.
  void Trouble();
  // What became of the pod, where it cannot answer; nullopt: nobody asked, or knows better.
  std::optional<Error> loss() const;

 private:
  void Ask(const std::stop_token& stop, const PodRecord& record);

  const KnownPods& pods_;
  const std::string pod_;
  const std::function<void()> on_loss_;
  const std::function<void(const std::string&)> on_silence_;
  mutable std::mutex mutex_;
  bool asked_ = false;
  std::optional<Error> loss_;
  std::jthread asking_;  // the last member: it uses the others
};

// A transport whose runs end with that, as soon as none of their commands is running. Workers that
// were waited for are kUnreachable then, and their results say what became of the pod. Where the
// node is there, but in a state that explains the silence, that is why the next tries are made.
class LossAwareTransport final : public ssh::Transport {
 public:
  // Both are lent.
  LossAwareTransport(ssh::Transport& transport, const KnownPods& pods)
      : transport_(transport), pods_(pods) {}

  std::vector<ssh::WorkerResult> Run(const std::vector<ssh::Job>& jobs, const ssh::Limits& limits,
                                     ssh::Observer& observer, std::stop_token stop) override;
  std::size_t MostAtOnce(const std::vector<WorkerAccess>& workers) const override {
    return transport_.MostAtOnce(workers);
  }

 private:
  ssh::Transport& transport_;
  const KnownPods& pods_;
};

// Of a worker that was given up with `loss`.
void EndLost(const Error& loss, ssh::WorkerResult* result);

}  // namespace podctl
