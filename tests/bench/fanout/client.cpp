#include "tests/bench/fanout/client.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tests/bench/fanout/process_tree.h"
#include "tests/bench/workbench.h"

namespace podctl::bench {
namespace {

constexpr int kSampleMilliseconds = 50;
constexpr double kSampleShare = 0.05;  // of one core, at most, for looking at memory
constexpr std::size_t kChunkBytes = std::size_t{256} << 10;

double Read(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

double Now() {
  return Read(CLOCK_MONOTONIC);
}

// What the process over the client tells the bench, through a pipe.
struct Report {
  double began = 0;
  double ended = 0;
  double cpu_seconds = 0;
  double largest_mib = 0;
  int status = 0;
};

double SecondsOf(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

[[noreturn]] void Exec(const Client& client, int out, const std::string& errors) {
  const int in =
      open(client.input.empty() ? "/dev/null" : client.input.c_str(), O_RDONLY | O_CLOEXEC);
  const int err = open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (in < 0 || err < 0) _exit(126);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  for (const std::string& each : client.environment) putenv(const_cast<char*>(each.c_str()));
  std::vector<char*> words;
  for (const std::string& word : client.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  _exit(127);
}

// Ends what the client left behind, and waits for it, so that its CPU time is counted.
void EndLeftovers() {
  for (int round = 0;; ++round) {
    const std::vector<pid_t> left = Descendants(getpid());
    for (const pid_t process : left) kill(process, round < 20 ? SIGTERM : SIGKILL);
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (Descendants(getpid()).empty() || round == 100) return;
    usleep(20'000);
  }
}

[[noreturn]] void RunTree(const Client& client, int out, int report_to, const std::string& errors) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  EnterNetwork(client.network);
  if (chdir(client.folder.c_str()) != 0) _exit(126);
  Report report;
  report.began = Now();
  const pid_t child = fork();
  if (child == 0) Exec(client, out, errors);
  close(out);
  // Orphans that end before the client have to be waited for too.
  for (pid_t ended = 0; ended != child;) {
    int status = 0;
    ended = waitpid(-1, &status, 0);
    if (ended < 0 && errno != EINTR) _exit(126);
    report.status = status;
  }
  report.ended = Now();
  EndLeftovers();
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  report.cpu_seconds = SecondsOf(usage.ru_utime) + SecondsOf(usage.ru_stime);
  report.largest_mib = static_cast<double>(usage.ru_maxrss) / 1024;
  _exit(write(report_to, &report, sizeof(report)) == sizeof(report) ? 0 : 1);
}

// Counts bytes and tokens of a stream that comes in pieces.
class Reader {
 public:
  explicit Reader(std::string token) : token_(std::move(token)), chunk_(kChunkBytes, '\0') {}

  // False at the end of the stream.
  bool Read(int from) {
    const ssize_t count = read(from, chunk_.data() + kept_, chunk_.size() - kept_);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (count == 0) return false;
    bytes += static_cast<std::uint64_t>(count);
    if (!token_.empty()) Count(kept_ + static_cast<std::size_t>(count));
    return true;
  }

  std::uint64_t bytes = 0;
  std::uint64_t tokens = 0;
  double last_token = 0;

 private:
  void Count(std::size_t size) {
    const char* at = chunk_.data();
    const char* const end = at + size;
    while (const void* hit =
               memmem(at, static_cast<std::size_t>(end - at), token_.data(), token_.size())) {
      ++tokens;
      last_token = Now();
      at = static_cast<const char*>(hit) + token_.size();
    }
    // A token may be cut by the end of a piece.
    kept_ = std::min(token_.size() - 1, static_cast<std::size_t>(end - at));
    memmove(chunk_.data(), end - kept_, kept_);
  }

  std::string token_;
  std::string chunk_;
  std::size_t kept_ = 0;
};

std::string LastWords(const std::string& path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  constexpr std::size_t kMost = 400;
  if (text.size() > kMost) text = "…" + text.substr(text.size() - kMost);
  return text;
}

std::string TroubleOf(const ClientRun& run, const Expected& expected, const std::string& errors) {
  std::string trouble;
  if (!expected.any_exit && (run.exit_code == 0) != expected.success) {
    trouble = fmt::format("exit code {}", run.exit_code);
  } else if (!expected.token.empty() && run.tokens != expected.tokens) {
    trouble = fmt::format("{} of {} answers", run.tokens, expected.tokens);
  } else if (run.bytes < expected.bytes) {
    trouble = fmt::format("{} of {} bytes", run.bytes, expected.bytes);
  }
  if (trouble.empty()) return "";
  const std::string words = LastWords(errors);
  return words.empty() ? trouble : trouble + ":\n" + words;
}

}  // namespace

void EnterNetwork(int network) {
  if (network >= 0 && setns(network, CLONE_NEWNET) != 0) _exit(126);
}

ClientRun RunClient(const Client& client, const Expected& expected, double limit_seconds) {
  int out[2];
  int report_pipe[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(report_pipe, O_CLOEXEC) != 0) Fail("out of descriptors");
  const std::string errors = client.folder + "/stderr";
  std::fflush(nullptr);
  const pid_t tree = fork();
  if (tree == 0) RunTree(client, out[1], report_pipe[1], errors);
  close(out[1]);
  close(report_pipe[1]);
  fcntl(out[0], F_SETFL, O_NONBLOCK);

  ClientRun run;
  Reader reader(expected.token);
  Report report;
  bool open = true;
  bool reported = false;
  double next_look = 0;
  const double deadline = Now() + limit_seconds;
  bool late = false;
  while (!reported) {
    pollfd waits[] = {{open ? out[0] : -1, POLLIN, 0}, {report_pipe[0], POLLIN, 0}};
    poll(waits, 2, kSampleMilliseconds);
    if (open && waits[0].revents != 0) open = reader.Read(out[0]);
    if (waits[1].revents != 0) {
      if (read(report_pipe[0], &report, sizeof(report)) != sizeof(report)) break;
      reported = true;
    }
    if (Now() >= next_look && !reported) {
      const double before = Read(CLOCK_THREAD_CPUTIME_ID);
      run.peak_mib = std::max(run.peak_mib, MemoryMib(Descendants(tree)));
      const double cost = Read(CLOCK_THREAD_CPUTIME_ID) - before;
      next_look = Now() + std::max(kSampleMilliseconds / 1000.0, cost / kSampleShare);
    }
    if (Now() > deadline) {
      for (const pid_t process : Descendants(tree)) kill(process, SIGKILL);
      late = true;
    }
  }
  // What is left in the pipe; whoever holds it open still is not waited for.
  for (std::uint64_t before = ~reader.bytes; open && before != reader.bytes;) {
    before = reader.bytes;
    open = reader.Read(out[0]);
  }
  close(out[0]);
  close(report_pipe[0]);
  while (waitpid(tree, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (!reported) Fail(fmt::format("`{}` could not be run", client.name));

  run.wall_seconds = report.ended - report.began;
  run.cpu_seconds = report.cpu_seconds;
  run.peak_mib = std::max(run.peak_mib, report.largest_mib);
  run.last_token_seconds = std::max(0.0, reader.last_token - report.began);
  run.bytes = reader.bytes;
  run.tokens = reader.tokens;
  run.exit_code =
      WIFEXITED(report.status) ? WEXITSTATUS(report.status) : 128 + WTERMSIG(report.status);
  run.trouble =
      late ? fmt::format("not done after {} s", limit_seconds) : TroubleOf(run, expected, errors);
  return run;
}

}  // namespace podctl::bench
