// podctl: declarative Cloud TPU pods. See README.md.
#include <string>
#include <variant>
#include <vector>

#include "cmd/arguments.h"
#include "cmd/terminal.h"

// Read by jemalloc before main. Each further arena would keep what its threads let go of, while the
// others ask for more.
extern "C" {
extern const char* const malloc_conf;
const char* const malloc_conf = "narenas:1";
}

int main(int argc, char** argv) {
  using namespace podctl;
  OccupyStandardDescriptors();
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
