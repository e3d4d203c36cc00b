#include "cmd/views/exec_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "cmd/interrupt.h"
#include "cmd/views/counted_workers.h"
#include "cmd/views/live_block.h"
#include "providers/base/foreign_text.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"
#include "providers/ssh/cause.h"

namespace podctl {
namespace {

using ssh::Phase;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kWindow{10};             // of which the rate is taken
constexpr std::size_t kFewest = 3;         // workers that make a rate
constexpr seconds kTroublePatience{3};     // why a worker is not reached is told then
constexpr seconds kSlow{5};                // who runs, or is tried, this long is named
constexpr std::size_t kMostNamed = 4;      // slow workers, and causes
constexpr std::size_t kLongestCause = 60;  // characters

// In the order in which they are shown. Who is tried again, like kDone, is counted apart.
constexpr std::pair<Phase, std::string_view> kShown[] = {
    {Phase::kWaiting, "waiting"},
    {Phase::kConnecting, "connecting"},
    {Phase::kAuthenticating, "authenticating"},
    {Phase::kRunning, "running"},
};
constexpr std::string_view kRetryingWord = "retrying";

std::string Clipped(std::string text) {
  if (text.size() <= kLongestCause) return text;
  std::size_t end = kLongestCause;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

std::string_view WordOf(Phase phase) {
  const auto* found = std::find_if(std::begin(kShown), std::end(kShown),
                                   [&](const auto& each) { return each.first == phase; });
  return found == std::end(kShown) ? kRetryingWord : found->second;
}

std::string Whole(Clock::SteadyTime::duration duration) {
  return FormatDuration(std::chrono::floor<seconds>(duration));
}

std::vector<int> NumbersOf(const std::vector<ssh::Job>& jobs) {
  std::vector<int> numbers;
  for (const ssh::Job& job : jobs) numbers.push_back(job.worker.index);
  return numbers;
}

}  // namespace

ExecProgress::ExecProgress(std::string pod, std::vector<int> workers, Clock& clock, int per_slice)
    : pod_(std::move(pod)),
      workers_(std::move(workers)),
      per_slice_(per_slice),
      clock_(clock),
      began_(clock.Steady()),
      states_(workers_.size(), {began_, {}}),
      tally_(workers_.size()) {
  samples_.push_back({began_, 0});
}

ExecProgress::ExecProgress(const std::vector<ssh::Job>& jobs, Clock& clock)
    : ExecProgress(jobs.empty() ? "" : jobs.front().worker.pod, NumbersOf(jobs), clock,
                   jobs.empty() ? 0 : jobs.front().worker.per_slice) {}

void ExecProgress::OnPhase(std::size_t job, Phase phase) {
  Worker& worker = states_.at(job);
  tally_.OnPhase(job, phase);
  worker.since = clock_.Steady();
  if (!worker.tried && phase != Phase::kWaiting) worker.tried = worker.since;
}

void ExecProgress::OnResult(std::size_t job, const std::string& cause) {
  tally_.OnResult(job, cause.empty());
  last_done_ = clock_.Steady();
  if (!cause.empty()) causes_[cause].push_back(workers_.at(job));
}

std::string ExecProgress::Cause() const {
  return Clipped(VisibleLine(tally_.WhyRetrying()));
}

// Each worker is counted once. What is wrong comes first, since a narrow terminal cuts the end off.
std::string ExecProgress::Counts() const {
  if (ending_) return fmt::format("ending: {} of {}", workers_.size() - done(), workers_.size());
  std::string text = doing_.empty() ? "" : Clipped(VisibleLine(doing_)) + ": ";
  text += fmt::format("{}/{} ok", tally_.ok(), workers_.size());
  if (tally_.failed() > 0) text += fmt::format(", {} failed", tally_.failed());
  std::string_view next = ", ";
  if (const std::size_t count = tally_.In(Phase::kRetrying); count > 0) {
    const std::string cause = Cause();
    text += fmt::format(", {} {}{}{}", count, kRetryingWord, cause.empty() ? "" : ": ", cause);
    if (!cause.empty()) next = "; ";
  }
  for (const auto& [phase, word] : kShown) {
    const std::size_t count = tally_.In(phase);
    if (count == 0) continue;
    text += fmt::format("{}{} {}", next, count, word);
    next = ", ";
  }
  return text;
}

// "31/s, 2s left", as soon as there is something to reckon with.
std::string ExecProgress::Pace() {
  const Clock::SteadyTime now = clock_.Steady();
  const std::size_t count = samples_.size();
  if (count > 1 && samples_[count - 2].done == done()) {
    samples_.back() = {now, done()};
  } else {
    samples_.push_back({now, done()});
  }
  // Of the last seconds, or of as long as it took a few to end.
  while (samples_.size() > 2 && now - samples_.front().when > kWindow &&
         done() - samples_[1].done >= kFewest) {
    samples_.pop_front();
  }
  // Of those that cannot be reached nobody knows when they will be.
  if (done() + tally_.In(Phase::kRetrying) == workers_.size()) return {};
  const Sample& oldest = samples_.front();
  const double passed = std::chrono::duration<double>(now - oldest.when).count();
  const std::size_t more = done() - oldest.done;
  if (more < kFewest || passed < 1) return {};
  const double rate = static_cast<double>(more) / passed;
  // The last ones may be slow ones: no sooner than they have kept everybody waiting already.
  const double silent = std::chrono::duration<double>(now - last_done_).count();
  const double left = std::max(static_cast<double>(workers_.size() - done()) / rate, silent);
  const std::string pace =
      rate >= 1 ? fmt::format("{:.0f}/s", rate) : fmt::format("{:.0f}/min", rate * 60);
  return fmt::format("{}, about {} left", pace,
                     FormatDuration(seconds(std::max(1L, std::lround(left)))));
}

// Who runs longest, or cannot be reached for longest, once it is worth a line: "research/3 12s,
// research/7 connecting 8s".
std::string ExecProgress::SlowestLine(Clock::SteadyTime now) const {
  std::vector<std::pair<Clock::SteadyTime, std::size_t>> slow;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const Worker& worker = states_[i];
    const Phase phase = tally_.PhaseOf(i);
    if (phase == Phase::kWaiting || phase == Phase::kDone) continue;
    // A retry begins each phase anew.
    const auto since = phase == Phase::kRunning ? worker.since : *worker.tried;
    if (now - since >= kSlow) slow.emplace_back(since, i);
  }
  if (slow.empty()) return {};
  const std::size_t shown = std::min(slow.size(), kMostNamed);
  std::partial_sort(slow.begin(), slow.begin() + static_cast<std::ptrdiff_t>(shown), slow.end());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < shown; ++i) {
    const auto [since, job] = slow[i];
    const Phase phase = tally_.PhaseOf(job);
    names.push_back(fmt::format("{} {}{}", WorkersName(pod_, {workers_[job]}, per_slice_),
                                phase == Phase::kRunning ? "" : fmt::format("{} ", WordOf(phase)),
                                Whole(now - since)));
  }
  return fmt::format("  slowest: {}", Join(names, ", "));
}

