#include "providers/bootstrap/ssh_step_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "providers/base/ending_text.h"
#include "providers/base/text.h"
#include "providers/bootstrap/tar_stream.h"
#include "providers/ssh/cause.h"
#include "providers/ssh/tally.h"
#include "providers/workers/pod_verdict.h"
#include "providers/workers/probe.h"
#include "providers/workers/runs.h"
#include "providers/workers/shell.h"

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
           std::chrono::milliseconds patience, StepObserver& observer)
      : workers_(workers),
        marker_(std::move(marker)),
        step_(step),
        patience_(patience),
        observer_(observer),
        endings_(workers.size()),
        tally_(workers.size()) {}

  struct Ending {
    std::deque<std::string> lines;
    bool unpacking_failed = false;
    int tries_in_vain = 0;
  };

  void OnLine(std::size_t job, ssh::Stream stream, std::string_view line) override {
    Ending& ending = endings_[job];
    if (step_.kind == Step::Kind::kReadiness) {
      const bool part = stream == ssh::Stream::kOut && ending.lines.size() < kProbeLines;
      if (part) ending.lines.emplace_back(line);
      return;
    }
    if (!marker_.empty() && line == marker_) {
      ending.unpacking_failed = true;
      return;
    }
    if (step_.hides_output) {
      if (!std::exchange(reported_hidden_, true)) {
        observer_.OnStepLine(workers_[job].index, kSuppressed);
      }
      return;
    }
    ending.lines.emplace_back(line);
    if (ending.lines.size() > kLastLines) ending.lines.pop_front();
    observer_.OnStepLine(workers_[job].index, line);
  }

  void OnPhase(std::size_t job, ssh::Phase phase) override {
    tally_.OnPhase(job, phase);
    Report();
  }

  // A worker that boots refuses a few times, which is no news. One stands for all that are kept out
  // for the same reason.
  void OnTryAgain(std::size_t job, const ssh::Cause& why) override {
    tally_.OnTryAgain(job, why);
    Report();
    if (++endings_[job].tries_in_vain < kTriesInVain) return;
    const bool alone = tally_.ok() + tally_.In(ssh::Phase::kRunning) > 0;
    const std::string advice(alone ? ssh::AloneAdvice(why) : ssh::ReachAdvice(why));
    const std::string shared = advice.empty() ? ssh::SharedWords(why) : advice;
    if (reported_causes_.size() == kTroubles || !reported_causes_.insert(shared).second) return;
    observer_.OnStepLine(workers_[job].index, ssh::FullWords(why) + TriedOn());
    if (!advice.empty()) observer_.OnStepLine(workers_[job].index, advice);
  }

  void OnResult(std::size_t job, const ssh::WorkerResult& result) override {
    const bool no_unit = step_.kind == Step::Kind::kRestartRuntime && FoundNoUnit(result);
    if (no_unit) observer_.OnStepLine(workers_[job].index, kNoUnitWords);
    tally_.OnResult(job, result.ok() || no_unit);
    // Of a probe the exit code is not the verdict.
    if (result.ok() && step_.kind != Step::Kind::kReadiness) {
      observer_.OnStepApplied(workers_[job].index, result.learned_host_key.value_or(""));
    }
    Report();
  }

  const Ending& ending(std::size_t job) const { return endings_[job]; }

 private:
  std::string TriedOn() const {
    return fmt::format("; podctl goes on trying, for {}{}", FormatDuration(patience_),
                       step_.kind == Step::Kind::kReadiness ? " (`timeouts.boot`)" : "");
  }

  // Only what is new.
  void Report() {
    const std::size_t retrying = tally_.In(ssh::Phase::kRetrying);
    StepProgress now{tally_.ok(), tally_.failed(), retrying,
                     retrying > 0 ? tally_.WhyRetrying() : ""};
    if (now == reported_) return;
    reported_ = std::move(now);
    observer_.OnStepProgress(*reported_);
  }

  const std::vector<WorkerAccess>& workers_;
  const std::string marker_;
  const Step& step_;
  const std::chrono::milliseconds patience_;  // with a worker that is not reached
  bool reported_hidden_ = false;
  StepObserver& observer_;
  std::vector<Ending> endings_;
  ssh::Tally tally_;
  std::set<std::string> reported_causes_;  // what keeps workers out
  std::optional<StepProgress> reported_;
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

// The same with the first words: systemctl tells the failure first, then where to read about it.
std::string WithFirstWords(const std::string& sentence, const Recorder::Ending& ending) {
  for (const std::string& line : ending.lines) {
    const std::string_view words = TrimBlanks(line);
    if (!words.empty()) return sentence + ": " + VisibleControls(words.substr(0, 300));
  }
  return sentence;
}

