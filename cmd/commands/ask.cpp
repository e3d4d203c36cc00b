#include "cmd/commands/ask.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "cmd/interrupt.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

enum class Answer { kYes, kNo, kInterrupted };

// An interrupt ends the wait.
Answer Ask(const std::string& question, const Reporter& reporter, Streams& streams) {
  streams.err << question << std::flush;
  std::string line;
  int resumed = Interrupt::Resumed();
  while (true) {
    if (reporter.interrupted()) return Answer::kInterrupted;
    // After Ctrl-Z and fg the question stands somewhere above the shell's lines.
    if (std::exchange(resumed, Interrupt::Resumed()) != resumed) {
      streams.err << question << std::flush;
    }
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ready = poll(&input, 1, 100);
    if (ready < 0 && errno != EINTR) return Answer::kNo;
    if (ready <= 0) continue;
    char byte = 0;
    const ssize_t got = read(STDIN_FILENO, &byte, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Answer::kNo;
    if (byte == '\n') break;
    if (line.size() < 64) line += byte;
  }
  return TrimBlanks(line) == "yes" ? Answer::kYes : Answer::kNo;
}

}  // namespace

int Approve(const Approval& approval, bool input, Reporter& reporter, Streams& streams) {
  if (!input || streams.json || isatty(STDIN_FILENO) == 0) {
    reporter.ShowError("",
                       MakeError(ErrorCode::kFailedPrecondition, approval.unasked, approval.hint));
    return 1;
  }
  const Answer answer = Ask(approval.question, reporter, streams);
  if (answer == Answer::kYes) {
    streams.err << "\n";
    return 0;
  }
  const bool interrupted = answer == Answer::kInterrupted;
  streams.err << fmt::format("\n{}\n", interrupted ? approval.interrupted : approval.declined);
  return interrupted ? kInterruptedExitCode : 1;
}

}  // namespace podctl
