#include "providers/ssh/dial.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <utility>

#include "providers/ssh/backoff.h"
#include "providers/ssh/opening.h"
#include "providers/ssh/wakeup.h"

namespace podctl::ssh {
namespace {

using std::chrono::milliseconds;

Error Cancelled() {
  return MakeError(ErrorCode::kCancelled, "cancelled");
}

// One attempt, each stage within its time limit.
Result<std::unique_ptr<Session>> TryOnce(const WorkerAccess& worker, const Endpoint& endpoint,
                                         const std::shared_ptr<const Identities>& identities,
                                         const Limits& limits, Clock& clock, const Wakeup& wakeup,
                                         const std::stop_token& stop, Cause& why) {
  auto session = std::make_unique<Session>(worker, endpoint, identities);
  session->AllowHandshake();
  auto deadline = clock.Steady() + limits.connect;
  Session::Stage before = Session::Stage::kConnecting;
  while (!stop.stop_requested()) {
    const Session::Stage stage = session->Advance();
    if (stage == Session::Stage::kReady) return session;
    if (stage == Session::Stage::kFailed) {
      why = session->cause();
      switch (session->trouble()) {
        case Session::Trouble::kAuth:
          return MakeError(ErrorCode::kUnauthenticated, FullWords(why));
        case Session::Trouble::kHostKey:
        case Session::Trouble::kUnknownHost:
        case Session::Trouble::kNoWay:
          return MakeError(ErrorCode::kFailedPrecondition, FullWords(why));
        case Session::Trouble::kConnection:
        case Session::Trouble::kNoRoom:
          return MakeError(ErrorCode::kUnavailable, FullWords(why));
      }
    }
    const auto now = clock.Steady();
    if (stage != before) deadline = now + StageLimit(stage, worker, limits);
    before = stage;
    if (now >= deadline) {
      why = StageComplaint(stage, worker, limits);
      return MakeError(ErrorCode::kUnavailable, FullWords(why));
    }
    pollfd fds[] = {{session->fd(), session->WaitsFor(), 0}, {wakeup.fd(), POLLIN, 0}};
    const milliseconds left = std::chrono::ceil<milliseconds>(deadline - now);
    poll(fds, 2, static_cast<int>(std::min(left, milliseconds(1'000)).count()));
  }
  return Cancelled();
}

}  // namespace

Result<std::unique_ptr<Session>> Dial(const WorkerAccess& worker,
                                      const std::shared_ptr<const Identities>& identities,
                                      const Limits& limits, Clock& clock, Random& random,
                                      const std::function<void(const std::string&)>& on_trouble,
                                      const std::stop_token& stop, Cause* why) {
  const bool direct = worker.through.empty() && worker.no_way.empty();
  const Result<Endpoint> endpoint = direct ? Resolve(worker.host, worker.port) : Endpoint{};
  if (!endpoint) return endpoint.error();
  const Wakeup wakeup;
  const std::stop_callback ring(stop, [&wakeup] { wakeup.Ring(); });
  Backoff backoff(random);
  const auto give_up = clock.Steady() + limits.retry;
  auto give_up_keys = Clock::SteadyTime::max();
  Cause unasked;
  while (true) {
    Result<std::unique_ptr<Session>> session =
        TryOnce(worker, *endpoint, identities, limits, clock, wakeup, stop,
                why == nullptr ? unasked : *why);
    if (session || stop.stop_requested()) {
      if (!session) return Cancelled();
      return session;
    }
    const auto now = clock.Steady();
    const ErrorCode code = session.error().code;
    const bool refused = code == ErrorCode::kUnauthenticated;
    if (refused && give_up_keys == Clock::SteadyTime::max()) {
      give_up_keys = now + std::min(limits.auth_retry, limits.retry);
    }
    const auto end = refused ? give_up_keys : give_up;
    if (code == ErrorCode::kFailedPrecondition || now >= end) return session;
    on_trouble(session.error().message);
    const milliseconds left = std::chrono::ceil<milliseconds>(end - now);
    if (!clock.SleepFor(std::min(backoff.Next(), left), stop)) return Cancelled();
  }
}

}  // namespace podctl::ssh
