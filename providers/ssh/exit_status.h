// How the remote side of a channel ended.
#pragma once

#include "providers/ssh/session.h"
#include "providers/ssh/transport.h"

namespace podctl::ssh {

// For a channel that the worker has closed: fills in kExited with its code, kSignaled with the
// signal, or kLost when the worker told neither (RFC 4254 section 6.10), the last two with a
// message.
void ReadExitStatus(Session& session, _LIBSSH2_CHANNEL* channel, WorkerResult& result);

}  // namespace podctl::ssh
