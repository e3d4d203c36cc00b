#include "providers/ssh/tunnel.h"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "providers/ssh/dial.h"
#include "providers/ssh/tunnel_clients.h"
#include "providers/ssh/tunnel_session.h"
#include "providers/ssh/wakeup.h"

namespace podctl::ssh {
namespace {

using SessionResult = Result<std::unique_ptr<Session>>;
using Dialler = std::function<SessionResult()>;

// Dials on a thread of its own, so that clients can be taken in meanwhile.
SessionResult DialBeside(TunnelWaitingRoom& room, const Dialler& dial) {
  const Wakeup done;
  std::optional<SessionResult> session;
  std::jthread thread([&] {
    session.emplace(dial());
    done.Ring();
  });
  room.WaitFor(done);
  thread.join();
  return *std::move(session);
}

}  // namespace

Result<void> RunTunnel(const WorkerAccess& worker,
                       const std::shared_ptr<const Identities>& identities,
                       const TunnelOptions& options, Clock& clock, Random& random,
                       TunnelObserver& observer, const std::stop_token& stop) {
  // A worker that lets us in and hangs up at once is not asked again in a hurry.
  constexpr std::chrono::milliseconds kPause{250};
  TunnelListeners listeners;
  for (const Forward& forward : options.forwards) {
    if (Result<void> opened = listeners.Open(forward); !opened) return opened;
  }
  TunnelWaitingRoom room(listeners, options.client_patience, clock);
  const Wakeup wakeup;
  const std::stop_callback ring(stop, [&wakeup] { wakeup.Ring(); });
  WorkerAccess access = worker;  // with the host key learned, so that a later session must match it
  bool was_ready = false;
  std::string last_note;
  const auto trouble = [&](const std::string& text) {
    // That the session dropped was said; what keeps it from coming back is said once at most.
    if (was_ready || text == last_note) return;
    last_note = text;
    observer.OnNote(text);
  };
  while (!stop.stop_requested()) {
    const SessionResult session = DialBeside(room, [&]() -> SessionResult {
      if (was_ready && !clock.SleepFor(kPause, stop)) {
        return MakeError(ErrorCode::kCancelled, "cancelled");
      }
      return Dial(access, identities, options.limits, clock, random, trouble, stop);
    });
    if (stop.stop_requested()) break;
    if (!session) {
      // An unreachable worker may come back; everything else would stay as it is.
      if (!was_ready || session.error().code != ErrorCode::kUnavailable) return session.error();
      continue;
    }
    if (const auto& learned = (*session)->learned_host_key(); learned.has_value()) {
      access.host_keys = {*learned};
      observer.OnHostKey(*learned);
    }
    if (was_ready) {
      observer.OnNote(fmt::format("connected to {} again", worker.Name()));
    } else {
      for (const auto& listener : listeners.all()) {
        observer.OnReady(listener.forward.local_port, listener.forward);
      }
    }
    was_ready = true;
    TunnelSession traffic(**session, listeners, room.TakeAll(), observer, wakeup);
    const std::string why = traffic.Run(stop);
    room.Add(traffic.TakeUnserved());
    if (stop.stop_requested()) break;
    observer.OnNote(
        fmt::format("the connection to {} dropped ({}); connecting again", worker.Name(), why));
  }
  return {};
}

}  // namespace podctl::ssh
