#include "cmd/views/return_view.h"

#include <fmt/format.h>

#include "cmd/views/documents.h"
#include "plans/kinds/pod/record.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"

namespace podctl {
namespace {

// With what can be done about it, in one line.
std::string ErrorWords(const Error& error) {
  return VisibleControls(error.hint.empty() ? error.message
                                            : fmt::format("{} ({})", error.message, error.hint));
}

// Why it was not started, as far as it is told here: of workers without an answer more is shown.
std::string WhyNot(const ReturnNews& news) {
  if (news.error) return ": " + ErrorWords(*news.error);
  if (news.report == nullptr) return "";
  const DetachReport& report = *news.report;
  if (report.blocker && report.blocker->error) return ": " + ErrorWords(*report.blocker->error);
  if (report.report.refusal) return ": " + ErrorWords(*report.report.refusal);
  return "";
}

// "restart is", "5 restarts are", of a job that is started so often at most.
std::string RestartsAre(int attempts) {
  return attempts == 2 ? "restart is" : Plural(attempts - 1, "restart") + " are";
}

}  // namespace

std::string ReturnNewsText(const ReturnNews& news) {
  using What = ReturnNews::What;
  const std::string job = "job " + news.job;
  const Address pod = PodAddress(news.pod);
  const std::string attempt = fmt::format("attempt {} of {}", news.attempt, news.attempts);
  switch (news.what) {
    case What::kComesBack:
      return fmt::format("{} comes back on {}, {}: {}", job, pod, attempt, news.because);
    case What::kStarted:
      return fmt::format("{} runs again on {}, {}", job, pod, attempt);
    case What::kNotStarted:
      return fmt::format("{} could not be started again on {}{}", job, pod, WhyNot(news));
    case What::kTaken:
      return fmt::format("{} is started by somebody else just now", job);
    case What::kWaits:
      if (news.workers.empty()) {
        return fmt::format("{} cannot be looked at{}", job, WhyNot(news));
      }
      return fmt::format("{} waits for {}, without an answer", job,
                         WorkersName(news.pod, news.workers, news.per_slice));
    case What::kNotForThat:
      return fmt::format("{} is not started again: {}, and its `restart.on` does not say that", job,
                         news.because);
    case What::kUsedUp:
      return fmt::format("{} is not started again: its {} used up", job,
                         RestartsAre(news.attempts));
    case What::kEnded:
      return fmt::format("{} on {} has ended well, in {}", job, pod, attempt);
    case What::kFailed:
      return fmt::format("{} on {} has failed, in {}: {}; it is not started again", job, pod,
                         attempt, news.because);
    case What::kEndedByHand:
      return fmt::format("{} on {} was ended by {}", job, pod, VisibleControls(news.because));
    case What::kNotInTheSpec:
      return fmt::format(
          "{} was started on {} to come back with it, and the spec has no such job "
          "there any more; `podctl kill {} {}` ends it",
          job, pod, news.pod, news.job);
    case What::kStateNotTold:
      return fmt::format("what became of {} could not be written to the state{}", job,
                         WhyNot(news));
  }
  return "";
}

std::string WantedJobText(const WantedJob& job) {
  const std::string since = VisibleControls(job.since);
  std::string text = job.begins
                         ? fmt::format("attempt {} is being started since {}", job.attempt, since)
                         : fmt::format("attempt {} since {}", job.attempt, since);
  if (!job.by.empty()) text += ", at first by " + VisibleControls(job.by);
  return text;
}

Value WantedDocument(const std::map<std::string, WantedJob>& jobs) {
  Value document = Value::EmptyMap();
  for (const auto& [name, job] : jobs) {
    document.Set(name, Value::Map{{"attempt", job.attempt},
                                  {"begins", job.begins},
                                  {"by", job.by},
                                  {"run", job.start},
                                  {"since", job.since}});
  }
  return document;
}

std::string WantedLines(const WantedJobs& wanted) {
  std::string lines;
  for (const auto& [pod, jobs] : wanted) {
    for (const auto& [name, job] : jobs) {
      lines += fmt::format("Job {} comes back with {}: {}\n", VisibleControls(name),
                           PodAddress(pod), WantedJobText(job));
    }
  }
  return lines;
}

namespace {

std::string WaitsWords(const AwaitedJob& job) {
  using Waits = AwaitedJob::Waits;
  switch (job.waits) {
    case Waits::kForPod:
      return "it waits for its pod";
    case Waits::kForLook:
      return "the next look of a `podctl watch` starts it";
    case Waits::kForStart:
      return "it is being started since " + VisibleControls(job.since);
    case Waits::kUnheard:
      return "whether it runs its workers do not say";
  }
  return "";
}

// For what is waited, for programs; "": that is not known.
std::string_view WaitsWord(AwaitedJob::Waits waits) {
  using Waits = AwaitedJob::Waits;
  switch (waits) {
    case Waits::kForPod:
      return "pod";
    case Waits::kForLook:
      return "look";
    case Waits::kForStart:
      return "start";
    case Waits::kUnheard:
      break;
  }
  return "";
}

}  // namespace

std::string AwaitedText(const std::string& pod, const std::vector<AwaitedJob>& awaited) {
  std::string text;
  for (const AwaitedJob& job : awaited) {
    const std::string name = VisibleControls(job.job);
    const Address address = PodAddress(pod);
    if (job.IsUsedUp()) {
      text += fmt::format("{} does not come back with {} any more: its {} used up.\n", name,
                          address, RestartsAre(job.attempts));
      continue;
    }
    const std::string of = job.attempts > 0 ? fmt::format(" of {}", job.attempts) : std::string();
    text += fmt::format("{} comes back with {}, attempt {}{}: {}.\n", name, address, job.attempt,
                        of, WaitsWords(job));
  }
  return text;
}

Value AwaitedDocument(const std::vector<AwaitedJob>& awaited) {
  return ListOf(awaited, [](const AwaitedJob& job) {
    const std::string_view word = WaitsWord(job.waits);
    return Value::Map{{"name", job.job},
                      {"attempt", job.attempt},
                      {"attempts", job.attempts > 0 ? Value(job.attempts) : Value()},
                      {"used_up", job.IsUsedUp()},
                      {"waits_for", word.empty() ? Value() : Value(word)},
                      {"since", job.since}};
  });
}

bool IsStanding(const ReturnNews& news) {
  using What = ReturnNews::What;
  return news.what == What::kWaits || news.what == What::kNotInTheSpec ||
         news.what == What::kStateNotTold || news.what == What::kTaken ||
         news.what == What::kNotStarted;
}

}  // namespace podctl
