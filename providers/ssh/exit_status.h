// How the remote side of a channel ended.
#pragma once

#include "providers/ssh/libssh2_names.h"
#include "providers/ssh/transport.h"

namespace podctl::ssh {

// For a channel that the worker has closed: fills in kExited with its code, or kSignaled with the
// signal and a message. (RFC 4254 section 6.10. libssh2 gives code 0 when neither came.)
void ReadExitStatus(_LIBSSH2_SESSION* session, _LIBSSH2_CHANNEL* channel, WorkerResult& result);

}  // namespace podctl::ssh
