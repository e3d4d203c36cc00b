#include "cmd/commands/jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "cmd/command.h"
#include "cmd/commands/commands.h"
#include "cmd/commands/exec/variables.h"
#include "cmd/commands/failure.h"
#include "cmd/commands/plan_run.h"
#include "cmd/commands/pod_target.h"
#include "cmd/commands/run/start_gate.h"
#include "cmd/commands/worker_round.h"
#include "cmd/context.h"
#include "cmd/views/jobs_view.h"
#include "plans/jobs/ranks.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/base/worker_names.h"
#include "providers/os/this_process.h"
#include "providers/workers/jobs.h"
#include "providers/workers/runs.h"
#include "state/digest.h"

namespace podctl {
namespace {

using workers::JobStatus;

constexpr std::chrono::hours kLongestGrace{1};

struct Chosen {
  PodTarget target;
  std::vector<WorkerAccess> workers;
};

Result<Chosen> Choose(Wiring& wiring, const std::string& pod, const std::string& selection) {
  auto target = FindPod(wiring, pod);
  if (!target) return target.error();
  auto chosen = SelectWorkers(*target, selection, "all");
  if (!chosen) return chosen.error();
  return Chosen{*std::move(target), *std::move(chosen)};
}

// What the answers tell; one that cannot be read counts as none.
std::vector<WorkerJobs> ReadJobs(std::vector<WorkerAnswer>* answers) {
  std::vector<WorkerJobs> all;
  for (WorkerAnswer& answer : *answers) {
    if (!answer.result.ok()) continue;
    auto jobs = workers::ParseJobs(answer.lines);
    if (jobs) {
      all.push_back({answer.worker.index, *std::move(jobs)});
    } else {
      answer.result.outcome = ssh::Outcome::kLost;
      answer.result.message = jobs.error().message;
    }
  }
  return all;
}

bool AllAnswered(const std::vector<WorkerAnswer>& answers) {
  return std::all_of(answers.begin(), answers.end(),
                     [](const WorkerAnswer& answer) { return answer.result.ok(); });
}

Error BadName(const std::string& name) {
  return MakeError(ErrorCode::kInvalidArgument, fmt::format("`{}` is no name for a job", name),
                   "Letters, digits, `.`, `_` and `-`, at most 64 of them.");
}

workers::JobStart StartOf(const DetachedStart& start, std::size_t i, const std::string& run) {
  workers::JobStart job{start.name,     run, start.commands[i], start.environments[i], start.grace,
                        start.container};
  job.environment["PODCTL_RUN"] = run;
  return job;
}

// The start of a run: the same for the same command, so that a start that was cut can be told from
// another command of that name.
std::string DigestOf(const DetachedStart& start) {
  constexpr std::size_t kLength = 16;
  return Sha256Hex(start.identity).substr(0, kLength);
}

// Lets all of them start when the last one is ready; none when one of them cannot.
class CommonStart {
 public:
  explicit CommonStart(std::size_t workers) : staged_(workers, false) {}

  ssh::InputFeed* feed() { return &gate_; }
  // Nobody waits for the others.
  void StartInTurn() { gate_.Open(); }
  AskHooks Hooks() {
    return {[this](std::size_t job, std::string_view line) {
              if (line != workers::kStagedLine || staged_[job]) return;
              staged_[job] = true;
              if (++ready_ == staged_.size()) gate_.Open();
            },
            [this](std::size_t job, const ssh::WorkerResult&) {
              if (!staged_[job]) gate_.CallOff();
            }};
  }

