// Keeps a process, and all that it starts, from making user namespaces: in one of its own a
// worker's root has every capability again, and with a cgroup namespace beside it may mount all
// cgroups of the machine, freeze its processes and kill them. Docker's default filter forbids the
// same.
#pragma once

namespace podctl::emulator {

// By seccomp(2), for ever. Async-signal-safe, so that a child may call it before exec. False where
// it cannot be done: no CAP_SYS_ADMIN, a kernel without filters, an architecture not known here.
bool ForbidUserNamespaces();

}  // namespace podctl::emulator
