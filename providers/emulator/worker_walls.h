// What keeps root in an emulated VM from changing the machine: everything outside its own folders
// is read-only, and it has none of the capabilities that could undo that, nor a way to get them
// (user_namespaces.h).
//
// Shell texts for worker_scripts.h. The emulator writes into a VM's folder from outside, as root;
// of that folder only `state`, `home` and `root` are the VM's to write, so that it can lay no link
// where the emulator writes next.
#pragma once

#include <string_view>

namespace podctl::emulator {

// In a VM whose own mounts are in place, with all capabilities still.
extern const std::string_view kWalls;
// For `setpriv --bounding-set` (util-linux).
extern const std::string_view kWorkerCapabilities;
inline constexpr char kSetpriv[] = "/usr/bin/setpriv";

}  // namespace podctl::emulator
