// The shell texts of an emulated TPU VM: its first process, its systemctl, its sessions.
//
// In every text @VM@ stands for the folder where the VM sees its own files. Knows no C++.
#pragma once

#include <string>
#include <string_view>

namespace podctl::emulator {

// First process of a VM with namespaces of its own: arguments folder, hostname, and the command
// that it becomes to answer SSH. @CAPABILITIES@: see worker_walls.h. Descriptors 3 and 4, if any,
// are left to that command.
extern const std::string_view kNamespaceInit;
// For bash in such a VM: a process that holds its TPU.
extern const std::string_view kHoldTpu;
// First process of a VM without: the same arguments; ends everything when its stdin ends.
extern const std::string_view kPlainInit;
// That command for a VM with a network of its own: arguments the number of doors, the limit
// of connections at once and the `sshd -i` for each; descriptors from 3 on are the bound sockets.
extern const std::string_view kDoorman;
// What both run before sshd answers, each with the folder as seen by the VM: an empty `state` and
// the host keys (second argument: the hostname), then the runtime and the startup-script.
extern const std::string_view kMakeKeys;
extern const std::string_view kBoot;
extern const std::string_view kSystemctl;
// For a machine that has no sudo, and for a VM without namespaces.
extern const std::string_view kSudo;
// ForceCommand of a VM without namespaces: its own home, PATH and name.
extern const std::string_view kPlainSession;
extern const std::string_view kPlainHostname;
extern const std::string_view kUnitFile;

// The text with @VM@ replaced.
std::string ForFolder(std::string_view script, std::string_view folder);

}  // namespace podctl::emulator
