#include "providers/ssh/tunnel/tunnel.h"

#include <fmt/format.h>

#include <thread>
#include <utility>

#include "providers/os/descriptor.h"
#include "providers/ssh/tunnel/tunnel_clients.h"

namespace podctl::ssh {
namespace {

using MaybeVerdict = std::optional<Verdict>;

// Connects on a thread of its own, so that clients can be taken in meanwhile.
MaybeVerdict ConnectBeside(PendingClients& pending, const std::function<MaybeVerdict()>& connect) {
  const Wakeup done;
  MaybeVerdict verdict;
  std::jthread thread([&] {
    verdict = connect();
    done.Ring();
  });
  pending.WaitFor(done);
  thread.join();
  return verdict;
}

}  // namespace

Result<void> RunTunnel(const WorkerAccess& worker, TunnelCarrier& carrier,
                       const TunnelOptions& options, Clock& clock, TunnelObserver& observer,
                       const std::stop_token& stop) {
  // A worker that lets us in and hangs up at once is not asked again in a hurry.
  constexpr std::chrono::milliseconds kPause{250};
  TunnelListeners listeners;
  for (const Forward& forward : options.forwards) {
    if (Result<void> opened = listeners.Open(forward); !opened) return opened;
  }
  // It does not report which port it took, so free ones were chosen here, and used ones named.
  if (carrier.Listens()) listeners.Close();
  PendingClients pending(listeners, options.client_patience, clock);
  WorkerAccess access = worker;  // with the host key learned, so that a later one must match it
  bool was_ready = false;
  std::string last_note;
  const auto trouble = [&](const Cause& why) {
    // That it dropped was said; what keeps it from coming back is said once at most.
    std::string text = FullWords(why);
    if (was_ready || text == last_note) return;
    last_note = std::move(text);
    observer.OnNote(last_note);
  };
  const auto ready = [&] {
    if (std::exchange(was_ready, true)) {
      observer.OnNote(fmt::format("connected to {} again", worker.Name()));
      return;
    }
    for (const auto& listener : listeners.all()) {
      observer.OnReady(listener.forward.local_port, listener.forward);
    }
  };
  const auto comes_back = [&](const Error& error) {
    // An unreachable worker may; everything else would stay as it is.
    return was_ready && error.code == ErrorCode::kUnavailable;
  };
  while (!stop.stop_requested()) {
    const MaybeVerdict verdict = ConnectBeside(pending, [&]() -> MaybeVerdict {
      if (was_ready && !clock.SleepFor(kPause, stop))
        return Verdict{Outcome::kCancelled, {}, false};
      return carrier.Connect(access, options.limits, trouble, stop);
    });
    if (stop.stop_requested()) break;
    if (verdict) {
      Error error = verdict->ToError();
      if (!comes_back(error)) return error;
      continue;
    }
    if (const auto learned = carrier.learned_host_key()) {
      access.host_keys = {*learned};
      observer.OnHostKey(*learned);
    }
    std::vector<TunnelClient> clients = pending.TakeAll();
    const auto why = carrier.Carry(listeners, clients, observer, ready, stop);
    pending.Add(clients);
    if (stop.stop_requested()) break;
    if (!why && !comes_back(why.error())) return why.error();
    observer.OnNote(fmt::format("the connection to {} dropped ({}); connecting again",
                                worker.Name(), why ? *why : why.error().message));
  }
  return {};
}

}  // namespace podctl::ssh
