#include "providers/workers/runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "providers/base/text.h"
#include "providers/workers/jobs.h"
#include "providers/workers/shell.h"

namespace podctl::workers {
namespace {

constexpr std::string_view kRunsFirstLine = "podctl-runs 1";
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
  make)
    shift
    has_python || exit 1
    rm -rf "$new"
    mkdir "$new" && mkfifo "$new/out" "$new/err" "$new/told" "$new/go" || exit 1
    for each in script gang.json gang.pem gang.py; do
      head -c "$1" >"$new/$each" || exit 1
      shift
    done
    ;;
  go)
    [ -n "$podctl_sizes" ] || {
      rm -rf "$new"
      mkdir "$new" && mkfifo "$new/out" "$new/err" || exit 1
    }
    echo "$podctl_id" >"$new/run"
    date +%s >"$new/started"
    echo "$podctl_grace" >"$new/grace"
    [ -z "$podctl_container" ] || echo "$podctl_container" >"$new/container"
    printf "%s\n" "$podctl_owner" >"$new/attached"
    printf "%s\n" "$podctl_shown" >"$new/command"
    echo "podctl: $(utc) its lines went to the podctl run of $podctl_owner" >"$new/log"
    echo "$$ $(start_of $$) $boot" >"$new/pid" || exit 1
    keep_end "$job" "$new"
    rm -rf "$job"
    mv "$new" "$job"
    ;;
  keep)
    trap "" HUP INT PIPE QUIT TERM
    while read -r rest; do :; done
    [ ! -e "$job/over" ] || exit
    # Of one that was killed what stands by the command ends it, if that is left.
    is_alive "$job" || { [ -n "$podctl_gang" ] && kill -0 $podctl_gang 2>/dev/null && exit; }
    [ "$pid" = $$ ] || exit
    # Of a gang, its program is to know that nobody has ended it on purpose.
    [ -d "$job/ending" ] || true >"$job/lost"
    end_job "the worker: the connection of $podctl_owner was lost" ""
    ;;
  over)
    trap "" HUP INT PIPE QUIT TERM
    # Of a command that ended well, what it has left is left to the next run.
    [ "$2" = 0 ] && [ ! -d "$job/ending" ] || end_job "" ""
    echo "$2 $(date +%s)" >"$job/exit.new" && mv "$job/exit.new" "$job/exit"
    [ ! -s "$job/ended-by" ] ||
      echo "podctl: $(utc) ended by $(head -n 1 "$job/ended-by")" >>"$job/log"
    [ ! -s "$job/ended-by" ] ||
      echo "podctl-run $podctl_id ended-by $(head -n 1 "$job/ended-by")" >&2
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
//
// Of a gang, gang.py has the command, and the shell stays beside that: it is made ready with the
// rest, since Python takes its time, and waits for a word in a pipe. By another pipe it tells how
// the command ended, and with what the connection is to. It is not found by the mark: it may still
// be there when the next start begins. When it is killed, the shell ends what is left.
constexpr const char* kRun = R"sh(
podctl_relay() {
  trap "" HUP INT PIPE QUIT TERM
  cat
  cat >/dev/null
}
# Of what comes through the pipes in the folder $1.
podctl_start_relays() {
  podctl_relay <"$1/out" 3<&- 9>&- 2>/dev/null &
  podctl_relays=$!
  podctl_relay <"$1/err" 3<&- 9>&- >&2 2>/dev/null &
  podctl_relays="$podctl_relays $!"
}
podctl_start_gang() {
  podctl_new=$podctl_jobs/.$podctl_job.new
  # What came over may be secret: it stays only where it becomes a job.
  trap "rm -rf \"\$podctl_new\"" EXIT
  trap "exit 1" HUP INT TERM
  podctl_book make $podctl_sizes || exit 1
  podctl_start_relays "$podctl_new"
  env -u PODCTL_RUN_MARK python3 -I "$podctl_new/gang.py" "$podctl_folder" "$podctl_new" \
    </dev/null >"$podctl_new/out" 2>"$podctl_new/err" 5>"$podctl_new/told" 6<"$podctl_new/go" \
    9>&- &
  podctl_gang=$!
  exec 5<"$podctl_new/told" 6>"$podctl_new/go"
  # Open at both ends by now; as names they would be in the way of who copies the home folder.
  rm -f "$podctl_new/out" "$podctl_new/err" "$podctl_new/told" "$podctl_new/go"
  podctl_ready=
  read -r podctl_ready <&5
  [ "$podctl_ready" = ready ] || { echo "its supervisor did not come up" >&2; exit 1; }
}
podctl_run_gang() {
  trap "" HUP INT PIPE QUIT TERM
  echo go >&6
  exec 6>&-
  read -r podctl_code podctl_answer <&5 && return
  wait $podctl_gang
  podctl_code=$?
  echo "podctl-run $podctl_id unsupervised" >&4
  podctl_answer=$podctl_code
}
podctl_run_script() {
  trap : HUP INT QUIT TERM
  (
    rm -f "$podctl_folder/out" "$podctl_folder/err"
    eval "$podctl_script"
  ) >"$podctl_folder/out" 2>"$podctl_folder/err" 4>&-
  podctl_code=$?
  podctl_answer=$podctl_code
}
read -r podctl_word podctl_setup_size podctl_sizes || exit 93
[ "$podctl_word" = podctl-run ] || { echo "the job did not come over whole" >&2; exit 93; }
podctl_folder=$podctl_jobs/$podctl_job
podctl_gang=
podctl_setup=$(head -c "$podctl_setup_size")
case $podctl_sizes in
*" "*) ;;
*)
  podctl_script=$(head -c "$podctl_sizes")
  podctl_sizes=
  ;;
