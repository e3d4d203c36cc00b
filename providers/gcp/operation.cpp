#include "providers/gcp/operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "providers/base/text.h"
#include "providers/gcp/api_error.h"

namespace podctl::gcp {
namespace {

using std::chrono::milliseconds;

bool IsPassing(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kReplyLost:
    case ErrorCode::kInternal:
    case ErrorCode::kUnknown:
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kResourceExhausted:
    case ErrorCode::kAborted:
      return true;
    default:
      return false;
  }
}

Error TookTooLong(const std::string& name, milliseconds deadline) {
  return MakeError(
      ErrorCode::kDeadlineExceeded,
      fmt::format("{} is not done after {}", name, FormatDuration(deadline)),
      "the operation goes on without podctl; run the command again to wait for its end");
}

}  // namespace

Operation ParseOperation(const Value& json) {
  Operation operation;
  operation.name = json["name"].AsString();
  operation.done = json["done"].AsBool();
  if (const Value* error = json.Find("error"); error != nullptr && error->is_map()) {
    operation.error.push_back(ErrorFromStatus(*error));
  }
  operation.response = json["response"];
  operation.target = json["metadata"]["target"].AsString();
  operation.verb = json["metadata"]["verb"].AsString();
  operation.create_time = json["metadata"]["createTime"].AsString();
  return operation;
}

Result<Operation> WaitOperation(Provider& provider, const std::string& name,
                                const WaitOptions& options, Clock& clock, Random& random,
                                std::stop_token stop,
                                const std::function<void(milliseconds)>& on_wait) {
  const auto start = clock.Steady();
  const auto elapsed = [&] {
    return std::chrono::duration_cast<milliseconds>(clock.Steady() - start);
  };
  double wait = static_cast<double>(options.first_wait.count());
  int failures = 0;
  for (;;) {
    Result<Operation> operation = provider.GetOperation(name, stop);
    if (operation && operation->done) return operation;
    if (!operation) {
      const Error& error = operation.error();
      if (!IsPassing(error.code) || ++failures > options.failed_polls) return operation;
    } else {
      failures = 0;
    }
    const milliseconds left = options.deadline - elapsed();
    if (left <= milliseconds(0)) return TookTooLong(name, options.deadline);
    if (on_wait) on_wait(elapsed());
    // Between nine and eleven tenths, so that many operations are not polled in step.
    const auto jittered = milliseconds(std::llround(wait * (0.9 + 0.2 * random.Uniform())));
    if (!clock.SleepFor(std::min(jittered, left), stop)) {
      return MakeError(ErrorCode::kCancelled, fmt::format("stopped while waiting for {}", name));
    }
    wait = std::min(wait * options.growth, static_cast<double>(options.longest_wait.count()));
  }
}

}  // namespace podctl::gcp
