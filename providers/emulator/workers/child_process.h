// Starts and ends the first process of a worker. The only place with clone, exec and kill.
//
// A child with namespaces dies with the thread that started it (PR_SET_PDEATHSIG), so that a killed
// emulator leaves nothing behind: start children from one thread that lives as long as they should.
// A child without must see to that itself, by the end of its stdin: a kill would leave its
// children.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "providers/base/error.h"

namespace podctl::emulator {

struct ChildOptions {
  std::vector<std::string> argv;  // argv[0] is an absolute path
  std::string log;                // stdout and stderr are written here, from the beginning
  // First process of its own pid, mount, uts and ipc namespaces: when it dies, all in them die.
  bool namespaces = false;
  // A network namespace for it, or -1: that of this process. Asks for CAP_SYS_ADMIN.
  int network = -1;
  // It and all that it starts can make no user namespaces; else it is not started at all.
  bool confined = false;
  // Instead of /dev/null; -1 for none. The caller keeps its other end.
  int stdin_file = -1;
  // Become the child's descriptors 3, 4 and so on. The caller keeps its own.
  std::vector<int> passed_files = {};
};

// May this process make such namespaces, mount in them and confine who is in them (root with
// CAP_SYS_ADMIN)?
bool NamespacesWork();

Result<pid_t> StartChild(const ChildOptions& options);
// True when it has ended; never waits.
bool HasEnded(pid_t child);
void KillChild(pid_t child);

}  // namespace podctl::emulator
