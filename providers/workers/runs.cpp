#include "providers/workers/runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "providers/base/text.h"
#include "providers/workers/shell.h"
#include "providers/workers/words.h"

namespace podctl::workers {
namespace {

constexpr std::string_view kFirstLine = "podctl-runs 1";

// `head` takes no byte more than it was told, and `read` takes one after the other, so that what
// follows is still there. The texts are run by this very shell: they stand in no process list.
constexpr const char* kRun = R"sh(
read -r podctl_word podctl_setup_size podctl_script_size || exit 93
[ "$podctl_word" = podctl-run ] || { echo "the job did not come over whole" >&2; exit 93; }
podctl_setup=$(head -c "$podctl_setup_size")
podctl_script=$(head -c "$podctl_script_size")
eval "$podctl_setup" || exit 1
echo "podctl-run staged" >&2
podctl_go=
read -r podctl_go
[ "$podctl_go" = go ] || exit 93
exec </dev/null
eval "$podctl_script"
)sh";

constexpr const char* kEndRuns = R"sh(
LC_ALL=C; export LC_ALL
echo 'podctl-runs 1'
find_runs() {
  grep -lzsF "PODCTL_RUN_MARK=$HOME/.podctl/run/$job#" /proc/[0-9]*/environ | tr -dc '0-9\n'
}
signal() {
  for pid in $left; do kill "-$1" "$pid" 2>/dev/null; done
}
left=$(find_runs)
found=$left
signal TERM
i=0
while [ -n "$left" ] && [ $i -lt $((grace * 5)) ]; do
  sleep 0.2
  left=$(find_runs)
  i=$((i+1))
done
signal KILL
i=0
while [ -n "$left" ] && [ $i -lt 25 ]; do
  sleep 0.2
  left=$(find_runs)
  i=$((i+1))
done
count() { echo $#; }
echo "ended $(count $found) left $(count $left)"
echo end
)sh";

}  // namespace

std::string RunCommand(const std::string& job, const std::string& run) {
  // A second shell: one that only exports a name does not have it in its own environment as /proc
  // shows it, and would not be found while it waits.
  return InPlainShell(fmt::format("export PODCTL_RUN_MARK=\"$HOME/.podctl/run/{}#{}\"\n{}", job,
                                  run, InPlainShell(kRun)));
}

std::string RunInput(const std::string& setup, const std::string& script) {
  // An empty eval is no failure, and a text of no bytes is none for `head`.
  const std::string first = setup.empty() ? ":\n" : setup;
  return fmt::format("podctl-run {} {}\n{}{}", first.size(), script.size(), first, script);
}

std::string EndRunsCommand(const std::string& job, std::chrono::seconds grace) {
  return InPlainShell(fmt::format("job={}\ngrace={}\n{}", job, grace.count(), kEndRuns));
}

Result<int> ParseEndRuns(const std::vector<std::string>& lines) {
  const auto line = std::find(lines.begin(), lines.end(), kFirstLine);
  if (lines.end() - line >= 3 && *(line + 2) == "end") {
    std::string_view rest = *(line + 1);
    int ended = 0;
    int left = 0;
    const bool read = TakeWord(&rest) == "ended" && ReadNumber(TakeWord(&rest), &ended) &&
                      TakeWord(&rest) == "left" && ReadNumber(rest, &left);
    if (read && left == 0) return ended;
    if (read) {
      return MakeError(ErrorCode::kPermissionDenied,
                       fmt::format("{} of an earlier run could not be ended",
                                   left == 1 ? "a process" : fmt::format("{} processes", left)));
    }
  }
  return MakeError(ErrorCode::kDataLoss, "its answer about earlier runs cannot be read");
}

}  // namespace podctl::workers
