#include "providers/os/this_process.h"

#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "providers/os/clock.h"

namespace podctl {
namespace {

// What is known of a start is as good as the kernel's idea of when it booted, which follows every
// correction of the clock.
constexpr std::chrono::seconds kStartTolerance{5};

struct ProcessStat {
  char state = '?';           // proc_pid_stat(5), field 3
  long long start_ticks = 0;  // field 22, since boot
};

// The name in field 2 may hold blanks and brackets, so the fields are counted from the last
// bracket.
std::optional<ProcessStat> StatOf(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(name_end + 1));
  ProcessStat stat;
  fields >> stat.state;
  std::string skipped;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  if (!(fields >> stat.start_ticks)) return std::nullopt;
  return stat;
}

// proc_stat(5): seconds since the epoch.
std::optional<long long> BootTime() {
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("btime ")) return std::stoll(line.substr(6));
  }
  return std::nullopt;
}

// Where process numbers mean what they mean to this process: "BOOT/NAMESPACE/"; empty: not known.
// After a boot every process before it has ended, but so it looks from a container that was moved,
// or whose /proc is another's; so nothing is concluded from it.
std::string ProcessSpace() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::array<char, 64> space{};  // "pid:[4026531836]"
  if (!std::getline(file, boot) ||
      ::readlink("/proc/self/ns/pid", space.data(), space.size() - 1) <= 0) {
    return "";
  }
  return boot + "/" + space.data() + "/";
}

}  // namespace

std::string HostName() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

std::string UserName() {
  std::vector<char> buffer(16384);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 &&
      found != nullptr) {
    return found->pw_name;
  }
  return std::to_string(::geteuid());
}

int ProcessId() {
  return static_cast<int>(::getpid());
}

bool ProcessRanAt(int pid, const std::string& since) {
  if (pid <= 0) return false;
  // EPERM: it is there and belongs to somebody else (kill(2)).
  if (::kill(pid, 0) != 0 && errno != EPERM) return false;
  const std::optional<ProcessStat> stat = StatOf(pid);
  // It has ended, and nobody has asked how yet.
  if (stat && (stat->state == 'Z' || stat->state == 'X')) return false;
  const std::optional<long long> boot = BootTime();
  const long ticks_per_second = ::sysconf(_SC_CLK_TCK);
  if (!stat || !boot || ticks_per_second <= 0) return true;
  const Clock::SystemTime started(
      std::chrono::seconds(*boot + stat->start_ticks / ticks_per_second));
  // Times of this form sort as text.
  return FormatTimestamp(started - kStartTolerance) <= since;
}

std::string ProcessMark() {
  const std::string space = ProcessSpace();
  const std::optional<ProcessStat> stat = StatOf(ProcessId());
  if (space.empty() || !stat) return "";
  return space + std::to_string(ProcessId()) + "/" + std::to_string(stat->start_ticks);
}

bool ProcessHasEnded(const std::string& mark) {
  const std::string space = ProcessSpace();
  if (space.empty() || !mark.starts_with(space)) return false;
  std::istringstream rest(mark.substr(space.size()));
  int pid = 0;
  char slash = 0;
  long long start_ticks = 0;
  if (!(rest >> pid >> slash >> start_ticks) || pid <= 0 || slash != '/') return false;
  if (::kill(pid, 0) != 0) return errno == ESRCH;
  const std::optional<ProcessStat> stat = StatOf(pid);
  if (!stat) return false;
  return stat->state == 'Z' || stat->state == 'X' || stat->start_ticks != start_ticks;
}

}  // namespace podctl
