#include "providers/workers/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "providers/base/text.h"
#include "providers/workers/shell.h"

namespace podctl::workers {
namespace {

constexpr std::string_view kProbeFirstLine = "podctl-probe 1";
constexpr std::size_t kMostProbeLines = 2000;
constexpr std::size_t kLongestFact = 200;
constexpr std::size_t kMostVariables = 64;
constexpr int kFullPercent = 99;
constexpr std::uint64_t kLittleKib = std::uint64_t{64} * 1024;
constexpr std::int64_t kMostSkew = 60;

// Cheap where there is no TPU: processes are looked at only when there is something to hold.
// Device numbers are those of Cloud TPU v2/v3, v4i, v4, v5p, v5e, v6e and v7x (JAX's
// hardware_utils.py).
constexpr const char* kProbe = R"sh(
LC_ALL=C; export LC_ALL
umask 077
echo 'podctl-probe 1'
echo "user $(id -un)"
file=$HOME/.podctl-probe-$$
if { echo x >"$file"; } 2>/dev/null && [ -s "$file" ]; then echo home ok; else echo home refused; fi
rm -f "$file"
echo "clock $(date +%s)"
df -P -k "$HOME" /tmp 2>/dev/null | while read -r device size used left percent mount; do
  [ "$device" = Filesystem ] || echo "disk ${percent%\%} $left $mount"
done
state=
if ! command -v systemctl >/dev/null; then
  echo runtime no-systemd
else
  waited=0
  while :; do
    load= state=
    while IFS='=' read -r name text; do
      case $name in LoadState) load=$text ;; ActiveState) state=$text ;; esac
    done <<SHOWN
$(systemctl show -p LoadState,ActiveState tpu-runtime 2>/dev/null)
SHOWN
    case $state in inactive|activating|deactivating|reloading) ;; *) break ;; esac
    [ "$load" = loaded ] && [ $waited -lt $patience ] || break
    sleep 1
    waited=$((waited+1))
  done
  case $load in
    '') echo runtime no-systemd ;;
    not-found) echo runtime none ;;
    *) echo "runtime unit ${state:-unknown}" ;;
  esac
