#include "tests/bench/measure.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace podctl::bench {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// What it says goes to `words_of_failure`, which is shown when it fails.
[[noreturn]] void Exec(const std::vector<std::string>& words, const std::string& folder,
                       int words_of_failure) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const int null = open("/dev/null", O_RDWR);
  if (null < 0 || chdir(folder.c_str()) != 0) _exit(126);
  dup2(null, STDIN_FILENO);
  dup2(null, STDOUT_FILENO);
  dup2(words_of_failure, STDERR_FILENO);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

std::string EndOf(int file) {
  std::array<char, 4096> end{};
  const off_t size = lseek(file, 0, SEEK_END);
  const off_t from = std::max<off_t>(0, size - static_cast<off_t>(end.size()));
  const ssize_t got = pread(file, end.data(), end.size(), from);
  return {end.data(), static_cast<std::size_t>(std::max<ssize_t>(0, got))};
}

std::vector<double> Sorted(const Series& series, double Sample::*field) {
  std::vector<double> values;
  for (const Sample& sample : series.samples) values.push_back(sample.*field);
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

double Series::Median(double Sample::*field) const {
  const auto values = Sorted(*this, field);
  return values[values.size() / 2];
}
double Series::Least(double Sample::*field) const {
  return Sorted(*this, field).front();
}
double Series::Most(double Sample::*field) const {
  return Sorted(*this, field).back();
}

Sample Run(const std::vector<std::string>& words, const std::string& folder) {
  const int said = memfd_create("stderr", MFD_CLOEXEC);
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) Exec(words, folder, said);
  int status = 0;
  rusage usage{};
  if (child < 0 || wait4(child, &status, 0, &usage) != child || !WIFEXITED(status) ||
      WEXITSTATUS(status) != 0) {
    fmt::print(stderr, "bench: `{}` failed:\n{}\n", fmt::join(words, " "), EndOf(said));
    std::exit(1);
  }
  close(said);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  constexpr double kBlocksAMebibyte = 2048;  // getrusage(2) counts blocks of 512 bytes
  return {wall.count(), Seconds(usage.ru_utime) + Seconds(usage.ru_stime),
          static_cast<double>(usage.ru_maxrss) / 1024,
          static_cast<double>(usage.ru_oublock) / kBlocksAMebibyte, 0};
}

bool HasProgram(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::stringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((folder + "/" + name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

std::vector<Series> Compare(
    const std::vector<std::pair<std::string, std::vector<std::string>>>& commands,
    const std::string& folder, int runs) {
  std::vector<Series> series;
  for (const auto& [name, words] : commands) series.push_back({name, {}});
  for (int run = 0; run < runs; ++run) {
    for (std::size_t i = 0; i < commands.size(); ++i) {
      series[i].samples.push_back(Run(commands[i].second, folder));
    }
  }
  return series;
}

void Print(const std::string& title, int objects, const std::vector<Series>& all) {
  std::vector<Series> series;
  for (const Series& each : all) {
    if (!each.samples.empty()) series.push_back(each);
  }
  if (series.empty()) return;
  fmt::print("\n{}\n", title);
  fmt::print("  {:<30} {:>4} {:>25} {:>8} {:>10} {:>8} {:>8} {:>8} {:>7} {:>7} {:>7}\n", "", "runs",
             "wall s (min-max)", "CPU s", "CPU ms/obj", "server s", "peak MiB", "written", "× wall",
             "× CPU", "× peak");
  const Series& ours = series.front();
  for (const Series& each : series) {
    const auto ratio = [&](double Sample::*field) {
      return fmt::format("{:.1f}", each.Median(field) / std::max(1e-9, ours.Median(field)));
    };
    const double cpu = each.Median(&Sample::cpu_seconds);
    const double server = each.Median(&Sample::server_cpu_seconds);
    fmt::print("  {:<30} {:>4} {:>25} {:>8.3f} {:>10} {:>8} {:>8.1f} {:>8.1f} {:>7} {:>7} {:>7}\n",
               each.name, each.samples.size(),
               fmt::format("{:.3f} ({:.3f}-{:.3f})", each.Median(&Sample::wall_seconds),
                           each.Least(&Sample::wall_seconds), each.Most(&Sample::wall_seconds)),
               cpu, objects == 0 ? "-" : fmt::format("{:.3f}", 1000 * cpu / objects),
               server == 0 ? "-" : fmt::format("{:.3f}", server), each.Median(&Sample::peak_mib),
               each.Median(&Sample::written_mib), ratio(&Sample::wall_seconds),
               ratio(&Sample::cpu_seconds), ratio(&Sample::peak_mib));
  }
  std::fflush(stdout);
}

}  // namespace podctl::bench
