#include "providers/workers/jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "providers/base/ending_text.h"
#include "providers/base/text.h"
#include "providers/workers/shell.h"

namespace podctl::workers {
namespace {

constexpr std::string_view kJobsFirstLine = "podctl-jobs 1";
constexpr std::string_view kNoteMark = "podctl-log ";
constexpr std::size_t kMostJobs = 1000;
constexpr std::size_t kLongestText = 200;

// Takes the exit code of what it starts, which shares its process group. A signal to the group is
// not for the supervisor, but for the command.
constexpr const char* kSupervisor = R"sh(
job=$1
cd || exit 1
stat=$(cat /proc/$$/stat)
stat=${stat##*) }
set -- $stat
shift 19
echo "$$ $1 $(cat /proc/sys/kernel/random/boot_id)" >"$job/pid.new" && mv "$job/pid.new" "$job/pid"
. "$job/environment"
# What it says may be secret, and whoever runs the job has it now.
command -p rm -f "$job/environment"
export PODCTL_JOB="${job##*/}"
[ ! -e "$job/gang.json" ] || exec python3 -I "$job/gang.py" "$job"
read -r run <"$job/run"
export PODCTL_RUN_MARK="$HOME/.podctl/run/${job##*/}#$run"
trap : TERM INT HUP QUIT
"${SHELL:-/bin/sh}" "$job/command" </dev/null >"$job/log" 2>&1 &
command=$!
while :; do
  wait $command
  code=$?
  kill -0 $command 2>/dev/null || break
done
wait $command 2>/dev/null
again=$?
[ $again = 127 ] || code=$again
true >"$job/over"
[ ! -s "$job/ended-by" ] ||
  echo "podctl: $(date -u +%Y-%m-%dT%H:%M:%SZ) ended by $(head -n 1 "$job/ended-by")" >>"$job/log"
echo "$code $(date +%s)" >"$job/exit.new" && mv "$job/exit.new" "$job/exit"
)sh";

// A job is put together aside and moved to its place; until its supervisor has said its number, it
// is not told as started. The lock keeps two starts apart.
constexpr const char* kStart = R"sh(
cd || exit 1
mkdir -p "$jobs" || exit 1
job=$jobs/$name
new=$jobs/.$name.new
exec 9>"$jobs/.$name.lock" || exit 1
flock -w 30 9 || { echo "another start of it is under way" >&2; exit 1; }
if [ -d "$job" ]; then
  look "$job"
  there=
  { read -r there <"$job/run"; } 2>/dev/null
  # A start that was cut before the supervisor came is begun anew.
  if [ "$there" = "$run" ] && [ $state != died ]; then
    echo "podctl-run staged" >&2
    cat >/dev/null
    tell "$job"
    exit 0
  fi
  # Not staged: nobody would end its input, since all wait for all.
  if [ $state = running ]; then
    tell "$job"
    echo "another start of it came first" >&2
    exit 91
  fi
fi
rm -rf "$new"
# What came over may be secret: it stays only where it becomes a job.
trap "rm -rf \"\$new\"" EXIT
trap "exit 1" HUP INT TERM
[ -z "$gang" ] || has_python || exit 1
mkdir "$new" || exit 1
echo "podctl-run staged" >&2
cat >"$new/input" || exit 1
# Another worker is not ready, or podctl is gone.
[ "$(tail -n 1 "$new/input")" = go ] || { rm -rf "$new"; exit 93; }
sed -i "\$d" "$new/input"
sizes=$(sed -n "1s/^podctl-job //p" "$new/input")
read -r lines pem program ship <<TEXT
$sizes
TEXT
[ -n "$lines" ] || { echo "the job did not come over whole" >&2; exit 1; }
# The session's own variables first: a service manager would start it without them.
printf "%s\n" "$session" >"$new/environment"
tail -n +2 "$new/input" | head -n "$lines" >>"$new/environment"
if [ -n "$program" ]; then
  at=$((lines+2))
  tail -n "+$at" "$new/input" | head -n 1 >"$new/gang.json"
  tail -n "+$((at+1))" "$new/input" | head -n "$pem" >"$new/gang.pem"
  tail -n "+$((at+1+pem))" "$new/input" | head -n "$program" >"$new/gang.py"
  tail -n "+$((at+1+pem+program))" "$new/input" | head -n "$ship" >"$new/ship.py"
  [ "$ship" != 0 ] || rm "$new/ship.py"
  lines=$((lines+1+pem+program+ship))
fi
tail -n "+$((lines+2))" "$new/input" >"$new/command"
rm -f "$new/input"
printf "%s\n" "$supervisor" >"$new/supervisor"
keep_end "$job" "$new"
echo "$run" >"$new/run"
date +%s >"$new/started"
echo "$grace" >"$new/grace"
[ -z "$container" ] || echo "$container" >"$new/container"
: >"$new/log"
rm -rf "$job"
mv "$new" "$job" || exit 1
as_service() {
  command -v systemd-run >/dev/null || return 1
  find_root
  [ "$root" != none ] || return 1
  $root systemd-run --quiet --collect --unit "podctl-job-$name-$run" --uid "$(id -u)" \
    --gid "$(id -g)" --property KillMode=process --setenv "HOME=$HOME" \
    /bin/sh "$job/supervisor" "$job" 9>&- </dev/null >/dev/null 2>&1
}
if ! as_service; then
  setsid /bin/sh "$job/supervisor" "$job" 9>&- </dev/null >/dev/null 2>&1 &
fi
is_up() {
  [ -s "$job/pid" ] && { [ -z "$gang" ] || grep -qs ^attempt "$job/gang"; }
}
i=0
while ! is_up; do
  if [ $i -ge 100 ]; then
    rm -f "$job/environment" "$job/gang.json" "$job/gang.pem"
    echo "its supervisor did not come up" >&2
    exit 1
  fi
  sleep 0.1
  i=$((i+1))
done
tell "$job"
)sh";

constexpr const char* kList = R"sh(
echo 'podctl-jobs 1'
for job in "$jobs"/*; do
  [ -d "$job" ] && sound "$job" || continue
  [ -z "$name" ] || [ "${job##*/}" = "$name" ] || continue
  tell "$job"
