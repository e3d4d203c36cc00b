#include "providers/bootstrap/ssh_step_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <set>
#include <utility>

#include "providers/base/text.h"
#include "providers/bootstrap/tar_stream.h"
#include "providers/bootstrap/worker_scripts.h"
#include "providers/ssh/reach_advice.h"
#include "providers/workers/probe.h"

namespace podctl {
namespace {

constexpr std::size_t kLastLines = 20;
constexpr int kTriesInVain = 6;  // with their pauses about four seconds
constexpr std::size_t kTroubles = 4;
constexpr std::size_t kProbeLines = 2000;
constexpr std::chrono::milliseconds kRestartLimit{120'000};
constexpr std::chrono::milliseconds kXrtLimit{600'000};  // it answers when it has the version
// A runtime that comes with the node pulls its container first.
constexpr std::chrono::seconds kRuntimePatience{300};

// An image without the unit is no failure: nothing there would read the new value.
constexpr std::string_view kNoUnitWords = "no tpu-runtime here; the flags go to what podctl starts";
bool FoundNoUnit(const ssh::WorkerResult& result) {
  return result.outcome == ssh::Outcome::kExited && result.exit_code == kRestartNoUnit;
}

// In terraform's words; once for a step, whichever worker speaks first.
constexpr std::string_view kSuppressed = "(output suppressed due to sensitive value in config)";

// Passes lines on, keeps the last ones of each worker, and counts. The answers of a probe are kept
// whole, and not passed on. Of a step that hides its output no line is passed on or kept.
class Recorder final : public ssh::Observer {
 public:
  Recorder(const std::vector<WorkerAccess>& workers, std::string marker, const Step& step,
           StepObserver& observer)
      : workers_(workers),
        marker_(std::move(marker)),
        probes_(step.kind == Step::Kind::kReadiness),
        restarts_(step.kind == Step::Kind::kRestartRuntime),
        hides_(step.hides_output),
        observer_(observer),
        endings_(workers.size()) {}

  struct Ending {
    std::deque<std::string> lines;
    bool unpacking_failed = false;
    bool retrying = false;
    int tries_in_vain = 0;
  };

  void OnLine(std::size_t job, ssh::Stream stream, std::string_view line) override {
    Ending& ending = endings_[job];
    if (probes_) {
      const bool part = stream == ssh::Stream::kOut && ending.lines.size() < kProbeLines;
      if (part) ending.lines.emplace_back(line);
      return;
    }
    if (!marker_.empty() && line == marker_) {
      ending.unpacking_failed = true;
      return;
    }
    if (hides_) {
      if (!std::exchange(told_hidden_, true)) {
        observer_.OnStepLine(workers_[job].index, kSuppressed);
      }
      return;
    }
    ending.lines.emplace_back(line);
    if (ending.lines.size() > kLastLines) ending.lines.pop_front();
    observer_.OnStepLine(workers_[job].index, line);
  }

  void OnPhase(std::size_t job, ssh::Phase phase) override {
    bool& retrying = endings_[job].retrying;
    // A worker that is tried again stays "retrying" until it runs.
    const bool now = phase == ssh::Phase::kRetrying ||
                     (retrying && phase != ssh::Phase::kRunning && phase != ssh::Phase::kDone);
    retrying_ += static_cast<int>(now) - static_cast<int>(retrying);
    retrying = now;
    Report();
  }

  // A worker that boots refuses a few times, which is no news. One stands for all that are kept out
  // for the same reason.
  void OnTryAgain(std::size_t job, const ssh::Cause& why) override {
    if (++endings_[job].tries_in_vain < kTriesInVain) return;
    const std::string advice(ssh::ReachAdvice(why));
    const std::string shared = advice.empty() ? ssh::SharedWords(why) : advice;
    if (told_.size() == kTroubles || !told_.insert(shared).second) return;
    observer_.OnStepLine(workers_[job].index, ssh::FullWords(why) + "; podctl goes on trying");
    if (!advice.empty()) observer_.OnStepLine(workers_[job].index, advice);
  }

  void OnResult(std::size_t job, const ssh::WorkerResult& result) override {
    const bool no_unit = restarts_ && FoundNoUnit(result);
    if (no_unit) observer_.OnStepLine(workers_[job].index, kNoUnitWords);
    ++(result.ok() || no_unit ? ok_ : failed_);
    // Of a probe the exit code is not the verdict.
    if (result.ok() && !probes_) {
      observer_.OnStepApplied(workers_[job].index, result.learned_host_key.value_or(""));
    }
    Report();
  }

  const Ending& ending(std::size_t job) const { return endings_[job]; }

 private:
  // Only what is new.
  void Report() {
    const std::array<int, 3> now{ok_, failed_, retrying_};
    if (now == reported_) return;
    reported_ = now;
    observer_.OnStepProgress(ok_, failed_, retrying_);
  }

  const std::vector<WorkerAccess>& workers_;
  const std::string marker_;
  const bool probes_;
  const bool restarts_;
  const bool hides_;
  bool told_hidden_ = false;
  StepObserver& observer_;
  std::vector<Ending> endings_;
  int ok_ = 0;
  int failed_ = 0;
  int retrying_ = 0;
  std::set<std::string> told_;  // what keeps workers out
  std::array<int, 3> reported_{-1, -1, -1};
};

// A shell that complains names its script, by the folder that RunScriptCommand made for it, another
// one on each worker: without the folder the same failure is the same words.
std::string WithoutScriptFolder(std::string words) {
  constexpr std::string_view kFolder = "/tmp.";  // as mktemp names it, and ten characters
  constexpr std::size_t kChosen = 10;
  constexpr std::string_view kScript = "/script:";
  for (auto at = words.find(kFolder); at != std::string::npos; at = words.find(kFolder, at + 1)) {
    const std::size_t script = at + kFolder.size() + kChosen;
    if (words.compare(std::min(script, words.size()), kScript.size(), kScript) != 0) continue;
    const auto blank = words.find_last_of(' ', at);
    const std::size_t begin = blank == std::string::npos ? 0 : blank + 1;
    return words.erase(begin, script + 1 - begin);
  }
  return words;
}

// `sentence`, with the worker's own last words where it said something.
std::string WithLastWords(std::string sentence, const Recorder::Ending& ending) {
  for (auto it = ending.lines.rbegin(); it != ending.lines.rend(); ++it) {
    const std::string_view words = TrimBlanks(*it);
    if (words.empty()) continue;
    return sentence + ": " + WithoutScriptFolder(VisibleControls(words.substr(0, 300)));
  }
  return sentence;
}

std::string RestartMessage(int code, const Recorder::Ending& ending) {
  switch (code) {
    case kRestartNoSystemd:
      return WithLastWords("systemd does not answer on this worker", ending);
    case kRestartRefused:
      return WithLastWords("tpu-runtime could not be restarted", ending);
    case kRestartNotActive:
      return WithLastWords("tpu-runtime was restarted but did not stay active", ending);
    default:
      return WithLastWords(fmt::format("restarting tpu-runtime ended with exit code {}", code),
                           ending);
  }
}

std::string XrtMessage(int code, const std::string& version, const Recorder::Ending& ending) {
  switch (code) {
    case kXrtNoCurl:
      return WithLastWords("the runtime cannot be asked", ending);
    case kXrtNotThere:
      return "nothing listens on port 8475 of this worker: its runtime has no service that changes "
             "versions (only those of Colab's old TPUs had one)";
    case kXrtNoAnswer:
      return WithLastWords(
          fmt::format("the runtime was asked for XRT {} and did not answer", version), ending);
    case kXrtRefused:
      return WithLastWords(fmt::format("the runtime refused XRT {}", version), ending);
    default:
      return WithLastWords(fmt::format("asking the runtime ended with exit code {}", code), ending);
  }
}

// `trouble`: of a worker that was not reached, or a command that did not end by itself.
std::string FailureMessage(const Step& step, const ssh::WorkerResult& result,
                           const Recorder::Ending& ending, const std::string& trouble) {
  if (step.kind == Step::Kind::kReadiness) {
    return result.outcome == ssh::Outcome::kExited
               ? fmt::format("the probe ended with exit code {}", result.exit_code)
               : trouble;
  }
  if (result.outcome == ssh::Outcome::kTimedOut) {
    if (step.kind != Step::Kind::kRestartRuntime) return "the step was ended because " + trouble;
    return fmt::format("restarting tpu-runtime ran longer than {}; {}",
                       FormatDuration(result.cause.limit),
                       ssh::FarewellWords(result.cause.farewell));
  }
  if (result.outcome != ssh::Outcome::kExited) return trouble;
  if (step.kind == Step::Kind::kRestartRuntime) return RestartMessage(result.exit_code, ending);
  if (step.kind == Step::Kind::kRequestXrt) {
    return XrtMessage(result.exit_code, step.script, ending);
  }
  if (ending.unpacking_failed) return WithLastWords("the files could not be unpacked", ending);
  return WithLastWords(fmt::format("the script ended with exit code {}", result.exit_code), ending);
}

// What speaks against the worker, or "".
std::string ProbeMessage(const Recorder::Ending& ending) {
  const auto report = workers::ParseProbe({ending.lines.begin(), ending.lines.end()});
  if (!report) return report.error().message;
  std::vector<std::string> troubles;
  for (const workers::Finding& finding : workers::Judge(*report, {})) {
    troubles.push_back(finding.detail.empty()
                           ? finding.summary
                           : fmt::format("{} ({})", finding.summary, finding.detail));
  }
  return Join(troubles, ", and ");
}

std::vector<StepOutcome> RefuseAll(const std::vector<WorkerAccess>& workers, const Error& error) {
  std::vector<StepOutcome> outcomes;
  for (const WorkerAccess& worker : workers) {
    StepOutcome outcome;
    outcome.worker = worker.index;
    outcome.message = error.message;
    if (!error.hint.empty()) outcome.message += "; " + error.hint;
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace

Result<ssh::Job> SshStepRunner::ScriptJob(const Step& step, const std::string& id) {
  TarStream archive;
  for (const StepFile& file : step.files) {
    const std::string source = ExpandHome(file.source);
    if (Result<void> done = archive.AddLocal(files_, source, file.destination); !done) {
      return done.error();
    }
  }
  const std::string text = ScriptFile(step.script, step.env);
  if (Result<void> done = archive.AddFile(id + "/script", text, 0600); !done) return done.error();
  ssh::Job job;
  job.command = RunScriptCommand(id, {}, step.mark);
  job.input = std::make_shared<const std::string>(archive.Finish());
  return job;
}

Result<ssh::Job> SshStepRunner::JobOf(const Step& step, const std::string& id) {
  if (step.kind == Step::Kind::kScript) return ScriptJob(step, id);
  ssh::Job job;
  if (step.kind == Step::Kind::kReadiness) {
    job.command = workers::ProbeCommand({kRuntimePatience, {}, {}});
  } else if (step.kind == Step::Kind::kRequestXrt) {
    job.command = RequestXrtCommand(step.script);
  } else {
    job.command = RestartRuntimeCommand();
  }
  return job;
}

std::vector<StepOutcome> SshStepRunner::Run(const Step& step,
                                            const std::vector<WorkerAccess>& workers,
                                            StepObserver& observer, std::stop_token stop) {
  const bool probes = step.kind == Step::Kind::kReadiness;
  ssh::Limits limits = limits_;
  limits.command = step.timeout;
  if (probes && step.timeout.count() > 0) limits.retry = step.timeout;
  if (limits.command.count() == 0 && step.kind == Step::Kind::kRequestXrt) {
    limits.command = kXrtLimit;
  } else if (limits.command.count() == 0 && step.kind != Step::Kind::kScript) {
    limits.command = kRestartLimit + (probes ? kRuntimePatience : std::chrono::seconds(0));
  }
  const std::string id = "step-" + random_.Uuid();
  Result<ssh::Job> pattern = JobOf(step, id);
  if (!pattern) return RefuseAll(workers, pattern.error());
  std::vector<ssh::Job> jobs;
  for (const WorkerAccess& worker : workers) {
    jobs.push_back(*pattern);
    jobs.back().worker = worker;
    if (step.kind == Step::Kind::kScript && !worker.env.empty()) {
      jobs.back().command = RunScriptCommand(id, worker.env, step.mark);
    }
  }
  Recorder recorder(workers, id, step, observer);
  std::vector<ssh::WorkerResult> results = transport_.Run(jobs, limits, recorder, std::move(stop));

  std::vector<StepOutcome> outcomes;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    StepOutcome outcome;
    outcome.worker = workers[i].index;
    outcome.ok = results[i].ok();
    outcome.learned_host_key = results[i].learned_host_key.value_or("");
    const Recorder::Ending& ending = recorder.ending(i);
    if (step.kind == Step::Kind::kRestartRuntime && FoundNoUnit(results[i])) {
      outcome.ok = true;
      outcome.message = kNoUnitWords;
    } else if (!outcome.ok) {
      outcome.message = FailureMessage(step, results[i], ending, results[i].message);
      if (results[i].cause) {
        outcome.shared = FailureMessage(step, results[i], ending, SharedWords(results[i].cause));
      }
      if (!probes) outcome.last_lines.assign(ending.lines.begin(), ending.lines.end());
    } else if (probes) {
      outcome.message = ProbeMessage(ending);
      outcome.ok = outcome.message.empty();
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace podctl
