// Who this process is, in words that another host understands, and whether another process of this
// host is still there: for the text of a lock. Not a door: who needs fakes takes these by value.
#pragma once

#include <string>

namespace podctl {

std::string HostName();  // "localhost" when the system will not say
std::string UserName();  // of the effective user; its number when it has no name
int ProcessId();

// Whether process `pid` runs on this host and did so at `since` already (RFC 3339, UTC), so that a
// process that was given the number of a dead one later is not taken for it. When the start of a
// running process cannot be learnt: true.
bool ProcessRanAt(int pid, const std::string& since);

// What no other process ever has, on this machine or another, and needs no clock to tell: the boot,
// the space of process numbers (a container has its own), number and start of this process. Empty
// when the system will not say.
std::string ProcessMark();
// True only when the process of that mark surely ran where this one runs, and runs no more. False
// for one of another machine, boot or container, of which nothing can be known here.
bool ProcessHasEnded(const std::string& mark);

}  // namespace podctl
