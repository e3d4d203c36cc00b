#include "providers/ssh/opening.h"

#include <fmt/format.h>

#include "providers/base/text.h"
#include "providers/ssh/way_words.h"

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

std::string StageComplaint(Session::Stage stage, const WorkerAccess& worker, const Limits& limits) {
  const std::string place = fmt::format("{}:{}", worker.host, worker.port);
  const std::string limit = FormatDuration(StageLimit(stage, worker, limits));
  switch (stage) {
    case Session::Stage::kConnecting:
      return fmt::format("cannot connect to {}: no answer within {}", place, limit);
    case Session::Stage::kGreeting:
      if (!worker.through.empty()) {
        return fmt::format("{} said nothing through {} within {}", place, WayName(worker), limit);
      }
      return fmt::format("{} took the connection but said nothing within {}", place, limit);
    case Session::Stage::kHandshaking:
      return fmt::format("{} did not finish the key exchange within {}", place, limit);
    case Session::Stage::kAuthenticating:
      return fmt::format("{} did not let us in within {}", place, limit);
    case Session::Stage::kConnected:
    case Session::Stage::kReady:
    case Session::Stage::kFailed:
      break;
  }
  return {};
}

}  // namespace podctl::ssh
