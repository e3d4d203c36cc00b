// libssh2's way to the socket of one session.
//
// An owner that has many sessions works in rounds: between BeginRound and EndRound, which lie in
// one step of one session, what is sent is gathered and leaves in one piece (libssh2 sends packet
// by packet, and each costs a system call here, a segment on the way and a wake-up over there); and
// a socket that was read empty is not asked again, as the owner's epoll tells of more. Outside of
// rounds both go straight to the socket.
//
// Lives on its session's thread; one session of a thread has a round at a time.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace podctl::ssh {

class SocketIo {
 public:
  SocketIo() = default;
  ~SocketIo();
  SocketIo(const SocketIo&) = delete;
  SocketIo& operator=(const SocketIo&) = delete;

  void Use(int fd) { fd_ = fd; }  // lent

  // LIBSSH2_RECV_FUNC and LIBSSH2_SEND_FUNC: what recv(2) and send(2) would answer, or -errno.
  ssize_t Receive(void* buffer, std::size_t size, int flags);
  ssize_t Send(const void* bytes, std::size_t size, int flags);

  void BeginRound();
  void EndRound();
  // Of what was gathered, the socket has not taken all: wait until it can be written, and begin
  // another round.
  bool HasUnsent() const { return !unsent_.empty(); }

  // What came behind the banner, as far as a server's list of algorithms may reach; for saying why
  // there is no handshake.
  std::string_view kex_init() const { return kex_init_; }
  void ForgetKexInit() { forgotten_ = true, kex_init_ = {}; }

  bool heard() const { return heard_; }  // any byte came
  bool BannerIsTooLong() const;

 private:
  bool InRound() const;
  void KeepKexInit(std::string_view bytes);
  void SendGathered();
  bool SendUnsent();  // true: nothing is left

  int fd_ = -1;
  bool heard_ = false;
  bool dry_ = false;  // in this round nothing more will be read
  // What was received ahead of libssh2, which asks for its peer's banner byte by byte.
  std::array<char, 256> ahead_{};
  std::uint16_t ahead_begin_ = 0;
  std::uint16_t ahead_end_ = 0;
  std::uint32_t banner_bytes_ = 0;
  std::string kex_init_;
  bool forgotten_ = false;
  std::string unsent_;
};

}  // namespace podctl::ssh
