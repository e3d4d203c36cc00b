#include "providers/workers/drain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "providers/base/text.h"
#include "providers/workers/shell.h"

namespace podctl::workers {
namespace {

constexpr const char* kDrainFirstLine = "podctl-drain 1";
constexpr std::size_t kMostHolders = 1000;

// "$1": seconds of grace; "$2": as in kScanHolders; then PID:START for each process.
constexpr const char* kDrain = R"sh(
LC_ALL=C; export LC_ALL
trap "" HUP INT PIPE QUIT TERM
grace=$1
at=$2
shift 2
# Still the process that was seen, and not just its entry in the table.
is_there() {
  stat=$(cat "/proc/${1%:*}/stat" 2>/dev/null) || return 1
  wanted=${1#*:}
  stat=${stat##*) }
  set -- $stat
  [ "$1" != Z ] || return 1
  shift 19
  [ "$1" = "$wanted" ]
}
signal() {
  kill "-$1" "$2" 2>/dev/null
}
termed=
for each do
  pid=${each%:*}
  if ! is_there "$each"; then echo "ended $pid gone"
  elif signal TERM "$pid"; then termed="$termed $each"; signal CONT "$pid"
  elif is_there "$each"; then echo "ended $pid refused"
  else echo "ended $pid gone"; fi
done
left() {
  rest=
  for each in $termed; do ! is_there "$each" || rest="$rest $each"; done
  [ -n "$rest" ]
}
i=0
while [ $i -lt $((grace * 5)) ] && left; do sleep 0.2; i=$((i+1)); done
left
stubborn=$rest
for each in $stubborn; do signal KILL "${each%:*}"; done
i=0
while [ $i -lt 50 ] && left; do sleep 0.2; i=$((i+1)); done
for each in $termed; do
  how=term
  case " $stubborn " in *" $each "*) how=kill ;; esac
  ! is_there "$each" || how=refused
  echo "ended ${each%:*} $how"
done
lock=$at/tmp/libtpu_lockfile
is_held() {
  [ -n "$(find /proc/[0-9]*/fd -maxdepth 1 -type l -lname "$lock" 2>/dev/null | head -n 1)" ]
}
if [ -e "$lock" ]; then
  # Children of what was ended go a moment later.
  i=0
  while [ -n "$termed" ] && [ $i -lt 10 ] && is_held; do sleep 0.1; i=$((i+1)); done
  if is_held; then echo lock held
  elif rm -f "$lock" 2>/dev/null; then echo lock removed
  else echo lock refused; fi
fi
)sh";

}  // namespace

std::string DrainCommand(const std::vector<Holder>& victims, std::chrono::seconds grace,
                         const std::string& root) {
  std::string processes;
  for (const Holder& holder : victims) {
    processes += fmt::format(" {}:{}", holder.pid, holder.start);
  }
  // Without root it can still end what is the user's own.
  return InPlainShell(
      fmt::format("trap \"\" HUP INT PIPE QUIT TERM\ndrain='{}'\n{}"
                  "[ \"$root\" != none ] || root=\n"
                  "echo '{}'\n"
                  "$root /bin/sh -c \"$drain\" sh {} {}{}\n"
                  "echo end\n",
                  kDrain, kFindRoot, kDrainFirstLine, grace.count(), ShellQuote(root), processes));
}

Result<DrainReport> ParseDrain(const std::vector<std::string>& lines) {
  const auto broken = [] {
    return MakeError(ErrorCode::kDataLoss, "its answer to the drain cannot be read");
  };
  auto line = std::find(lines.begin(), lines.end(), kDrainFirstLine);
  if (static_cast<std::size_t>(lines.end() - line) > kMostHolders) return broken();
  static const std::map<std::string, DrainReport::Ended::How> kHows = {
      {"gone", DrainReport::Ended::How::kGone},
      {"term", DrainReport::Ended::How::kTerm},
      {"kill", DrainReport::Ended::How::kKill},
      {"refused", DrainReport::Ended::How::kRefused}};
  static const std::map<std::string, DrainReport::Lock> kLocks = {
      {"lock removed", DrainReport::Lock::kRemoved},
      {"lock held", DrainReport::Lock::kHeld},
      {"lock refused", DrainReport::Lock::kRefused}};
  DrainReport report;
  while (line != lines.end() && ++line != lines.end()) {
    if (*line == "end") return report;
    if (const auto lock = kLocks.find(*line); lock != kLocks.end()) {
      report.lock = lock->second;
      continue;
    }
    constexpr std::string_view kEnded = "ended ";
    const auto blank = line->rfind(' ');
    if (!line->starts_with(kEnded) || blank <= kEnded.size()) return broken();
    DrainReport::Ended ended;
    const auto how = kHows.find(line->substr(blank + 1));
    const std::string_view pid = std::string_view(*line).substr(0, blank).substr(kEnded.size());
    if (how == kHows.end() || !ReadNumber(pid, &ended.pid)) return broken();
    ended.how = how->second;
    report.ended.push_back(ended);
  }
  return broken();
}

}  // namespace podctl::workers
