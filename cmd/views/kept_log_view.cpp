#include "cmd/views/kept_log_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cmd/views/documents.h"
#include "cmd/views/paint.h"
#include "providers/base/foreign_text.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/worker.h"

namespace podctl {

KeptLogView::KeptLogView(Streams& streams, std::string pod, std::string job, KeptLogStyle style,
                         std::stop_source unheard)
    : streams_(streams),
      pod_(std::move(pod)),
      job_(std::move(job)),
      style_(std::move(style)),
      unheard_(std::move(unheard)) {}

std::string KeptLogView::Name(int worker) const {
  return WorkerLabel(pod_, worker, 0);
}

void KeptLogView::OnStrangers(std::size_t pieces, int highest_worker) {
  streams_.err << fmt::format(
      "{}: {} of workers that it does not have (up to {}) {} passed over; `--from` shows them\n",
      pod_, Plural(pieces, "object"), highest_worker, pieces == 1 ? "is" : "are");
}

void KeptLogView::OnWorkers(const std::vector<int>& workers) {
  for (const int worker : workers) width_ = std::max(width_, Name(worker).size());
}

void KeptLogView::OnAttempt(const KeptPiece& first) {
  const std::string time = FormatLogTime(first.first);
  if (streams_.json) {
    Value event = Value::Map{{"format_version", "1.0"}, {"type", "attempt"}, {"pod", pod_}};
    event.Set("job", job_);
    event.Set("attempt", first.attempt);
    event.Set("run", first.run);
    event.Set("time", time);
    streams_.out << ToJson(event) << '\n';
    return;
  }
  streams_.out << std::flush;  // the lines before it come first
  // One that ended before a line of it was brought there; or whose lines were not asked for.
  if (last_attempt_ > 0 && first.attempt > last_attempt_ + 1) {
    const int next = last_attempt_ + 1;
    const int last = first.attempt - 1;
    streams_.err << fmt::format(
        "{}: nothing was kept of attempt{}\n", job_,
        next == last ? fmt::format(" {}", next) : fmt::format("s {} to {}", next, last));
  }
  last_attempt_ = first.attempt;
  streams_.err << fmt::format("{}: attempt {}, first line at {} (run {})\n", job_, first.attempt,
                              time, VisibleControls(first.run))
               << std::flush;
}

void KeptLogView::OnLine(int worker, LogTime time, std::string_view line) {
  if (style_.grep && !style_.grep->Matches(line)) return;
  if (streams_.json) {
    WorkerAccess whose;
    whose.pod = pod_;
    whose.index = worker;
    Value event = WorkerEvent("output", whose);
    event.Set("line", line);
    event.Set("time", FormatLogTime(time));
    streams_.out << ToJson(event) << '\n';
  } else {
    const Paint paint(streams_.color && streams_.out_is_terminal);
    streams_.out << paint(Ink::kCyan, fmt::format("{:<{}} |", Name(worker), width_)) << ' '
                 << (style_.times ? FormatLogTime(time) + " " : "") << VisibleLine(line) << '\n';
  }
  if (!streams_.out) unheard_.request_stop();
}

void KeptLogView::OnMissing(int worker, std::uint64_t bytes) {
  streams_.out << std::flush;
  streams_.err << fmt::format("{}: {} bytes of the log are not kept before this\n", Name(worker),
                              bytes)
               << std::flush;
}

void KeptLogView::OnBroken(const std::string& name, const Error& why) {
  const std::string which = VisibleControls(name);
  const std::string what = VisibleControls(why.message);
  const bool named = what.find(which) != std::string::npos;
  streams_.err << (named ? what + "; it is passed over\n"
                         : fmt::format("{} is passed over: {}\n", which, what))
               << std::flush;
}

}  // namespace podctl
