// podctl: declarative Cloud TPU pods. See README.md.
#include <malloc.h>

#include <string>
#include <variant>
#include <vector>

#include "cmd/arguments.h"
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
  const auto* invocation = std::get_if<Invocation>(&parsed);
  StandardStreams standard(invocation == nullptr || invocation->global.no_color);
  Streams& streams = standard.streams();
  int code = words.empty() ? 1 : 0;
  if (const auto* help = std::get_if<HelpWanted>(&parsed)) {
    streams.out << help->text;
  } else if (const auto* wrong = std::get_if<UsageError>(&parsed)) {
    code = ShowUsageError(*wrong, words, streams);
  } else {
    code = Dispatch(*invocation, streams);
  }
  streams.out.flush();
  // A full disk, or a reader that went away, must not look like success.
  if (streams.out) return code;
  if (!ReaderOfOutputIsGone()) {
    streams.err << "Error: standard output could not be written; some of it is lost\n";
  }
  return code == 0 ? 1 : code;
}
