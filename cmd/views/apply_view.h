// How an apply or a destroy ended, for people.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "cmd/output_filter.h"
#include "plans/engine/executor.h"
#include "providers/os/clock.h"

namespace podctl {

// "Apply complete!", "Apply not complete yet: pod.research waits in the queue."; without the
// counts.
std::string EndWords(const ExecuteResult& result, bool destroy);
// The counts: "Resources: 1 added, 0 changed, 0 destroyed.".
std::string CountWords(const ExecuteResult& result, bool destroy);

// The counts on standard output; on standard error what was skipped, waits or is still under way.
void ShowApplied(Streams& streams, const ExecuteResult& result, bool destroy);

// Of what an interrupt, or the end of waiting, has left to the next run; "" of nothing. A line, and
// one more for each step that was asked to end; without a newline at the end.
std::string UnfinishedText(const ExecuteResult& result, bool destroy);

// ---- What happens during an apply, for people: plain lines, and on a terminal one live line for
// each running operation.

// What to call a change while it is made, in terraform's words.
struct ProgressWords {
  std::string start;     // "Creating"
  std::string still;     // "Still creating"
  std::string complete;  // "Creation complete"
};
ProgressWords WordsFor(const Change& change);

// "workers 2/4 ok, 1 failed, 1 retrying: connection refused"; of a pod what is waited for. May be
// empty.
std::string ProgressText(const Progress& progress);

// The labels of workers before what they print, each as wide as the widest of its step.
class LabelColumn {
 public:
  // `workers`: on how many the step runs; 0: not known.
  std::string Padded(const Address& step, int worker, const std::string& label,
                     std::size_t workers);

 private:
  std::map<Address, std::size_t> widths_;
};

// Writes to `streams.err`. With a terminal there it keeps a block of live lines at the bottom.
std::unique_ptr<EventSink> MakeProgressView(Streams& streams, Clock& clock);

}  // namespace podctl