esac
(umask 077; mkdir -p "$podctl_jobs") || exit 1
# Two starts at once: where there is a flock the second waits, and then finds the first.
exec 9>>"$podctl_jobs/.$podctl_job.lock"
! command -v flock >/dev/null || flock -w 30 9 ||
  { echo "another start of it is under way" >&2; exit 1; }
podctl_book stage || exit $?
# What it is to run may still be to come by the input.
eval "$podctl_setup" </dev/null || exit 1
[ -z "$podctl_sizes" ] || podctl_start_gang
echo "podctl-run staged" >&2
podctl_go=
read -r podctl_go
[ "$podctl_go" = go ] || exit 93
podctl_book go || exit 1
trap - EXIT
exec 9>&- 3<&0 </dev/null
[ -n "$podctl_gang" ] || podctl_start_relays "$podctl_folder"
(
  trap "" HUP INT QUIT TERM
  podctl_book keep
) <&3 3<&- 5<&- 6>&- >/dev/null 2>&1 &
printf "%s\n" "$podctl_relays $!" "$podctl_gang" >"$podctl_folder/relays"
exec 3<&-
# What the shell itself says of a command that was killed is no output of the command.
exec 4>&2 2>/dev/null
if [ -n "$podctl_gang" ]; then podctl_run_gang; else podctl_run_script; fi
true >"$podctl_folder/over"
podctl_book over $podctl_code 2>&4
exit $podctl_answer
)sh";

constexpr const char* kEndRun = R"sh(
job=$jobs/$name
there=
! sound "$job" || { read -r there <"$job/run"; } 2>/dev/null
# Its supervisor may have been killed, and with it whoever could have ended the command.
if [ "$there" = "$run" ] && [ ! -s "$job/exit" ]; then
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

// An empty eval is no failure, and a text of no bytes is none for `head`.
std::string SomeText(const std::string& setup) {
  return setup.empty() ? ":\n" : setup;
}

// How a line of podctl's own about this run begins.
std::string OwnMark(const std::string& run) {
  return fmt::format("podctl-run {} ", run);
}

}  // namespace

std::string RunCommand(const Run& run) {
  const std::string book = fmt::format("podctl_book() (\n{}{}{}{}{})\n", KnowJobs(), kNeedsPython,
                                       kEndingText, kEndJob, kBook);
  // A second shell: one that only exports a name does not have it in its own environment as /proc
  // shows it, and would not be found while it waits.
  return InPlainShell(
      fmt::format("export PODCTL_RUN_MARK=\"$HOME/.podctl/run/{0}#{1}\" "
                  "PODCTL_JOB={0}\n{2}",
                  run.job, run.id, InPlainShell(Variables(run) + kJobsFolder + book + kRun)));
}

std::string RunInput(const std::string& setup, const std::string& script) {
  const std::string first = SomeText(setup);
  return fmt::format("podctl-run {} {}\n{}{}", first.size(), script.size(), first, script);
}

std::string RunInput(const Run& run, const std::string& setup, const std::string& script,
                     const Gang& gang, std::size_t me) {
  const std::string first = SomeText(setup);
  // By which gang.py has handed it on (SCRIPT): the command is not to have it.
  const std::string closed = "exec 9<&-\n" + script;
  const std::string config = GangConfig(gang, me, run.job, run.id, run.grace, run.container);
  const std::string_view program = kGangProgram;
  return fmt::format("podctl-run {} {} {} {} {}\n{}{}{}{}{}", first.size(), closed.size(),
                     config.size(), gang.certificate.size(), program.size(), first, closed, config,
                     gang.certificate, program);
}

std::string EndRunCommand(const Run& run, const std::string& because) {
  // One that has not started has no folder yet.
  return InPlainShell(fmt::format("name={}\nrun={}\ngrace={}\nbecause={}\n{}{}{}{}{}", run.job,
                                  run.id, run.grace.count(), ShellQuote(because), KnowJobs(),
                                  kEndingText, kEndJob, kEndRun, EndSiblingsText(run.grace)));
}

std::size_t OwnLineIn(std::string_view line, const std::string& run) {
  return line.rfind(OwnMark(run));
}

std::optional<std::string> ReadEndedBy(std::string_view own, const std::string& run) {
  const std::string mark = OwnMark(run) + "ended-by ";
  if (!own.starts_with(mark)) return std::nullopt;
  return VisibleControls(own.substr(mark.size(), kLongestOwner));
}

bool IsUnsupervised(std::string_view own, const std::string& run) {
  return own == OwnMark(run) + "unsupervised";
}

std::optional<GangNews::First> ReadFirst(std::string_view own, const std::string& run) {
  const std::string mark = OwnMark(run);
  if (!own.starts_with(mark + "first ")) return std::nullopt;
  GangNews news;
  if (!ReadGangLine(own.substr(mark.size()), &news)) return std::nullopt;
  return news.first;
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
