// The story that `./dev demo` tells is told to its end, wherever it is started from, and leaves
// nothing behind: no process, no file, also where it fails on the way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "tests/e2e/harness.h"
#include "tests/support/folders.h"

namespace podctl::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

namespace fs = std::filesystem;

// It takes some 25 s, most of them the emulator's. One that hangs must not look like one that is
// slow, but it must end before ctest ends all of us.
constexpr std::chrono::seconds kLongest{150};
std::string Script() {
  return podctl::testing::SourceFolder() + "/tests/e2e/demo.sh";
}
constexpr const char* kLastWords = "\n# Nothing is left behind.\n";

// One that nobody listens on just now: workers without a network of their own share ours.
std::string FreePort() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(probe, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(probe);
  return std::to_string(ntohs(address.sin_port));
}

// A demo under way, with a folder for temporary files that is its own.
class Demo {
 public:
  Demo() {
    fs::create_directory(box_.Path("tmp"));
    box_.SetVariable("TMPDIR", box_.Path("tmp"));
    box_.SetVariable("PODCTL_DEMO_PORT", FreePort());
  }
  void Start(const Arguments& words) {
    began_ = Clock::now();
    process_ = box_.StartProgram(words);
  }
  RunResult Result() {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(began_ + kLongest - Clock::now());
    const int code = process_->Wait(left).value_or(-1);
    return {code, process_->out(), process_->err()};
  }
  std::vector<std::string> FilesLeft() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(box_.Path("tmp")))
      names.push_back(entry.path());
    for (const auto& entry : fs::directory_iterator(box_.Path("home")))
      names.push_back(entry.path());
    return names;
  }
  Sandbox& box() { return box_; }

 private:
  using Clock = std::chrono::steady_clock;
  Sandbox box_;
  Clock::time_point began_;
  std::unique_ptr<Process> process_;
};

class DemoTest : public ::testing::Test {
 protected:
  // Whatever loses its parent becomes a child of this process, where it can be seen.
  DemoTest() { prctl(PR_SET_CHILD_SUBREAPER, 1); }
  static std::vector<pid_t> ProcessesLeft() {
    std::vector<pid_t> left;
    Eventually([&] {
      left = Descendants(getpid());
      return left.empty();
    });
    return left;
  }
};

// The script's shell has no job control in either case, so what it starts in the background ignores
// INT; in the second, so does the shell itself, as under a CI runner's `&`.
TEST_F(DemoTest, TheStoryIsToldToItsEndAndLeavesNothingBehind) {
  Demo plain;
  Demo deaf;
  plain.Start({"bash", Script()});
  deaf.Start({"sh", "-c", "trap '' INT; exec bash \"$0\"", Script()});
  for (Demo* demo : {&plain, &deaf}) {
    const RunResult reported = demo->Result();
    EXPECT_EQ(reported.code, 0) << reported;
    EXPECT_THAT(reported.out, EndsWith(kLastWords)) << reported;
    EXPECT_THAT(reported.out, HasSubstr("\nhello from ")) << "what came through the tunnel\n"
                                                          << reported;
    EXPECT_THAT(demo->FilesLeft(), ::testing::IsEmpty());
  }
  EXPECT_THAT(ProcessesLeft(), ::testing::IsEmpty());
}

TEST_F(DemoTest, AStoryThatFailsWhileItsTunnelIsOpenCleansUpToo) {
  Demo demo;
  fs::create_directory(demo.box().Path("bin"));
  demo.box().WriteFile("bin/curl", "#!/bin/sh\necho 'no curl today' >&2\nexit 7\n");
  chmod(demo.box().Path("bin/curl").c_str(), 0755);
  demo.Start({"sh", "-c", "PATH=$PWD/bin:$PATH; export PATH; exec bash \"$0\"", Script()});
  const RunResult reported = demo.Result();
  EXPECT_EQ(reported.code, 7) << reported;
  EXPECT_THAT(reported.err, HasSubstr("no curl today")) << reported;
  EXPECT_THAT(reported.out, Not(HasSubstr(kLastWords)));
  EXPECT_THAT(demo.FilesLeft(), ::testing::IsEmpty());
  EXPECT_THAT(ProcessesLeft(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace podctl::testing
