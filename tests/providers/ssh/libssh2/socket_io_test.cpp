// A session's way to its socket: what a round gathers, and what it does not ask twice.
#include "providers/ssh/libssh2/socket_io.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

namespace podctl::ssh {
namespace {

// A pair of sockets; with SOCK_SEQPACKET each send arrives as a message of its own.
class Line {
 public:
  explicit Line(int type) {
    EXPECT_EQ(socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends_), 0);
  }
  ~Line() {
    close(ends_[0]);
    close(ends_[1]);
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  int ours() const { return ends_[0]; }
  int peer() const { return ends_[1]; }

  void Say(const std::string& words) const {
    EXPECT_EQ(send(peer(), words.data(), words.size(), 0), static_cast<ssize_t>(words.size()));
  }
  // What has arrived at the peer, a message or a piece of the stream each.
  std::vector<std::string> Arrived() const {
    std::vector<std::string> pieces;
    std::string buffer(std::size_t{1} << 20, '\0');
    for (ssize_t got = 0; (got = recv(peer(), buffer.data(), buffer.size(), 0)) > 0;) {
      pieces.push_back(buffer.substr(0, static_cast<std::size_t>(got)));
    }
    return pieces;
  }

 private:
  int ends_[2] = {-1, -1};
};

ssize_t Send(SocketIo& io, const std::string& bytes) {
  return io.Send(bytes.data(), bytes.size(), 0);
}

std::string Receive(SocketIo& io, std::size_t size) {
  std::string buffer(size, '\0');
  const ssize_t got = io.Receive(buffer.data(), size, 0);
  if (got < 0) return got == -EAGAIN ? "(nothing)" : "(error)";
  return buffer.substr(0, static_cast<std::size_t>(got));
}

TEST(SocketIoTest, SendsInOnePieceWhatARoundHasGathered) {
  const Line line(SOCK_SEQPACKET);
  SocketIo io;
  io.Use(line.ours());
  io.BeginRound();
  EXPECT_EQ(Send(io, "data"), 4);
  EXPECT_EQ(Send(io, "+eof"), 4);
  EXPECT_EQ(line.Arrived(), std::vector<std::string>());
  io.EndRound();
  EXPECT_EQ(line.Arrived(), std::vector<std::string>{"data+eof"});
  Send(io, "no round");
  EXPECT_EQ(line.Arrived(), std::vector<std::string>{"no round"});
}

TEST(SocketIoTest, SendsWhatIsLargeBehindWhatWasGathered) {
  const Line line(SOCK_SEQPACKET);
  SocketIo io;
  io.Use(line.ours());
  io.BeginRound();
  Send(io, "first");
  EXPECT_EQ(Send(io, std::string(8000, 'x')), 8000);
  EXPECT_EQ(line.Arrived(), (std::vector<std::string>{"first", std::string(8000, 'x')}));
  io.EndRound();
  EXPECT_EQ(line.Arrived(), std::vector<std::string>());
}

TEST(SocketIoTest, KeepsWhatTheSocketDoesNotTake) {
  const Line line(SOCK_STREAM);
  SocketIo io;
  io.Use(line.ours());
  std::string sent;
  const std::string filler(1000, 'f');
  while (Send(io, filler) > 0) sent += filler;
  io.BeginRound();
  const std::string last(3000, 'l');
  EXPECT_EQ(Send(io, last), 3000);
  sent += last;
  EXPECT_FALSE(io.HasUnsent());
  io.EndRound();
  EXPECT_TRUE(io.HasUnsent());
  io.BeginRound();
  EXPECT_EQ(Send(io, "more"), -EAGAIN) << "only so much is kept";
  io.EndRound();

  std::string arrived;
  while (arrived.size() < sent.size()) {
    const std::size_t before = arrived.size();
    for (const std::string& piece : line.Arrived()) arrived += piece;
    io.BeginRound();
    io.EndRound();
    if (arrived.size() == before && !io.HasUnsent() && line.Arrived().empty()) break;
  }
  EXPECT_EQ(arrived, sent);
  EXPECT_FALSE(io.HasUnsent());
}

TEST(SocketIoTest, DoesNotAskASocketAgainThatItHasReadEmpty) {
  const Line line(SOCK_STREAM);
  SocketIo io;
  io.Use(line.ours());
  line.Say("one");
  io.BeginRound();
  EXPECT_EQ(Receive(io, 2), "on") << "there may be more";
  EXPECT_EQ(Receive(io, 2), "e");
  line.Say("two");
  EXPECT_EQ(Receive(io, 2), "(nothing)");
  io.EndRound();
}

TEST(SocketIoTest, AsksAgainInTheNextRoundAndOutsideOfRounds) {
  const Line line(SOCK_STREAM);
  SocketIo io;
  io.Use(line.ours());
  io.BeginRound();
  EXPECT_EQ(Receive(io, 100), "(nothing)");
  line.Say("late");
  EXPECT_EQ(Receive(io, 100), "(nothing)");
  io.EndRound();
  io.BeginRound();
  EXPECT_EQ(Receive(io, 100), "late");
  line.Say("later");
  EXPECT_EQ(Receive(io, 100), "(nothing)");
  io.EndRound();
  EXPECT_EQ(Receive(io, 100), "later");
  EXPECT_EQ(Receive(io, 100), "(nothing)");
  line.Say("last");
  EXPECT_EQ(Receive(io, 100), "last");
}

TEST(SocketIoTest, TellsOfTheEndWithinARound) {
  const Line line(SOCK_STREAM);
  SocketIo io;
  io.Use(line.ours());
  line.Say("bye");
  shutdown(line.peer(), SHUT_WR);
  io.BeginRound();
  EXPECT_EQ(Receive(io, 3), "bye");
  EXPECT_EQ(Receive(io, 3), "") << "the end";
  EXPECT_EQ(Receive(io, 3), "");
  io.EndRound();
}

TEST(SocketIoTest, ReadsTheBannerAheadAndBoundsIt) {
  const Line line(SOCK_STREAM);
  SocketIo io;
  io.Use(line.ours());
  EXPECT_FALSE(io.heard());
  line.Say("SSH-2.0-x\r\nkey exchange");
  EXPECT_EQ(Receive(io, 1), "S");
  EXPECT_TRUE(io.heard());
  for (int i = 0; i < 10; ++i) Receive(io, 1);
  EXPECT_EQ(Receive(io, 100), "key exchange");
  for (int i = 0; i < 70'000 && !io.BannerIsTooLong(); ++i) {
    if (i % 200 == 0) line.Say(std::string(200, '-'));
    EXPECT_EQ(Receive(io, 1), "-");
  }
  EXPECT_TRUE(io.BannerIsTooLong());
  line.Say("-");
  std::string last = Receive(io, 1);
  while (last == "-") last = Receive(io, 1);
  EXPECT_EQ(last, "(error)");
}

TEST(SocketIoTest, AnEndedSessionLeavesTheRoundToOthers) {
  const Line line(SOCK_SEQPACKET);
  {
    SocketIo gone;
    gone.Use(line.ours());
    gone.BeginRound();
  }
  SocketIo next;
  next.Use(line.ours());
  next.BeginRound();
  Send(next, "mine");
  next.EndRound();
  EXPECT_EQ(line.Arrived(), std::vector<std::string>{"mine"});
}

}  // namespace
}  // namespace podctl::ssh
