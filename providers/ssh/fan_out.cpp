#include "providers/ssh/fan_out.h"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <utility>

#include "providers/ssh/batch.h"
#include "providers/ssh/line_splitter.h"
#include "providers/ssh/poller.h"
#include "providers/ssh/way_words.h"

namespace podctl::ssh {
namespace {

using KeysOrError = Result<std::shared_ptr<const Identities>>;

// Makes the connections of a batch. Those that cannot even be tried are done at once.
void Fill(Batch& batch, const std::vector<Job>& jobs, Keyring& keyring, Random& random,
          Clock::SteadyTime now) {
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
        identities ? *identities : nullptr, now, random, batch);
    if (identities) continue;
    const Error& error = identities.error();
    connection->Refuse(
        Outcome::kAuthRefused,
        OtherCause(error.hint.empty() ? error.message : error.message + "; " + error.hint), now);
  }
}

// Hands the observer what the outbox has, cut into lines, until all is delivered.
std::vector<WorkerResult> Deliver(Outbox& outbox, std::size_t jobs, Observer& observer) {
  std::vector<WorkerResult> results(jobs);
  std::vector<std::array<LineSplitter, 2>> splitters(jobs);
  const bool as_bytes = observer.TakesBytes();
  Outbox::Turn turn;
  while (outbox.Take(turn)) {
    const std::size_t job = turn.job;
    auto& pair = splitters[job];
    if (turn.trouble) observer.OnTryAgain(job, turn.trouble);
    for (const Phase phase : turn.phases) observer.OnPhase(job, phase);
    Outbox::Unpack(turn.output, [&](Stream stream, std::string_view bytes) {
      if (as_bytes) return observer.OnBytes(job, stream, bytes);
      pair[static_cast<std::size_t>(stream)].Add(
          bytes, [&](std::string_view line) { observer.OnLine(job, stream, line); });
    });
    if (turn.result == nullptr) continue;
    for (const Stream stream : {Stream::kOut, Stream::kErr}) {
      pair[static_cast<std::size_t>(stream)].Finish(
          [&](std::string_view line) { observer.OnLine(job, stream, line); });
    }
    results[job] = std::move(*turn.result);
    observer.OnResult(job, results[job]);
    observer.OnPhase(job, Phase::kDone);
  }
  return results;
}

// As long as it lives, news of a feed are passed on.
class Listening {
 public:
  Listening(InputFeed* feed, const std::function<void()>& more) : feed_(feed) {
    if (feed_ != nullptr) feed_->Listen(more);
  }
  ~Listening() {
    if (feed_ != nullptr) feed_->Listen({});
  }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  InputFeed* feed_;
};

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

FanOut::FanOut(Keyring& keyring, Clock& clock, Random& random)
    : keyring_(keyring), clock_(clock), random_(random) {}

FanOut::~FanOut() = default;

Poller& FanOut::ThePoller() {
  const std::lock_guard lock(mutex_);
  if (poller_ == nullptr) {
    // What reading the spec and the state has left goes back before hundreds of sessions come.
    malloc_trim(0);
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
  const auto batch = std::make_shared<Batch>(number, jobs, limits, stop, poller, poke);
  batch->keeps_output = observer.TakesBytes();
  Fill(*batch, jobs, keyring_, random_, clock_.Steady());
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
  const bool programs = std::any_of(workers.begin(), workers.end(),
                                    [](const auto& worker) { return !worker.through.empty(); });
  return std::min(MostSockets(), programs ? std::size_t{kMostPrograms} : workers.size());
}

}  // namespace podctl::ssh