std::string RestartMessage(int code, const Recorder::Ending& ending) {
  switch (code) {
    case kRestartNoSystemd:
      return WithLastWords("systemd does not answer on this worker", ending);
    case kRestartRefused:
      return WithFirstWords("tpu-runtime could not be restarted", ending);
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
                       ssh::TerminationWords(result.cause.termination));
  }
  if (result.outcome != ssh::Outcome::kExited) return trouble;
  if (step.kind == Step::Kind::kRestartRuntime) return RestartMessage(result.exit_code, ending);
  if (step.kind == Step::Kind::kRequestXrt) {
    return XrtMessage(result.exit_code, step.script, ending);
  }
  if (ending.unpacking_failed) return WithLastWords("the files could not be unpacked", ending);
  return WithLastWords(fmt::format("the script ended with exit code {}", result.exit_code), ending);
}

// What systemctl said of a refusal is two lines, which were shown just now, and the message has the
// one that tells.
bool IsTold(const Step& step, const ssh::WorkerResult& result) {
  return step.kind == Step::Kind::kRestartRuntime && result.outcome == ssh::Outcome::kExited &&
         (result.exit_code == kRestartRefused || result.exit_code == kRestartNoSystemd);
}

std::string FindingWords(const workers::Finding& finding) {
  return finding.detail.empty() ? finding.summary
                                : fmt::format("{} ({})", finding.summary, finding.detail);
}

// What speaks against the worker, or "".
std::string ProbeMessage(const Result<workers::ProbeReport>& report) {
  if (!report) return report.error().message;
  std::vector<std::string> troubles;
  for (const workers::Finding& finding : workers::Judge(*report, {})) {
    troubles.push_back(FindingWords(finding));
  }
  return Join(troubles, ", and ");
}

// The answers to a probe of the pod, and the last words of those that gave none.
class ProbeAnswers final : public ssh::Observer {
 public:
  explicit ProbeAnswers(std::size_t workers) : lines_(workers), last_words_(workers) {}

  void OnLine(std::size_t job, ssh::Stream stream, std::string_view line) override {
    if (stream == ssh::Stream::kOut) {
      if (lines_[job].size() < kProbeLines) lines_[job].emplace_back(line);
    } else if (line != workers::kStagedLine && !workers::ReadProbeClock(line)) {
      last_words_[job] = VisibleControls(TrimBlanks(line).substr(0, 300));
    }
  }
  void OnPhase(std::size_t, ssh::Phase) override {}

  // What `result` left of the worker: an answer, or why there is none.
  void Read(std::size_t job, const ssh::WorkerResult& result, workers::ProbedWorker* worker) const {
    if (!result.ok()) {
      worker->silence = ssh::CauseOf(result);
      if (result.outcome == ssh::Outcome::kExited) {
        worker->silence = fmt::format("the probe ended with exit code {}", result.exit_code);
        if (!last_words_[job].empty()) worker->silence += ": " + last_words_[job];
      }
      return;
    }
    auto answer = workers::ParsePodProbe(lines_[job], lines_.size());
    if (answer) {
      worker->answer = *std::move(answer);
    } else {
      worker->silence = answer.error().message;
    }
  }

 private:
  std::vector<std::vector<std::string>> lines_;
  std::vector<std::string> last_words_;
};

// Adds to the outcomes what was found; each of the findings of the pod speaks against all.
void TakeFindings(const workers::PodFindings& found, std::vector<StepOutcome>* outcomes) {
  for (StepOutcome& outcome : *outcomes) {
    std::vector<workers::Finding> findings = found.pod;
    if (const auto of = found.workers.find(outcome.worker); of != found.workers.end()) {
      findings.insert(findings.end(), of->second.begin(), of->second.end());
    }
    if (findings.empty()) continue;
    std::vector<std::string> troubles;
    std::vector<std::string> shared;
    for (const workers::Finding& finding : findings) {
      troubles.push_back(FindingWords(finding));
      shared.push_back(finding.summary);
    }
    outcome.ok = false;
    outcome.message = Join(troubles, ", and ");
    outcome.shared = Join(shared, ", and ");
  }
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
    const CopySource within(withheld_, source);
    if (Result<void> done = archive.AddLocal(files_, source, file.destination, &within); !done) {
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
  Recorder recorder(workers, id, step, limits.retry, observer);
  std::vector<ssh::WorkerResult> results = transport_.Run(jobs, limits, recorder, stop);

  std::vector<std::optional<workers::ProbeReport>> reports(workers.size());
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
      if (!probes && !IsTold(step, results[i])) {
        outcome.last_lines.assign(ending.lines.begin(), ending.lines.end());
      }
    } else if (probes) {
      auto report = workers::ParseProbe({ending.lines.begin(), ending.lines.end()});
      outcome.message = ProbeMessage(report);
      outcome.ok = outcome.message.empty();
      if (report) reports[i] = *std::move(report);
    }
    outcomes.push_back(std::move(outcome));
  }
  const bool all = std::all_of(outcomes.begin(), outcomes.end(),
                               [](const StepOutcome& outcome) { return outcome.ok; });
  if (step.probes.value_or(false) && all) {
    ProbeTogether(workers, reports, std::move(stop), &outcomes);
  }
  return outcomes;
}

