// podctl: declarative Cloud TPU pods. See README.md.
#include <malloc.h>

#include <iostream>
#include <string>
#include <variant>
#include <vector>

#include "cmd/arguments.h"
#include "cmd/dispatch.h"
#include "cmd/terminal.h"

int main(int argc, char** argv) {
  using namespace podctl;
  OccupyStandardDescriptors();
  // Texts of states and answers are large and short-lived: they go back to the system at once,
  // instead of leaving holes among what lives on.
  constexpr int kLargeBytes = 512 << 10;
  mallopt(M_MMAP_THRESHOLD, kLargeBytes);
  // What is small is asked for in larger steps: a plan of thousands of pods takes millions of
  // pieces.
  constexpr int kStepBytes = 4 << 20;
  mallopt(M_TOP_PAD, kStepBytes);
  // Each further arena keeps what its threads let go of, while the others ask for more.
  constexpr int kArenas = 2;
  mallopt(M_ARENA_MAX, kArenas);
  const std::vector<std::string> words(argv + 1, argv + argc);
  auto parsed = ParseArguments(words);
  if (const auto* help = std::get_if<HelpWanted>(&parsed)) {
    std::cout << help->text;
    return words.empty() ? 1 : 0;
  }
  if (const auto* wrong = std::get_if<UsageError>(&parsed)) {
    std::cerr << "Error: " << wrong->message << "\n";
    if (!wrong->hint.empty()) std::cerr << "  " << wrong->hint << "\n";
    return 1;
  }
  const auto& invocation = std::get<Invocation>(parsed);
  Streams streams = StandardStreams(invocation.global.no_color);
  const int code = Dispatch(invocation, streams);
  std::cout.flush();
  // A full disk, or a reader that went away, must not look like success.
  if (std::cout) return code;
  if (!ReaderOfOutputIsGone()) {
    std::cerr << "Error: standard output could not be written; some of it is lost\n";
  }
  return code == 0 ? 1 : code;
}
