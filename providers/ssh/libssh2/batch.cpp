#include "providers/ssh/libssh2/batch.h"

#include <algorithm>
#include <utility>

#include "providers/ssh/libssh2/poller.h"

namespace podctl::ssh {
namespace {

Limits WithProgramsBounded(Limits limits, const std::vector<Job>& jobs) {
  if (AnyThroughProgram(jobs)) limits.max_open = std::min(limits.max_open, kMostPrograms);
  return limits;
}

}  // namespace

Batch::Batch(std::uint32_t its_number, const std::vector<Job>& jobs, const Limits& its_limits,
             std::stop_token its_stop, Poller& poller, Random& random,
             std::function<void()> on_capacity)
    : number(its_number),
      limits(WithProgramsBounded(its_limits, jobs)),
      stop(std::move(its_stop)),
      outbox(jobs.size(), Outbox::Sizes(), std::move(on_capacity)),
      slots(jobs.size()),
      queue(jobs.size(), limits, random),
      poller_(poller) {}

void Batch::Count(Slot& slot) {
  const State state = slot.connection->state();
  exchanging_keys_ -= slot.seen == State::kExchangingKeys ? 1 : 0;
  exchanging_keys_ += state == State::kExchangingKeys ? 1 : 0;
  slot.seen = state;
}

void Batch::OnData(std::size_t job, Stream data_stream, std::string_view bytes) {
  outbox.PutOutput(job, data_stream, bytes);
  news_ = true;
}

// All together may send so much ahead, and each enough for a fair pace.
unsigned Batch::SendAhead() const {
  constexpr std::size_t kAll = std::size_t{16} * 1024 * 1024;
  constexpr std::size_t kLeast = std::size_t{64} * 1024;
  constexpr std::size_t kMost = std::size_t{1024} * 1024;
  return static_cast<unsigned>(std::clamp(kAll / slots.size(), kLeast, kMost));
}

void Batch::OnPhase(std::size_t job, Phase phase) {
  outbox.PutPhase(job, phase);
  news_ = true;
}

bool Batch::TryAgain(std::size_t job, const Verdict& verdict, Time now) {
  if (!queue.Again(job, verdict.outcome == Outcome::kAuthRefused, now)) return false;
  outbox.PutTrouble(job, verdict.cause);
  news_ = true;
  return true;
}

void Batch::OnResult(std::size_t job, const WorkerResult& result) {
  queue.End(job, result);
  outbox.PutResult(job, result);
  news_ = true;
}

bool Batch::MayHandshake() {
  return exchanging_keys_ < static_cast<std::size_t>(std::max(1, limits.max_handshakes));
}

std::unique_ptr<Session> Batch::TakeKept(const WorkerAccess& worker) {
  return poller_.TakeKept(worker);
}

void Batch::Keep(std::unique_ptr<Session> session, _LIBSSH2_CHANNEL* channel) {
  poller_.Keep(std::move(session), channel);
}

bool Batch::OnOutOfResources(std::size_t job, Time now) {
  queue.concurrency.OutOfResources(static_cast<int>(queue.open()) - 1, now);
  // Where nobody else has a socket, nobody will give one back.
  if (poller_.OpenSockets() <= 1) return false;
  queue.PutBack(job, now);
  return true;
}

Session::SignElsewhere Batch::SignerFor(std::size_t job) {
  return [this, job](std::shared_ptr<SlowSignature> signature) {
    poller_.SignElsewhere(number, job, std::move(signature));
  };
}

}  // namespace podctl::ssh
