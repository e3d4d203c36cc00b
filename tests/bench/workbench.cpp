#include "tests/bench/workbench.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

namespace podctl::bench {

namespace fs = std::filesystem;

namespace {

std::string ReadText(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

void Fail(const std::string& why) {
  fmt::print(stderr, "bench: {}\n", why);
  std::exit(1);
}

void WriteFile(const fs::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (!file.flush()) Fail("cannot write " + path.string());
}

Workbench::Workbench(const std::string& podctl, const std::vector<std::string>& emulator_flags) {
  std::string pattern = (fs::temp_directory_path() / "podctl-bench.XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) Fail("cannot make a temporary folder");
  folder_ = pattern;
  setenv("HOME", folder_.c_str(), 1);
  unsetenv("SSH_AUTH_SOCK");
  const std::string line =
      fmt::format("exec {} emulator --listen 127.0.0.1:0 {} >{}/emulator.out 2>&1", podctl,
                  fmt::join(emulator_flags, " "), pattern);
  emulator_ = fork();
  if (emulator_ == 0) {
    // A bench that fails, or is killed, leaves none behind.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  setenv("PODCTL_ENDPOINT", WaitForUrl().c_str(), 1);
}

Workbench::~Workbench() {
  kill(emulator_, SIGTERM);
  waitpid(emulator_, nullptr, 0);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

double Workbench::ServerCpuSeconds() const {
  clockid_t clock = 0;
  timespec time{};
  if (clock_getcpuclockid(emulator_, &clock) != 0 || clock_gettime(clock, &time) != 0) {
    Fail("cannot read the CPU time of the emulator");
  }
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

std::string Workbench::WaitForUrl() const {
  for (int look = 0; look < 300; ++look) {
    const std::string text = ReadText(folder_ / "emulator.out");
    if (const auto at = text.find("ready http"); at != std::string::npos) {
      return text.substr(at + 6, text.find('\n', at) - at - 6);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  Fail("the emulator does not start:\n" + ReadText(folder_ / "emulator.out"));
}

}  // namespace podctl::bench
