#include "cmd/commands/doctor.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "cmd/command.h"
#include "cmd/commands/commands.h"
#include "cmd/commands/failure.h"
#include "cmd/commands/plan_run.h"
#include "cmd/commands/pod_target.h"
#include "cmd/commands/worker_round.h"
#include "cmd/context.h"
#include "cmd/views/doctor_view.h"
#include "cmd/views/jobs_view.h"
#include "plans/node_view.h"
#include "plans/refresh.h"
#include "plans/spec/runtime_flags.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/base/worker_names.h"
#include "providers/ssh/reach_advice.h"
#include "providers/workers/jobs.h"
#include "providers/workers/probe.h"
#include "state/digest.h"

namespace podctl {
namespace {

using workers::Finding;

constexpr const char* kReplace = "podctl apply --replace pod.{pod}";

void JudgeNode(const Value& node, DoctorReport* report) {
  report->state = NodeState(node);
  report->health = NodeHealth(node);
  const std::string why = NodeHealthDescription(node);
  if (IsTerminalState(report->state)) {
    report->findings.push_back({"node-state", fmt::format("it is {}", report->state), why,
                                "podctl apply  (makes it anew)"});
  } else if (report->state == "CREATING") {
    report->findings.push_back(
        {"node-state", "it is still being created", why, "podctl apply  (waits for it)"});
  } else if (report->state != "READY") {
    report->findings.push_back({"node-state", fmt::format("it is {}", report->state), why,
                                "podctl plan  (shows what is to be done about it)"});
  }
  if (report->health != "HEALTHY" && !report->health.empty() &&
      report->health != "HEALTH_UNSPECIFIED") {
    report->findings.push_back(
        {"node-health", fmt::format("the service says that it is {}", report->health), why,
         fmt::format("Maintenance ends by itself; a node that stays so: {}", kReplace)});
  }
}

// The live node's word, where the API gives it; else the state's.
Result<Value> ReadNode(Wiring& wiring, const PodRecord& record, DoctorReport* report) {
  auto provider = wiring.provider();
  if (!provider) return provider.error();
  auto node = (*provider)->GetNode(NameOf(record), wiring.interrupt().drain());
  if (node || node.error().code == ErrorCode::kInterrupted ||
      node.error().code == ErrorCode::kCancelled) {
    return node;
  }
  if (node.error().code == ErrorCode::kNotFound) {
    report->state = "GONE";
    report->findings.push_back({"node-gone", "it is not there any more", node.error().message,
                                "podctl apply  (makes it anew)"});
    return node;
  }
  report->notes.push_back(
      fmt::format("The API does not answer, so the node is taken as it was "
                  "last seen: {}",
                  node.error().message));
  return record.observed;
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

Finding SilenceFinding(const WorkerAnswer& answer) {
  const std::string cause = CauseOfSilence(answer);
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
  const std::string_view advice = ssh::ReachAdvice(answer.result.cause);
  return {"no-ssh", fmt::format("it does not answer SSH: {}", cause), "",
          fmt::format("{}{}A worker that is dead comes back with a new node: {}", advice,
                      advice.empty() ? "" : " ", kReplace)};
}

DoctorReport::Worker Examine(const WorkerAnswer& answer, const workers::Expectation& expected) {
  DoctorReport::Worker worker{answer.worker.index, answer.worker.host, {}, {}};
  if (answer.worker.host.empty()) {
    worker.findings.push_back({"no-address", answer.result.message, "",
                               "`ssh: {address: internal}` where there are no external ones; else "
                               "podctl apply --replace pod.{pod}"});
  } else if (!answer.result.ok()) {
    worker.findings.push_back(SilenceFinding(answer));
  } else if (auto probe = workers::ParseProbe(answer.lines); !probe) {
    worker.findings.push_back(
        {"probe-failed", probe.error().message, "", "podctl ssh {pod} --worker {workers}"});
  } else {
    worker.findings = workers::Judge(*probe, expected);
    worker.probe = *std::move(probe);
  }
  return worker;
}

// A worker whose part of a job is gone while the others wait for it.
void JudgeJobs(const std::vector<WorkerAnswer>& answers, DoctorReport* report) {
  using workers::JobStatus;
  std::vector<std::vector<JobStatus>> jobs(answers.size());
  std::set<std::pair<std::string, std::string>> running;  // name and run
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
  WorkerGroups over;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    for (const JobStatus& job : jobs[i]) {
      const bool well = job.state == JobStatus::State::kRunning ||
                        (job.state == JobStatus::State::kEnded && job.exit_code == 0);
      if (well) continue;
      if (!running.contains({job.name, job.run})) {
        // Over everywhere: nobody waits for it, and it stays in the list until it is started again.
        if (job.state == JobStatus::State::kDied) over.Add(job.name, answers[i].worker.index);
        continue;
      }
      report->workers[i].findings.push_back(
          {"job-died",
           fmt::format("job {} {} here, and goes on elsewhere", job.name, JobStateWords(job)), "",
           fmt::format("podctl logs {{pod}} {0} --worker {{workers}} --tail 20; what still runs "
                       "ends with: podctl kill {{pod}} {0}",
                       job.name)});
    }
  }
  for (const auto& group : over.groups()) {
    report->notes.push_back(
        fmt::format("job {} died without an exit code on {}", group.what,
                    WorkersName(report->pod, group.workers, report->per_slice)));
  }
}

// Jobs that are at work on the TPU: no trouble, but good to know.
void NoteJobs(DoctorReport* report) {
  WorkerGroups jobs;
  for (const DoctorReport::Worker& worker : report->workers) {
    if (!worker.probe) continue;
    std::string before;
    for (const workers::Holder& holder : worker.probe->holders) {
      if (holder.owner != workers::Holder::Owner::kJob || holder.job == before) continue;
      jobs.Add(holder.job, worker.index);
      before = holder.job;
    }
  }
  for (const auto& group : jobs.groups()) {
    report->notes.push_back(
        fmt::format("job {} uses the TPU of {}", group.what,
                    WorkersName(report->pod, group.workers, report->per_slice)));
  }
}

void LookOver(Wiring& wiring, const std::string& address, const std::vector<WorkerAccess>& chosen,
              std::map<std::string, std::string> variables, DoctorReport* report) {
  workers::ProbeRequest request;
  for (const auto& [name, digest] : variables) request.variables.push_back(name);
  const auto answers = AskWorkers(wiring, address, chosen, workers::ProbeCommand(request));
  const auto now = wiring.clock().Now().time_since_epoch();
  workers::Expectation expected;
  expected.clock = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  expected.variables = std::move(variables);
  for (const WorkerAnswer& answer : answers) report->workers.push_back(Examine(answer, expected));
  std::vector<WorkerAccess> answering = chosen;
  for (std::size_t i = 0; i < answering.size(); ++i) {
    // Nobody waits twice for one that is silent.
    if (!answers[i].result.ok()) answering[i].host.clear();
  }
  JudgeJobs(AskWorkers(wiring, address, answering, workers::ListCommand("")), report);
  NoteJobs(report);
}

}  // namespace

int RunDoctor(Wiring& wiring, const DoctorOptions& options) {
  const auto fail = [&](const Error& error) { return ShowFailure(wiring, error); };
  auto record = FindRecord(wiring, options.pod);
  if (!record) return fail(record.error());
  DoctorReport report;
  report.pod = BarePodName(options.pod);
  auto node = ReadNode(wiring, *record, &report);
  if (!node && report.findings.empty()) return fail(node.error());
  if (node) {
    JudgeNode(*node, &report);
    TakeObserved(*node, &*record);
    // A dead node has no workers that could answer.
    if (CheckUsable(report.pod, *record)) {
      auto target = TargetOf(wiring, report.pod, *std::move(record));
      if (!target) return fail(target.error());
      auto chosen = SelectWorkers(*target, options.workers, "all");
      if (!chosen) return fail(chosen.error());
      report.per_slice = chosen->front().per_slice;
      LookOver(wiring, target->address, *chosen, WantedVariables(*node), &report);
    }
  }
  if (wiring.interrupt().requested()) return kInterruptedExitCode;
  Streams& streams = wiring.streams();
  if (wiring.options().json) {
    streams.out << ToJson(DoctorDocument(report), JsonStyle::kIndented) << "\n";
  } else {
    streams.out << DoctorText(report, streams.color && streams.out_is_terminal);
  }
  return report.Healthy() ? 0 : 1;
}

using Of = FlagsOf<DoctorOptions>;

constexpr Flag kFlags[] = {
    Of::Pod<&DoctorOptions::pod>(),
    Of::Workers<&DoctorOptions::workers>(),
};

const CommandOf<DoctorOptions> kCommand("doctor",
                                        "look a pod over, and say what is wrong and what to do",
                                        kFlags, WithWorld<RunDoctor>);

const Command& commands::kDoctor = kCommand;

}  // namespace podctl
