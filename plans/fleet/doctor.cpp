#include "plans/fleet/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "plans/fleet/jobs.h"
#include "plans/kinds/pod/backing.h"
#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/node_trouble.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/spec/runtime_flags.h"
#include "providers/base/digest.h"
#include "providers/base/text.h"
#include "providers/ssh/cause.h"
#include "providers/workers/jobs.h"

namespace podctl {
namespace {

using workers::Finding;

constexpr const char* kReplace = "podctl apply --replace pod.{pod}";
constexpr std::string_view kAwaitIt =
    "podctl apply --target pod.{pod}  (waits for it)  or  podctl destroy --target pod.{pod}  "
    "(gives it up)";

void JudgeNode(const Value& node, DoctorReport* report) {
  report->state = NodeState(node);
  report->health = NodeHealth(node);
  const std::string why = NodeHealthDescription(node);
  if (const auto trouble = TroubleOfState(report->state)) {
    report->findings.push_back({"node-state", "it " + trouble->what, why, trouble->to_do});
  }
  if (const auto trouble = TroubleOfHealth(report->health)) {
    report->findings.push_back({"node-health", "it " + trouble->what, why, trouble->to_do});
  }
}

// What tpu-runtime should have in its environment, as digests. Empty where that cannot be told:
// metadata that podctl did not compose, or a single host, whose flags go to the main process.
std::map<std::string, std::string> WantedVariables(const Value& node) {
  std::map<std::string, std::string> wanted;
  const std::string& text = node["metadata"][kRuntimeVariablesKey].AsString();
  if (text.empty() || WorkerCount(node) < 2) return wanted;
  const auto keys = SplitRuntimeVariables(text);
  if (!keys) return wanted;
  if (!keys->flags.empty()) {
    wanted[std::string(kRuntimeFlagsVariable)] = Sha256Hex(JoinFlags(keys->flags));
  }
  for (const auto& [name, value] : keys->variables) wanted[name] = Sha256Hex(value);
  return wanted;
}

// `alone`: others answer.
Finding SilenceFinding(const WorkerAnswer& answer, bool alone) {
  const std::string cause = CauseOfSilence(answer);
  // It may well live: what is missing is the API's word on its key.
  const ssh::Cause::Code code = answer.result.cause.code;
  if (code == ssh::Cause::Code::kHostKeyUnchecked || code == ssh::Cause::Code::kHostKeyUnknown) {
    return {"host-key-unchecked", cause, "",
            "Nothing tells that the worker is ill. Once the API answers: podctl apply "
            "--refresh-only, then podctl doctor {pod}"};
  }
  switch (answer.result.outcome) {
    case ssh::Outcome::kHostKeyChanged:
      return {"host-key-changed", cause, ssh::OwnWords(answer.result.cause),
              "Somebody else may be answering. If the machine was made anew, the API has its new "
              "key: podctl apply --refresh-only"};
    case ssh::Outcome::kAuthRefused:
      return {
          "key-refused", fmt::format("it refuses our SSH key: {}", cause), "",
          "Is the key in the node's `ssh-keys`, and `ssh.user` the right one? `podctl ssh {pod} "
          "--worker {workers}` tries it alone."};
    case ssh::Outcome::kExited:
    case ssh::Outcome::kLost:
      return {"probe-failed", fmt::format("it could not be looked over: {}", cause), "",
              "podctl ssh {pod} --worker {workers}"};
    default:
      break;
  }
  const std::string_view advice =
      alone ? ssh::AloneAdvice(answer.result.cause) : ssh::ReachAdvice(answer.result.cause);
  return {"no-ssh", fmt::format("it does not answer SSH: {}", cause), "",
          fmt::format("{}{}A worker that is dead comes back with a new node: {}", advice,
                      advice.empty() ? "" : " ", kReplace)};
}

DoctorReport::Worker Examine(const WorkerAnswer& answer, bool alone,
                             const workers::Expectation& expected) {
  DoctorReport::Worker worker{answer.worker.index, answer.worker.host, {}, {}};
  if (answer.worker.host.empty()) {
    worker.findings.push_back({"no-address", answer.result.message, "",
                               "`ssh: {address: internal}` where there are no external ones; else "
                               "podctl apply --replace pod.{pod}"});
  } else if (!answer.result.ok()) {
    worker.findings.push_back(SilenceFinding(answer, alone));
  } else if (auto probe = workers::ParseProbe(answer.lines); !probe) {
    worker.findings.push_back(
        {"probe-failed", probe.error().message, "", "podctl ssh {pod} --worker {workers}"});
  } else {
    worker.findings = workers::Judge(*probe, expected);
    worker.probe = *std::move(probe);
  }
  return worker;
}

bool IsPassing(const Value& node) {
  const auto state = TroubleOfState(NodeState(node));
  const auto health = TroubleOfHealth(NodeHealth(node));
  return (state && state->passes) || (health && health->passes);
}

// Nobody makes a node anew whose workers are silent for as long as something lasts that passes.
void AwaitSilent(DoctorReport* report) {
  for (DoctorReport::Worker& worker : report->workers) {
    for (Finding& finding : worker.findings) {
      if (finding.code == "no-ssh") finding.to_do = "wait for the node, as is said of it";
    }
  }
}

using NameAndRun = std::pair<std::string, std::string>;  // of a job

// `jobs`: of each worker.
void NoteGangs(const std::vector<std::vector<workers::JobStatus>>& jobs,
               const std::set<NameAndRun>& running, DoctorReport* report) {
  std::vector<WorkerJobs> found;
  for (std::size_t i = 0; i < jobs.size(); ++i) found.push_back({static_cast<int>(i), jobs[i]});
  for (const auto& [name, run] : running) {
    if (auto gang = GangOf(found, name)) report->gangs[name] = *std::move(gang);
  }
  std::set<std::string> over;
  std::set<std::string> killed;
  for (const auto& of_worker : jobs) {
    for (const workers::JobStatus& job : of_worker) {
      if (job.gang && !report->gangs.contains(job.name)) over.insert(job.name);
      if (!WhoEnded(job).empty()) killed.insert(job.name);
    }
  }
  for (const std::string& name : over) {
    auto gang = GangOf(found, name);
    if (killed.contains(name) || !gang->first || gang->first->reason != "connection" ||
        gang->first->attempt != gang->attempt) {
      continue;
    }
    report->gangs[name] = *std::move(gang);
    report->lost.insert(name);
  }
}

// What is said of a part of a job that is gone here while the others run.
Finding LostPart(const workers::JobStatus& job, const DoctorReport& report) {
  const auto gang = report.gangs.find(job.name);
  const bool waits = gang != report.gangs.end() && !gang->second.waiting.empty();
  if (!waits) {
    return {"job-died",
            fmt::format("job {} {} here, and goes on elsewhere", job.name, JobStateWords(job)), "",
            fmt::format("podctl logs {{pod}} {0} --worker {{workers}} --tail 20; what still runs "
                        "ends with: podctl kill {{pod}} {0}",
                        job.name)};
  }
  return {
      "job-died",
      fmt::format("job {} {} here, and the others wait for it", job.name, JobStateWords(job)), "",
      fmt::format("podctl run {0} --detach  (starts it anew on all)  or  podctl kill {{pod}} {0}",
                  job.name)};
}

// A worker whose part of a job is gone while the others wait for it.
void JudgeJobs(const std::vector<WorkerAnswer>& answers, DoctorReport* report) {
  using workers::JobStatus;
  std::vector<std::vector<JobStatus>> jobs(answers.size());
  std::set<NameAndRun> running;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].result.ok()) continue;  // the probe's finding tells why
    auto found = workers::ParseJobs(answers[i].lines);
    if (!found) {
      report->workers[i].findings.push_back(
          {"jobs-unreadable", found.error().message, "", "podctl ssh {pod} --worker {workers}"});
      continue;
    }
    jobs[i] = *std::move(found);
    for (const JobStatus& job : jobs[i]) {
      if (job.state == JobStatus::State::kRunning) running.emplace(job.name, job.run);
    }
  }
  for (const auto& [name, run] : running) report->running.insert(name);
  NoteGangs(jobs, running, report);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    for (const JobStatus& job : jobs[i]) {
      const bool well = job.state == JobStatus::State::kRunning ||
                        (job.state == JobStatus::State::kEnded && job.exit_code == 0);
      if (well) continue;
      if (!running.contains({job.name, job.run})) {
        // Over everywhere: nobody waits for it, and it stays in the list until it is started again.
        if (job.state == JobStatus::State::kDied) {
          report->died.Add(job.name, answers[i].worker.index);
        }
        continue;
      }
      report->workers[i].findings.push_back(LostPart(job, *report));
    }
  }
}

