// The output of a command: for people, as lines of JSON, or as a comment for a pull request. It is
// chosen once; a command does not know which one it has.
//
// A run (plan, apply, destroy, watch) is told event by event, from Begin on. Any other command has
// a result of its own, as a document or as text (Document), or one event a line (Event): then with
// --json an error stands on standard output in its place, and remarks and warnings are text beside
// it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "cmd/output_filter.h"
#include "plans/engine/change.h"
#include "plans/engine/executor.h"
#include "providers/base/diagnostic.h"
#include "providers/base/error.h"
#include "providers/base/json.h"
#include "providers/base/value.h"
#include "providers/os/clock.h"
#include "state/state.h"
#include "state/store.h"

namespace podctl {

// What is seen of a watch: its lines, and what happens to the changes that it makes.
class WatchAccount : public EventSink {
 public:
  virtual void Say(const std::string& text) = 0;
  // A live line that stays until something is said.
  virtual void ShowPause(const std::string&) {}
  // The end of a round: nothing is under way any more, and nothing live is shown.
  virtual void Settle() {}
  // What was begun has ended: from now on, what is said about an address is shown again.
  virtual void ForgetNews() {}
  virtual void ShowSummary(const ExecuteResult&) {}
};

class Reporter {
 public:
  // `streams` are lent. `interrupted`: by the user.
  Reporter(Streams& streams, std::stop_token interrupted)
      : streams_(streams), interrupted_(std::move(interrupted)) {}
  virtual ~Reporter() = default;
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  // --- Of every command.
  virtual void Show(const Diagnostics& diagnostics) = 0;
  void ShowError(const std::string& summary, const Error& error);
  void ShowWarning(std::string summary, std::string detail);
  virtual void Note(const std::string& text) = 0;
  // While it waits for the state's lock: who holds it, at first and now and then.
  void TellLockWait(const LockInfo& holder, std::chrono::milliseconds waited);
  virtual void TellInterrupted(const std::string& text = "Interrupted. Nothing was changed.") = 0;
  // How a command ends that failed: the error is shown or, if the user interrupted it and there is
  // nothing else to say, that. Returns FailedExitCode().
  int ShowFailure(const Error& error, const std::string& summary = {});
  // By the error that was shown last, so that the same failure has the same code in every command:
  // 3 where the state is locked by another, 4 where a plan is not the one that was reviewed, 130
  // where the user has interrupted, else 1.
  int FailedExitCode() const;
  void NoteFailure(ErrorCode code) { failure_ = code; }  // as if that error had been shown
  bool interrupted() const { return interrupted_.stop_requested(); }

  // --- Of a command with a result of its own.
  // True when it was the document.
  bool Document(const std::function<Value()>& document,
                const std::function<void(Streams& streams)>& text,
                JsonStyle style = JsonStyle::kIndented);
  // False where a person reads, who is to be told in words.
  bool Event(const std::function<Value()>& event, JsonStyle style = JsonStyle::kCompact);

  // --- Of a run.
  virtual void Begin() {}
  // `base` is what the plan was made from. Both are lent until End. `failed`: something speaks
  // against the plan, and is said after it. `jobs`: what it means for the jobs of the spec, a
  // clause each.
  virtual void ShowPlan(const Plan& plan, const State& base, bool failed,
                        const std::vector<std::string>& jobs) = 0;
  // Of a plan that could be carried out (plans/engine/plan_digest.h); before it is shown. Making it
  // takes as long as reading the spec, so it is asked for by those alone who tell it.
  virtual void TellDigest(const std::function<std::string()>&) {}
  // `again`: the variables whose values the plan does not hold, and its apply has to be given.
  virtual void TellSaved(const std::string& path, const std::vector<std::string>& again,
                         const std::string& digest) = 0;
  virtual std::unique_ptr<EventSink> Progress() = 0;
  virtual void ShowSummary(const ExecuteResult& result, bool destroy) = 0;
  // Those that the state has after an apply; nothing where there are none.
  virtual void ShowOutputs(const State& state) = 0;
  virtual std::unique_ptr<WatchAccount> Watch() = 0;
  // What can be written as a whole only is written. Once, at the end of a plan.
  virtual void End() {}

 protected:
  Streams& streams() { return streams_; }

 private:
  Streams& streams_;
  const std::stop_token interrupted_;
  std::optional<ErrorCode> failure_;
};

// For who reads `streams`, which are lent as `clock` is.
std::unique_ptr<Reporter> MakeReporter(Streams& streams, Clock& clock, std::stop_token interrupted);
// Of a plan: it is a comment on standard output, and everything else is said on standard error.
std::unique_ptr<Reporter> MakeMarkdownReporter(Streams& streams, Clock& clock,
                                               std::stop_token interrupted);

// ---- Questions to whoever sits at the terminal.

struct Approval {
  std::string unasked;  // the error where there is nobody to ask
  std::string hint;     // and what to do about it
  std::string question;
  std::string declined;     // "Apply cancelled."
  std::string interrupted;  // "Interrupted. Nothing was changed."
};

// 0: go on, since the answer, one line from the terminal, was "yes"; otherwise the exit code.
// Nobody is asked without a terminal, nor without `input` (--input=false) or with --json.
int Approve(const Approval& approval, bool input, Reporter& reporter, Streams& streams);

}  // namespace podctl
