// A pattern of the lines that somebody wants to see: an extended regular expression of POSIX, as
// grep -E has them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plans/fleet/logs.h"
#include "providers/base/error.h"

namespace podctl {

class LinePattern {
 public:
  // kInvalidArgument names what is wrong. What takes longer than its length says is refused:
  // back-references, and repetitions of repetitions beyond a limit.
  static Result<LinePattern> Parse(const std::string& text);

  // Whether it stands anywhere in the first 16 KiB of the line, whatever bytes that has. Thread
  // safe.
  bool Matches(std::string_view line) const;

 private:
  struct Compiled;
  explicit LinePattern(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}

  std::shared_ptr<const Compiled> compiled_;
};

// Shows another one only the lines that fit; remarks pass. The other one is lent.
class FittingLines final : public LogWatcher {
 public:
  FittingLines(LinePattern pattern, LogWatcher& watcher)
      : pattern_(std::move(pattern)), watcher_(watcher) {}
  void OnLine(const WorkerAccess& worker, std::string_view line) override {
    if (pattern_.Matches(line)) watcher_.OnLine(worker, line);
  }
  void OnRemark(const std::vector<WorkerAccess>& workers, const LogRemark& remark) override {
    watcher_.OnRemark(workers, remark);
  }

 private:
  const LinePattern pattern_;
  LogWatcher& watcher_;
};

}  // namespace podctl
