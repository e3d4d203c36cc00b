#include "cmd/fleet_flags.h"

#include <string>

#include "cmd/flag_kinds.h"

namespace podctl {
namespace {

constexpr int kMostLines = 1'000'000;

CLI::App* AddFleetCommand(CLI::App* app, const std::string& name, const std::string& summary,
                          FleetOptions* options) {
  CLI::App* command = AddCommand(app, name, summary);
  command->add_option("POD", options->pod, "name of the pod")->required();
  AddWorkers(command, &options->workers, "all (default), 0,2-3, !7 (all but), 0-255/8");
  return command;
}

}  // namespace

void AddFleetCommands(CLI::App* app, FleetOptions* options) {
  AddFleetCommand(app, "doctor", "look a pod over, and say what is wrong and what to do", options);

  CLI::App* drain =
      AddFleetCommand(app, "drain", "end leftover processes that hold the TPU", options);
  AddDuration(drain, "--grace", &options->grace, "from TERM to KILL (default 30s)");
  drain->add_flag("--jobs", options->with_jobs, "also jobs of podctl");
  drain->add_flag("--dry-run", options->dry_run, "only show what would be ended");
  drain->add_flag("--auto-approve", options->auto_approve, "do not ask");

  AddFleetCommand(app, "jobs", "list what `run` and `exec --detach` have started", options);

  CLI::App* logs = AddFleetCommand(app, "logs", "show what a job has written", options);
  logs->add_option("JOB", options->job, "name of the job")->required();
  logs->add_flag("--follow", options->follow, "until the job has ended, with its exit code");
  logs->add_flag("--resume", options->resume, "only what was not shown here before");
  AddNumber(logs, "--tail", kMostLines, &options->tail, "only so many last lines")->type_name("N");

  CLI::App* kill = AddFleetCommand(app, "kill", "end a job", options);
  kill->add_option("JOB", options->job, "name of the job")->required();
  AddDuration(kill, "--grace", &options->grace,
              "from TERM to KILL (default: the job's terminationGracePeriod, 30s)");
}

void AddDetachFlag(CLI::App* exec, ExecOptions* options) {
  exec->add_option("--detach", options->detach,
                   "start it as a job of this name that outlives the connection")
      ->type_name("NAME");
}

}  // namespace podctl
