// The shell texts of an emulated TPU VM, the same for every kind of worker: its first process, its
// walls, its systemctl, its sessions.
//
// In every text @VM@ stands for the folder where the VM sees its own files. Light workers share
// their texts: there it is "$TPU_VM_FOLDER", which says whose they are, and /bin/sh has to do with
// as few processes as can be, since thousands may run them at once. Knows no C++.
//
// The walls keep root in a VM from changing the machine: everything outside its own folders is
// read-only, and it has none of the capabilities that could undo that, nor a way to get them
// (StartChild forbids user namespaces). The emulator writes into a VM's folder from outside, as
// root; of that folder only `state`, `home` and `root` are the VM's to write, so that it can lay no
// link where the emulator writes next.
#pragma once

#include <string>
#include <string_view>

namespace podctl::emulator {

// First process of a VM with namespaces of its own: arguments folder, hostname, and the command
// that it becomes to answer SSH. @CAPABILITIES@ stands for kWorkerCapabilities. Descriptors 3 and
// 4, if any, are left to that command.
extern const std::string_view kNamespaceInit;
// In such a VM, whose own mounts are in place, with all capabilities still.
extern const std::string_view kWalls;
// For `setpriv --bounding-set` (util-linux).
extern const std::string_view kWorkerCapabilities;
inline constexpr char kSetpriv[] = "/usr/bin/setpriv";
// For bash in such a VM: a process that holds its TPU.
extern const std::string_view kHoldTpu;
// That command for a VM with a network of its own: arguments the number of doors, the limit
// of connections at once and the `sshd -i` for each; descriptors from 3 on are the bound sockets.
extern const std::string_view kDoorman;
// First process of a VM without: the same arguments; ends everything when its stdin ends.
extern const std::string_view kPlainInit;
// What both run before sshd answers, each with the folder as seen by the VM: an empty `state` and
// the host keys (second argument: the hostname), then the runtime and the startup-script.
extern const std::string_view kMakeKeys;
extern const std::string_view kBoot;

// Its unit tpu-runtime may be a fact in a file until somebody asks for its process: a light worker
// that nobody looks at has none, and with the first question for MainPID it gets one, with the
// environment that was read when the unit was started.
extern const std::string_view kSystemctl;
// For a machine that has no sudo, and for a VM without namespaces.
extern const std::string_view kSudo;
// Of a VM without namespaces: TPU_VM_HOSTNAME.
extern const std::string_view kHostname;
// ForceCommand of a plain sshd: its own home, PATH and name.
extern const std::string_view kPlainSession;
extern const std::string_view kUnitFile;

// The text with @VM@ replaced.
std::string ForFolder(std::string_view script, std::string_view folder);

}  // namespace podctl::emulator
