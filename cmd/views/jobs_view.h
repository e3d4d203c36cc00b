// The jobs of a pod's workers as a table and as a document. Knows nothing of how they were asked
// for.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cmd/output_filter.h"
#include "cmd/views/exec_output.h"
#include "plans/fleet/jobs.h"
#include "plans/fleet/run/outputs.h"
#include "plans/fleet/run/supervise.h"
#include "plans/kinds/pod/record.h"
#include "plans/spec/job_spec.h"
#include "providers/base/value.h"

namespace podctl {

// One row for each name, however many workers have it; the newest first. `per_slice`: workers of
// each slice of a multislice, else 0. Of a start that the state has, `wanted`, the time stands
// there that a status and a plan tell, else that of the first worker's clock.
std::string JobsTable(const std::vector<WorkerJobs>& workers, bool color, int per_slice = 0,
                      const std::map<std::string, WantedJob>& wanted = {});
// A line below it about those who did not answer, whose jobs nobody knows; "": all did.
std::string UnheardText(const std::vector<WorkerAnswer>& answers);
Value JobsDocument(const std::string& pod, const std::vector<WorkerJobs>& workers);

// Of a job that runs without anybody watching, which attempt it is at, who failed first and who is
// waited for: lines, or "" where there is nothing to tell; and as members of `document`. `over`: it
// runs nowhere, and nobody has ended it.
std::string GangText(const std::string& job, const workers::GangNews& gang, int per_slice,
                     bool over = false);
void AddGang(const workers::GangNews& gang, Value* document);

// What became of a job that was to be ended, a line for each kind of end.
std::string KilledText(const std::string& job, const std::string& pod, int per_slice,
                       const KillReport& report);
// On which workers a job was started; the document tells too where it ran already.
std::string StartedText(const std::string& job, const std::string& pod, int per_slice,
                        const StartReport& report);
Value StartedDocument(const std::string& job, const std::string& pod, const StartReport& report);

// ---- What is seen of a job on a pod while `podctl run` watches over it: its lines, what is done
// before its starts and between them, and how it ended. As text, or as events.

// "research/[0-3]: ended 4 processes of an earlier run of train.".
std::string PrepareEventText(const PrepareEvent& news);
// On standard error, or as the event "remark" on standard output.
void ShowRemark(Streams& streams, const std::string& text);

class JobView final : public JobWatcher {
 public:
  // `streams`, `clock` and `job` are lent.
  JobView(Streams& streams, Clock& clock, const JobSpec& job, const ExecDisplay::Settings& shown)
      : streams_(streams),
        clock_(clock),
        job_(job),
        shown_(shown),
        display_(streams, clock, shown) {}

  ExecWatcher& Screen() { return display_; }
  // That `podctl watch` makes the pod anew when the service takes it.
  void NoteWatch(bool watched) { watched_ = watched; }
  // What is written goes through `outputs` on its way to the screen, and what is gathered there is
  // shown at the end of each start; with `diff` as differences. Lent.
  void KeepIn(RunOutputs& outputs, bool diff) {
    outputs_ = &outputs;
    diff_ = diff;
  }

  ExecWatcher& Commands() override {
    return outputs_ != nullptr ? static_cast<ExecWatcher&>(*outputs_) : display_;
  }
  void OnOwnLine(std::size_t job, std::string_view line) override {
    display_.CountAsShown(job, line);
  }
  void OnStarted(std::size_t workers) override;
  void OnFailure(const AttemptFailure& failure) override;

  void OnPrepareEvent(const PrepareEvent& news) override;
  void OnRestart(const AttemptResult& ended, int restart, const JobVerdict& why) override;
  void OnWaiting(bool absent) override;
  bool IsHeard() override { return static_cast<bool>(streams_.out); }

  // Shows how a run ended that had begun; the exit code.
  int ShowEnd(const RunReport& report);

 private:
  Value Event(const std::string& type) const;
  void Tell(const std::string& text, Value event);
  // For tools, what the summary says to people of a start that has ended: who failed first, where
  // that was not told while others went on, and what the service says of the node.
  void TellEnd(const AttemptResult& result, const std::optional<JobVerdict>& verdict);
  void ShowGroups(bool* interrupted);
  // With the last words of who failed first, where they were not on the screen.
  std::string SummaryOf(const AttemptResult& result) const;

  Streams& streams_;
  Clock& clock_;
  const JobSpec& job_;
  const ExecDisplay::Settings shown_;
  RunOutputs* outputs_ = nullptr;
  bool diff_ = false;
  bool watched_ = false;
  bool is_failure_reported_ = false;  // of the start that goes on, or was the last
  ExecDisplay display_;
};

}  // namespace podctl
