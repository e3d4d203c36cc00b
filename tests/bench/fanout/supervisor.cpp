#include "tests/bench/fanout/supervisor.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "tests/bench/fanout/process_tree.h"
#include "tests/bench/workbench.h"

namespace podctl::bench {
namespace {

constexpr int kInterrupted = 130;

volatile sig_atomic_t interrupted = 0;

// Ends all descendants: politely for half a second, then not.
void EndAll() {
  for (int round = 0; round < 200; ++round) {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    const std::vector<pid_t> left = Descendants(getpid());
    if (left.empty()) return;
    for (const pid_t process : left) kill(process, round < 10 ? SIGTERM : SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  fmt::print(stderr, "bench: some of its processes do not end\n");
}

void NoteInterrupt(int) {
  interrupted = 1;
}

}  // namespace

int Supervise(const std::function<int(const std::string& folder)>& work) {
  std::string folder = (std::filesystem::temp_directory_path() / "podctl-bench.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) Fail("cannot make a temporary folder");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  struct sigaction note {};
  note.sa_handler = NoteInterrupt;  // without SA_RESTART: waitpid has to come back
  struct sigaction before[3];
  constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  for (int i = 0; i < 3; ++i) sigaction(kSignals[i], &note, &before[i]);

  const pid_t bench = fork();
  if (bench == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < 3; ++i) sigaction(kSignals[i], &before[i], nullptr);
    const int code = work(folder);
    std::fflush(nullptr);
    _exit(code);
  }
  int status = 0;
  int code = 1;
  while (interrupted == 0) {
    if (waitpid(bench, &status, 0) != bench) continue;
    code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    break;
  }
  if (interrupted != 0) code = kInterrupted;
  EndAll();
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return code;
}

}  // namespace podctl::bench