std::string ExecProgress::FailedLine() const {
  if (causes_.empty()) return {};
  struct Text {
    std::size_t count;
    int first;  // worker
    std::string text;
  };
  std::vector<Text> texts;
  for (const auto& [cause, workers] : causes_) {
    texts.push_back({workers.size(), *std::min_element(workers.begin(), workers.end()),
                     fmt::format("{}: {}", CountedWorkers(workers, per_slice_), Clipped(cause))});
  }
  std::sort(texts.begin(), texts.end(), [](const Text& a, const Text& b) {
    return std::pair(b.count, a.first) < std::pair(a.count, b.first);
  });
  std::string line = "  failed: ";
  for (std::size_t i = 0; i < std::min(texts.size(), kMostNamed); ++i) {
    line += (i == 0 ? "" : "; ") + texts[i].text;
  }
  return line;
}

std::optional<std::size_t> ExecProgress::KeptOut() const {
  const Clock::SteadyTime now = clock_.Steady();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const Phase phase = tally_.PhaseOf(i);
    const bool under_way = phase != Phase::kRunning && phase != Phase::kDone;
    if (under_way && tally_.TroubleOf(i) && now - *states_[i].tried >= kTroublePatience) return i;
  }
  return std::nullopt;
}

std::string ExecProgress::LastingCause() const {
  return KeptOut() ? Cause() : "";
}

std::vector<std::string> ExecProgress::TroubleLines() const {
  const auto lasting = KeptOut();
  if (!lasting) return {};
  const ssh::Cause& trouble = tally_.TroubleOf(*lasting);
  const std::string name = WorkersName(pod_, {workers_[*lasting]}, per_slice_);
  std::vector<std::string> lines = {fmt::format("  {}: {}", name, VisibleLine(FullWords(trouble)))};
  const bool alone = tally_.ok() + tally_.In(Phase::kRunning) > 0;
  const std::string_view advice = alone ? ssh::AloneAdvice(trouble) : ssh::ReachAdvice(trouble);
  if (!advice.empty()) lines.push_back(fmt::format("    {}", advice));
  return lines;
}

std::vector<std::string> ExecProgress::Lines() {
  const Clock::SteadyTime now = clock_.Steady();
  const std::string pace = ending_ ? "" : Pace();
  const auto frame = static_cast<std::size_t>(now.time_since_epoch() / milliseconds(100));
  std::vector<std::string> lines = {fmt::format("{} {}: {}{}; {}{}", SpinnerFrame(frame), pod_,
                                                Counts(), Amount(), Whole(now - began_),
                                                pace.empty() ? "" : "; " + pace)};
  if (ending_) return lines;
  for (const std::string& line : {FailedLine(), SlowestLine(now)}) {
    if (!line.empty()) lines.push_back(line);
  }
  for (std::string& line : TroubleLines()) lines.push_back(std::move(line));
  return lines;
}

