// What an exit code tells, in words.
#pragma once

#include <string>
#include <string_view>

namespace podctl {

// The signal that a shell tells by an exit code from 129, "KILL" for 137 (POSIX, "Exit Status for
// Commands"); empty: none.
std::string_view SignalOfExitCode(int exit_code);
// "exit code 3", "killed by KILL (exit code 137)".
std::string ExitCodeText(int exit_code);
// As what a program did: "ended with exit code 3", "was killed by KILL (exit code 137)".
std::string ExitCodeDeed(int exit_code);

}  // namespace podctl
