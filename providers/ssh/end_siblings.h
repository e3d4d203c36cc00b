// How a remote command is asked to end.
#pragma once

namespace podctl::ssh {

// Asks the remote command to end: run on a second channel of the same connection, where its parent
// is the same sshd, so the other children of that sshd are what we started. (libssh2 before 1.11
// cannot send RFC 4254's "signal", and the program ssh never does; and closing a connection leaves
// a command without a terminal running.) sshd makes each command a process group of its own.
//
// When the connection goes while this begins, its parent is not sshd any more but init, whose
// children are everybody's: so it looks who its parent is, and ends nobody's children but sshd's.
inline constexpr const char* kEndSiblings =
    "exec /bin/sh -c 'read -r c </proc/$PPID/comm || exit 0; "
    "case $c in sshd*|dropbear*|light-keeper) ;; *) exit 0 ;; esac; "
    "for s in /proc/[0-9]*/stat; do "
    "{ read -r l <\"$s\"; } 2>/dev/null || continue; "
    "q=${s#/proc/}; q=${q%/stat}; r=${l##*) }; set -- $r; "
    "[ \"$2\" = \"$PPID\" ] && [ \"$q\" != $$ ] || continue; "
    "{ kill -s TERM -- -\"$q\" || kill -s TERM \"$q\" || sudo -n kill -s TERM -- -\"$q\"; } "
    "2>/dev/null; "
    "done'";

}  // namespace podctl::ssh
