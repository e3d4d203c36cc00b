#include "providers/os/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <mutex>
#include <system_error>

#include "providers/base/text.h"

// The interface of Boost 1.74 to 1.85 got a folder and a namespace of its own in later versions,
// where the plain headers mean another one; boost/process/v1.hpp came and went.
#if __has_include(<boost/process/v1/child.hpp>)
#include <boost/process/v1/args.hpp>
#include <boost/process/v1/child.hpp>
#include <boost/process/v1/exe.hpp>
#include <boost/process/v1/group.hpp>
#include <boost/process/v1/io.hpp>
#include <boost/process/v1/pipe.hpp>
namespace bp = boost::process::v1;
#else
#include <boost/process/args.hpp>
#include <boost/process/child.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/group.hpp>
#include <boost/process/io.hpp>
#include <boost/process/pipe.hpp>
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

Result<ProcessResult> RunToItsEnd(const std::string& path,
                                  const std::vector<std::string>& arguments, milliseconds limit,
                                  const std::stop_token& stop) {
  const auto deadline = SteadyClock::now() + limit;
  Stream out;
  Stream err;
  std::error_code error;
  // Its own process group: gcloud is a shell script around Python, and both must end together.
  bp::group group;
  bp::child child;
  {
    // Boost marks the pipe that tells of a failed start only after making it: a program that
    // another thread starts here in between would hold it open, and this thread up.
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    child =
        bp::child(bp::exe = path, bp::args = arguments, bp::std_in<bp::null, bp::std_out> out.pipe,
                  bp::std_err > err.pipe, group, error);
  }
  if (error) {
    return MakeError(ErrorCode::kIo, fmt::format("cannot start {}: {}", path, error.message()));
  }
  while (child.running(error)) {
    const bool stopped = stop.stop_requested();
    if (stopped || SteadyClock::now() >= deadline) {
      group.terminate(error);
      child.wait(error);
      if (stopped) return MakeError(ErrorCode::kCancelled, fmt::format("{} was stopped", path));
      return MakeError(ErrorCode::kDeadlineExceeded,
                       fmt::format("{} did not end within {:.1f} s", path,
                                   std::chrono::duration<double>(limit).count()));
    }
    Pump(out, err, kGlance);
  }
  // What the child left in the pipes. Bounded: a grandchild may still be writing.
  while ((out.open || err.open) && SteadyClock::now() < deadline &&
         Pump(out, err, milliseconds(0))) {
  }
  const int status = child.native_exit_code();
  // As a shell reports it.
  const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return ProcessResult{code, std::move(out.text), std::move(err.text)};
}

}  // namespace

Result<ProcessResult> RealProcessRunner::Run(const std::vector<std::string>& arguments,
                                             milliseconds limit, std::stop_token stop) {
  PODCTL_CHECK(!arguments.empty());
  const std::string& name = arguments[0];
  if (stop.stop_requested()) {
    return MakeError(ErrorCode::kCancelled, fmt::format("{} was not started", name));
  }
  const std::string path = FindProgram(name);
  if (path.empty() || access(path.c_str(), X_OK) != 0) {
    return MakeError(ErrorCode::kNotFound, fmt::format("there is no program {} in PATH", name));
  }
  try {
    return RunToItsEnd(path, {arguments.begin() + 1, arguments.end()}, limit, stop);
  } catch (const std::exception& error) {  // Boost's, where there are no descriptors for its pipes
    return MakeError(ErrorCode::kIo, fmt::format("cannot run {}: {}", name, error.what()));
  }
}

Result<std::unique_ptr<Bridge>> Bridge::Start(const std::vector<std::string>& arguments) {
  auto errors = MakePipe();
  if (!errors) return errors.error();
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return MakeError(ErrorCode::kIo, fmt::format("no descriptor: {}", std::strerror(errno)));
  }
  const Descriptor theirs(ends[1]);
  // Of the pipe both ends: where nobody reads for a while, words are lost rather than the program
  // held up.
  for (const int fd : {ends[0], errors->read.get(), errors->write.get()}) {
    fcntl(fd, F_SETFL, O_NONBLOCK);
  }
  std::unique_ptr<Bridge> bridge(new Bridge(ends[0], std::move(errors->read)));
  auto started = bridge->Launch(arguments, {theirs.get(), theirs.get(), errors->write.get()});
  if (!started) return started.error();
  return bridge;
}

Bridge::~Bridge() {
  if (socket_ >= 0) close(socket_);
  if (pid() > 0) kill(-pid(), SIGKILL);
}

void Bridge::ReadWords() {
  std::array<char, 4096> buffer;
  ssize_t got = 0;
  while ((got = read(error_fd_.get(), buffer.data(), buffer.size())) > 0) {
    words_.append(buffer.data(), static_cast<std::size_t>(got));
    if (words_.size() > buffer.size()) words_.erase(0, words_.size() - buffer.size());
  }
}

std::string Bridge::LastWords() {
  constexpr std::size_t kMostWords = 300;
  constexpr std::size_t kMostLines = 2;
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
  const auto code = HasEnded();
  if (!code) return "it closed the connection";
  return signal() != 0 ? fmt::format("it was killed by signal {}", signal())
                       : fmt::format("it ended with exit code {}", *code);
}

}  // namespace podctl
