#include "plans/fleet/jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "plans/fleet/run/start_gate.h"
#include "plans/jobs/ranks.h"
#include "plans/kinds/pod/record.h"
#include "providers/base/certificate.h"
#include "providers/base/digest.h"
#include "providers/base/error.h"
#include "providers/base/worker_selection.h"
#include "providers/workers/runs.h"

namespace podctl {
namespace {

using workers::JobStatus;

constexpr std::chrono::hours kLongestKillGrace{1};
// Until the last of a gang has come, where they cannot all be started at once.
constexpr std::chrono::minutes kLongestAssembly{5};

// What the answers tell; one that cannot be read counts as none.
std::vector<WorkerJobs> ReadJobs(std::vector<WorkerAnswer>* answers) {
  std::vector<WorkerJobs> all;
  for (WorkerAnswer& answer : *answers) {
    if (!answer.result.ok()) continue;
    auto jobs = workers::ParseJobs(answer.lines);
    if (jobs) {
      all.push_back({answer.worker.index, *std::move(jobs)});
    } else {
      answer.Spoil(jobs.error().message);
    }
  }
  return all;
}

workers::JobStart StartOf(const DetachedStart& start, std::size_t i, const std::string& run,
                          const std::shared_ptr<const workers::Gang>& gang) {
  workers::JobStart job{
      start.name, run, start.commands[i], start.environments[i], start.grace, start.container,
      gang,       i};
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

// What is run where nothing of it runs yet. Most workers are given the same; it is kept once.
std::vector<ssh::Job> JobsOf(const DetachedStart& detached, const Start& start,
                             const std::string& run,
                             const std::shared_ptr<const workers::Gang>& gang) {
  std::map<std::string, std::shared_ptr<const std::string>> inputs;
  std::vector<ssh::Job> jobs;
  for (std::size_t i = 0; i < detached.workers.size(); ++i) {
    if (start.already.contains(detached.workers[i].index)) continue;
    const workers::JobStart job = StartOf(detached, i, run, gang);
    const std::string text = workers::StartInput(job);
    auto& input = inputs[text];
    if (!input) input = std::make_shared<const std::string>(text);
    jobs.push_back({detached.workers[i], workers::StartCommand(job), input});
  }
  return jobs;
}

// What is left of a run whose other workers are gone. False when that could not be.
bool EndRest(WorkerRounds& rounds, const DetachedStart& detached, const Start& start,
             StartReport* report) {
  std::vector<WorkerAccess> rest;
  for (const WorkerAccess& worker : detached.workers) {
    if (start.already.contains(worker.index)) rest.push_back(worker);
  }
  KillReport killed =
      KillJob(rounds, rest, rest, {detached.name, {}, "a new start of all its workers"});
  report->interrupted = rounds.stopped();
  if (!report->interrupted && AllAnswered(killed.answers) && !killed.runs) return true;
  report->answers = std::move(killed.answers);
  if (!report->interrupted) {
    report->refusal =
        MakeError(ErrorCode::kUnavailable, "what is left of an earlier start could not be ended",
                  "`podctl doctor` says how those workers are.");
  }
  return false;
}

}  // namespace

std::string NewRunEnd(Random& random) {
  constexpr std::size_t kRunEndLength = 8;
  return random.Uuid().substr(0, kRunEndLength);
}

bool IsRunWithEnd(const std::string& run, const std::string& end) {
  return !end.empty() && run.ends_with("-" + end);
}

std::string JobStateWords(const JobStatus& job) {
  switch (job.state) {
    case JobStatus::State::kRunning:
      if (IsEnding(job)) {
        return "is still being ended by " + workers::WhoOf(job.ended_by);
      }
      return "runs";
    case JobStatus::State::kEnded:
      if (const std::string who = WhoEnded(job); !who.empty()) {
        return fmt::format("was ended by {}: {}", who, ExitCodeText(job.exit_code));
      }
      return ExitCodeDeed(job.exit_code);
    case JobStatus::State::kDied:
      return "died without an exit code";
  }
  return "";
}

std::string WhoEnded(const JobStatus& job) {
  return job.state == JobStatus::State::kEnded ? workers::WhoOf(job.ended_by) : std::string();
}

bool IsEnding(const JobStatus& job) {
  return job.state == JobStatus::State::kRunning && !job.ended_by.empty();
}

bool WaitsForOthers(const JobStatus& job) {
  return job.state == JobStatus::State::kRunning && job.gang && !job.gang->waiting.empty();
}

std::optional<workers::GangNews> GangOf(const std::vector<WorkerJobs>& found,
                                        const std::string& job) {
  std::optional<workers::GangNews> all;
  std::set<int> waiting;
  for (const WorkerJobs& worker : found) {
    for (const JobStatus& each : worker.jobs) {
      if (each.name != job || !each.gang) continue;
      const bool further = !all || each.gang->attempt > all->attempt ||
                           (each.gang->attempt == all->attempt && each.gang->first &&
                            (!all->first || each.gang->first->attempt > all->first->attempt));
      if (further) all = each.gang;
      if (each.state == JobStatus::State::kRunning) {
        waiting.insert(each.gang->waiting.begin(), each.gang->waiting.end());
      }
    }
  }
  if (all) all->waiting.assign(waiting.begin(), waiting.end());
  return all;
}

Error BadJobName(const std::string& name) {
  return MakeError(ErrorCode::kInvalidArgument, fmt::format("`{}` is no name for a job", name),
                   "Letters, digits, `.`, `_` and `-`, at most 64 of them.");
}

JobsReport ListJobs(WorkerRounds& rounds, const std::vector<WorkerAccess>& chosen,
                    const std::string& name) {
  JobsReport report{rounds.Ask(chosen, workers::ListCommand(name)), {}};
  report.found = ReadJobs(&report.answers);
  return report;
}

bool RunsSomewhere(const JobsReport& report) {
  return std::any_of(report.found.begin(), report.found.end(), [](const WorkerJobs& worker) {
    return std::any_of(worker.jobs.begin(), worker.jobs.end(), [](const JobStatus& job) {
      return job.state == JobStatus::State::kRunning;
    });
  });
}

bool RunsSomewhere(const JobsReport& report, const std::string& name) {
  return std::any_of(report.found.begin(), report.found.end(), [&](const WorkerJobs& worker) {
    return std::any_of(worker.jobs.begin(), worker.jobs.end(), [&](const JobStatus& job) {
      return job.name == name && job.state == JobStatus::State::kRunning;
    });
  });
}

namespace {

// The run of a gang that was found, which its workers share; empty: it is none.
std::string GangRun(const std::vector<WorkerJobs>& found) {
  for (const WorkerJobs& worker : found) {
    for (const JobStatus& job : worker.jobs) {
      if (job.gang) return job.run;
    }
  }
  return {};
}

void AwaitOthers(WorkerRounds& rounds, const std::vector<WorkerAccess>& all,
                 const std::string& name, KillReport* report) {
  const std::string run = GangRun(report->found);
  if (run.empty() || rounds.stopped()) return;
  std::vector<ssh::Job> jobs;
  for (const WorkerAccess& worker : all) {
    const bool asked = std::any_of(
        report->answers.begin(), report->answers.end(),
        [&](const WorkerAnswer& answer) { return answer.worker.index == worker.index; });
    if (!asked) jobs.push_back({worker, workers::AwaitEndCommand(name, run), nullptr});
  }
  if (jobs.empty()) return;
  AskHooks hooks;
  hooks.words.doing = "ending " + name;
  report->others = rounds.Ask(jobs, kLongestKillGrace + std::chrono::minutes(1), hooks);
  for (WorkerJobs& worker : ReadJobs(&report->others)) {
    std::erase_if(worker.jobs, [&](const JobStatus& job) { return job.run != run; });
    for (const JobStatus& job : worker.jobs) {
      const bool runs = job.state == JobStatus::State::kRunning;
      report->runs = report->runs || runs;
      if (runs && job.ended_by.empty()) report->untold.push_back(worker.worker);
      report->became.Add(JobStateWords(job), worker.worker);
    }
    if (!worker.jobs.empty()) report->found.push_back(std::move(worker));
  }
  std::sort(report->found.begin(), report->found.end(),
            [](const WorkerJobs& a, const WorkerJobs& b) { return a.worker < b.worker; });
}

}  // namespace

KillReport KillJob(WorkerRounds& rounds, const std::vector<WorkerAccess>& all,
                   const std::vector<WorkerAccess>& chosen, const workers::JobKill& kill) {
  std::vector<ssh::Job> jobs;
  for (const WorkerAccess& worker : chosen) {
    jobs.push_back({worker, workers::KillCommand(kill), nullptr, nullptr, kEndsByItself});
  }
  KillReport report;
  // Without a grace the worker knows how long.
  report.answers =
      rounds.Ask(jobs, kill.grace.value_or(kLongestKillGrace) + std::chrono::minutes(1));
  report.found = ReadJobs(&report.answers);
  for (const WorkerJobs& worker : report.found) {
    for (const JobStatus& job : worker.jobs) {
      report.known = true;
      report.runs = report.runs || job.state == JobStatus::State::kRunning;
      const bool by_itself = job.state == JobStatus::State::kEnded && WhoEnded(job).empty();
      report.became.Add(by_itself
                            ? fmt::format("had ended already: {}", ExitCodeText(job.exit_code))
                            : JobStateWords(job),
                        worker.worker);
    }
  }
  AwaitOthers(rounds, all, kill.name, &report);
  return report;
}

DetachedStart StartOfCommand(const std::string& name, const std::string& pod,
                             const PodRecord& record, const std::vector<WorkerAccess>& chosen,
                             const std::string& command,
                             const std::map<std::string, std::string>& variables) {
  DetachedStart start;
  start.name = name;
  start.workers = chosen;
  start.identity = workers::StartInput({name, "", command, variables});
  const LaunchPod launch = LaunchPodOf(pod, record);
  for (const WorkerAccess& worker : chosen) {
    start.commands.push_back(command);
    auto& environment = start.environments.emplace_back(variables);
    environment.insert(worker.env.begin(), worker.env.end());
    environment.merge(PlaceVariables(launch, worker.index));
    environment["PODCTL_ATTEMPT"] = "1";
  }
  return start;
}

std::optional<Error> WhyNotToStart(WorkerRounds& rounds, const DetachedStart& start) {
  const JobsReport look = ListJobs(rounds, start.workers, start.name);
  if (!AllAnswered(look.answers)) return std::nullopt;
  const WorkerAccess& any = start.workers.front();
  return Decide(any.pod, any.per_slice, start.name, DigestOf(start), look.found).refusal;
}

StartReport StartJob(WorkerRounds& rounds, Random& random, const DetachedStart& detached,
                     const std::function<void(const StartEvent&)>& on_event) {
  StartReport report;
  JobsReport look = ListJobs(rounds, detached.workers, detached.name);
  report.answers = std::move(look.answers);
  report.interrupted = rounds.stopped();
  if (report.interrupted) return report;
  if (!AllAnswered(report.answers)) {
    report.refusal = MakeError(ErrorCode::kUnavailable, "nothing was started",
                               "A job starts on all its workers or on none. Leave those out with "
                               "`--worker`, or mend them: `podctl doctor` says how.");
    return report;
  }
  const std::string digest = DigestOf(detached);
  const WorkerAccess& any = detached.workers.front();
  Start start = Decide(any.pod, any.per_slice, detached.name, digest, look.found);
  report.refusal = start.refusal;
  if (report.refusal) return report;
  StartEvent news;
  std::shared_ptr<workers::Gang> gang;
  if (detached.gang) {
    // A gang has no place for one that comes later: its key is kept nowhere.
    if (!start.run.empty() && !EndRest(rounds, detached, start, &report)) return report;
    news.ended = std::exchange(start, Start{}).already;
    gang = std::make_shared<workers::Gang>(*detached.gang);
    Result<std::string> certificate = MakeCertificate();
    if (!certificate) {
      report.refusal = certificate.error();
      return report;
    }
    gang->certificate = *std::move(certificate);
  }
  const auto most = rounds.MostAtOnce(detached.workers);
  const bool in_turn = detached.workers.size() - start.already.size() > most;
  if (gang && in_turn) gang->assembly = kLongestAssembly;
  std::string run = std::move(start.run);
  if (run.empty()) {
    run = digest + "-" + (detached.run_end.empty() ? NewRunEnd(random) : detached.run_end);
  }
  std::vector<ssh::Job> jobs = JobsOf(detached, start, run, gang);
  news.already = start.already;
  CommonStart common(jobs.size());
  if (in_turn) {
    news.most = most;
    common.StartInTurn();
  }
  on_event(news);
  for (ssh::Job& job : jobs) job.feed = common.feed();
  report.begun = true;
  report.already = start.already;
  report.answers = rounds.Ask(jobs, std::chrono::minutes(5), common.Hooks());
  NameUnstarted(&report.answers);
  for (const WorkerAnswer& answer : report.answers) {
    if (answer.result.ok()) report.started.push_back(answer.worker.index);
  }
  return report;
}

}  // namespace podctl