done
echo end
)sh";

// tail ends when the supervisor has gone; by then the exit code is written. Another run may have
// taken the place of the one that was read by then: what that one has kept of it is told.
constexpr const char* kLog = R"sh(
job=$jobs/$name
# It may be about to take its place.
[ -d "$job" ] || [ -z "$only" ] || sleep 1
[ -d "$job" ] && sound "$job" || exit 92
read_run() {
  there=-
  { read -r there <"$job/run"; } 2>/dev/null
  case $there in ""|*[!A-Za-z0-9._-]*) there=- ;; esac
}
tell_next() {
  before= former= code= ender=
  { read -r before former code ender <"$job/before"; } 2>/dev/null
  [ "$before" = "$1" ] || former=unknown code=0 ender=
  echo "podctl-log replaced $there $former $(number "$code")${ender:+ $ender}" >&2
  exit 0
}
read_run
if [ -n "$only" ] && [ "$there" != "$run" ]; then
  [ "$there" != - ] || { sleep 1; read_run; }
  [ "$there" = "$run" ] || tell_next "$run"
fi
shown=$there
size=$(stat -c %s "$job/log" 2>/dev/null) || size=0
if [ -n "$lines" ]; then
  floor=0
  [ $size -le 4194304 ] || floor=$((size-4194304))
  begin=$((size - $(tail -c "+$((floor+1))" "$job/log" | head -c $((size-floor)) |
    tail -n "$lines" | wc -c)))
elif [ "$seen" -gt 0 ] && { [ -z "$run" ] || [ "$run" = "$there" ]; }; then
  begin=$seen
  # A last line that was cut has no newline there: its rest comes first.
  last=$(tail -c "+$seen" "$job/log" | head -c 1 | od -An -tx1)
  [ "${last##* }" = 0a ] || begin=$((seen-1))
else
  begin=0
fi
# What was taken away reads as zeros, and is kept elsewhere.
cut=
{ read -r cut rest <"$job/cut"; } 2>/dev/null
case $cut in ""|*[!0-9]*|????????????????*) cut=0 ;; esac
[ "$begin" -ge "$cut" ] || begin=$cut
echo "podctl-log begin $there $begin" >&2
if [ -n "$follow" ] && [ ! -s "$job/exit" ] && is_alive "$job"; then
  tail -c "+$((begin+1))" -f --pid="$pid" "$job/log"
