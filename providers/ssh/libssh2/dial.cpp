// Declared in session.h.
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "providers/base/text.h"
#include "providers/ssh/libssh2/session.h"
#include "providers/ssh/retry_queue.h"

namespace podctl::ssh {
namespace {

Endpoint Take(addrinfo* found) {
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  Endpoint endpoint;
  std::memcpy(&endpoint.address, found->ai_addr, found->ai_addrlen);
  endpoint.size = found->ai_addrlen;
  return endpoint;
}

int LookUp(const std::string& host, int port, int flags, addrinfo** found) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  return getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, found);
}

using std::chrono::milliseconds;

// One attempt, each stage within its time limit; nullopt: `session` is ready.
std::optional<Verdict> TryOnce(Session& session, const WorkerAccess& worker, const Limits& limits,
                               Clock& clock, const Wakeup& wakeup, const std::stop_token& stop) {
  session.AllowHandshake();
  auto deadline = clock.Steady() + limits.connect;
  Stage before = Stage::kConnecting;
  while (!stop.stop_requested()) {
    const Stage stage = session.Advance();
    if (stage == Stage::kReady) return std::nullopt;
    if (stage == Stage::kFailed) return session.verdict();
    const auto now = clock.Steady();
    if (stage != before) deadline = now + StageLimit(stage, worker, limits);
    before = stage;
    if (now >= deadline)
      return Verdict{Outcome::kUnreachable, StageComplaint(stage, worker, limits), true};
    pollfd fds[] = {{session.fd(), session.WaitsFor(), 0}, {wakeup.fd(), POLLIN, 0}};
    const milliseconds left = std::chrono::ceil<milliseconds>(deadline - now);
    poll(fds, 2, static_cast<int>(std::min(left, milliseconds(1'000)).count()));
  }
  return Verdict{Outcome::kCancelled, {}, false};
}

}  // namespace

std::optional<Endpoint> ParseAddress(const std::string& host, int port) {
  addrinfo* found = nullptr;
  if (LookUp(host, port, AI_NUMERICHOST, &found) != 0) return std::nullopt;
  return Take(found);
}

Result<Endpoint> Resolve(const std::string& host, int port) {
  if (const auto address = ParseAddress(host, port)) return *address;
  addrinfo* found = nullptr;
  if (const int code = LookUp(host, port, 0, &found); code != 0) {
    return MakeError(
        ErrorCode::kUnavailable,
        fmt::format("`{}` has no address: {}", VisibleControls(host), gai_strerror(code)));
  }
  return Take(found);
}

std::unique_ptr<Session> Dial(const WorkerAccess& worker,
                              const std::shared_ptr<const Identities>& identities,
                              const Limits& limits, Clock& clock, Random& random,
                              const std::function<void(const Cause&)>& on_trouble,
                              const std::stop_token& stop, Verdict& why) {
  const bool direct = worker.through.empty() && worker.no_route.empty();
  const Result<Endpoint> endpoint = direct ? Resolve(worker.host, worker.port) : Endpoint{};
  if (!endpoint) {
    why = {Outcome::kUnreachable, OtherCause(endpoint.error().message), true};
    return nullptr;
  }
  const Wakeup wakeup;
  const std::stop_callback ring(stop, [&wakeup] { wakeup.Ring(); });
  std::unique_ptr<Session> session;
  const auto once = [&] {
    session = std::make_unique<Session>(worker, *endpoint, identities);
    auto verdict = TryOnce(*session, worker, limits, clock, wakeup, stop);
    if (verdict) session.reset();
    return verdict;
  };
  if (auto verdict = RetryUntilIn(limits, clock, random, once, on_trouble, stop)) {
    why = *std::move(verdict);
  }
  return session;
}

}  // namespace podctl::ssh
