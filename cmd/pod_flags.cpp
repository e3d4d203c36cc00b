#include "cmd/pod_flags.h"

#include "cmd/flag_kinds.h"

namespace podctl {
namespace {

void AddExec(CLI::App* app, PodOptions* pod, ExecOptions* options) {
  CLI::App* exec = AddCommand(app, "exec", "run a command on a pod's workers");
  exec->add_option("POD", pod->pod, "name of the pod")->required();
  exec->add_option("--worker", pod->workers, "all (default), 0,2-3, !7 (all but), 0-255/8")
      ->type_name("WORKERS");
  AddDuration(exec, "--timeout", &options->timeout, "end the command after this long");
  exec->add_option("COMMAND", pod->command, "the command, after --")->required();
}

}  // namespace

void AddPodCommands(CLI::App* app, PodOptions* pod, ExecOptions* exec) {
  AddExec(app, pod, exec);

  CLI::App* ssh = AddCommand(app, "ssh", "open an interactive shell on one worker");
  ssh->add_option("POD", pod->pod, "name of the pod")->required();
  ssh->add_option("--worker", pod->workers, "number of the worker (default 0)")->type_name("N");
  ssh->add_flag("-t,--tty", pod->tty, "a terminal also for a command");
  ssh->add_option("COMMAND", pod->command, "run this instead of a shell, after --");

  CLI::App* tunnel = AddCommand(app, "tunnel", "forward local ports to a worker");
  tunnel->add_option("POD", pod->pod, "name of the pod")->required();
  tunnel->add_option("PORT", pod->ports, "[LOCAL:]REMOTE, one or more")->required();
  tunnel->add_option("--worker", pod->workers, "number of the worker (default 0)")->type_name("N");
}

}  // namespace podctl