 private:
  StartGate gate_;
  std::vector<bool> staged_;
  std::size_t ready_ = 0;
};

// Those that were ready, and were told that nothing comes of it.
void NameUnstarted(std::vector<WorkerAnswer>* answers) {
  for (WorkerAnswer& answer : *answers) {
    const ssh::WorkerResult& result = answer.result;
    if (result.outcome == ssh::Outcome::kExited && result.exit_code == workers::kNotStarted) {
      answer.result.outcome = ssh::Outcome::kSkipped;
      answer.result.message = "not started, since others could not be";
    }
  }
}

// For the owner of the job: who ended it.
std::string KillWords(const std::string& pod, const std::string& job) {
  return fmt::format("{}@{}: podctl kill {} {}", UserName(), HostName(), pod, job);
}

struct Start {
  std::string run;        // empty: a new one
  std::set<int> already;  // workers that belong to it and need no start
  std::optional<Error> refusal;
};

// Which run is to be started where, after what was found.
Start Decide(const std::string& pod, int per_slice, const std::string& name,
             const std::string& digest, const std::vector<WorkerJobs>& found) {
  Start start;
  std::vector<int> others;
  for (const WorkerJobs& worker : found) {
    for (const JobStatus& job : worker.jobs) {
      if (job.state != JobStatus::State::kRunning) continue;
      if (job.run.starts_with(digest + "-")) {
        if (start.run.empty()) start.run = job.run;
        start.already.insert(worker.worker);
      } else {
        others.push_back(worker.worker);
      }
    }
  }
  const auto refuse = [&](const std::vector<int>& where, const std::string& which) {
    start.refusal = MakeError(
        ErrorCode::kAlreadyExists,
        fmt::format("{} {} runs already on {}", which, name, WorkersName(pod, where, per_slice)),
        fmt::format("`podctl logs {0} {1}` shows what it writes, `podctl kill {0} {1}` ends it. "
                    "Another name runs beside it.",
                    pod, name));
  };
  if (!others.empty()) refuse(others, "another command named");
  if (start.refusal || start.run.empty()) return start;
  // Of the run that is still at work: what has ended there is not begun once more.
  for (const WorkerJobs& worker : found) {
    for (const JobStatus& job : worker.jobs) {
      if (job.run == start.run && job.state == JobStatus::State::kEnded) {
        start.already.insert(worker.worker);
      }
    }
  }
  if (start.already.size() == found.size()) {
    refuse({start.already.begin(), start.already.end()}, "job");
  }
  return start;
}

int ShowStarted(Wiring& wiring, const std::string& pod, int per_slice, const std::string& name,
                const std::vector<int>& started, const std::set<int>& already, bool all) {
  if (wiring.options().json) {
    Value document = Value::EmptyMap();
    document.Set("format_version", "1.0");
    document.Set("pod", pod);
    document.Set("job", name);
    document.Set("started", Value::List(started.begin(), started.end()));
    document.Set("running_already", Value::List(already.begin(), already.end()));
    wiring.streams().out << ToJson(document, JsonStyle::kIndented) << "\n";
    return all ? 0 : 1;
  }
  if (!started.empty()) {
    wiring.streams().out << fmt::format("Job {} started on {}.\n", name,
                                        WorkersName(pod, started, per_slice));
  }
  if (!all) {
    wiring.streams().err << fmt::format(
        "The same command again starts what is missing; `podctl kill {} {}` ends the rest.\n", pod,
        name);
    return 1;
  }
  wiring.streams().err << fmt::format("Watch it with: podctl logs {} {} --follow\n", pod, name);
  return 0;
}

}  // namespace

int StartOnWorkers(Wiring& wiring, const PodTarget& target, const DetachedStart& detached) {
  const auto fail = [&](const Error& error) { return ShowFailure(wiring, error); };
  const std::string pod = BarePodName(target.address);
  auto seen =
      AskWorkers(wiring, target.address, detached.workers, workers::ListCommand(detached.name));
  const auto found = ReadJobs(&seen);
  if (wiring.interrupt().requested()) return kInterruptedExitCode;
  if (!AllAnswered(seen)) {
    ShowSilent(wiring, seen);
    return fail(MakeError(ErrorCode::kUnavailable, "nothing was started",
                          "A job starts on all its workers or on none. Leave those out with "
                          "`--worker`, or mend them: `podctl doctor` says how."));
  }
  const std::string digest = DigestOf(detached);
  const int per_slice = detached.workers.front().per_slice;
  const Start start = Decide(pod, per_slice, detached.name, digest, found);
  if (start.refusal) return fail(*start.refusal);
  const std::string run =
      start.run.empty() ? digest + "-" + wiring.random().Uuid().substr(0, 8) : start.run;
  if (!start.already.empty()) {
    wiring.streams().err << fmt::format(
        "It runs on {} already; the others are started.\n",
        WorkersName(pod, {start.already.begin(), start.already.end()}, per_slice));
  }
  // Most workers are given the same; it is kept once.
  std::map<std::string, std::shared_ptr<const std::string>> inputs;
  std::vector<ssh::Job> jobs;
  for (std::size_t i = 0; i < detached.workers.size(); ++i) {
    if (start.already.contains(detached.workers[i].index)) continue;
    const workers::JobStart job = StartOf(detached, i, run);
    const std::string text = workers::StartInput(job);
    auto& input = inputs[text];
    if (!input) input = std::make_shared<const std::string>(text);
    jobs.push_back({detached.workers[i], workers::StartCommand(job), input});
  }
  CommonStart common(jobs.size());
  if (const auto most = wiring.ssh().MostAtOnce(detached.workers); jobs.size() > most) {
    wiring.streams().err << TooFewAtOnce(detached.workers, most)
                         << ": the job begins on some workers before it does on others.\n";
    common.StartInTurn();
  }
  for (ssh::Job& job : jobs) job.feed = common.feed();
  auto answers = AskWorkers(wiring, target.address, jobs, std::chrono::minutes(5), common.Hooks());
  NameUnstarted(&answers);
  std::vector<int> started;
  for (const WorkerAnswer& answer : answers) {
    if (answer.result.ok()) started.push_back(answer.worker.index);
  }
  ShowSilent(wiring, answers);
  const bool all = started.size() == answers.size();
  const int code = detached.tell || !all ? ShowStarted(wiring, pod, per_slice, detached.name,
                                                       started, start.already, all)
                                         : 0;
  return wiring.interrupt().requested() ? kInterruptedExitCode : code;
}

int RunDetach(Wiring& wiring, const PodOptions& options, const ExecOptions& exec) {
  const auto fail = [&](const Error& error) { return ShowFailure(wiring, error); };
  auto variables = ReadVariables(exec.env, wiring.environment());
  if (!variables) return fail(variables.error());
  if (!workers::IsJobName(exec.detach)) return fail(BadName(exec.detach));
  auto chosen = Choose(wiring, options.pod, options.workers);
  if (!chosen) return fail(chosen.error());
  DetachedStart start;
  start.name = exec.detach;
  start.workers = chosen->workers;
  const std::string command = RemoteCommand(options.command, {});
  auto common = *variables;
  common.insert(chosen->target.exec_env.begin(), chosen->target.exec_env.end());
  start.identity = workers::StartInput({start.name, "", command, common});
  const auto record = FindRecord(wiring, options.pod);
  if (!record) return fail(record.error());
  const LaunchPod pod = LaunchPodOf(BarePodName(options.pod), *record);
  for (const WorkerAccess& worker : chosen->workers) {
    start.commands.push_back(command);
    auto& environment = start.environments.emplace_back(common);
    environment.insert(worker.env.begin(), worker.env.end());
    environment.merge(PlaceVariables(pod, worker.index));
    environment["PODCTL_ATTEMPT"] = "1";
  }
  return StartOnWorkers(wiring, chosen->target, start);
}

int RunJobs(Wiring& wiring, const JobsOptions& options) {
  auto chosen = Choose(wiring, options.pod, options.workers);
  if (!chosen) return ShowFailure(wiring, chosen.error());
  auto answers =
      AskWorkers(wiring, chosen->target.address, chosen->workers, workers::ListCommand(""));
  const auto found = ReadJobs(&answers);
  if (wiring.interrupt().requested()) return kInterruptedExitCode;
  ShowSilent(wiring, answers);
  Streams& streams = wiring.streams();
  if (wiring.options().json) {
    streams.out << ToJson(JobsDocument(BarePodName(options.pod), found), JsonStyle::kIndented)
                << "\n";
  } else {
    streams.out << JobsTable(found, streams.color && streams.out_is_terminal,
                             chosen->workers.front().per_slice);
  }
  return AllAnswered(answers) ? 0 : 1;
}

int RunKill(Wiring& wiring, const KillOptions& options) {
  const auto fail = [&](const Error& error) { return ShowFailure(wiring, error); };
  const std::string pod = BarePodName(options.pod);
  if (!workers::IsJobName(options.job)) return fail(BadName(options.job));
  auto chosen = Choose(wiring, options.pod, options.workers);
  if (!chosen) return fail(chosen.error());
  workers::JobKill kill{options.job, std::nullopt, KillWords(pod, options.job)};
  if (options.grace) kill.grace = std::chrono::ceil<std::chrono::seconds>(*options.grace);
  std::vector<ssh::Job> jobs;
  for (const WorkerAccess& worker : chosen->workers) {
    jobs.push_back({worker, workers::KillCommand(kill), nullptr, nullptr, kEndsByItself});
  }
  // Without --grace the worker knows how long.
  auto answers = AskWorkers(wiring, chosen->target.address, jobs,
                            kill.grace.value_or(kLongestGrace) + std::chrono::minutes(1));
  const auto found = ReadJobs(&answers);
  ShowSilent(wiring, answers);
  if (wiring.interrupt().requested()) return kInterruptedExitCode;
  WorkerGroups became;
  bool runs = false;
  bool known = false;
  for (const WorkerJobs& worker : found) {
    for (const JobStatus& job : worker.jobs) {
      known = true;
      runs = runs || job.state == JobStatus::State::kRunning;
      became.Add(JobStateWords(job), worker.worker);
    }
  }
  if (!known && AllAnswered(answers)) {
    return fail(MakeError(ErrorCode::kNotFound,
                          fmt::format("there is no job `{}` on {}", options.job, pod),
                          fmt::format("`podctl jobs {}` lists them.", pod)));
  }
  if (wiring.options().json) {
    wiring.streams().out << ToJson(JobsDocument(pod, found), JsonStyle::kIndented) << "\n";
  } else {
    for (const auto& group : became.groups()) {
      wiring.streams().out << fmt::format(
          "{}: {} {}\n", WorkersName(pod, group.workers, chosen->workers.front().per_slice),
          options.job, group.what);
    }
  }
  return runs || !AllAnswered(answers) ? 1 : 0;
}

using Of = FlagsOf<JobsOptions>;

constexpr Flag kFlags[] = {
    Of::Pod<&JobsOptions::pod>(),
    Of::Workers<&JobsOptions::workers>(),
};

const CommandOf<JobsOptions> kCommand("jobs", "list what `run` and `exec --detach` have started",
                                      kFlags, WithWorld<RunJobs>);

const Command& commands::kJobs = kCommand;

}  // namespace podctl