// Without a common start, so each waits some time for those that come later. The way out is
// nobody's condition: a pod may want none.
void SshStepRunner::ProbeTogether(const std::vector<WorkerAccess>& workers,
                                  const std::vector<std::optional<workers::ProbeReport>>& reports,
                                  std::stop_token stop, std::vector<StepOutcome>* outcomes) {
  constexpr std::chrono::seconds kPatience{30};
  constexpr std::chrono::seconds kMargin{15};
  const std::size_t most = transport_.MostAtOnce(workers);
  if (most < workers.size()) {
    for (StepOutcome& outcome : *outcomes) {
      outcome.ok = false;
      outcome.message = fmt::format(
          "the workers cannot probe each other: only {} of {} can be connected to at the same "
          "moment",
          most, workers.size());
    }
    return;
  }
  workers::PodProbe probe;
  probe.run = random_.Uuid();
  probe.secret = random_.Uuid() + random_.Uuid();
  probe.patience = kPatience;
  probe.watched = false;
  probe.neighbours = workers.size() > 1;
  for (const WorkerAccess& worker : workers) {
    probe.members.push_back(
        {worker.index, worker.inside.empty() ? worker.host : worker.inside, {}});
  }
  std::vector<ssh::Job> jobs;
  for (std::size_t place = 0; place < workers.size(); ++place) {
    jobs.push_back({workers[place], workers::PodProbeCommand(),
                    std::make_shared<const std::string>(NeighboursInput(probe, place) +
                                                        std::string(workers::kGoLine))});
  }
  ssh::Limits limits = limits_;
  limits.command = LongestNeighbours(probe) + kMargin;
  limits.max_open = std::max(limits.max_open, static_cast<int>(workers.size()));
  ProbeAnswers answers(workers.size());
  const auto results = transport_.Run(jobs, limits, answers, std::move(stop));
  std::vector<workers::ProbedWorker> probed;
  for (std::size_t place = 0; place < workers.size(); ++place) {
    workers::ProbedWorker worker;
    worker.worker = workers[place].index;
    worker.report = reports[place];
    answers.Read(place, results[place], &worker);
    probed.push_back(std::move(worker));
  }
  TakeFindings(JudgePodProbe(probe, probed, {}), outcomes);
}

namespace {

// The mark is in the environment of the shell that waits for the script, and of nothing else: as
// long as that lives the script is at it. With the home folder, by which workers that share a
// process table are told apart.
constexpr const char* kEndEarlier = R"sh(
step=$HOME#$step
roots=" "
for each in $(grep -lszxF -e "PODCTL_STEP=$step" /proc/[0-9]*/environ); do
  each=${each#/proc/}
  roots="$roots${each%/environ} "
done
if [ "$roots" != " " ]; then
  (
LC_ALL=C
)sh";
constexpr const char* kEarlierEnded = R"sh(
    mark= leaders=" " spared=" $$ "
    echo "an earlier run of this step was still at it here: it is ended first"
    podctl_end {} || { echo "the earlier run of this step does not end" >&2; exit 1; }
  ) || exit 1
fi
)sh";

std::string EndEarlier(const std::string& mark) {
  if (mark.empty()) return "";
  std::string ended = kEarlierEnded;
  ended.replace(ended.find("{}"), 2, std::to_string(kEndingGrace.count()));
  return "step=" + ShellQuote(mark) + "\n" + kEndEarlier + kEndingText + ended;
}

}  // namespace

std::string RunScriptCommand(const std::string& id, const std::map<std::string, std::string>& env,
                             const std::string& mark) {
  // The shell between is told of a signal too, and goes on waiting for what has more to do.
  const std::string_view run =
      mark.empty() ? "\"$s\" -e \"$d/script\" </dev/null\n"
                   : "PODCTL_STEP=$step /bin/sh -c 'unset PODCTL_STEP; trap : HUP INT TERM; "
                     "\"$0\" -e \"$1\"; exit $?' \"$s\" \"$d/script\" </dev/null\n";
  // The script lands in a folder of its own, also where several workers share a home folder. -P
  // lets one archive hold places outside of home; a folder that is there keeps its owner and mode.
  // The sh that waits is told to clean up when it is asked to end.
  return InPlainShell(
      ExportLines(env) + EndEarlier(mark) +
      fmt::format(
          "cd || exit 1\n"
          "d=\n"
          "trap 'rm -rf \"$d\"' EXIT\n"
          "trap 'exit 143' TERM HUP INT\n"
          "d=$(mktemp -d) || exit 1\n"
          "tar -xPpmf - --no-same-owner --no-overwrite-dir --transform \"s,^{0}/,$d/,\" ||\n"
          "  {{ echo {0} >&2; exit 1; }}\n"
          "s=$(command -v bash) || s=/bin/sh\n"
          "{1}",
          id, run));
}

