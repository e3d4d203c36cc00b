#include "tests/bench/fanout/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <string>

namespace podctl::bench {
namespace {

// Empty for a process that has gone.
std::string ReadText(const std::string& path) {
  std::string text;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  char buffer[4096];
  for (ssize_t count = 0; (count = read(file, buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  close(file);
  return text;
}

// A child is listed with the thread that forked it.
void AddChildren(pid_t process, std::vector<pid_t>* found) {
  const std::string tasks = fmt::format("/proc/{}/task", process);
  DIR* folder = opendir(tasks.c_str());
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] == '.') continue;
    std::istringstream children(ReadText(fmt::format("{}/{}/children", tasks, entry->d_name)));
    for (pid_t child = 0; children >> child;) found->push_back(child);
  }
  closedir(folder);
}

}  // namespace

std::vector<pid_t> Descendants(pid_t root) {
  std::vector<pid_t> found;
  AddChildren(root, &found);
  for (std::size_t i = 0; i < found.size(); ++i) AddChildren(found[i], &found);
  return found;
}

double MemoryMib(const std::vector<pid_t>& processes) {
  constexpr char kPss[] = "\nPss:";
  double kibibytes = 0;
  for (const pid_t process : processes) {
    const std::string text = ReadText(fmt::format("/proc/{}/smaps_rollup", process));
    const std::size_t at = text.find(kPss);
    if (at == std::string::npos) continue;
    kibibytes += std::strtod(text.c_str() + at + sizeof(kPss) - 1, nullptr);
  }
  return kibibytes / 1024;
}

double CpuSeconds(pid_t process) {
  const std::string stat = ReadText(fmt::format("/proc/{}/stat", process));
  const std::size_t end = stat.rfind(')');
  if (end == std::string::npos) return 0;
  std::istringstream fields(stat.substr(end + 1));
  constexpr int kBefore = 11;  // from the state to what stands before utime: see proc(5)
  std::string skipped;
  for (int i = 0; i < kBefore; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  double children_user = 0;
  double children_system = 0;
  fields >> user >> system >> children_user >> children_system;
  return (user + system + children_user + children_system) /
         static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace podctl::bench
