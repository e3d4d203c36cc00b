#include "providers/workers/runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "providers/base/text.h"
#include "providers/workers/jobs.h"
#include "providers/workers/shell.h"

namespace podctl::workers {
namespace {

constexpr std::string_view kRunsFirstLine = "podctl-runs 1";
constexpr std::string_view kEndedByMark = "podctl-run ended-by ";
constexpr std::size_t kLongestOwner = 200;

// The folder of the run. A shell of its own for each call, so that nothing of it (umask, locale,
// variables) is the command's; $$ is the supervisor in all of them.
constexpr const char* kBook = R"sh(
  job=$jobs/$podctl_job
  new=$jobs/.$podctl_job.new
  utc() { date -u +%Y-%m-%dT%H:%M:%SZ; }
  case $1 in
  stage)
    [ -d "$job" ] || exit 0
    look "$job"
    [ $state = running ] || exit 0
    echo "a job named $podctl_job runs there already" >&2
    exit 91
    ;;
  go)
    rm -rf "$new"
    mkdir "$new" || exit 1
    echo "$podctl_id" >"$new/run"
    date +%s >"$new/started"
    echo "$podctl_grace" >"$new/grace"
    [ -z "$podctl_container" ] || echo "$podctl_container" >"$new/container"
    printf "%s\n" "$podctl_owner" >"$new/attached"
    printf "%s\n" "$podctl_shown" >"$new/command"
    echo "podctl: $(utc) its lines went to the podctl run of $podctl_owner" >"$new/log"
    mkfifo "$new/out" "$new/err" || exit 1
    echo "$$ $(start_of $$) $boot" >"$new/pid" || exit 1
    keep_end "$job" "$new"
    rm -rf "$job"
    mv "$new" "$job"
    ;;
  keep)
    trap "" HUP INT PIPE QUIT TERM
    while read -r rest; do :; done
    [ ! -e "$job/over" ] && is_alive "$job" && [ "$pid" = $$ ] &&
      end_job "the worker: the connection of $podctl_owner was lost" ""
    ;;
  over)
    trap "" HUP INT PIPE QUIT TERM
    # Of a command that ended well, what it has left is left to the next run.
    [ "$2" = 0 ] && [ ! -d "$job/ending" ] || end_job "" ""
    echo "$2 $(date +%s)" >"$job/exit.new" && mv "$job/exit.new" "$job/exit"
    [ ! -s "$job/ended-by" ] ||
      echo "podctl: $(utc) ended by $(head -n 1 "$job/ended-by")" >>"$job/log"
    [ ! -s "$job/ended-by" ] || echo "podctl-run ended-by $(head -n 1 "$job/ended-by")" >&2
    ;;
  esac
)sh";

// `head` takes no byte more than it was told, and `read` takes one after the other, so that what
// follows is still there. The texts are run by this very shell: they stand in no process list.
//
// Its output goes through a relay, which takes what there is also when nobody is there any more to
// pass it on to: who writes a line while it saves its checkpoint shall not die of that.
//
// The shell stays beside the command, to see to its end and then tell its exit code; signals are
// for the command. The watching shell has the input: one in the background would be given none.
constexpr const char* kRun = R"sh(
podctl_relay() {
  trap "" HUP INT PIPE QUIT TERM
  cat
  cat >/dev/null
}
read -r podctl_word podctl_setup_size podctl_script_size || exit 93
[ "$podctl_word" = podctl-run ] || { echo "the job did not come over whole" >&2; exit 93; }
podctl_setup=$(head -c "$podctl_setup_size")
podctl_script=$(head -c "$podctl_script_size")
(umask 077; mkdir -p "$podctl_jobs") || exit 1
# Two starts at once: where there is a flock the second waits, and then finds the first.
exec 9>>"$podctl_jobs/.$podctl_job.lock"
! command -v flock >/dev/null || flock -w 30 9 ||
  { echo "another start of it is under way" >&2; exit 1; }
podctl_book stage || exit $?
eval "$podctl_setup" || exit 1
echo "podctl-run staged" >&2
podctl_go=
read -r podctl_go
[ "$podctl_go" = go ] || exit 93
podctl_book go || exit 1
exec 9>&- 3<&0 </dev/null
podctl_folder=$podctl_jobs/$podctl_job
podctl_relay <"$podctl_folder/out" 3<&- 2>/dev/null &
podctl_relays=$!
podctl_relay <"$podctl_folder/err" 3<&- >&2 2>/dev/null &
podctl_relays="$podctl_relays $!"
(
  trap "" HUP INT QUIT TERM
  podctl_book keep
) <&3 3<&- >/dev/null 2>&1 &
echo "$podctl_relays $!" >"$podctl_folder/relays"
exec 3<&-
trap : HUP INT QUIT TERM
# What the shell itself says of a command that was killed is no output of the command.
exec 4>&2 2>/dev/null
(
  # Open at both ends by now; as names they would be in the way of who copies the home folder.
  rm -f "$podctl_folder/out" "$podctl_folder/err"
  eval "$podctl_script"
) >"$podctl_folder/out" 2>"$podctl_folder/err" 4>&-
podctl_code=$?
true >"$podctl_folder/over"
podctl_book over $podctl_code 2>&4
exit $podctl_code
)sh";