else
  tail -c "+$((begin+1))" "$job/log"
fi
read_run
[ "$there" != - ] || { sleep 1; read_run; }
case $there in "$shown"|-) ;; *) tell_next "$shown" ;; esac
look "$job"
# Of a gang the process that stands by may be about to go on.
[ -z "$follow" ] || [ $state != died ] || { sleep 1; look "$job"; }
ender=$(who_ended "$job")
echo "podctl-log $state $code${ender:+ $ender}" >&2
)sh";

// Goes on when who asked for it is gone.
constexpr const char* kKill = R"sh(
trap "" HUP INT PIPE QUIT TERM
podctl_slow() { echo "podctl-run ending" >&2; }
job=$jobs/$name
whole=yes
echo 'podctl-jobs 1'
if [ -d "$job" ] && sound "$job"; then
  look "$job"
  if [ $state != ended ]; then
    end_job "$because" "$grace" || whole=
    i=0
    while [ $i -lt 25 ] && [ ! -s "$job/exit" ] && is_alive "$job"; do sleep 0.2; i=$((i+1)); done
    # Nobody is left who could have taken the exit code. What had died with its worker was not killed.
    [ -n "$whole" ] && [ "${found:-0}" -gt 0 ] && [ ! -s "$job/exit" ] && ! is_alive "$job" &&
      echo "137 $(date +%s)" >"$job/exit"
  fi
  # Of one that never started.
  is_alive "$job" || rm -f "$job/environment" "$job/gang.json" "$job/gang.pem"
  tell "$job"
fi
echo end
[ -n "$whole" ] || { echo "some of its processes could not be ended" >&2; exit 81; }
)sh";

constexpr const char* kAwaitEnd = R"sh(
job=$jobs/$name
grace=
{ read -r grace <"$job/grace"; } 2>/dev/null
grace=$(number "$grace")
seconds() {
  read -r up rest </proc/uptime
  up=${up%%.*}
}
goes_on() {
  [ -d "$job" ] && sound "$job" || return 1
  there=
  { read -r there <"$job/run"; } 2>/dev/null
  [ "$there" = "$run" ] && [ ! -s "$job/exit" ] && is_alive "$job"
}
seconds
told=$((up+10)) until=$((up+grace+20))
while goes_on; do
  seconds
  [ "$up" -lt $until ] || break
  [ -s "$job/ended-by" ] || [ "$up" -lt $told ] || break
  sleep 0.2
done
)sh";

bool TakeState(std::string_view word, JobStatus::State* state) {
  for (const auto each :
       {JobStatus::State::kRunning, JobStatus::State::kEnded, JobStatus::State::kDied}) {
    if (word != JobStateName(each)) continue;
    *state = each;
    return true;
  }
  return false;
}

// A job of `run` becomes its command, shell text by way of a shell: nobody has typed these words.
std::string AsTyped(std::string_view line) {
  constexpr std::string_view kBecomes = "exec ";
  constexpr std::string_view kByShell = "\"${SHELL:-/bin/sh}\" -c ";
  if (!line.starts_with(kBecomes)) return std::string(line);
  line.remove_prefix(kBecomes.size());
  if (!line.starts_with(kByShell)) return std::string(line);
  line.remove_prefix(kByShell.size());
  // As ShellQuote has quoted it; the end may be missing.
  std::string text;
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\'') {
      quoted = !quoted;
    } else if (!quoted && line[i] == '\\' && i + 1 < line.size()) {
      text += line[++i];
    } else {
      text += line[i];
    }
  }
  return text;
}

std::optional<JobStatus> ReadJob(std::string_view rest) {
  JobStatus job;
  if (TakeWord(&rest) != "job") return std::nullopt;
  job.name = std::string(TakeWord(&rest));
  job.run = VisibleControls(TakeWord(&rest).substr(0, kLongestText));
  if (!IsJobName(job.name) || !TakeState(TakeWord(&rest), &job.state)) return std::nullopt;
  if (!ReadNumber(TakeWord(&rest), &job.exit_code)) return std::nullopt;
  if (!ReadSeconds(TakeWord(&rest), &job.started)) return std::nullopt;
  if (!ReadSeconds(TakeWord(&rest), &job.ended)) return std::nullopt;
  if (!ReadNumber(TakeWord(&rest), &job.log_bytes)) return std::nullopt;
  job.command = VisibleControls(AsTyped(rest.substr(0, kLongestText)));
  return job;
}

}  // namespace

