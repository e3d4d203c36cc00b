#include "providers/ssh/batch.h"

#include <algorithm>
#include <utility>

#include "providers/ssh/way_words.h"

namespace podctl::ssh {
namespace {

Limits WithProgramsBounded(Limits limits, const std::vector<Job>& jobs) {
  const bool programs = std::any_of(jobs.begin(), jobs.end(),
                                    [](const Job& job) { return !job.worker.through.empty(); });
  if (programs) limits.max_open = std::min(limits.max_open, kMostPrograms);
  return limits;
}

}  // namespace

Batch::Batch(std::uint32_t its_number, const std::vector<Job>& jobs, const Limits& its_limits,
             std::stop_token its_stop, BatchHost& host, std::function<void()> on_room)
    : number(its_number),
      limits(WithProgramsBounded(its_limits, jobs)),
      stop(std::move(its_stop)),
      outbox(jobs.size(), Outbox::Sizes(), std::move(on_room)),
      slots(jobs.size()),
      window(std::min(limits.max_open, static_cast<int>(jobs.size()))),
      host_(host) {
  counts_[static_cast<std::size_t>(State::kWaiting)] = jobs.size();
}

void Batch::Count(Slot& slot) {
  const State state = slot.connection->state();
  --counts_[static_cast<std::size_t>(slot.seen)];
  ++counts_[static_cast<std::size_t>(state)];
  slot.seen = state;
}

bool Batch::CountsAreRight() const {
  std::array<std::size_t, Connection::kStates> counts{};
  for (const Slot& slot : slots) ++counts[static_cast<std::size_t>(slot.connection->state())];
  return counts == counts_;
}

int Batch::BudgetSpent() {
  if (budget_told_ || !limits.max_failures.has_value() || failed_ <= *limits.max_failures) {
    return 0;
  }
  budget_told_ = true;
  return failed_;
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

void Batch::OnTryAgain(std::size_t job, const Cause& why) {
  outbox.PutTrouble(job, why);
  news_ = true;
}

void Batch::OnResult(std::size_t job, const WorkerResult& result) {
  if (!result.ok() && result.outcome != Outcome::kCancelled &&
      result.outcome != Outcome::kSkipped) {
    ++failed_;
  }
  outbox.PutResult(job, result);
  news_ = true;
}

bool Batch::MayHandshake() {
  return CountOf(State::kExchangingKeys) <
         static_cast<std::size_t>(std::max(1, limits.max_handshakes));
}

std::unique_ptr<Session> Batch::TakeKept(const WorkerAccess& worker) {
  return host_.TakeKept(worker);
}

void Batch::Keep(std::unique_ptr<Session> session, _LIBSSH2_CHANNEL* channel) {
  host_.Keep(std::move(session), channel);
}

bool Batch::OnNoRoom(Time now) {
  window.NoRoom(static_cast<int>(Open()), now);
  // Where nobody else has a socket, nobody will give one back.
  return host_.OpenSockets() > 0;
}

Session::SignElsewhere Batch::SignerFor(std::size_t job) {
  return [this, job](std::shared_ptr<SlowSignature> signature) {
    host_.SignElsewhere(number, job, std::move(signature));
  };
}

}  // namespace podctl::ssh
