#include "providers/ssh/exit_status.h"

#include <fmt/format.h>
#include <libssh2.h>

#include "providers/base/text.h"

namespace podctl::ssh {

void ReadExitStatus(Session& session, _LIBSSH2_CHANNEL* channel, WorkerResult& result) {
  char* signal = nullptr;
  std::size_t size = 0;
  libssh2_channel_get_exit_signal(channel, &signal, &size, nullptr, nullptr, nullptr, nullptr);
  if (signal == nullptr) {
    if (!session.exit_status_came()) {
      result.End(Outcome::kLost, CauseAt(session.worker(), Cause::Code::kNoEnd));
      return;
    }
    result.outcome = Outcome::kExited;
    result.exit_code = libssh2_channel_get_exit_status(channel);
    return;
  }
  result.outcome = Outcome::kSignaled;
  result.signal = VisibleControls(std::string_view(signal, size));
  result.message = fmt::format("the command was killed by SIG{}", result.signal);
  libssh2_free(session.handle(), signal);
}

}  // namespace podctl::ssh