bool IsJobName(std::string_view name) {
  constexpr std::size_t kLongest = 64;
  return !name.empty() && name.size() <= kLongest && name[0] != '.' && name[0] != '-' &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
         });
}

std::string WhoOf(const std::string& ended_by) {
  return ended_by.substr(0, ended_by.find(": "));
}

std::string_view JobStateName(JobStatus::State state) {
  switch (state) {
    case JobStatus::State::kRunning:
      return "running";
    case JobStatus::State::kEnded:
      return "ended";
    case JobStatus::State::kDied:
      return "died";
  }
  return "unknown";
}

std::string StartCommand(const JobStart& job) {
  return InPlainShell(
      fmt::format("session=$(export -p)\nname={}\nrun={}\ngrace={}\ncontainer={}\n"
                  "gang={}\nsupervisor='{}'\nfind_root() {{{}}}\n{}{}{}",
                  job.name, job.run, job.grace.count(), ShellQuote(job.container),
                  job.gang ? "yes" : "", kSupervisor, kFindRoot, KnowJobs(), kNeedsPython, kStart));
}

std::string StartInput(const JobStart& job) {
  const std::string environment = ExportLines(job.environment);
  const auto lines = [](std::string_view text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  std::string text;
  if (job.gang) {
    const std::string& pem = job.gang->certificate;
    const std::string_view program = kGangProgram;
    const std::string_view ship = job.gang->logs ? kShipProgram : "";
    text =
        fmt::format("podctl-job {} {} {} {}\n{}{}\n{}{}{}", lines(environment), lines(pem),
                    lines(program), lines(ship), environment,
                    GangConfig(*job.gang, job.member, job.name, job.run, job.grace, job.container),
                    pem, program, ship);
  } else {
    text = fmt::format("podctl-job {}\n{}", lines(environment), environment);
  }
  text += job.command;
  if (text.back() != '\n') text += '\n';
  return text;
}

std::string ListCommand(const std::string& name) {
  return InPlainShell(fmt::format("name={}\n{}{}", name, KnowJobs(), kList));
}

Result<std::vector<JobStatus>> ParseJobs(const std::vector<std::string>& lines) {
  const auto broken = [] {
    return MakeError(ErrorCode::kDataLoss, "its list of jobs cannot be read");
  };
  std::vector<JobStatus> jobs;
  auto line = std::find(lines.begin(), lines.end(), kJobsFirstLine);
  while (line != lines.end() && ++line != lines.end()) {
    if (*line == "end") return jobs;
    constexpr std::string_view kGang = "gang ";  // of the job before, as is the next
    if (line->starts_with(kGang) && !jobs.empty()) {
      auto& news = jobs.back().gang;
      if (!news) news.emplace();
      if (!ReadGangLine(std::string_view(*line).substr(kGang.size()), &*news)) return broken();
      continue;
    }
    constexpr std::string_view kBy = "by ";
    if (line->starts_with(kBy) && !jobs.empty()) {
      jobs.back().ended_by =
          VisibleControls(std::string_view(*line).substr(kBy.size(), kLongestText));
      continue;
    }
    auto job = ReadJob(*line);
    if (!job || jobs.size() == kMostJobs) return broken();
    jobs.push_back(*std::move(job));
  }
  return broken();
}

std::string LogCommand(const LogRequest& request) {
  return InPlainShell(fmt::format(
      "name={}\nfollow={}\nlines={}\nseen={}\nrun={}\nonly={}\n{}{}", request.name,
      request.follow ? "yes" : "", request.tail ? fmt::format("{}", *request.tail) : "",
      request.seen, ShellQuote(request.run), request.only ? "yes" : "", KnowJobs(), kLog));
}

std::optional<LogNote> ReadLogNote(std::string_view line) {
  if (!line.starts_with(kNoteMark)) return std::nullopt;
  line.remove_prefix(kNoteMark.size());
  LogNote note;
  const std::string_view kind = TakeWord(&line);
  if (kind == "begin") {
    note.run = VisibleControls(TakeWord(&line).substr(0, kLongestText));
    return ReadNumber(line, &note.offset) ? std::optional(note) : std::nullopt;
  }
  const bool replaced = kind == "replaced";
  if (replaced) note.run = VisibleControls(TakeWord(&line).substr(0, kLongestText));
  const std::string_view word = replaced ? TakeWord(&line) : kind;
  JobStatus::State state{};
  const bool known = TakeState(word, &state);
  if (!known && !(replaced && word == "unknown")) return std::nullopt;
  if (!ReadNumber(TakeWord(&line), &note.exit_code)) return std::nullopt;
  note.ended_by = VisibleControls(line.substr(0, kLongestText));
  note.kind = state == JobStatus::State::kEnded     ? LogNote::Kind::kEnded
              : state == JobStatus::State::kRunning ? LogNote::Kind::kRunning
                                                    : LogNote::Kind::kDied;
  if (!replaced) return note;
  if (known && note.kind != LogNote::Kind::kRunning) note.former = note.kind;
  note.kind = LogNote::Kind::kReplaced;
  return note;
}

std::string KillCommand(const JobKill& kill) {
  return InPlainShell(fmt::format("name={}\ngrace={}\nbecause={}\n{}{}{}{}", kill.name,
                                  kill.grace ? fmt::format("{}", kill.grace->count()) : "",
                                  ShellQuote(kill.because), KnowJobs(), kEndingText, kEndJob,
                                  kKill));
}

std::string AwaitEndCommand(const std::string& name, const std::string& run) {
  return InPlainShell(
      fmt::format("name={}\nrun={}\n{}{}{}", name, ShellQuote(run), KnowJobs(), kAwaitEnd, kList));
}

const char* const kJobsFolder = R"sh(
read -r podctl_machine </proc/sys/kernel/hostname
case $podctl_machine in ""|.*|*[!A-Za-z0-9._-]*) podctl_machine=worker ;; esac
podctl_jobs=$HOME/.podctl/jobs/$podctl_machine
)sh";