// Jobs that are at work on the TPU: no trouble, but good to know.
void NoteJobs(DoctorReport* report) {
  for (const DoctorReport::Worker& worker : report->workers) {
    if (!worker.probe) continue;
    std::string before;
    for (const workers::Holder& holder : worker.probe->holders) {
      if (holder.owner != workers::Holder::Owner::kJob || holder.job == before) continue;
      report->at_work.Add(holder.job, worker.index);
      before = holder.job;
    }
  }
}

// Of a pod whose request has come to nothing, or to its end.
void JudgeLost(const NodeRequest& request, DoctorReport* report) {
  // An active one would have a node.
  report->state = request.over ? request.state : "GONE";
  report->findings.push_back({"node-lost", RequestWords(request), "",
                              "podctl apply --target pod.{pod}  (asks for it anew)"});
}

// Of a pod that has no node, by what the service says of the request for one. False: it says
// nothing.
bool JudgeRequest(const PodRecord& record, const Result<std::optional<NodeRequest>>& asked,
                  DoctorReport* report) {
  const auto pending = record.pending();
  const bool begun = pending && pending->kind == PendingAction::Kind::kCreate;
  if (!asked) {
    report->state = "UNKNOWN";
    report->findings.push_back({"node-unknown",
                                "it has no node, and its request could not be looked at",
                                asked.error().message, "podctl status"});
    return true;
  }
  if (!*asked && !begun) return false;
  if (*asked && !(*asked)->waits) {
    JudgeLost(**asked, report);
    return true;
  }
  Finding finding{"node-waits", "", "", std::string(kAwaitIt)};
  if (*asked) {
    report->state = (*asked)->state;
    finding.summary = "it waits: " + RequestWords(**asked);
  } else {
    report->state = "PENDING";
    finding.summary =
        RequestWords({"", pending->begun_at, "its creation was begun, and there is no node yet"});
  }
  report->findings.push_back(std::move(finding));
  return true;
}

