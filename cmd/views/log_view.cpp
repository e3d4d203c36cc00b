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
    case LogEnd::Kind::kReplaced:
      return "replaced";
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
    case LogEnd::Kind::kReplaced:
      return "how it ended is not known: another run has taken its place";
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

std::string RemarkWords(const LogRemark& remark, std::size_t workers) {
  const std::string pod = remark.pod.empty() ? "" : fmt::format(" (the pod {})", remark.pod);
  std::string what;
  switch (remark.kind) {
    case LogRemark::Kind::kBack:
      return workers == 1 ? "it is back" : "they are back";
    case LogRemark::Kind::kBroke:
      return fmt::format("the connection broke{}; trying again", pod);
    case LogRemark::Kind::kTrouble:
      return fmt::format("{}{}; trying again", remark.message, pod);
    case LogRemark::Kind::kPod:
      return fmt::format("the pod {}; trying again", remark.message);
    case LogRemark::Kind::kCut:
      return "the beginning of the log is not there any more; `--kept` shows what was kept of it";
    case LogRemark::Kind::kGone:
      what = remark.message;
      break;
    case LogRemark::Kind::kDied:
      what = "the job died without an exit code";
      break;
    case LogRemark::Kind::kFailed:
      what = "the job " + ExitCodeDeed(remark.exit_code);
      break;
    case LogRemark::Kind::kAnew:
      what = fmt::format("the job was started anew (run {})", remark.message);
      break;
  }
  return fmt::format(
      "{}; {} still followed", what,
      remark.followed == 1 ? "1 worker is" : fmt::format("{} workers are", remark.followed));
}

// "research/3", "research/[0-2]", "64 workers": all of those whose log is read.
std::string WhoseRemark(const std::vector<WorkerAccess>& workers, std::size_t all) {
  if (workers.size() == all && all > 1) return Plural(all, "worker");
  std::vector<int> numbers;
  for (const WorkerAccess& worker : workers) numbers.push_back(worker.index);
  return WorkersName(workers.front().pod, numbers, workers.front().per_slice);
}

}  // namespace

LogView::LogView(Streams& streams, const std::vector<WorkerAccess>& workers,
                 std::stop_source unheard, Clock* clock)
    : streams_(streams), unheard_(std::move(unheard)), clock_(clock), count_(workers.size()) {
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

void LogView::OnRemark(const std::vector<WorkerAccess>& workers, const LogRemark& remark) {
  const std::string time = clock_ == nullptr ? "" : FormatTimestamp(clock_->Now()) + " ";
  streams_.err << fmt::format("{}{}: {}\n", time, WhoseRemark(workers, count_),
                              VisibleControls(RemarkWords(remark, workers.size())))
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
      if (!ends[i].next_run.empty()) event.Set("next_run", ends[i].next_run);
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
