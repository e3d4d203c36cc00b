// The first process of a worker with a network of its own: it hands out connections, up to a limit.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "providers/emulator/shell/worker_texts.h"
#include "providers/emulator/workers/address.h"
#include "providers/emulator/workers/child_process.h"

namespace podctl::emulator {
namespace {

// A client's end of a connection.
class Guest {
 public:
  Guest(const std::string& address, int port) : file_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(static_cast<std::uint16_t>(port));
    ::inet_pton(AF_INET, address.c_str(), &where.sin_addr);
    connected_ = ::connect(file_, reinterpret_cast<sockaddr*>(&where), sizeof where) == 0;
  }
  ~Guest() { ::close(file_); }
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  bool connected() const { return connected_; }
  // What comes back for `text`: an echo, or nothing when the door was closed. 10 s at most.
  std::string Say(const std::string& text) const {
    if (::send(file_, text.data(), text.size(), MSG_NOSIGNAL) < 0) return "";
    return Read();
  }
  std::string Read() const {
    pollfd waiting{.fd = file_, .events = POLLIN, .revents = 0};
    std::array<char, 1000> buffer{};
    if (::poll(&waiting, 1, 10'000) != 1) return "(nothing for 10 s)";
    const ssize_t size = ::recv(file_, buffer.data(), buffer.size(), 0);
    return size > 0 ? std::string(buffer.data(), static_cast<std::size_t>(size)) : "";
  }

 private:
  const int file_;
  bool connected_ = false;
};

class DoormanTest : public ::testing::Test {
 protected:
  DoormanTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "doorman-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    std::ofstream(folder_ + "/doorman") << kDoorman;
    // A port of the kernel's choice, free on this address of nobody else's.
    const Result<int> any = BindSocket(address_, 0);
    door_ = any ? *any : -1;
    sockaddr_in bound{};
    socklen_t size = sizeof bound;
    ::getsockname(door_, reinterpret_cast<sockaddr*>(&bound), &size);
    port_ = ntohs(bound.sin_port);
  }
  ~DoormanTest() override {
    if (child_ > 0) {
      KillChild(child_);
      ::waitpid(child_, nullptr, 0);
    }
    if (door_ >= 0) ::close(door_);
    std::filesystem::remove_all(folder_);
  }

  void Start(const std::vector<std::string>& command) {
    std::vector<std::string> argv = {"/usr/bin/perl", folder_ + "/doorman", "1", "2"};
    argv.insert(argv.end(), command.begin(), command.end());
    const Result<pid_t> child =
        StartChild({.argv = argv, .log = folder_ + "/log", .passed_files = {door_}});
    ASSERT_TRUE(child) << child.error().message;
    child_ = *child;
    ASSERT_TRUE(Eventually([&] { return Answers(address_, port_); }));
  }
  template <typename Check>
  static bool Eventually(Check check) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < limit) {
      if (check()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  const std::string address_ = "127.63.0.1";
  std::string folder_;
  int door_ = -1;
  int port_ = 0;
  pid_t child_ = -1;
};

TEST_F(DoormanTest, TheDoorOpensWithTheDoormanAndClosesWithHim) {
  EXPECT_FALSE(Guest(address_, port_).connected()) << "bound, but nobody listens yet";
  Start({"/bin/cat"});
  ::close(std::exchange(door_, -1));
  EXPECT_EQ(Guest(address_, port_).Say("hello"), "hello");
  KillChild(child_);
  ::waitpid(std::exchange(child_, -1), nullptr, 0);
  // Here without a namespace that would take them along, his newest children may hold the door for
  // another moment, until they have begun.
  EXPECT_TRUE(Eventually([&] { return !Guest(address_, port_).connected(); }));
}

TEST_F(DoormanTest, MoreGuestsThanTheLimitAreTurnedAway) {
  Start({"/bin/cat"});
  const Guest first(address_, port_);
  EXPECT_TRUE(Eventually([&] { return first.Say("1") == "1"; }));
  {
    // Those that Start knocked with may take a moment to be gone.
    std::unique_ptr<Guest> second;
    EXPECT_TRUE(Eventually([&] {
      second = std::make_unique<Guest>(address_, port_);
      return second->Say("2") == "2";
    }));
    EXPECT_EQ(Guest(address_, port_).Say("3"), "");
    EXPECT_EQ(first.Say("still here"), "still here");
  }
  EXPECT_TRUE(Eventually([&] { return Guest(address_, port_).Say("4") == "4"; }));
}

TEST_F(DoormanTest, AGuestsProcessHoldsItsConnectionAndNothingElse) {
  Start({"/bin/ls", "/proc/self/fd"});
  std::string said;
  EXPECT_TRUE(Eventually([&] {
    said = Guest(address_, port_).Read();
    return !said.empty();
  }));
  EXPECT_EQ(said, "0\n1\n2\n3\n") << "3 is the folder that ls reads";
}

}  // namespace
}  // namespace podctl::emulator
