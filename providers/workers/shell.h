// What every shell text for a worker needs. Knows nothing of what the texts do.
#pragma once

#include <string>

namespace podctl {

// `script` as one word handed to /bin/sh, so that it does not matter which login shell the user
// has. It shows in the worker's process list, so nothing secret may stand in it.
std::string InPlainShell(const std::string& script);

namespace workers {

// POSIX shell: sets $root to the words that make a command run as root: nothing for root itself,
// "sudo -n" where that asks for no password, else "none".
extern const char* const kFindRoot;
// POSIX shell, to be run as root where that can be had: one line for each process that holds the
// TPU or libtpu's lock file, and for each file that it holds:
//   holder PID START USER SECONDS OWNER FILE COMMAND…
// START is the process's start in ticks since boot; OWNER is "-", "runtime", "startup-script" or
// "job:NAME". "$1" is the main process of tpu-runtime, or 0; "$2" the folder below which /dev and
// /tmp are looked for: "" but in tests. Holds no single quote.
extern const char* const kScanHolders;

}  // namespace workers
}  // namespace podctl
