#include "cmd/views/return_view.h"

#include <fmt/format.h>

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
      return fmt::format(
          "{} is not started again: its {} used up", job,
          news.attempts == 2 ? "restart is" : Plural(news.attempts - 1, "restart") + " are");
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
  std::string text = job.begins ? fmt::format("attempt {} is being started since {}", job.attempt, since)
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

bool IsStanding(const ReturnNews& news) {
  using What = ReturnNews::What;
  return news.what == What::kWaits || news.what == What::kNotInTheSpec ||
         news.what == What::kStateNotTold || news.what == What::kTaken ||
         news.what == What::kNotStarted;
}

}  // namespace podctl
