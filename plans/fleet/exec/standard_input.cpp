#include "plans/fleet/exec/standard_input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "providers/os/descriptor.h"

namespace podctl {

std::string ScratchFolder(const Environment& environment) {
  const std::string folder = environment.Get("TMPDIR").value_or("");
  return folder.empty() ? "/tmp" : folder;
}

namespace {

// Others may read the same pipe, and be quicker: a read must not wait for what poll saw. To ask so
// of the descriptor itself would change it for them too, so a pipe is opened once more.
Descriptor OpenedAgain(int fd) {
  struct stat info = {};
  if (fstat(fd, &info) != 0 || !S_ISFIFO(info.st_mode)) return Descriptor(-1);
  return Open(fmt::format("/proc/self/fd/{}", fd), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

ssize_t ReadSome(int fd, char* bytes, std::size_t size) {
  const ssize_t count = recv(fd, bytes, size, MSG_DONTWAIT);
  return count < 0 && errno == ENOTSOCK ? read(fd, bytes, size) : count;
}

}  // namespace

std::unique_ptr<StandardInput> StandardInput::OfThisProcess(std::string scratch_folder) {
  if (isatty(STDIN_FILENO) != 0) return nullptr;
  return std::make_unique<StandardInput>(STDIN_FILENO, std::move(scratch_folder), Limits{});
}

StandardInput::StandardInput(int fd, std::string scratch_folder, Limits limits)
    : fd_(fd),
      scratch_folder_(std::move(scratch_folder)),
      limits_(limits),
      thread_([this] { Pump(); }) {}

StandardInput::~StandardInput() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wakeup_.Ring();
  thread_.join();
}

bool StandardInput::MayRead() {
  const std::lock_guard lock(mutex_);
  return size() < read_most_ + limits_.ahead;
}

void StandardInput::Pump() {
  std::array<char, std::size_t{64} << 10> buffer;
  const Descriptor again = OpenedAgain(fd_);
  const int fd = again.ok() ? again.get() : fd_;
  while (true) {
    std::array<pollfd, 2> waits = {pollfd{wakeup_.fd(), POLLIN, 0},
                                   pollfd{MayRead() ? fd : -1, POLLIN, 0}};
    const int ready = poll(waits.data(), waits.size(), -1);
    if (ready < 0 && errno != EINTR) return End(SystemError("read", "standard input", errno));
    if (ready <= 0) continue;
    if (waits[0].revents != 0) {
      wakeup_.Silence();
      const std::lock_guard lock(mutex_);
      if (stop_) return;
    }
    if (waits[1].revents == 0) continue;
    const ssize_t count = ReadSome(fd, buffer.data(), buffer.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    // One that was closed (`<&-`) is one that has ended.
    if (count == 0 || (count < 0 && errno == EBADF)) return End({});
    if (count < 0) return End(SystemError("read", "standard input", errno));
    Keep(std::string_view(buffer.data(), static_cast<std::size_t>(count)));
    const std::lock_guard lock(mutex_);
    if (ended_) return;
  }
}

void StandardInput::Keep(std::string_view bytes) {
  std::optional<Error> trouble;
  {
    const std::lock_guard lock(mutex_);
    if (!scratch_ && memory_.size() + bytes.size() <= limits_.memory) {
      memory_.append(bytes);
    } else if (size() + bytes.size() > limits_.total) {
      trouble = MakeError(ErrorCode::kResourceExhausted,
                          fmt::format("standard input is longer than {} GiB", limits_.total >> 30));
    } else {
      if (!scratch_) {
        auto made = SpillFile::Make(scratch_folder_);
        if (made) {
          scratch_.emplace(*std::move(made));
        } else {
          trouble = made.error();
        }
      }
      if (scratch_) {
        if (auto kept = scratch_->Append(bytes); !kept) trouble = kept.error();
      }
    }
    if (!trouble && more_) more_();
  }
  if (trouble) End(trouble);
}

void StandardInput::End(const std::optional<Error>& trouble) {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  trouble_ = trouble;
  if (more_) more_();
}

std::size_t StandardInput::Read(std::uint64_t offset, char* bytes, std::size_t size_wanted) {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  if (offset < memory_.size()) {
    count = memory_.copy(bytes, size_wanted, static_cast<std::size_t>(offset));
  } else if (offset < size()) {
    count = static_cast<std::size_t>(std::min<std::uint64_t>(size_wanted, size() - offset));
    if (auto read = scratch_->Read(offset - memory_.size(), bytes, count); !read) {
      trouble_ = read.error();
      return 0;
    }
  }
  const bool was_far_ahead = size() >= read_most_ + limits_.ahead;
  read_most_ = std::max(read_most_, offset + count);
  if (was_far_ahead && size() < read_most_ + limits_.ahead) wakeup_.Ring();
  return count;
}

bool StandardInput::EndsAt(std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  return ended_ && offset >= size();
}

void StandardInput::Listen(std::function<void()> more) {
  const std::lock_guard lock(mutex_);
  more_ = std::move(more);
}

bool StandardInput::empty() const {
  const std::lock_guard lock(mutex_);
  return size() == 0;
}

std::optional<Error> StandardInput::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

}  // namespace podctl
