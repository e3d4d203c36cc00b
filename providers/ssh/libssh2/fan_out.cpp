#include "providers/ssh/libssh2/fan_out.h"

#include <malloc.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "providers/ssh/libssh2/batch.h"
#include "providers/ssh/libssh2/poller.h"
#include "providers/ssh/outbox.h"

namespace podctl::ssh {
namespace {

using KeysOrError = Result<std::shared_ptr<const Identities>>;

// Makes the connections of a batch. Those that cannot even be tried are done at once.
void Fill(Batch& batch, const std::vector<Job>& jobs, Keyring& keyring, Clock::SteadyTime now) {
  std::map<std::string, KeysOrError> known;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const WorkerAccess& worker = jobs[i].worker;
    auto found = known.find(worker.identity_file);
    if (found == known.end()) {
      found = known.emplace(worker.identity_file, keyring.For(worker.identity_file)).first;
    }
    const KeysOrError& identities = found->second;
    auto& connection = batch.slots[i].connection;
    connection = std::make_unique<Connection>(
        i, jobs[i], batch.limits, ParseAddress(worker.host, worker.port).value_or(Endpoint{}),
        identities ? *identities : nullptr, now, batch);
    if (identities) continue;
    const Error& error = identities.error();
    connection->Refuse(
        Outcome::kAuthRefused,
        OtherCause(error.hint.empty() ? error.message : error.message + "; " + error.hint), now);
  }
}

std::vector<WorkerResult> RefuseAll(std::size_t jobs, Observer& observer) {
  WorkerResult refusal;
  refusal.End(Outcome::kUnreachable,
              OtherCause("this process has no descriptor left to poll with (`ulimit -n` raises "
                         "that)"));
  for (std::size_t i = 0; i < jobs; ++i) {
    observer.OnResult(i, refusal);
    observer.OnPhase(i, Phase::kDone);
  }
  return std::vector<WorkerResult>(jobs, refusal);
}

}  // namespace

FanOut::FanOut(Keyring& keyring, Clock& clock, Random& random, Warn warn)
    : keyring_(keyring), clock_(clock), random_(random), warn_(std::move(warn)) {}

FanOut::~FanOut() = default;

Poller& FanOut::ThePoller() {
  const std::lock_guard lock(mutex_);
  if (poller_ == nullptr) {
    // What reading the spec and the state has left goes back before hundreds of sessions come.
    malloc_trim(0);
    if (const std::string_view text = ExitStatusWarning(); warn_ && !text.empty()) {
      warn_(std::string(text));
    }
    poller_ = std::make_unique<Poller>(clock_);
  }
  return *poller_;
}

std::vector<WorkerResult> FanOut::Run(const std::vector<Job>& jobs, const Limits& limits,
                                      Observer& observer, std::stop_token stop) {
  if (jobs.empty()) return {};
  Poller& poller = ThePoller();
  if (!poller.good()) return RefuseAll(jobs.size(), observer);
  const std::uint32_t number = poller.NextNumber();
  const auto poke = [&poller, number] { poller.Poke(number); };
  const auto batch = std::make_shared<Batch>(number, jobs, limits, stop, poller, random_, poke);
  batch->keeps_output = observer.TakesBytes();
  Fill(*batch, jobs, keyring_, clock_.Steady());
  poller.Add(batch);
  const std::stop_callback on_stop(stop, poke);
  const std::stop_callback on_abandon(limits.abandon, poke);
  const auto on_more = [&batch, &poke] {
    batch->fed = true;
    poke();
  };
  const Listening listening(jobs.front().feed, on_more);
  if (jobs.front().feed != nullptr) on_more();  // for what came before anybody listened
  return Deliver(batch->outbox, jobs.size(), observer);
}

std::size_t FanOut::MostAtOnce(const std::vector<WorkerAccess>& workers) const {
  return std::min(MostSockets(),
                  AnyThroughProgram(workers) ? std::size_t{kMostPrograms} : workers.size());
}

}  // namespace podctl::ssh
