#include "providers/ssh/openssh_tunnel.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "providers/ssh/backoff.h"
#include "providers/ssh/masters.h"
#include "providers/ssh/mux_session.h"
#include "providers/ssh/tunnel_clients.h"
#include "providers/ssh/wakeup.h"

namespace podctl::ssh {
namespace {

using std::chrono::milliseconds;

class ProgramTunnel {
 public:
  ProgramTunnel(const WorkerAccess& worker, const std::vector<Forward>& forwards,
                const Limits& limits, const Environment& environment, Clock& clock, Random& random,
                TunnelObserver& observer, const std::stop_token& stop)
      : worker_(worker),
        forwards_(forwards),
        limits_(limits),
        clock_(clock),
        random_(random),
        observer_(observer),
        stop_(stop),
        ring_(stop, [this] { wakeup_.Ring(); }),
        masters_(environment, clock, "ssh") {}

  Result<void> Run();

 private:
  Result<void> ChoosePorts();
  Result<std::string> LogIn();
  Result<void> Serve(const std::string& socket_path);

  WorkerAccess worker_;  // with the host key learned, so that a later connection must match it
  std::vector<Forward> forwards_;
  const Limits& limits_;
  Clock& clock_;
  Random& random_;
  TunnelObserver& observer_;
  const std::stop_token stop_;
  const Wakeup wakeup_;
  const std::stop_callback<std::function<void()>> ring_;
  Masters masters_;
  bool was_ready_ = false;
};

// ssh does not tell which port it took, so a free one is chosen here, and a used one named.
Result<void> ProgramTunnel::ChoosePorts() {
  TunnelListeners taken;  // until all have one
  for (const Forward& forward : forwards_) {
    if (auto opened = taken.Open(forward); !opened) return opened;
  }
  forwards_.clear();
  for (const auto& listener : taken.all()) forwards_.push_back(listener.forward);
  return {};
}

// The master's socket. Errors as of Dial.
Result<std::string> ProgramTunnel::LogIn() {
  Backoff backoff(random_);
  const auto give_up = clock_.Steady() + limits_.retry;
  auto give_up_keys = Clock::SteadyTime::max();
  while (true) {
    const Masters::Opened opened =
        masters_.Open(worker_, limits_, {wakeup_.fd()}, [](Session::Stage) {});
    if (stop_.stop_requested() || opened.interrupted) {
      if (!opened.socket_path.empty()) EndMaster(opened.socket_path);
      return MakeError(ErrorCode::kCancelled, "cancelled");
    }
    if (!opened.socket_path.empty()) {
      if (opened.learned_host_key) {
        worker_.host_keys = {*opened.learned_host_key};
        observer_.OnHostKey(*opened.learned_host_key);
      }
      return opened.socket_path;
    }
    const SshLog::Verdict& verdict = opened.verdict;
    const bool refused = verdict.outcome == Outcome::kAuthRefused;
    const auto now = clock_.Steady();
    if (refused) give_up_keys = std::min(give_up_keys, now + limits_.auth_retry);
    const auto end = refused ? std::min(give_up, give_up_keys) : give_up;
    if (!verdict.may_pass) {
      return MakeError(ErrorCode::kFailedPrecondition, FullWords(verdict.cause));
    }
    if (now >= end) {
      return MakeError(refused ? ErrorCode::kUnauthenticated : ErrorCode::kUnavailable,
                       FullWords(verdict.cause));
    }
    observer_.OnNote(FullWords(verdict.cause));
    const auto left = std::chrono::ceil<milliseconds>(end - now);
    if (!clock_.SleepFor(std::min(backoff.Next(), left), stop_)) {
      return MakeError(ErrorCode::kCancelled, "cancelled");
    }
  }
}

// Until the connection drops or `stop`; an error: it never came to serve.
Result<void> ProgramTunnel::Serve(const std::string& socket_path) {
  const auto hold = MuxHold::Take(socket_path);
  if (!hold) return hold.error();
  for (const Forward& forward : forwards_) {
    auto forwarded = (*hold)->Forward(forward.local_port, forward.remote_host, forward.remote_port);
    if (!forwarded) return forwarded;
  }
  if (was_ready_) {
    observer_.OnNote(fmt::format("connected to {} again", worker_.Name()));
  } else {
    for (const Forward& forward : forwards_) observer_.OnReady(forward.local_port, forward);
  }
  was_ready_ = true;
  pollfd fds[] = {{(*hold)->fd(), POLLIN, 0}, {wakeup_.fd(), POLLIN, 0}};
  while (fds[0].revents == 0 && !stop_.stop_requested()) poll(fds, 2, -1);
  return {};
}

Result<void> ProgramTunnel::Run() {
  if (auto chosen = ChoosePorts(); !chosen) return chosen;
  while (!stop_.stop_requested()) {
    const auto socket_path = LogIn();
    if (stop_.stop_requested()) break;
    if (!socket_path) {
      // An unreachable worker may come back; everything else would stay as it is.
      if (!was_ready_ || socket_path.error().code != ErrorCode::kUnavailable) {
        return socket_path.error();
      }
      observer_.OnNote(socket_path.error().message);
      continue;
    }
    const auto served = Serve(*socket_path);
    EndMaster(*socket_path);
    if (stop_.stop_requested()) break;
    if (!served && (!was_ready_ || served.error().code != ErrorCode::kUnavailable)) return served;
    observer_.OnNote(fmt::format("the connection to {} dropped; connecting again", worker_.Name()));
    if (!clock_.SleepFor(milliseconds(250), stop_)) break;
  }
  return {};
}

}  // namespace

Result<void> RunTunnelByProgram(const WorkerAccess& worker, const TunnelOptions& options,
                                const Environment& environment, Clock& clock, Random& random,
                                TunnelObserver& observer, const std::stop_token& stop) {
  return ProgramTunnel(worker, options.forwards, options.limits, environment, clock, random,
                       observer, stop)
      .Run();
}

}  // namespace podctl::ssh