// Of a pod that has no node, and that nothing is asked for: what a plan says of it.
void JudgeMissing(const PodRecord& record, const std::string& detail, DoctorReport* report) {
  std::string why = WhyNoNode(record, BackingOf(record).MayBeTaken(record));
  const bool sought = IsSought(record);
  report->state = sought ? "PENDING" : "GONE";
  if (sought && !record.exists() && !IsRecovering(record)) {
    report->findings.push_back({"node-waits", std::move(why), "", std::string(kAwaitIt)});
    return;
  }
  if (why.empty()) why = "it is not there any more";
  report->findings.push_back(
      {"node-gone", std::move(why), detail, "podctl apply --target pod.{pod}  (makes it anew)"});
}

bool IsLost(const Value& node) {
  return IsTerminalState(NodeState(node)) || NodeState(node) == "DELETING";
}

}  // namespace

std::size_t DoctorReport::HealthyWorkers() const {
  return static_cast<std::size_t>(std::count_if(
      workers.begin(), workers.end(), [](const Worker& each) { return each.findings.empty(); }));
}

void JudgeNotMade(DoctorReport* report) {
  report->state = "NOT CREATED";
  report->findings.push_back({"node-not-made", "it is in the spec, and not made yet", "",
                              "podctl apply --target pod.{pod}  (makes it, or says why not)"});
}

