#include "providers/os/bridge.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <mutex>
#include <system_error>

#include "providers/base/text.h"
#include "providers/os/descriptor.h"
#include "providers/os/process.h"

// As in process.cpp.
#if __has_include(<boost/process/v1/child.hpp>)
#include <boost/process/v1/args.hpp>
#include <boost/process/v1/child.hpp>
#include <boost/process/v1/exe.hpp>
#include <boost/process/v1/extend.hpp>
#include <boost/process/v1/group.hpp>
#include <boost/process/v1/posix.hpp>
namespace bp = boost::process::v1;
#else
#include <boost/process/args.hpp>
#include <boost/process/child.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/extend.hpp>
#include <boost/process/group.hpp>
#include <boost/process/posix.hpp>
namespace bp = boost::process;
#endif

namespace podctl {
namespace {

constexpr std::size_t kMostWords = 300;
constexpr std::size_t kMostLines = 2;

// Whatever podctl blocks or ignores is none of the program's business.
void ForgetSignals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) signal(number, SIG_DFL);
}

class BoostBridge final : public Bridge {
 public:
  BoostBridge(int socket, int error_fd) : socket_(socket), error_fd_(error_fd) {}
  ~BoostBridge() override {
    if (socket_ >= 0) close(socket_);
    std::error_code error;
    if (group_.valid()) group_.terminate(error);
    if (child_.valid()) child_.wait(error);
  }

  Result<void> Run(const std::string& program, const std::vector<std::string>& words, int socket,
                   int error_fd) {
    // Boost marks the pipe that tells of a failed start only after making it: a program that
    // another thread starts in between would hold it open, and this thread up.
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    std::error_code error;
    child_ = bp::child(
        bp::exe = program, bp::args = words, bp::posix::fd.bind(0, socket),
        bp::posix::fd.bind(1, socket), bp::posix::fd.bind(2, error_fd), group_,
        bp::extend::on_exec_setup = [](auto&) { ForgetSignals(); }, error);
    if (!error) return {};
    return MakeError(ErrorCode::kIo, fmt::format("cannot start {}: {}", program, error.message()));
  }

  int TakeSocket() override { return std::exchange(socket_, -1); }

  void ReadWords() override {
    std::array<char, 4096> buffer;
    ssize_t got = 0;
    while ((got = read(error_fd_.get(), buffer.data(), buffer.size())) > 0) {
      words_.append(buffer.data(), static_cast<std::size_t>(got));
      if (words_.size() > buffer.size()) words_.erase(0, words_.size() - buffer.size());
    }
  }

  std::string LastWords() override {
    ReadWords();
    std::vector<std::string> lines;
    for (std::string line : SplitLines(words_)) {
      while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
      if (!line.empty()) lines.push_back(VisibleControls(line));
    }
    if (lines.size() > kMostLines) {
      lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kMostLines));
    }
    std::string text = Join(lines, "; ");
    if (text.size() > kMostWords) text = "…" + text.substr(text.size() - kMostWords);
    if (!text.empty()) return text;
    std::error_code error;
    if (child_.running(error)) return "it closed the connection";
    const int status = child_.native_exit_code();
    if (WIFSIGNALED(status)) return fmt::format("it was killed by signal {}", WTERMSIG(status));
    return fmt::format("it ended with exit code {}", WEXITSTATUS(status));
  }

 private:
  int socket_;
  const Descriptor error_fd_;
  std::string words_;
  bp::group group_;
  bp::child child_;
};

Error NoDescriptor() {
  return MakeError(ErrorCode::kIo, fmt::format("no descriptor: {}", std::strerror(errno)));
}

}  // namespace

Result<std::unique_ptr<Bridge>> Bridge::Start(const std::vector<std::string>& arguments) {
  PODCTL_CHECK(!arguments.empty());
  const std::string program = FindProgram(arguments[0]);
  if (program.empty() || access(program.c_str(), X_OK) != 0) {
    return MakeError(ErrorCode::kNotFound,
                     fmt::format("there is no program {} in PATH", arguments[0]));
  }
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return NoDescriptor();
  const Descriptor theirs(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  std::array<int, 2> errors{};
  if (pipe2(errors.data(), O_CLOEXEC) != 0) {
    const Error error = NoDescriptor();
    close(ends[0]);
    return error;
  }
  const Descriptor complaints(errors[1]);
  // Both ends: where nobody reads for a while, words are lost rather than the program held up.
  for (const int fd : errors) fcntl(fd, F_SETFL, O_NONBLOCK);
  auto bridge = std::make_unique<BoostBridge>(ends[0], errors[0]);
  try {
    auto running = bridge->Run(program, {arguments.begin() + 1, arguments.end()}, theirs.get(),
                               complaints.get());
    if (!running) return running.error();
  } catch (const std::exception& error) {
    return MakeError(ErrorCode::kIo, fmt::format("cannot start {}: {}", program, error.what()));
  }
  return std::unique_ptr<Bridge>(std::move(bridge));
}

}  // namespace podctl