std::string ExecProgress::PlainLine() {
  const Clock::SteadyTime now = clock_.Steady();
  const std::string pace = ending_ ? "" : Pace();
  std::vector<int> kept_out;
  for (std::size_t i = 0; !ending_ && KeptOut() && i < states_.size(); ++i) {
    if (tally_.PhaseOf(i) == Phase::kRetrying) kept_out.push_back(workers_[i]);
  }
  const std::string who =
      kept_out.empty() ? "" : "; waiting for " + Clipped(WorkersName(pod_, kept_out, per_slice_));
  return fmt::format("{}: {}{}{} [{} elapsed{}]", pod_, Counts(), Amount(), who,
                     Whole(now - began_), pace.empty() ? "" : ", " + pace);
}

namespace {

using ssh::Outcome;

constexpr std::array<std::string_view, kFates> kFateNames = {"failed", "lost", "cancelled",
                                                             "skipped"};
constexpr std::array<std::string_view, kFates> kFateWords = {
    "failed", "lost, where the command may go on or have ended", "cancelled", "never started"};

std::size_t CountOf(const std::vector<CauseGroup>& groups) {
  std::size_t count = 0;
  for (const CauseGroup& group : groups) count += group.workers.size();
  return count;
}

std::vector<int> WorkersOf(const std::vector<CauseGroup>& groups) {
  std::vector<int> workers;
  for (const CauseGroup& group : groups) {
    workers.insert(workers.end(), group.workers.begin(), group.workers.end());
  }
  return workers;
}

// "  14 workers (3-7,90): connection refused".
void AppendGroups(const std::vector<CauseGroup>& groups, int per_slice, std::string* text) {
  for (const CauseGroup& group : groups) {
    *text += fmt::format("  {}: {}\n", CountedWorkers(group.workers, per_slice),
                         group.shown.empty() ? group.cause : group.shown);
    for (const std::string& detail : group.details) *text += fmt::format("      {}\n", detail);
    if (!group.details.empty() && group.details.size() < group.workers.size()) {
      *text += fmt::format("      … and {} more\n", group.workers.size() - group.details.size());
    }
  }
}

}  // namespace

std::string ExecSummary(const ExecOutcome& outcome, const std::string& retry, bool shown) {
  const auto& results = outcome.results;
  // One worker that ran its command to its end has said it all.
  if (shown && results.size() == 1 && results[0].outcome == Outcome::kExited) return {};
  const int per_slice = outcome.jobs.empty() ? 0 : outcome.jobs.front().worker.per_slice;
  const auto groups = GroupsByFate(outcome);
  std::string text;
  for (std::size_t fate = 0; fate < kFates; ++fate) {
    const auto& of = groups[fate];
    if (of.empty()) continue;
    text += fmt::format("{} of {} {}:\n", CountOf(of), Plural(results.size(), "worker"),
                        kFateWords[fate]);
    if (static_cast<Fate>(fate) == Fate::kSkipped) {
      text += fmt::format("  {}\n", FormatWorkers(WorkersOf(of), per_slice));
    } else {
      AppendGroups(of, per_slice, &text);
    }
  }
  if (!text.empty() && !retry.empty()) {
    text += fmt::format("To run it again on just those: {}\n", retry);
  }
  return text;
}

Value ExecSummaryEvent(const ExecOutcome& outcome, int exit_code, std::chrono::milliseconds elapsed,
                       CauseWords words) {
  const auto groups = GroupsByFate(outcome, words);
  Value event = Value::Map{{"format_version", "1.0"},
                           {"type", "summary"},
                           {"workers", outcome.results.size()},
                           {"exit_code", exit_code},
                           {"elapsed_ms", static_cast<std::int64_t>(elapsed.count())}};
  std::size_t not_ok = 0;
  Value::List causes;
  for (std::size_t fate = 0; fate < kFates; ++fate) {
    event.Set(kFateNames[fate], CountOf(groups[fate]));
    not_ok += CountOf(groups[fate]);
    for (const CauseGroup& group : groups[fate]) {
      causes.push_back(Value::Map{{"fate", kFateNames[fate]},
                                  {"cause", group.cause},
                                  {"count", group.workers.size()},
                                  {"workers", FormatRanges(group.workers)}});
    }
  }
  event.Set("ok", outcome.results.size() - not_ok);
  event.Set("causes", std::move(causes));
  return event;
}

int ExecExitCode(const ExecOutcome& outcome) {
  if (outcome.interrupted) return kInterruptedExitCode;
  const auto& results = outcome.results;
  const bool agreed =
      !results.empty() && std::all_of(results.begin(), results.end(), [&](const auto& result) {
        return result.outcome == Outcome::kExited && result.exit_code == results[0].exit_code;
      });
  return agreed ? results[0].exit_code : 1;
}

}  // namespace podctl