namespace {

constexpr const char* kKnowJobs = R"sh(
LC_ALL=C; export LC_ALL
umask 077
jobs=$podctl_jobs
boot=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)
start_of() {
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  stat=${stat##*) }
  set -- $stat
  [ "$1" != Z ] || return 1
  shift 19
  echo "$1"
}
# A folder as podctl makes them: nothing in it keeps a reader waiting, and its name is a job's.
sound() {
  case ${1##*/} in ""|.*|-*|*[!A-Za-z0-9._-]*) return 1 ;; esac
  [ ${#1} -le $((${#jobs} + 65)) ] || return 1
  for each in pid exit run started command log grace relays container attached ended-by gang \
    before ending/result ending/by cut attempts shipped; do
    [ ! -e "$1/$each" ] || [ -f "$1/$each" ] || return 1
  done
}
# What a worker's files say is a number where one is due.
number() {
  case $1 in ""|*[!0-9]*|???????????*) echo 0 ;; *) echo "$1" ;; esac
}
# Its supervisor lives.
is_alive() {
  pid=
  { read -r pid start booted <"$1/pid"; } 2>/dev/null || return 1
  [ "$booted" = "$boot" ] && [ "$(start_of "$pid")" = "$start" ]
}
# Sets $state, $code, $ended.
look() {
  state=running code=0 ended=0
  if [ ! -s "$1/exit" ] && ! is_alive "$1"; then state=died; fi
  # The exit code is written before the supervisor goes.
  if { read -r code ended <"$1/exit"; } 2>/dev/null; then state=ended; else code=0 ended=0; fi
  code=$(number "$code") ended=$(number "$ended")
}
# A line, or nothing.
who_ended() {
  head -n 1 "$1/ended-by" 2>/dev/null | cut -c 1-200 | tr -cd "[:print:]"
}
# For who follows the log of the run in $1, whose place that in $2 takes: how it ended.
keep_end() {
  [ -d "$1" ] && sound "$1" || return 0
  look "$1"
  before=-
  { read -r before <"$1/run"; } 2>/dev/null
  case $before in ""|*[!A-Za-z0-9._-]*) return 0 ;; esac
  printf "%s %s %s %s\n" "$before" $state "$code" "$(who_ended "$1")" >"$2/before"
}
tell() {
  look "$1"
  run=- started=0
  { read -r run <"$1/run"; read -r started <"$1/started"; } 2>/dev/null
  case $run in ""|*[!A-Za-z0-9._-]*) run=- ;; esac
  started=$(number "$started")
  size=$(stat -c %s "$1/log" 2>/dev/null) || size=0
  line=$(head -n 1 "$1/command" 2>/dev/null | cut -c 1-200 | tr -cd "[:print:]")
  printf "job %s %s %s %s %s %s %s %s\n" "${1##*/}" "$run" $state "$code" "$started" "$ended" \
    "$size" "$line"
  if [ -f "$1/gang" ]; then
    head -n 4 "$1/gang" | cut -c 1-400 | tr -cd "[:print:]\n" | sed -n "s/./gang &/p"
  fi
  ender=$(who_ended "$1")
  [ -z "$ender" ] || printf "by %s\n" "$ender"
}
)sh";

}  // namespace