fi
chips=0
for device in /sys/bus/pci/devices/*; do
  { read -r vendor <"$device/vendor"; } 2>/dev/null || continue
  [ "$vendor" = 0x1ae0 ] || continue
  { read -r kind <"$device/device"; } 2>/dev/null || continue
  case $kind in 0x0027|0x0056|0x005e|0x0062|0x0063|0x006f|0x0076) chips=$((chips+1)) ;; esac
done
echo "chips $chips"
devices=0
for device in "$at"/dev/accel[0-9]* "$at"/dev/vfio/[0-9]*; do
  [ ! -e "$device" ] || devices=$((devices+1))
done
echo "devices $devices"
lock=$at/tmp/libtpu_lockfile
main=0
if [ -e "$lock" ] || [ $devices != 0 ] || [ -n "$variables" ]; then
  find_root
  if [ "$state" = active ]; then
    main=$(systemctl show -p MainPID tpu-runtime 2>/dev/null | sed -n 's/^MainPID=//p')
  fi
  if [ "$root" = none ]; then echo saw own; root=; fi
  if [ -e "$lock" ] || [ $devices != 0 ]; then $root /bin/sh -c "$scan" sh "$main" "$at"; fi
  if [ "${main:-0}" != 0 ] && [ -n "$variables" ]; then
    $root /bin/sh -c "$environment" sh "$main" $variables
  fi
fi
if [ -e "$lock" ]; then echo "lock $(stat -c %U "$lock")"; fi
echo end
)sh";

// In a container it is the container's main process that has the variables.
constexpr const char* kEnvironment = R"sh(
main=$1
shift
if command -v docker >/dev/null 2>&1; then
  inside=$(docker inspect -f "{{.State.Pid}}" tpu-runtime 2>/dev/null)
  [ "${inside:-0}" = 0 ] || main=$inside
fi
[ -r "/proc/$main/environ" ] || exit 0
all=$(tr "\0" "\n" <"/proc/$main/environ" 2>/dev/null) || exit 0
for name do
  case "
$all" in
    *"
$name="*)
      value=$(printf "%s\n" "$all" | sed -n "s/^$name=//p" | tail -n 1)
      digest=$(printf %s "$value" | sha256sum)
      echo "variable $name ${digest%% *}" ;;
    *) echo "variable $name -" ;;
  esac
done
)sh";

std::string Text(std::string_view text) {
  return VisibleControls(TrimBlanks(text.substr(0, kLongestFact)));
}

bool TakeDisk(std::string_view rest, ProbeReport* report) {
  ProbeReport::Disk disk;
  if (!ReadNumber(TakeWord(&rest), &disk.used_percent)) return false;
  if (!ReadNumber(TakeWord(&rest), &disk.left_kib)) return false;
  disk.mount = Text(rest);
  if (!disk.mount.starts_with('/')) return false;
  const bool known = std::any_of(report->disks.begin(), report->disks.end(),
                                 [&](const auto& each) { return each.mount == disk.mount; });
  if (!known) report->disks.push_back(std::move(disk));
  return true;
}

bool TakeRuntime(std::string_view rest, ProbeReport* report) {
  const std::string_view kind = TakeWord(&rest);
  if (kind == "none") {
    report->runtime = ProbeReport::Runtime::kNoUnit;
  } else if (kind == "no-systemd") {
    report->runtime = ProbeReport::Runtime::kNoSystemd;
  } else {
    report->runtime = ProbeReport::Runtime::kUnit;
    report->runtime_state = Text(rest);
    return kind == "unit" && !report->runtime_state.empty();
  }
  return rest.empty();
}

bool TakeVariable(std::string_view rest, ProbeReport* report) {
  const std::string name(TakeWord(&rest));
  if (!IsEnvironmentName(name) || report->variables.size() >= kMostVariables) return false;
  constexpr std::size_t kDigest = 64;
  if (rest != "-" && rest.size() != kDigest) return false;
  report->variables[name] = rest == "-" ? "" : std::string(rest);
  return true;
}

bool TakeLine(const std::string& line, ProbeReport* report) {
  std::string_view rest = line;
  const std::string_view key = TakeWord(&rest);
  if (key == "user") {
    report->user = Text(rest);
    return !report->user.empty();
  }
  if (key == "home") {
    report->home_writable = rest == "ok";
    return rest == "ok" || rest == "refused";
  }
  if (key == "clock") return ReadSeconds(rest, &report->clock);
  if (key == "disk") return TakeDisk(rest, report);
  if (key == "runtime") return TakeRuntime(rest, report);
  if (key == "chips") return ReadNumber(rest, &report->chips);
  if (key == "devices") return ReadNumber(rest, &report->devices);
  if (key == "saw") {
    report->saw_all = false;
    return rest == "own";
  }
  if (key == "holder") return TakeHolder(line, &report->holders);
  if (key == "lock") {
    report->lock_owner = Text(rest);
    return !report->lock_owner.empty();
  }
  return key == "variable" && TakeVariable(rest, report);
}

bool Holds(const Holder& holder, std::string_view file) {
  return std::any_of(holder.files.begin(), holder.files.end(),
                     [&](const std::string& each) { return each.find(file) != std::string::npos; });
}

void JudgeHolders(const ProbeReport& report, std::vector<Finding>* findings) {
  bool lock_held = false;
  for (const Holder& holder : report.holders) {
    lock_held = lock_held || Holds(holder, "/tmp/libtpu_lockfile");
    // The others are known to be at work.
    if (holder.owner != Holder::Owner::kNobody) continue;
    findings->push_back({"tpu-held", fmt::format("the TPU is held by `{}`", holder.command),
                         DescribeHolder(holder), "podctl drain {pod} --worker {workers}"});
  }
  if (report.lock_owner.empty() || lock_held) return;
  if (!report.saw_all) {
    findings->push_back({"lock-file",
                         "libtpu's lock file is there, and whose it is cannot be seen without root",
                         fmt::format("/tmp/libtpu_lockfile of {}", report.lock_owner),
                         "Let the SSH user run `sudo -n`, or look with `podctl ssh {pod}`."});
    return;
  }
  findings->push_back({"lock-file", "libtpu's lock file was left behind; nobody holds it",
                       fmt::format("/tmp/libtpu_lockfile of {}", report.lock_owner),
                       "podctl drain {pod} --worker {workers}"});
}

void JudgeRuntime(const ProbeReport& report, const Expectation& expected,
                  std::vector<Finding>* findings) {
  if (report.runtime != ProbeReport::Runtime::kUnit) return;
  if (report.runtime_state != "active") {
    findings->push_back({"runtime-inactive", fmt::format("tpu-runtime is {}", report.runtime_state),
                         "",
                         "podctl exec {pod} --worker {workers} -- sudo systemctl restart "
                         "tpu-runtime; its log: sudo journalctl -u tpu-runtime"});
    return;
  }
  for (const auto& [name, digest] : expected.variables) {
    const auto seen = report.variables.find(name);
    if (seen == report.variables.end() || seen->second == digest) continue;
    findings->push_back({"runtime-environment",
                         fmt::format("tpu-runtime runs {} {} that the node's metadata asks for",
                                     seen->second.empty() ? "without the" : "with another", name),
                         "", "podctl apply --replace bootstrap.{pod}.tpu-runtime"});
  }
}

void JudgeMachine(const ProbeReport& report, const Expectation& expected,
                  std::vector<Finding>* findings) {
  if (report.chips > 0 && report.devices == 0) {
    findings->push_back({"no-devices",
                         fmt::format("it has {}, but no /dev/accel* or /dev/vfio/* to reach them",
                                     Plural(static_cast<std::size_t>(report.chips), "TPU chip")),
                         "",
                         "Is the runtimeVersion the right one for the accelerator? A worker "
                         "whose driver died comes back with: podctl exec {pod} --worker "
                         "{workers} -- sudo reboot"});
  }
  for (const ProbeReport::Disk& disk : report.disks) {
    if (disk.used_percent < kFullPercent && disk.left_kib >= kLittleKib) continue;
    findings->push_back(
        {"disk-full", fmt::format("the disk of {} is full", disk.mount),
         fmt::format("{} % used, {} MiB left", disk.used_percent, disk.left_kib / 1024),
         "podctl exec {pod} --worker {workers} -- du -xhd1", disk.mount});
  }
  if (!report.home_writable) {
    findings->push_back({"home-not-writable",
                         fmt::format("the home folder of {} cannot be written to", report.user), "",
                         "podctl exec {pod} --worker {workers} -- 'ls -ld ~; df ~'"});
  }
  const std::int64_t skew = report.clock - expected.clock;
  if (expected.clock != 0 && std::abs(skew) > kMostSkew) {
    findings->push_back({"clock-skew", "its clock differs from this machine's",
                         fmt::format("{} {}", FormatDuration(std::chrono::seconds(std::abs(skew))),
                                     skew > 0 ? "ahead" : "behind"),
                         "podctl exec {pod} --worker {workers} -- timedatectl"});
  }
}

}  // namespace

std::string ProbeCommand(const ProbeRequest& request) {
  std::string variables;
  std::size_t count = 0;
  for (const std::string& name : request.variables) {
    if (!IsEnvironmentName(name) || ++count > kMostVariables) continue;
    variables += (variables.empty() ? "" : " ") + name;
  }
  return InPlainShell(
      fmt::format("scan='{}'\nenvironment='{}'\nfind_root() {{{}}}\n"
                  "patience={} variables='{}' at={}\n{}",
                  kScanHolders, kEnvironment, kFindRoot, request.runtime_patience.count(),
                  variables, ShellQuote(request.root), kProbe));
}

Result<ProbeReport> ParseProbe(const std::vector<std::string>& lines) {
  const auto broken = [](std::string_view why) {
    return MakeError(ErrorCode::kDataLoss,
                     fmt::format("its answer to the probe cannot be read: {}", why));
  };
  auto line = std::find(lines.begin(), lines.end(), kProbeFirstLine);
  if (line == lines.end()) return broken("it has no beginning");
  if (static_cast<std::size_t>(lines.end() - line) > kMostProbeLines)
    return broken("it is too long");
  ProbeReport report;
  while (++line != lines.end()) {
    if (*line == "end") {
      return report.user.empty() ? Result<ProbeReport>(broken("it lacks a part")) : report;
    }
    if (!TakeLine(*line, &report)) {
      return broken(fmt::format("`{}`", VisibleControls(line->substr(0, kLongestFact))));
    }
  }
  return broken("it has no end");
}

bool TakeHolder(const std::string& line, std::vector<Holder>* holders) {
  std::string_view rest = line;
  if (TakeWord(&rest) != "holder") return false;
  Holder holder;
  std::int64_t age = 0;
  if (!ReadNumber(TakeWord(&rest), &holder.pid) || holder.pid <= 1) return false;
  if (!ReadNumber(TakeWord(&rest), &holder.start)) return false;
  holder.user = Text(TakeWord(&rest));
  if (!ReadNumber(TakeWord(&rest), &age) || age > kMostSeconds) return false;
  holder.age = std::chrono::seconds(age);
  const std::string_view owner = TakeWord(&rest);
  if (owner == "runtime") {
    holder.owner = Holder::Owner::kRuntime;
  } else if (owner == "startup-script") {
    holder.owner = Holder::Owner::kStartupScript;
  } else if (owner.starts_with("job:")) {
    holder.owner = Holder::Owner::kJob;
    const std::string_view name = owner.substr(4);
    const std::size_t colon = std::min(name.rfind(':'), name.size());
    holder.job = Text(name.substr(0, colon));
    if (colon < name.size()) holder.job_user = Text(name.substr(colon + 1));
  } else if (owner != "-") {
    return false;
  }
  std::string file = Text(TakeWord(&rest));
  holder.command = Text(rest);
  if (file.empty() || holder.user.empty()) return false;
  const auto known = std::find_if(holders->begin(), holders->end(), [&](const Holder& each) {
    return each.pid == holder.pid && each.start == holder.start;
  });
  if (known != holders->end()) {
    known->files.push_back(std::move(file));
    return true;
  }
  holder.files.push_back(std::move(file));
  holders->push_back(std::move(holder));
  return true;
}

std::set<int> ChipsOf(const Holder& holder) {
  std::set<int> chips;
  for (const std::string& file : holder.files) {
    for (const std::string_view place : {"/dev/accel", "/dev/vfio/"}) {
      const std::size_t at = file.rfind(place);
      int chip = 0;
      if (at == std::string::npos) continue;
      if (ReadNumber(std::string_view(file).substr(at + place.size()), &chip)) chips.insert(chip);
    }
  }
  return chips;
}

std::string DescribeHolder(const Holder& holder) {
  return fmt::format("pid {} of {}, {}, for {}", holder.pid, holder.user, Join(holder.files, ", "),
                     FormatDuration(holder.age));
}

std::vector<Finding> Judge(const ProbeReport& report, const Expectation& expected) {
  std::vector<Finding> findings;
  JudgeHolders(report, &findings);
  JudgeRuntime(report, expected, &findings);
  JudgeMachine(report, expected, &findings);
  return findings;
}

}  // namespace podctl::workers