constexpr const char* kEndRun = R"sh(
job=$jobs/$name
there=
! sound "$job" || { read -r there <"$job/run"; } 2>/dev/null
if [ "$there" = "$run" ] && is_alive "$job"; then
  trap "" HUP INT PIPE QUIT TERM
  end_job "$because" "$grace" && exit 80
  exit 81
fi
podctl_apart() { :; }
)sh";

constexpr const char* kEndRuns = R"sh(
trap "" HUP INT PIPE QUIT TERM
podctl_slow() { echo "podctl-run ending" >&2; }
echo "podctl-runs 1"
job=$jobs/$name
all_found=0
if [ -d "$job" ] && sound "$job"; then
  look "$job"
  there=- whose=
  { read -r there <"$job/run"; } 2>/dev/null
  { read -r whose <"$job/attached"; } 2>/dev/null
  if [ $state = running ]; then
    if [ -z "$all" ] && [ "$there" != "$run" ] && [ ! -d "$job/ending" ]; then
      echo "runs $whose"
      echo end
      exit
    fi
    # Which may be another's doing, and waited for only.
    podctl_slow
    end_job "$because" "$grace"
    all_found=${found:-0}
    i=0
    while [ $i -lt 25 ] && [ ! -s "$job/exit" ] && is_alive "$job"; do sleep 0.2; i=$((i+1)); done
  fi
fi
podctl_apart() { :; }
leaders=" " roots=" " spared=" " known=" " mark="PODCTL_RUN_MARK=$HOME/.podctl/run/$name#"
podctl_end "$grace"
set -- $members
echo "ended $((all_found + found)) left $#"
echo end
)sh";

std::string Variables(const Run& run) {
  return fmt::format(
      "podctl_job={}\npodctl_id={}\npodctl_grace={}\npodctl_owner={}\npodctl_shown={}\n"
      "podctl_container={}\n",
      run.job, run.id, run.grace.count(), ShellQuote(run.owner), ShellQuote(run.shown),
      ShellQuote(run.container));
}

}  // namespace

std::string RunCommand(const Run& run) {
  const std::string book =
      fmt::format("podctl_book() (\n{}{}{}{})\n", KnowJobs(), kEndingText, kEndJob, kBook);
  // A second shell: one that only exports a name does not have it in its own environment as /proc
  // shows it, and would not be found while it waits.
  return InPlainShell(
      fmt::format("export PODCTL_RUN_MARK=\"$HOME/.podctl/run/{0}#{1}\" "
                  "PODCTL_JOB={0}\n{2}",
                  run.job, run.id, InPlainShell(Variables(run) + kJobsFolder + book + kRun)));
}

std::string RunInput(const std::string& setup, const std::string& script) {
  // An empty eval is no failure, and a text of no bytes is none for `head`.
  const std::string first = setup.empty() ? ":\n" : setup;
  return fmt::format("podctl-run {} {}\n{}{}", first.size(), script.size(), first, script);
}

std::string EndRunCommand(const Run& run, const std::string& because) {
  // One that has not started has no folder yet.
  return InPlainShell(fmt::format("name={}\nrun={}\ngrace={}\nbecause={}\n{}{}{}{}{}", run.job,
                                  run.id, run.grace.count(), ShellQuote(because), KnowJobs(),
                                  kEndingText, kEndJob, kEndRun, EndSiblingsText(run.grace)));
}

std::optional<std::string> ReadEndedBy(std::string_view line) {
  if (!line.starts_with(kEndedByMark)) return std::nullopt;
  return VisibleControls(line.substr(kEndedByMark.size(), kLongestOwner));
}

std::string EndRunsCommand(const RunsEnd& wanted) {
  return InPlainShell(fmt::format("name={}\nrun={}\nall={}\nbecause={}\ngrace={}\n{}{}{}{}",
                                  wanted.job, wanted.id, wanted.all ? "yes" : "",
                                  ShellQuote(wanted.because), wanted.grace.count(), KnowJobs(),
                                  kEndingText, kEndJob, kEndRuns));
}

Result<RunsEnded> ParseEndRuns(const std::vector<std::string>& lines) {
  const auto line = std::find(lines.begin(), lines.end(), kRunsFirstLine);
  if (lines.end() - line >= 3 && *(line + 2) == "end") {
    std::string_view rest = *(line + 1);
    const std::string_view word = TakeWord(&rest);
    if (word == "runs") return RunsEnded{0, VisibleControls(rest.substr(0, kLongestOwner))};
    RunsEnded ended;
    int left = 0;
    const bool read = word == "ended" && ReadNumber(TakeWord(&rest), &ended.processes) &&
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