std::string ScriptFile(const std::string& script, const std::map<std::string, std::string>& env) {
  std::string text = ExportLines(env) + script;
  if (text.empty() || text.back() != '\n') text += '\n';
  return text;
}

std::string RestartRuntimeCommand() {
  // One call of systemctl a look, since each is a process on a worker that may have little to
  // spare. InvocationID is new for every start of a unit (systemd.exec(5)); MainPID stands in for
  // it where systemd is too old to know it.
  return InPlainShell(fmt::format(
      "ask() {{\n"
      "  said=$(systemctl show \"$@\" tpu-runtime 2>&1) || return 1\n"
      "  while IFS='=' read -r name value; do\n"
      "    case $name in\n"
      "      LoadState) load=$value;; ActiveState) active=$value;;\n"
      "      InvocationID) run=$value;; MainPID) pid=$value;;\n"
      "    esac\n"
      "  done <<PROPERTIES\n"
      "$said\n"
      "PROPERTIES\n"
      "}}\n"
      "look() {{\n"
      "  load= active= run= pid=\n"
      "  ask -p LoadState -p ActiveState -p InvocationID || return 1\n"
      "  [ -n \"$run\" ] || ask -p MainPID\n"
      "}}\n"
      "command -v systemctl >/dev/null || {{ echo 'systemctl: not found' >&2; exit {0}; }}\n"
      "look || {{ echo \"$said\" >&2; exit {0}; }}\n"
      "[ \"$load\" = not-found ] && exit {1}\n"
      "old=$run/$pid\n"
      "is_new() {{\n"
      "  look && [ \"$active\" = active ] && [ \"$run/${{pid:-0}}\" != /0 ] &&\n"
      "    [ \"$run/$pid\" != \"$old\" ]\n"
      "}}\n"
      "sudo -n systemctl restart tpu-runtime || exit {2}\n"
      "i=0\n"
      "while [ $i -lt 29 ]; do\n"
      "  if is_new; then\n"
      "    seen=$run/$pid\n"
      "    sleep 1\n"
      "    is_new && [ \"$seen\" = \"$run/$pid\" ] && exit 0\n"
      "  else\n"
      "    sleep 1\n"
      "  fi\n"
      "  i=$((i+1))\n"
      "done\n"
      "systemctl status --no-pager -n 10 tpu-runtime >&2\n"
      "exit {3}\n",
      static_cast<int>(kRestartNoSystemd), static_cast<int>(kRestartNoUnit),
      static_cast<int>(kRestartRefused), static_cast<int>(kRestartNotActive)));
}

std::string RequestXrtCommand(const std::string& version) {
  // The worker is the TPU's host, so it asks itself: its address inside Google's network is nobody
  // else's to reach. Exit code 7 of curl: no connection was made, so it may be tried again.
  return InPlainShell(
      fmt::format("command -v curl >/dev/null || {{ echo 'curl: not found' >&2; exit {1}; }}\n"
                  "url=http://127.0.0.1:8475/requestversion/{0}\n"
                  "tries=0\n"
                  "while :; do\n"
                  "  said=$(curl -sS --noproxy '*' -X POST -w '\n%{{http_code}}' \"$url\" 2>&1)\n"
                  "  code=$?\n"
                  "  tries=$((tries+1))\n"
                  "  [ $code = 7 ] && [ $tries -lt 5 ] || break\n"
                  "  sleep 1\n"
                  "done\n"
                  "if [ $code != 0 ]; then\n"
                  "  printf '%s\\n' \"$said\" | sed -n '/./{{p;q;}}' >&2\n"
                  "  [ $code = 7 ] && exit {2}\n"
                  "  exit {3}\n"
                  "fi\n"
                  "status=$(printf '%s\\n' \"$said\" | tail -n 1)\n"
                  "answer=$(printf '%s\\n' \"$said\" | sed '$d' | head -n 20 | cut -c 1-500)\n"
                  "[ -z \"$answer\" ] || printf '%s\\n' \"$answer\"\n"
                  "case $status in\n"
                  "  2[0-9][0-9]) echo \"the runtime answered $status to XRT {0}\" ;;\n"
                  "  *) echo \"HTTP status $status\" >&2; exit {4} ;;\n"
                  "esac\n",
                  version, static_cast<int>(kXrtNoCurl), static_cast<int>(kXrtNotThere),
                  static_cast<int>(kXrtNoAnswer), static_cast<int>(kXrtRefused)));
}

}  // namespace podctl
