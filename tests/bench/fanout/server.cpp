#include "tests/bench/fanout/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "tests/bench/fanout/client.h"
#include "tests/bench/workbench.h"

namespace podctl::bench {
namespace {

constexpr std::chrono::seconds kStartLimit{60};

}  // namespace

Server::Server(const std::vector<std::string>& words, int network, std::string log)
    : log_(std::move(log)) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  int in[2];
  if (pipe2(in, O_CLOEXEC) != 0) Fail("out of descriptors");
  process_ = fork();
  if (process_ != 0) {
    close(in[0]);
    input_ = in[1];
    return;
  }
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  EnterNetwork(network);
  const int out = open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  dup2(in[0], STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

Server::~Server() {
  if (process_ <= 0) return;
  kill(process_, SIGTERM);
  close(input_);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Server::Server(Server&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      input_(other.input_),
      log_(std::move(other.log_)) {}

void Server::WaitFor(const std::string& text, std::size_t times) const {
  const auto deadline = std::chrono::steady_clock::now() + kStartLimit;
  while (Count(text) < times) {
    CheckAlive();
    if (std::chrono::steady_clock::now() > deadline) Fail("a server does not start:\n" + Log());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void Server::CheckAlive() const {
  int status = 0;
  if (waitpid(process_, &status, WNOHANG) != process_) return;
  const std::string log = Log();
  constexpr std::size_t kMost = 2000;
  Fail(fmt::format("a server died ({}):\n{}",
                   WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                       : fmt::format("exit code {}", WEXITSTATUS(status)),
                   log.substr(log.size() - std::min(log.size(), kMost))));
}

std::string Server::Log() const {
  std::ifstream file(log_);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t Server::Count(const std::string& text) const {
  const std::string log = Log();
  std::size_t count = 0;
  for (std::size_t at = 0; (at = log.find(text, at)) != std::string::npos; at += text.size()) {
    ++count;
  }
  return count;
}

}  // namespace podctl::bench
