#include "cmd/views/round_view.h"

#include <fmt/format.h>

#include <mutex>
#include <thread>
#include <utility>

#include "cmd/views/exec_output.h"
#include "cmd/views/exec_progress.h"
#include "providers/base/text.h"
#include "providers/base/worker_names.h"

namespace podctl {
namespace {

constexpr std::chrono::milliseconds kTick{50};
constexpr std::chrono::seconds kLongWait{2};

}  // namespace

// How far the round has come. Thread safe.
class RoundView::Screen {
 public:
  Screen(Streams& streams, bool json, Clock& clock, const std::vector<ssh::Job>& jobs,
         const std::string& waits_for)
      : clock_(clock),
        began_(clock.Steady()),
        waits_for_(json ? "" : waits_for),
        progress_(jobs.empty() ? "" : jobs.front().worker.pod, NumbersOf(jobs), clock,
                  jobs.empty() ? 0 : jobs.front().worker.per_slice),
        console_(streams, json ? nullptr : &progress_, clock),
        ticker_([this](const std::stop_token& end) {
          while (clock_.SleepFor(kTick, end)) Tick();
        }) {}

  void OnPhase(std::size_t job, ssh::Phase phase) {
    const std::lock_guard lock(mutex_);
    progress_.OnPhase(job, phase);
  }
  void OnTryAgain(std::size_t job, const ssh::Cause& why) {
    const std::lock_guard lock(mutex_);
    progress_.OnTryAgain(job, why);
  }
  void OnResult(std::size_t job, const WorkerAnswer& answer) {
    const std::lock_guard lock(mutex_);
    progress_.OnResult(job, answer.result.ok() ? "" : CauseOfSilence(answer));
  }

 private:
  static std::vector<int> NumbersOf(const std::vector<ssh::Job>& jobs) {
    std::vector<int> numbers;
    for (const ssh::Job& job : jobs) numbers.push_back(job.worker.index);
    return numbers;
  }
  void Tick() {
    const std::lock_guard lock(mutex_);
    if (!waits_for_.empty() && clock_.Steady() - began_ > kLongWait) {
      console_.Err(std::exchange(waits_for_, ""));
    }
    console_.Tick();
  }

  Clock& clock_;
  const Clock::SteadyTime began_;
  std::mutex mutex_;  // of what follows
  std::string waits_for_;
  ExecProgress progress_;
  ExecConsole console_;
  const std::jthread ticker_;  // last: it ends first
};

RoundView::RoundView(Streams& streams, bool json, Clock& clock, Remember remember)
    : streams_(streams), json_(json), clock_(clock), remember_(std::move(remember)) {}

RoundView::~RoundView() = default;

void RoundView::OnBegin(const std::vector<ssh::Job>& jobs, const std::string& waits_for) {
  screen_ = std::make_unique<Screen>(streams_, json_, clock_, jobs, waits_for);
}

void RoundView::OnPhase(std::size_t job, ssh::Phase phase) {
  screen_->OnPhase(job, phase);
}

void RoundView::OnTryAgain(std::size_t job, const ssh::Cause& why) {
  screen_->OnTryAgain(job, why);
}

void RoundView::OnAnswer(std::size_t job, const WorkerAnswer& answer) {
  screen_->OnResult(job, answer);
}

void RoundView::OnEnd(const std::map<int, HostKeyText>& learned) {
  screen_.reset();
  remember_(learned);
}

std::string SilenceText(const std::vector<WorkerAnswer>& answers) {
  WorkerGroups causes;
  std::size_t silent = 0;
  for (const WorkerAnswer& answer : answers) {
    if (answer.result.ok()) continue;
    causes.Add(CauseOfSilence(answer), answer.worker.index);
    ++silent;
  }
  if (silent == 0) return {};
  std::string text = fmt::format("{} of {} failed:\n", silent, Plural(answers.size(), "worker"));
  for (const auto& group : causes.groups()) {
    text += fmt::format("  {}: {} ({})\n", group.what,
                        FormatWorkers(group.workers, answers.front().worker.per_slice),
                        Plural(group.workers.size(), "worker"));
  }
  return text;
}

}  // namespace podctl
