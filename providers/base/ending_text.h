// How processes are ended on a worker: asked with TERM, given a grace, and then killed. The shell
// texts do all of it there, so that it goes on when nobody is connected any more, and they say what
// they saw in the process table and not what was asked for.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace podctl {

// A checkpoint takes that long, and libtpu dislikes a KILL.
inline constexpr std::chrono::seconds kEndingGrace{30};
// From the KILL on, for the kernel to take the last of them away.
inline constexpr std::chrono::seconds kKillTime{5};

// Exit codes of a text that ends something: nothing is left of it, or something is.
inline constexpr int kEndedWhole = 80;
inline constexpr int kEndedInPart = 81;
// Another code tells nothing.
inline std::optional<bool> EndedByCode(int code) {
  if (code == kEndedWhole || code == kEndedInPart) return code == kEndedWhole;
  return std::nullopt;
}

// POSIX shell without a program but `sleep`, `grep` and `kill`; holds no single quote. Defines
//   podctl_members        sets $members to PID:START:GROUP of each process that belongs, "" if none
//   podctl_end SECONDS    TERM (and CONT, for what is stopped), a wait, KILL; true when none is
//   left.
//                         $found: how many there were
// What belongs is told by, each a list of words between blanks that may be empty:
//   $leaders   whose session or group it is in
//   $roots     these processes
//   $mark      has this text in its environment; one text, blanks included
// and whatever any of those has started, in whatever session. $spared are left alone. So are the
// shell that does it and those that podctl_apart, a function of the text's own, adds to $apart, and
// all that these have started. podctl_slow, a function of the text's own too, is called when
// something is left after half a second.
extern const char* const kEndingText;

// Ends what the same connection runs beside this command: to be run on a second channel of it,
// where its parent is the same sshd, so the other children of that sshd are what we started.
// (libssh2 before 1.11 cannot send RFC 4254's "signal", and the program ssh never does; and closing
// a connection leaves a command without a terminal running.) Exits with one of the codes above.
//
// When the connection goes while this begins, its parent is not sshd any more but init, whose
// children are everybody's: so it looks who its parent is, and ends nobody's children but sshd's.
// It says a line when it has found them: from then on it does the rest alone.
std::string EndSiblingsCommand(std::chrono::seconds grace);
// The same as a text for /bin/sh, behind kEndingText.
std::string EndSiblingsText(std::chrono::seconds grace);

}  // namespace podctl
