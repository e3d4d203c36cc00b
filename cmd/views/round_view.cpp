#include "cmd/views/round_view.h"

#include <fmt/format.h>

#include <chrono>

#include "cmd/views/counted_workers.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"

namespace podctl {
namespace {

constexpr std::chrono::milliseconds kTick{50};
constexpr std::chrono::seconds kLongWait{2};

}  // namespace

void RoundView::OnBegin(const std::vector<ssh::Job>& jobs, const RoundWords& words) {
  if (!shown_) return;
  waits_ = false;
  display_.OnBegin(jobs, unheard_);
  display_.NameDoing(words.doing);
  ticker_ = std::jthread(
      [this, waits_for = words.waits_for, began = clock_.Steady()](const std::stop_token& end) {
        bool reported = waits_for.empty();
        while (clock_.SleepFor(kTick, end)) {
          if (!reported && waits_ && clock_.Steady() - began > kLongWait) {
            display_.Tell(waits_for, {});
            reported = true;
          }
          display_.Tick();
        }
      });
}

void RoundView::OnEnd() {
  ticker_ = std::jthread();
  if (shown_) display_.OnEnd();
}

std::string FailedText(const WorkerGroups& causes, std::size_t of, int per_slice) {
  std::size_t failed = 0;
  std::string text;
  for (const auto& group : causes.groups()) {
    failed += group.workers.size();
    text += fmt::format("  {}: {}\n", CountedWorkers(group.workers, per_slice), group.what);
  }
  if (failed == 0) return {};
  return fmt::format("{} of {} failed:\n", failed, Plural(of, "worker")) + text;
}

std::string SilenceText(const std::vector<WorkerAnswer>& answers) {
  WorkerGroups causes;
  for (const WorkerAnswer& answer : answers) {
    if (!answer.result.ok()) causes.Add(CauseOfSilence(answer), answer.worker.index);
  }
  const int per_slice = answers.empty() ? 0 : answers.front().worker.per_slice;
  return FailedText(causes, answers.size(), per_slice);
}

namespace {

std::string AdviceFor(const std::vector<WorkerAnswer>& answers, const KnownPods& pods) {
  std::vector<ssh::WorkerResult> results;
  for (const WorkerAnswer& answer : answers) results.push_back(answer.result);
  return pods.SilenceAdvice(answers.front().worker.pod, results);
}

}  // namespace

Error SilenceError(const std::string& what, const std::vector<WorkerAnswer>& answers,
                   const KnownPods& pods) {
  return MakeError(ErrorCode::kUnavailable, what, SilenceText(answers) + AdviceFor(answers, pods));
}

void ShowSilent(const std::vector<WorkerAnswer>& answers, const KnownPods& pods, Streams& streams) {
  const std::string text = SilenceText(answers);
  if (text.empty()) return;
  streams.err << text;
  const std::string advice = AdviceFor(answers, pods);
  if (!advice.empty()) streams.err << advice << "\n";
}

}  // namespace podctl
