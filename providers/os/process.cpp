#include "providers/os/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <system_error>

#include "providers/base/text.h"
#include "providers/os/descriptor.h"

// The interface of Boost 1.74 to 1.85 got a folder and a namespace of its own in later versions,
// where the plain headers mean another one; boost/process/v1.hpp came and went.
#if __has_include(<boost/process/v1/child.hpp>)
#include <boost/process/v1/args.hpp>
#include <boost/process/v1/child.hpp>
#include <boost/process/v1/exe.hpp>
#include <boost/process/v1/extend.hpp>
#include <boost/process/v1/group.hpp>
#include <boost/process/v1/io.hpp>
#include <boost/process/v1/pipe.hpp>
#include <boost/process/v1/posix.hpp>
namespace bp = boost::process::v1;
#else
#include <boost/process/args.hpp>
#include <boost/process/child.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/extend.hpp>
#include <boost/process/group.hpp>
#include <boost/process/io.hpp>
#include <boost/process/pipe.hpp>
#include <boost/process/posix.hpp>
namespace bp = boost::process;
#endif

namespace podctl {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kMaxStreamBytes = std::size_t{1024} * 1024;
// How often the child is asked whether it has ended. Its end is usually seen earlier, by the end of
// its streams; this counts only where a grandchild keeps them open.
constexpr milliseconds kGlance{20};

// One output stream of the child. What exceeds the limit is read and dropped, so that the child
// never blocks on a full pipe.
struct Stream {
  bp::pipe pipe;
  std::string text;
  bool open = true;

  // Reads what is there now, at most one buffer. Called when poll(2) says that a read won't block.
  void ReadSome() {
    std::array<char, std::size_t{16} * 1024> buffer;
    const ssize_t count = ::read(pipe.native_source(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) return;
    if (count <= 0) {
      open = false;
      return;
    }
    const std::size_t room = kMaxStreamBytes - text.size();
    text.append(buffer.data(), std::min(static_cast<std::size_t>(count), room));
  }
};

// Waits up to `wait` for bytes of either stream; returns whether there were any.
bool Pump(Stream& out, Stream& err, milliseconds wait) {
  std::array<pollfd, 2> polled{};
  std::array<Stream*, 2> streams{};
  nfds_t count = 0;
  for (Stream* stream : {&out, &err}) {
    if (!stream->open) continue;
    polled[count].fd = stream->pipe.native_source();
    polled[count].events = POLLIN;
    streams[count++] = stream;
  }
  if (::poll(polled.data(), count, static_cast<int>(wait.count())) <= 0) return false;
  for (nfds_t i = 0; i < count; ++i) {
    if (polled[i].revents != 0) streams[i]->ReadSome();
  }
  return true;
}

int ExitCode(int native) {
  // As a shell reports it.
  return WIFSIGNALED(native) ? 128 + WTERMSIG(native) : WEXITSTATUS(native);
}

Result<ProcessResult> Spawn(const std::string& program, const std::vector<std::string>& arguments,
                            milliseconds limit, const std::stop_token& stop) {
  const auto deadline = SteadyClock::now() + limit;
  Stream out;
  Stream err;
  std::error_code error;
  // Its own process group: gcloud is a shell script around Python, and both must end together.
  bp::group group;
  bp::child child(bp::exe = program, bp::args = arguments,
                  bp::std_in<bp::null, bp::std_out> out.pipe, bp::std_err > err.pipe, group, error);
  if (error) {
    return MakeError(ErrorCode::kIo, fmt::format("cannot start {}: {}", program, error.message()));
  }
  while (child.running(error)) {
    const bool stopped = stop.stop_requested();
    if (stopped || SteadyClock::now() >= deadline) {
      group.terminate(error);
      child.wait(error);
      if (stopped) {
        return MakeError(ErrorCode::kCancelled, fmt::format("{} was stopped", program));
      }
      return MakeError(ErrorCode::kDeadlineExceeded,
                       fmt::format("{} did not end within {:.1f} s", program,
                                   std::chrono::duration<double>(limit).count()));
    }
    Pump(out, err, kGlance);
  }
  // What the child left in the pipes. Bounded: a grandchild may still be writing.
  while ((out.open || err.open) && SteadyClock::now() < deadline &&
         Pump(out, err, milliseconds(0))) {
  }
  return ProcessResult{ExitCode(child.native_exit_code()), std::move(out.text),
                       std::move(err.text)};
}

}  // namespace

// Boost's search_path would need Boost.Filesystem's library for these few lines.
std::string FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  for (;;) {
    const auto colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    // An empty entry means the current folder (POSIX); nobody wants a program from there.
    if (!folder.empty()) {
      std::string program = fmt::format("{}/{}", folder, name);
      struct stat info {};
      if (::stat(program.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
          ::access(program.c_str(), X_OK) == 0) {
        return program;
      }
    }
    if (colon == std::string_view::npos) return {};
    rest.remove_prefix(colon + 1);
  }
}

Result<ProcessResult> RealProcessRunner::Run(const std::vector<std::string>& arguments,
                                             milliseconds limit, std::stop_token stop) {
  PODCTL_CHECK(!arguments.empty());
  if (stop.stop_requested()) {
    return MakeError(ErrorCode::kCancelled, fmt::format("{} was not started", arguments[0]));
  }
  try {
    const std::string& name = arguments[0];
    const std::string program = FindProgram(name);
    if (program.empty() || ::access(program.c_str(), X_OK) != 0) {
      return MakeError(ErrorCode::kNotFound, fmt::format("there is no program {} in PATH", name));
    }
    return Spawn(program, {arguments.begin() + 1, arguments.end()}, limit, stop);
  } catch (const std::exception& error) {
    return MakeError(ErrorCode::kIo, fmt::format("cannot run {}: {}", arguments[0], error.what()));
  }
}

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