void AdviseWatch(const PodRecord& record, DoctorReport* report) {
  const bool taken = IsTerminalState(report->state) || report->state.starts_with("SUSPEND") ||
                     (report->state == "GONE" && BackingOf(record).MayBeTaken(record));
  if (!taken) return;
  for (Finding& finding : report->findings) {
    const bool lost =
        finding.code == "node-state" || finding.code == "node-gone" || finding.code == "node-lost";
    if (lost) {
      finding.to_do =
          "podctl watch  (makes it anew by itself)  or  podctl apply --target pod.{pod}  (now)";
    }
  }
}

bool DoctorReport::Healthy() const {
  return findings.empty() && HealthyWorkers() == workers.size();
}

Result<Value> LookAtNode(Provider& provider, const std::stop_token& stop, const PodRecord& record,
                         const std::string& lineage, DoctorReport* report) {
  auto node = provider.GetNode(NameOf(record), stop);
  if (node && IsOfAnotherState(*node, record.uid(), lineage)) {
    node = MakeError(ErrorCode::kNotFound,
                     fmt::format("what has its name now was made with another state, of lineage {}",
                                 VisibleControls(LineageOf(*node))));
  }
  if (!node) {
    const Error& error = node.error();
    if (error.code == ErrorCode::kInterrupted || error.code == ErrorCode::kCancelled) return error;
    if (error.code == ErrorCode::kNotFound) {
      const auto asked = BackingOf(record).AskRequest(provider, record, nullptr, lineage, stop);
      if (!asked && stop.stop_requested()) return asked.error();
      if (!JudgeRequest(record, asked, report)) JudgeMissing(record, error.message, report);
      return error;
    }
    report->unread = error.message;
    node = record.observed;
  } else if (IsLost(*node)) {
    // Why it goes is told by what it came from.
    const auto asked = BackingOf(record).AskRequest(provider, record, &*node, lineage, stop);
    if (!asked && stop.stop_requested()) return asked.error();
    if (asked && *asked && (*asked)->over) {
      JudgeLost(**asked, report);
      return MakeError(ErrorCode::kNotFound, (*asked)->sentence);
    }
  }
  JudgeNode(*node, report);
  return node;
}

void LookAtWorkers(WorkerRounds& rounds, Clock& clock, const Value& node,
                   const std::vector<WorkerAccess>& chosen, DoctorReport* report) {
  workers::Expectation expected;
  expected.variables = WantedVariables(node);
  workers::ProbeRequest request;
  for (const auto& [name, digest] : expected.variables) request.variables.push_back(name);
  report->per_slice = chosen.front().per_slice;
  const auto answers = rounds.Ask(chosen, workers::ProbeCommand(request));
  const auto now = clock.Now().time_since_epoch();
  expected.clock = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  const bool alone = std::any_of(answers.begin(), answers.end(),
                                 [](const WorkerAnswer& answer) { return answer.result.ok(); });
  for (const WorkerAnswer& answer : answers) {
    report->workers.push_back(Examine(answer, alone, expected));
  }
  if (IsPassing(node)) AwaitSilent(report);
  std::vector<WorkerAccess> answering = chosen;
  for (std::size_t i = 0; i < answering.size(); ++i) {
    // Nobody waits twice for one that is silent.
    if (!answers[i].result.ok()) answering[i].host.clear();
  }
  JudgeJobs(rounds.Ask(answering, workers::ListCommand("")), report);
  NoteJobs(report);
}

}  // namespace podctl
