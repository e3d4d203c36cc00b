#include "cmd/commands/emulator.h"

#include "cmd/command.h"
#include "cmd/wiring.h"

namespace podctl {
namespace {

constexpr Flag kEmulatorFlags[] = {
    OneValue<&EmulatorOptions::listen>("--listen", "ADDRESS:PORT",
                                       "address and port (default 127.0.0.1:8470)"),
    OneValue<&EmulatorOptions::data>("--data", "DIR",
                                     "folder that survives a restart (default: none)"),
    OneOf("sshd|light|none",
          OneValue<&EmulatorOptions::workers>(
              "--workers", "KIND",
              "sshd (default; light without namespaces); light: one process, for thousands; none")),
    OneOf("private|host",
          OneValue<&EmulatorOptions::worker_network>(
              "--worker-network", "KIND",
              "private: ports of their own, no way out (default where possible), or host")),
    OneValue<&EmulatorOptions::operation_delay>("--operation-delay", "DURATION",
                                                "how long operations take (default 2s)"),
    Within(1, 65535,
           OneValue<&EmulatorOptions::ssh_port>(
               "--ssh-port", "PORT",
               "SSH port of the workers (default 22, or 2222 without the right to it)")),
    ManyValues<&EmulatorOptions::capacity>("--capacity", "[ZONE/]TYPE=N",
                                           "how many nodes of a type fit; repeatable"),
    ManyValues<&EmulatorOptions::quotas>(
        "--quota", "[REGION/]GEN=N",
        "most that a project may hold, v3=64, v3-spot=0; creates-per-minute=90"),
    ManyValues<&EmulatorOptions::reservations>("--reservation", "ZONE/NAME/TYPE=N",
                                               "nodes set aside; repeatable"),
    OneValue<&EmulatorOptions::faults>("--faults", "FILE", "trouble on order, from a JSON file"),
};

}  // namespace

const Command commands::kEmulator("emulator", "serve the Cloud TPU API on loopback", kEmulatorFlags,
                                  WithWorld<RunEmulator>, nullptr, NoState);

}  // namespace podctl
