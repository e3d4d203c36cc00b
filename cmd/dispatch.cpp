#include "cmd/dispatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "cmd/arguments.h"
#include "cmd/commands/apply.h"
#include "cmd/commands/auth.h"
#include "cmd/commands/completion.h"
#include "cmd/commands/cp/cp.h"
#include "cmd/commands/doctor.h"
#include "cmd/commands/drain.h"
#include "cmd/commands/emulator.h"
#include "cmd/commands/exec/exec.h"
#include "cmd/commands/import.h"
#include "cmd/commands/init.h"
#include "cmd/commands/jobs.h"
#include "cmd/commands/logs.h"
#include "cmd/commands/offer.h"
#include "cmd/commands/run/run.h"
#include "cmd/commands/saved_plan.h"
#include "cmd/commands/ssh.h"
#include "cmd/commands/state.h"
#include "cmd/commands/state_access.h"
#include "cmd/commands/state_edit.h"
#include "cmd/commands/state_history.h"
#include "cmd/commands/state_transfer.h"
#include "cmd/commands/tunnel/tunnel.h"
#include "cmd/commands/validate.h"
#include "cmd/commands/watch.h"
#include "cmd/interrupt.h"
#include "cmd/wiring.h"
#include "providers/base/json.h"

namespace podctl {
namespace {

int RunVersion(const GlobalOptions& global, Streams& streams) {
  if (global.json) {
    Value document = Value::EmptyMap();
    document.Set("format_version", "1.0");
    document.Set("podctl_version", kVersion);
    streams.out << ToJson(document, JsonStyle::kIndented) << "\n";
  } else {
    streams.out << "podctl " << kVersion << "\n";
  }
  return 0;
}

int RunHelp(const std::string& topic, Streams& streams) {
  const std::string text = HelpFor(topic);
  if (text.empty()) {
    streams.err << fmt::format("Error: there is no command `{}`\n  See `podctl help`.\n", topic);
    return 1;
  }
  streams.out << text;
  return 0;
}

int DispatchState(const std::string& command, const StateOptions& options, Wiring& wiring) {
  if (command == "state list") return RunStateList(wiring, options);
  if (command == "state show") return RunStateShow(wiring, options.addresses.front());
  if (command == "state mv") return RunStateMove(wiring, options);
  if (command == "state rm") return RunStateRemove(wiring, options);
  if (command == "state pull") return RunStatePull(wiring);
  if (command == "state push") return RunStatePush(wiring, options);
  if (command == "state history") return RunStateHistory(wiring);
  PODCTL_CHECK(command == "state restore");
  return RunStateRestore(wiring, options);
}

// Whether the command looks for a state of its own accord.
bool UsesState(const Invocation& invocation) {
  constexpr std::array<std::string_view, 6> kWithout = {"validate", "auth status", "authorize",
                                                        "types",    "versions",    "emulator"};
  const std::string& command = invocation.command;
  return std::find(kWithout.begin(), kWithout.end(), command) == kWithout.end() &&
         invocation.apply.plan_file.empty();  // a saved plan knows its own
}

int DispatchWithWorld(const Invocation& invocation, Wiring& wiring) {
  const std::string& command = invocation.command;
  if (UsesState(invocation)) {
    if (const auto clear = wiring.CheckStatePlace(); !clear) {
      return ShowFailure(wiring, clear.error());
    }
  }
  if (command == "validate") {
    return RunValidate({wiring.SpecOptions(), invocation.global.json}, wiring.files(),
                       wiring.environment(), wiring.streams());
  }
  if (command == "plan") return RunPlan(wiring, invocation.apply);
  if (command == "apply") return RunApply(wiring, invocation.apply);
  if (command == "destroy") {
    ApplyOptions options = invocation.apply;
    options.destroy = true;
    return RunApply(wiring, options);
  }
  if (command == "watch") return RunWatch(wiring, invocation.watch);
  if (command == "show") {
    const ApplyOptions& options = invocation.apply;
    return options.plan_file.empty() ? RunShow(wiring)
                                     : RunShowPlan(wiring, options.plan_file, options.markdown);
  }
  if (command == "status") return RunStatus(wiring);
  if (command.starts_with("state ")) return DispatchState(command, invocation.state, wiring);
  if (command == "import") return RunImport(wiring, invocation.import);
  if (command == "unlock") return RunUnlock(wiring, invocation.topic);
  if (command == "exec") {
    return invocation.exec.detach.empty() ? RunExec(wiring, invocation.pod, invocation.exec)
                                          : RunDetach(wiring, invocation.pod, invocation.exec);
  }
  if (command == "run") {
    RunOptions options = invocation.run;
    options.arguments = invocation.pod.command;
    return RunJob(wiring, options);
  }
  if (command == "auth status") return RunAuthStatus(wiring);
  if (command == "authorize") return RunAuthorize(wiring);
  if (command == "doctor") return RunDoctor(wiring, invocation.fleet);
  if (command == "drain") return RunDrain(wiring, invocation.fleet);
  if (command == "jobs") return RunJobs(wiring, invocation.fleet);
  if (command == "logs") return RunLogs(wiring, invocation.fleet);
  if (command == "kill") return RunKill(wiring, invocation.fleet);
  if (command == "ssh") return RunSsh(wiring, invocation.pod);
  if (command == "cp") return RunCp(wiring, invocation.cp);
  if (command == "tunnel") return RunTunnel(wiring, invocation.pod);
  if (command == "types") return RunTypes(wiring);
  if (command == "versions") return RunVersions(wiring);
  PODCTL_CHECK(command == "emulator");
  return RunEmulator(wiring, invocation.emulator);
}

}  // namespace

int Dispatch(const Invocation& invocation, Streams& streams) {
  if (invocation.command == "version") return RunVersion(invocation.global, streams);
  if (invocation.command == "help") return RunHelp(invocation.topic, streams);
  if (invocation.command == "completion") return RunCompletion(streams);
  if (invocation.command == "init") {
    RealFileSystem files;
    RealClock clock;
    const InitArguments& init = invocation.init;
    return RunInit({init.template_name, init.folder, init.list, invocation.global.json,
                    init.from_command, init.legacy_request, FormatTimestamp(clock.Now())},
                   files, streams);
  }
  Interrupt interrupt;
  Wiring wiring(invocation.global, streams, interrupt);
  return DispatchWithWorld(invocation, wiring);
}

}  // namespace podctl
