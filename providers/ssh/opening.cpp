#include "providers/ssh/opening.h"

namespace podctl::ssh {

std::chrono::milliseconds StageLimit(Session::Stage stage, const WorkerAccess& worker,
                                     const Limits& limits) {
  switch (stage) {
    case Session::Stage::kConnecting:
      return limits.connect;
    case Session::Stage::kGreeting:
      // A program is there at once, and connects only then.
      return worker.through.empty() ? limits.first_byte : limits.connect + limits.first_byte;
    case Session::Stage::kHandshaking:
      return limits.handshake;
    case Session::Stage::kAuthenticating:
      return limits.auth;
    case Session::Stage::kConnected:
    case Session::Stage::kReady:
    case Session::Stage::kFailed:
      break;
  }
  return std::chrono::milliseconds(0);
}

Cause StageComplaint(Session::Stage stage, const WorkerAccess& worker, const Limits& limits) {
  const std::chrono::milliseconds limit = StageLimit(stage, worker, limits);
  switch (stage) {
    case Session::Stage::kConnecting:
      return LateAt(worker, Cause::Code::kNoAnswer, limit);
    case Session::Stage::kGreeting: {
      if (worker.through.empty()) return LateAt(worker, Cause::Code::kSilent, limit);
      Cause cause = CauseThrough(worker, Cause::Code::kSilentBehind);
      cause.limit = limit;
      return cause;
    }
    case Session::Stage::kHandshaking:
      return LateAt(worker, Cause::Code::kNoKeyExchange, limit);
    case Session::Stage::kAuthenticating:
      return LateAt(worker, Cause::Code::kNotLetIn, limit);
    case Session::Stage::kConnected:
    case Session::Stage::kReady:
    case Session::Stage::kFailed:
      break;
  }
  return {};
}

}  // namespace podctl::ssh
