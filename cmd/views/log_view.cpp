#include "cmd/views/log_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cmd/views/documents.h"
#include "cmd/views/paint.h"
#include "cmd/views/round_view.h"
#include "providers/base/error.h"
#include "providers/base/foreign_text.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"
#include "providers/workers/jobs.h"

namespace podctl {
namespace {

std::string_view KindName(LogEnd::Kind kind) {
  switch (kind) {
    case LogEnd::Kind::kOpen:
      return "running";
    case LogEnd::Kind::kEnded:
      return "ended";
    case LogEnd::Kind::kDied:
      return "died";
    case LogEnd::Kind::kNoSuchJob:
      return "no such job";
    case LogEnd::Kind::kFailed:
      return "failed";
    case LogEnd::Kind::kStopped:
      break;
  }
  return "stopped";
}

std::string Words(const LogEnd& end, const std::string& job) {
  switch (end.kind) {
    case LogEnd::Kind::kEnded:
      return ExitCodeText(end.exit_code);
    case LogEnd::Kind::kDied:
      return "the job died without an exit code: was the worker restarted?";
    case LogEnd::Kind::kNoSuchJob:
      return fmt::format("there is no job {}", job);
    case LogEnd::Kind::kFailed:
      return end.message;
    case LogEnd::Kind::kOpen:
    case LogEnd::Kind::kStopped:
      break;
  }
  return "";
}

std::string RemarkWords(const LogRemark& remark) {
  switch (remark.kind) {
    case LogRemark::Kind::kBack:
      return "it is back";
    case LogRemark::Kind::kBroke:
      return "the connection broke; trying again";
    case LogRemark::Kind::kTrouble:
      return remark.message + "; trying again";
    case LogRemark::Kind::kDied:
    case LogRemark::Kind::kFailed:
      break;
  }
  return fmt::format(
      "the job {}; {} still followed",
      remark.kind == LogRemark::Kind::kDied ? "died without an exit code"
                                            : ExitCodeDeed(remark.exit_code),
      remark.followed == 1 ? "1 worker is" : fmt::format("{} workers are", remark.followed));
}

}  // namespace

LogView::LogView(Streams& streams, const std::vector<WorkerAccess>& workers,
                 std::stop_source unheard, Clock* clock)
    : streams_(streams), unheard_(std::move(unheard)), clock_(clock) {
  for (const WorkerAccess& worker : workers) width_ = std::max(width_, worker.Name().size());
}

void LogView::OnLine(const WorkerAccess& worker, std::string_view line) {
  const std::string time = clock_ == nullptr ? "" : FormatTimestamp(clock_->Now());
  if (streams_.json) {
    Value event = WorkerEvent("output", worker);
    event.Set("line", line);
    if (!time.empty()) event.Set("time", time);
    streams_.out << ToJson(event) << '\n' << std::flush;
  } else {
    const Paint paint(streams_.color && streams_.out_is_terminal);
    streams_.out << paint(Ink::kCyan, fmt::format("{:<{}} |", worker.Name(), width_)) << ' ' << time
                 << (time.empty() ? "" : " ") << VisibleLine(line) << '\n'
                 << std::flush;
  }
  if (!streams_.out) unheard_.request_stop();
}

void LogView::OnRemark(const WorkerAccess& worker, const LogRemark& remark) {
  streams_.err << fmt::format("{}: {}\n", worker.Name(), VisibleControls(RemarkWords(remark)))
               << std::flush;
}

void LogView::ShowEnds(const std::vector<WorkerAccess>& workers, const std::vector<LogEnd>& ends,
                       const std::string& job) {
  if (streams_.json) {
    for (std::size_t i = 0; i < ends.size(); ++i) {
      Value event = WorkerEvent("result", workers[i]);
      event.Set("state", KindName(ends[i].kind));
      if (ends[i].kind == LogEnd::Kind::kEnded) event.Set("exit_code", ends[i].exit_code);
      if (!ends[i].ended_by.empty()) event.Set("ended_by", ends[i].ended_by);
      if (!ends[i].message.empty()) event.Set("message", ends[i].message);
      streams_.out << ToJson(event) << '\n';
    }
    return;
  }
  WorkerGroups causes;
  WorkerGroups killed;  // which is no failure of the job's
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const LogEnd& end = ends[i];
    if (end.kind == LogEnd::Kind::kOpen || end.kind == LogEnd::Kind::kStopped ||
        (end.kind == LogEnd::Kind::kEnded && end.exit_code == 0)) {
      continue;
    }
    if (end.kind == LogEnd::Kind::kEnded && !end.ended_by.empty()) {
      killed.Add(fmt::format("{} was ended by {}: {}", job, workers::WhoOf(end.ended_by),
                             ExitCodeText(end.exit_code)),
                 workers[i].index);
    } else {
      causes.Add(Words(end, job), workers[i].index);
    }
  }
  const WorkerAccess& any = workers.front();
  for (const auto& group : killed.groups()) {
    streams_.err << fmt::format("{}: {}\n", WorkersName(any.pod, group.workers, any.per_slice),
                                group.what);
  }
  streams_.err << FailedText(causes, workers.size(), workers.front().per_slice);
}

}  // namespace podctl
