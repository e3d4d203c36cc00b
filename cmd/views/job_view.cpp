#include "cmd/views/job_view.h"

#include <fmt/format.h>

#include <utility>

#include "cmd/interrupt.h"
#include "cmd/views/byte_count.h"
#include "cmd/views/run_summary.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/base/worker_names.h"

namespace podctl {
namespace {

std::string NameOf(const SomeOf& some) {
  return WorkersName(some.pod, some.workers, some.per_slice);
}

struct NewsWords {
  std::string operator()(const EarlierRunEnded& news) const {
    return fmt::format(
        "{}: ended {} of an earlier run of {}.", NameOf(news.where),
        news.processes == 1 ? "a process" : fmt::format("{} processes", news.processes), news.job);
  }
  std::string operator()(const JobInTheWayEnded& news) const {
    return fmt::format("{}: ended the job {}.", NameOf(news.where), news.job);
  }
  std::string operator()(const HolderEnding& news) const {
    return fmt::format("{}: ending {}: {}", news.worker.Name(),
                       workers::DescribeHolder(news.holder), news.holder.command);
  }
  std::string operator()(const FilesCopied& news) const {
    return fmt::format("Copied {} to {} on {}: {}, {}.", news.source, news.destination,
                       Plural(news.workers, "worker"), Plural(news.files, "file"),
                       ByteCount(news.bytes));
  }
};

void Show(Streams& streams, const std::string& text, Value event) {
  if (streams.json) {
    event.Set("message", text);
    streams.out << ToJson(event) << '\n' << std::flush;
  } else {
    streams.err << text << '\n' << std::flush;
  }
}

}  // namespace

std::string PrepareNewsText(const PrepareNews& news) {
  return std::visit(NewsWords{}, news);
}

void ShowRemark(Streams& streams, const std::string& text) {
  Value event = Value::EmptyMap();
  event.Set("format_version", "1.0");
  event.Set("type", "remark");
  Show(streams, text, std::move(event));
}

Value JobView::Event(const std::string& type) const {
  Value event = Value::EmptyMap();
  event.Set("format_version", "1.0");
  event.Set("type", type);
  event.Set("job", job_.name);
  event.Set("pod", job_.pod);
  return event;
}

void JobView::Tell(const std::string& text, Value event) {
  Show(streams_, text, std::move(event));
}

void JobView::OnStarted(std::size_t workers) {
  desk_.Tell(fmt::format("Started on {}.", Plural(workers, "worker")), Event("started"));
}

void JobView::OnFailure(const AttemptFailure& failure) {
  Value event = Event("failed");
  event.Set("worker", failure.worker.index);
  event.Set("cause", failure.cause);
  event.Set("after_ms", static_cast<std::int64_t>(failure.after.count()));
  desk_.Tell(FailureText(failure.worker.Name(), failure.cause, failure.aftermath), event);
}

void JobView::OnNews(const PrepareNews& news) {
  ShowRemark(streams_, PrepareNewsText(news));
}

void JobView::OnRestart(const AttemptResult& ended, int restart, const JobVerdict& why) {
  if (!streams_.json) streams_.err << RunSummary(ended);
  Value event = Event("restart");
  event.Set("restart", restart);
  event.Set("of", job_.restart.attempts);
  event.Set("reason", RestartReasonName(why.reason));
  Tell(fmt::format("Restart {} of {}, on {}: {}.", restart, job_.restart.attempts,
                   RestartReasonName(why.reason), why.because),
       std::move(event));
}

void JobView::OnWaiting(bool absent) {
  Tell(absent ? fmt::format("Waiting until pod.{} is there again; `podctl apply` makes it anew.",
                            job_.pod)
              : fmt::format("Waiting until the workers of pod.{} answer.", job_.pod),
       Event("waiting"));
}

int JobView::ShowEnd(const RunReport& report) {
  if (report.end == RunReport::End::kUnheard) return 1;
  if (report.end == RunReport::End::kInterrupted) {
    Tell(report.begun ? "Interrupted: it was not started again."
                      : "Interrupted: nothing was started.",
         Event("interrupted"));
    return kInterruptedExitCode;
  }
  const AttemptResult& result = report.result;
  const int code = RunExitCode(result);
  if (streams_.json) {
    streams_.out << ToJson(RunSummaryEvent(result, code, report.restarts)) << '\n' << std::flush;
    return code;
  }
  // main() says why, where anybody can be told.
  if (!streams_.out && !result.outcome.interrupted) return 1;
  streams_.err << RunSummary(result);
  if (code == 0) {
    streams_.err << fmt::format("Job {} ended well on {}, after {}.\n", job_.name,
                                Plural(result.outcome.jobs.size(), "worker"),
                                FormatDuration(result.elapsed));
  } else if (report.verdict) {
    const bool of_node = report.verdict->reason == RestartReason::kMaintenance ||
                         report.verdict->reason == RestartReason::kPreemption;
    if (of_node && !result.told) {
      streams_.err << fmt::format("By now {}.\n", report.verdict->because);
    }
    if (report.restarts > 0 && report.restarts >= job_.restart.attempts) {
      streams_.err << fmt::format(
          "It was started again {} before; that was the last time.\n",
          report.restarts == 1 ? "once" : fmt::format("{} times", report.restarts));
    }
  }
  return code;
}

}  // namespace podctl
