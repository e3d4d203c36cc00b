#include "providers/ssh/libssh2/shell.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <thread>

#include "tests/support/ssh_server.h"

namespace podctl::testing {
namespace {

// The user's side of a terminal: types, and reads the screen.
class Pty {
 public:
  Pty(int columns, int rows) {
    winsize size{};
    size.ws_col = static_cast<unsigned short>(columns);
    size.ws_row = static_cast<unsigned short>(rows);
    EXPECT_EQ(openpty(&user_, &program_, nullptr, nullptr, &size), 0);
  }
  ~Pty() {
    close(user_);
    close(program_);
  }
  int program() const { return program_; }
  void Type(const std::string& keys) const {
    EXPECT_EQ(write(user_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  void Resize(int columns, int rows) const {
    winsize size{};
    size.ws_col = static_cast<unsigned short>(columns);
    size.ws_row = static_cast<unsigned short>(rows);
    EXPECT_EQ(ioctl(program_, TIOCSWINSZ, &size), 0);
    kill(getpid(), SIGWINCH);  // this pty is not the test's controlling terminal
  }
  // Reads on until the screen shows `text`; then forgets what came before it. Gives up when nothing
  // comes for `quiet_ms`.
  bool WaitFor(const std::string& text, int quiet_ms = 20'000) {
    while (screen_.find(text) == std::string::npos) {
      pollfd readable{user_, POLLIN, 0};
      if (poll(&readable, 1, quiet_ms) <= 0) return false;
      char buffer[4096];
      const ssize_t got = read(user_, buffer, sizeof(buffer));
      if (got <= 0) return false;
      screen_.append(buffer, static_cast<std::size_t>(got));
    }
    screen_.erase(0, screen_.find(text) + text.size());
    return true;
  }
  const std::string& screen() const { return screen_; }
  bool IsRaw() const {
    termios mode{};
    tcgetattr(program_, &mode);
    return (mode.c_lflag & (ICANON | ECHO | ISIG)) == 0;
  }

 private:
  int user_ = -1;
  int program_ = -1;
  std::string screen_;
};

ssh::WorkerResult OpenShell(const WorkerAccess& worker, const ssh::ShellOptions& options,
                            ssh::Terminal& terminal, std::stop_token stop = {}) {
  RealFileSystem files;
  RealClock clock;
  RealRandom random;
  const auto identities = ssh::Identities::Load(worker.identity_file, FixedEnvironment({}), files);
  EXPECT_TRUE(identities) << identities.error().message;
  return ssh::RunShell(worker, *identities, options, terminal, clock, random, std::move(stop));
}

TEST(InteractiveTest, IsARealTerminalThatFollowsTheWindow) {
  const SshServer server;
  Pty pty(91, 33);
  ssh::LocalTerminal terminal(pty.program(), pty.program(), pty.program());
  ASSERT_TRUE(terminal.IsTerminal());
  ssh::WorkerResult result;
  ssh::ShellOptions options;
  options.command = "PS1= exec sh -i";
  std::thread shell([&] { result = OpenShell(server.Access(), options, terminal); });
  pty.Type("stty -echo; test -t 0 && test -t 1 && echo tty:$TERM\n");
  EXPECT_TRUE(pty.WaitFor("\ntty:xterm")) << pty.screen();
  EXPECT_TRUE(pty.IsRaw());
  pty.Type("stty size\n");
  EXPECT_TRUE(pty.WaitFor("33 91")) << pty.screen();
  // The shell is told of the new size by a signal, after which it shows the size.
  pty.Type("trap 'stty size; echo resized' WINCH; echo trapped\n");
  EXPECT_TRUE(pty.WaitFor("trapped"));
  pty.Resize(120, 40);
  // A shell runs its trap when it reads the next line, and the line may be there before the signal.
  bool followed = false;
  for (int line = 0; line < 100 && !followed; ++line) {
    pty.Type("\n");
    followed = pty.WaitFor("40 120", 200);
  }
  EXPECT_TRUE(followed) << pty.screen();
  EXPECT_TRUE(pty.WaitFor("resized")) << pty.screen();
  // Ctrl-C is the worker's, not ours.
  pty.Type("trap 'echo caught' INT; sleep 56.25\n");
  for (int i = 0; i < 1000 && !IsRunning("sleep", "56.25"); ++i) usleep(10'000);
  pty.Type("\x03");
  EXPECT_TRUE(pty.WaitFor("\ncaught")) << pty.screen();
  pty.Type("echo on $((40+2))\n");
  EXPECT_TRUE(pty.WaitFor("on 42")) << pty.screen();
  pty.Type("exit 7\n");
  shell.join();
  EXPECT_EQ(result.outcome, ssh::Outcome::kExited) << result.message;
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.learned_host_key, server.HostKey());
  EXPECT_FALSE(pty.IsRaw()) << "the mode from before is back";
}

TEST(InteractiveTest, TheTerminalIsPutBackWhenTheConnectionBreaks) {
  SshServer server;
  Pty pty(80, 24);
  ssh::LocalTerminal terminal(pty.program(), pty.program(), pty.program());
  ssh::WorkerResult result;
  std::thread shell([&] { result = OpenShell(server.Access(), {}, terminal); });
  pty.Type("echo up $((1+1))\n");
  EXPECT_TRUE(pty.WaitFor("up 2"));
  server.KillSessions();
  shell.join();
  EXPECT_EQ(result.outcome, ssh::Outcome::kLost) << result.message;
  EXPECT_FALSE(pty.IsRaw());
}

TEST(InteractiveTest, StopEndsAShell) {
  const SshServer server;
  Pty pty(80, 24);
  ssh::LocalTerminal terminal(pty.program(), pty.program(), pty.program());
  std::stop_source stop;
  ssh::WorkerResult result;
  std::thread shell([&] { result = OpenShell(server.Access(), {}, terminal, stop.get_token()); });
  pty.Type("echo up $((1+1))\n");
  EXPECT_TRUE(pty.WaitFor("up 2"));
  stop.request_stop();
  shell.join();
  EXPECT_EQ(result.outcome, ssh::Outcome::kCancelled);
  EXPECT_FALSE(pty.IsRaw());
}

// Files in place of a terminal.
class Redirected {
 public:
  explicit Redirected(const std::string& input) {
    WriteAll(folder_.path() + "/in", input);
    in_ = open((folder_.path() + "/in").c_str(), O_RDONLY);
    out_ = open((folder_.path() + "/out").c_str(), O_WRONLY | O_CREAT, 0600);
    err_ = open((folder_.path() + "/err").c_str(), O_WRONLY | O_CREAT, 0600);
  }
  ~Redirected() {
    for (const int fd : {in_, out_, err_}) close(fd);
  }
  std::string Out() const { return ReadAll(folder_.path() + "/out"); }
  std::string Err() const { return ReadAll(folder_.path() + "/err"); }
  int in_ = -1;
  int out_ = -1;
  int err_ = -1;

 private:
  TempFolder folder_;
};

TEST(InteractiveTest, WithoutATerminalBytesPassUnchanged) {
  const SshServer server;
  std::string bytes(2'000'000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 131 + i / 4093);
  const Redirected files(bytes);
  ssh::LocalTerminal terminal(files.in_, files.out_, files.err_);
  EXPECT_FALSE(terminal.IsTerminal());
  ssh::ShellOptions options;
  options.tty = false;
  options.command = "tee /dev/stderr; exit 3";
  const ssh::WorkerResult result = OpenShell(server.Access(), options, terminal);
  EXPECT_EQ(result.exit_code, 3) << result.message;
  EXPECT_TRUE(files.Out() == bytes);
  EXPECT_TRUE(files.Err() == bytes);
}

TEST(InteractiveTest, SaysWhyThereIsNoShell) {
  SshServer::Options down;
  down.start = false;
  const SshServer server(down);
  const Redirected files("");
  ssh::LocalTerminal terminal(files.in_, files.out_, files.err_);
  ssh::ShellOptions options;
  options.limits.retry = std::chrono::milliseconds(0);
  const ssh::WorkerResult result = OpenShell(server.Access(), options, terminal);
  EXPECT_EQ(result.outcome, ssh::Outcome::kUnreachable);
  EXPECT_NE(result.message.find("Connection refused"), std::string::npos) << result.message;
}

// A pinned key is no reason to take every refusal for another key.
TEST(InteractiveTest, AWayThatIsNotThereIsNoChangedHostKey) {
  SshServer::Options down;
  down.start = false;
  const SshServer server(down);
  WorkerAccess worker = server.Access();
  worker.host_keys = {"ssh-ed25519 AAAA"};
  worker.no_route = "nobody knows its name";
  const Redirected files("");
  ssh::LocalTerminal terminal(files.in_, files.out_, files.err_);
  const ssh::WorkerResult result = OpenShell(worker, {}, terminal);
  EXPECT_EQ(result.outcome, ssh::Outcome::kUnreachable);
  EXPECT_EQ(result.cause.code, ssh::Cause::Code::kNoRoute);
  EXPECT_EQ(result.message, "cannot reach " + worker.Name() + ": nobody knows its name");
}

}  // namespace
}  // namespace podctl::testing
