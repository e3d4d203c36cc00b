#include "providers/os/process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <system_error>

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

}  // namespace podctl