std::string KnowJobs() {
  return std::string(kJobsFolder) + kKnowJobs;
}

// Its processes are known by the session of its supervisor, as long as that lives (its number may
// be another's after that), and by the mark in their environment. The supervisor and the relays (of
// an attached run) are left alone: the one tells how it ended, and is gone a moment later. What it
// does once the command is over belongs no more to the job than what the relays do. So is the
// gang.py of an attached run, but not what that has started.
const char* const kEndJob = R"sh(
podctl_apart() {
  apart="$apart$relays "
  [ ! -e "$job/over" ] || apart="$apart$supervisor "
}
# One at a time; false when another has done it.
take_ending() {
  podctl_up
  patience=$((up+grace+60))
  while ! mkdir "$job/ending" 2>/dev/null; do
    [ -d "$job" ] || return 1
    result= ender=
    { read -r result <"$job/ending/result"; } 2>/dev/null
    { read -r ender began <"$job/ending/by"; } 2>/dev/null
    [ "$result" != 0 ] || return 1
    podctl_up
    if [ -n "$result" ] || [ "$up" -gt "$patience" ] ||
      { [ -n "$ender" ] && [ "$(start_of "$ender")" != "$began" ]; }; then
      rm -rf "$job/ending"
    else
      sleep 0.2
    fi
  done
  read -r own rest </proc/self/stat
  echo "$own $(start_of "$own")" >"$job/ending/by"
}
# True when it does not run any more.
end_container() {
  docker=docker
  docker info >/dev/null 2>&1 || docker="sudo -n docker"
  podctl_up
  [ "$($docker inspect -f "{{.State.Running}}" "$container" 2>/dev/null)" = true ] || return 0
  left=$((began_at+grace-up))
  [ $left -gt 0 ] || left=0
  $docker stop -t $left "$container" >/dev/null 2>&1
  [ "$($docker inspect -f "{{.State.Running}}" "$container" 2>/dev/null)" != true ]
}
end_job() {
  because=$1 grace=$2
  [ -n "$grace" ] || { read -r grace <"$job/grace"; } 2>/dev/null
  case $grace in ""|*[!0-9]*) grace=30 ;; esac
  take_ending || return 0
  supervisor= relays= keeper= run=- container= leaders=" "
  { read -r supervisor rest <"$job/pid"; read -r run <"$job/run"; } 2>/dev/null
  { { read -r relays; read -r keeper; } <"$job/relays"; } 2>/dev/null
  { read -r container <"$job/container"; } 2>/dev/null
  ! is_alive "$job" || leaders=" $supervisor "
  spared=" $supervisor $keeper " roots=" "
  mark="PODCTL_RUN_MARK=$HOME/.podctl/run/${job##*/}#$run"
  [ -z "$because" ] || printf "%s\n" "$because" >"$job/ended-by"
  podctl_up
  began_at=$up
  # Who stops a container has to live as long as that takes.
  result=0
  podctl_end $((grace + ${container:+10} + 0)) || result=1
  [ -z "$container" ] || end_container || result=1
  echo $result >"$job/ending/result"
  return $result
}
)sh";

}  // namespace podctl::workers
