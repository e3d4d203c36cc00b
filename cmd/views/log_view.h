// The logs of a job as lines with their workers' names, or as events; and what became of the job.
// Knows nothing of how they are read.
#pragma once

#include <cstddef>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/output_filter.h"
#include "plans/fleet/logs.h"
#include "providers/os/clock.h"

namespace podctl {

class LogView final : public LogWatcher {
 public:
  // `streams` is lent, and so is `clock`, by which each line is given the time of its arrival;
  // null: it is given none. `unheard` is asked to stop when nobody reads standard output any more:
  // `podctl logs POD JOB | head -1` ends as `tail -f FILE | head -1` does.
  LogView(Streams& streams, const std::vector<WorkerAccess>& workers, std::stop_source unheard,
          Clock* clock = nullptr);

  void OnLine(const WorkerAccess& worker, std::string_view line) override;
  void OnRemark(const std::vector<WorkerAccess>& workers, const LogRemark& remark) override;

  // What is not a plain success, by cause; with --json an event for each worker.
  void ShowEnds(const std::vector<WorkerAccess>& workers, const std::vector<LogEnd>& ends,
                const std::string& job);

 private:
  Streams& streams_;
  std::stop_source unheard_;
  Clock* const clock_;
  const std::size_t count_;  // of workers whose log is read
  std::size_t width_ = 0;
};

}  // namespace podctl
