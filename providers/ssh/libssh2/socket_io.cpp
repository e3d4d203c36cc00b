#include "providers/ssh/libssh2/socket_io.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "providers/base/error.h"

namespace podctl::ssh {
namespace {

// What a server may say before and in its banner (RFC 4253 section 4.2 allows lines before it).
// Without a limit a server that never comes to the point would keep its poller busy.
constexpr std::uint32_t kMaxBannerBytes = 64 * 1024;

// The round of this thread. One buffer for all sessions: a thousand of them would have it empty
// nearly all the time.
struct Round {
  const SocketIo* owner = nullptr;
  std::size_t size = 0;
  std::array<char, 4096> bytes;
};
thread_local Round round;

ssize_t SendNow(int fd, const void* bytes, std::size_t size, int flags) {
  const ssize_t sent = send(fd, bytes, size, flags | MSG_NOSIGNAL);
  return sent < 0 ? -errno : sent;
}

}  // namespace

SocketIo::~SocketIo() {
  if (InRound()) round.owner = nullptr;
}

bool SocketIo::InRound() const {
  return round.owner == this;
}

void SocketIo::BeginRound() {
  if (InRound()) return;
  PODCTL_CHECK(round.owner == nullptr);
  round.owner = this;
  round.size = 0;
  dry_ = false;
  SendUnsent();
}

void SocketIo::EndRound() {
  if (!InRound()) return;
  SendGathered();
  round.owner = nullptr;
}

// An error is not told here: the next read meets it as well.
void SocketIo::SendGathered() {
  const std::size_t size = std::exchange(round.size, 0);
  if (size == 0 || fd_ < 0) return;
  ssize_t sent = SendNow(fd_, round.bytes.data(), size, 0);  // nothing is gathered behind unsent_
  if (sent == -EAGAIN || sent == -EINTR) sent = 0;
  if (sent >= 0) unsent_.append(round.bytes.data() + sent, size - static_cast<std::size_t>(sent));
}

bool SocketIo::SendUnsent() {
  if (unsent_.empty()) return true;
  const ssize_t sent = SendNow(fd_, unsent_.data(), unsent_.size(), 0);
  if (sent == -EAGAIN || sent == -EINTR) return false;
  if (sent >= 0 && static_cast<std::size_t>(sent) < unsent_.size()) {
    unsent_.erase(0, static_cast<std::size_t>(sent));
    return false;
  }
  unsent_ = {};
  return true;
}

ssize_t SocketIo::Send(const void* bytes, std::size_t size, int flags) {
  if (!unsent_.empty() && !SendUnsent()) return -EAGAIN;
  if (InRound()) {
    if (size <= round.bytes.size() - round.size) {
      std::memcpy(round.bytes.data() + round.size, bytes, size);
      round.size += size;
      return static_cast<ssize_t>(size);
    }
    SendGathered();
    if (!unsent_.empty()) return -EAGAIN;
  }
  return SendNow(fd_, bytes, size, flags);
}

bool SocketIo::BannerIsTooLong() const {
  return banner_bytes_ > kMaxBannerBytes;
}

void SocketIo::KeepKexInit(std::string_view bytes) {
  constexpr std::size_t kMost = 4096;
  if (!forgotten_) kex_init_ += bytes.substr(0, kMost - std::min(kMost, kex_init_.size()));
}

ssize_t SocketIo::Receive(void* buffer, std::size_t size, int flags) {
  const bool banner = size == 1;
  if (ahead_begin_ == ahead_end_) {
    if (dry_ && InRound()) return -EAGAIN;
    if (banner && BannerIsTooLong()) return -EMSGSIZE;
    void* const to = banner ? ahead_.data() : buffer;
    const std::size_t room = banner ? ahead_.size() : size;
    const ssize_t got = recv(fd_, to, room, flags);
    const int why = errno;
    dry_ = got > 0 ? got < static_cast<ssize_t>(room) : got < 0 && why == EAGAIN;
    if (got > 0) heard_ = true;
    if (got < 0) return -why;
    if (got > 0 && !banner)
      KeepKexInit({static_cast<const char*>(buffer), static_cast<std::size_t>(got)});
    if (got == 0 || !banner) return got;
    ahead_begin_ = 0;
    ahead_end_ = static_cast<std::uint16_t>(got);
  }
  const std::size_t given = std::min<std::size_t>(size, ahead_end_ - ahead_begin_);
  std::memcpy(buffer, ahead_.data() + ahead_begin_, given);
  ahead_begin_ = static_cast<std::uint16_t>(ahead_begin_ + given);
  if (banner) ++banner_bytes_;
  if (!banner) KeepKexInit({static_cast<const char*>(buffer), given});
  return static_cast<ssize_t>(given);
}

}  // namespace podctl::ssh
