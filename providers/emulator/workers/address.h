// Loopback addresses of workers: who listens there, and may one listen there?
//
// Sockets of this process's own network; knows no workers. Thread safe, nothing waits for long.
#pragma once

#include <string>

#include "providers/base/error.h"

namespace podctl::emulator {

// 0, or errno of a bind, which is given up at once.
int TryBind(const std::string& address, int port);

// A bound socket that does not listen yet, so that connections are refused until it does; the
// caller closes it. Close-on-exec. kUnavailable: somebody else listens there; kIo.
Result<int> BindSocket(const std::string& address, int port);

// The port of workers: `wanted`, or when that is 0, 22 if it may be bound, else 2222.
// kFailedPrecondition: it cannot be had; the hint names the flag.
Result<int> ChoosePort(int wanted);

// Does somebody accept connections there? Waits for 20 ms at most.
bool Answers(const std::string& address, int port);

}  // namespace podctl::emulator
