#include <fmt/format.h>

#include "plans/execute/pod_tasks.h"
#include "providers/base/text.h"

namespace podctl {

void OperationWait::Watch(Operation operation) {
  operation_ = std::move(operation);
  pace_ = PollPace(context_.random);
  since_ = context_.clock.Steady();
}

Need OperationWait::Look() const {
  return CallFor(
      [&provider = context_.provider, name = operation_.name](StepObserver&, std::stop_token stop) {
        return Reply(provider.GetOperation(name, std::move(stop)));
      },
      false);
}

Need OperationWait::Pause() {
  if (context_.clock.Steady() - since_ > context_.operation_timeout) {
    return Failed(
        MakeError(ErrorCode::kDeadlineExceeded,
                  fmt::format("the operation {} is still running after {}", operation_.name,
                              FormatDuration(context_.operation_timeout)),
                  "It is written down in the state; the next `podctl apply` takes it up."));
  }
  return Sleep(pace_.Next());
}

Need OperationWait::Take(Reply reply) {
  auto& looked = std::get<Result<Operation>>(reply);
  if (looked) {
    operation_.done = looked->done;
    operation_.error = looked->error;
    operation_.response = looked->response;
    return operation_.done ? Done() : Pause();
  }
  // The service forgets finished operations after a while; the node itself tells the rest.
  if (looked.error().code == ErrorCode::kNotFound) {
    operation_.done = true;
    return Done();
  }
  // A look that fails says nothing about the operation: only what will not pass ends the wait.
  switch (looked.error().code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kReplyLost:
    case ErrorCode::kInternal:
    case ErrorCode::kUnknown:
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kResourceExhausted:
    case ErrorCode::kAborted:
      return Pause();
    default:
      return Failed(looked.error());
  }
}

}  // namespace podctl
