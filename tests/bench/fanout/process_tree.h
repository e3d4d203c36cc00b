// What the kernel says about a process and all that it started.
#pragma once

#include <sys/types.h>

#include <vector>

namespace podctl::bench {

// All processes that descend from `root`, without itself. Needs /proc/PID/task/TID/children, which
// the kernels of Debian have.
std::vector<pid_t> Descendants(pid_t root);

// Memory of these processes together in MiB; what several share is counted once among them (PSS).
double MemoryMib(const std::vector<pid_t>& processes);

// Seconds of CPU that a process, and its children that have ended, have taken.
double CpuSeconds(pid_t process);

}  // namespace podctl::bench
