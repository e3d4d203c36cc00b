// libssh2's own structures, by name only, so that its header stays in the files that call it.
#pragma once

struct _LIBSSH2_SESSION;  // NOLINT(bugprone-reserved-identifier): the library's name, not ours
struct _LIBSSH2_CHANNEL;  // NOLINT(bugprone-reserved-identifier): likewise
