// The light SSH server, entered by the ssh program.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "providers/emulator/workers/light/host.h"
#include "providers/emulator/workers/light/server.h"
#include "tests/providers/ssh/transports_under_test.h"
#include "tests/support/recording_ssh_observer.h"

namespace podctl::emulator {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

struct Output {
  int code = -1;
  std::string text;  // stdout and stderr
};

Output Shell(const std::string& command) {
  Output output;
  FILE* const pipe = ::popen(("{ " + command + "\n} 2>&1").c_str(), "r");
  if (pipe == nullptr) return output;
  std::array<char, 4096> buffer{};
  while (const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.text.append(buffer.data(), size);
  }
  const int status = ::pclose(pipe);
  output.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
  return output;
}

template <typename Check>
bool Eventually(Check check) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < limit) {
    if (check()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// Admits one key and one user.
class OneGuest final : public Host {
 public:
  OneGuest(std::string name, std::string key, std::string mark)
      : name_(std::move(name)), key_(std::move(key)), mark_(std::move(mark)) {}
  std::string_view Hostname() const override { return name_; }
  bool Admits(std::string_view user, std::string_view key) override {
    return user == "alice" && key == key_;
  }
  Result<Login> LogIn(const std::string& user) override {
    if (is_disk_full) return MakeError(ErrorCode::kIo, "the disk is full");
    return Login{.shell = "/bin/sh",
                 .environment = {mark_ + name_, "PATH=/usr/bin:/bin", "USER=" + user},
                 .folder = "/usr"};
  }
  // `reversed`: its whole input, backwards. `wc -c` it leaves to a process, when it has seen the
  // input.
  bool MayAnswer(std::string_view command) override {
    return command == "reversed" || command == "wc -c";
  }
  std::optional<InlineAnswer> Answer(std::string_view command, std::string_view input) override {
    if (command == "wc -c") return std::nullopt;
    return InlineAnswer{.text = std::string(input.rbegin(), input.rend()), .size = input.size()};
  }
  std::atomic<bool> is_disk_full = false;

 private:
  const std::string name_;
  const std::string key_;
  const std::string mark_;
};

class LightServerTest : public ::testing::Test {
 protected:
  LightServerTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "light-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    Shell("ssh-keygen -q -t ed25519 -N '' -C '' -f " + folder_ + "/key");
    std::string type;
    std::string key;
    std::ifstream(folder_ + "/key.pub") >> type >> key;
    key_ = type + " " + key;
    auto spawner = ProcessSpawner::Start(mark_);
    EXPECT_TRUE(spawner);
    spawner_ = *std::move(spawner);
    auto started = LightServer::Start(2, *spawner_);
    EXPECT_TRUE(started);
    server_ = *std::move(started);
    for (int i = 0; i < 3; ++i) ids_.push_back(OpenDoor(i));
  }
  ~LightServerTest() override {
    server_.reset();
    spawner_.reset();
    for (const int file : unread_) ::close(file);
    std::filesystem::remove_all(folder_);
  }

  static std::string Address(int host) { return "127.78.0." + std::to_string(host + 1); }

  LightServer::Id OpenDoor(int i) {
    Result<int> socket = ListenOn(Address(i), port_, 16);
    EXPECT_TRUE(socket) << socket.error().message;
    Result<HostKey> key = HostKey::Make();
    EXPECT_TRUE(key);
    std::ofstream(folder_ + "/known_hosts", std::ios::app)
        << "[" << Address(i) << "]:" << port_ << " ssh-ed25519 " << key->public_base64() << "\n";
    auto guest = std::make_shared<OneGuest>("host-" + std::to_string(i), key_, mark_);
    hosts_.push_back(guest);
    std::vector<LightServer::Door> doors;
    doors.push_back({.host = guest, .key = *key, .socket = *socket});
    return server_->Open(std::move(doors)).front();
  }

  std::string SshTo(int host, const std::string& more = "", const std::string& user = "alice") {
    return "timeout 20 ssh -F none -i " + folder_ + "/key -p " + std::to_string(port_) +
           " -o IdentitiesOnly=yes -o BatchMode=yes -o LogLevel=ERROR -o ConnectTimeout=10 "
           "-o StrictHostKeyChecking=yes -o UserKnownHostsFile=" +
           folder_ + "/known_hosts " + more + " " + user + "@" + Address(host);
  }
  Output Ssh(int host, const std::string& command, const std::string& more = "") {
    std::ofstream(folder_ + "/command") << command;
    return Shell(SshTo(host, more) + " \"$(cat " + folder_ + "/command)\" < /dev/null");
  }

  // The ssh program itself, whose output nobody reads.
  pid_t StartSsh(int host, const std::string& command, const std::string& more) {
    const std::string line = "exec " + SshTo(host, more).substr(std::string("timeout 20 ").size()) +
                             " '" + command + "'";
    std::array<int, 2> unread{};
    EXPECT_EQ(::pipe2(unread.data(), O_CLOEXEC), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(unread[1], 1);
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(unread[1]);
    unread_.push_back(unread[0]);
    return child;
  }

  std::vector<int> unread_;
  const int port_ = 20000 + ::getpid() % 20000;
  const std::string mark_ = "LIGHT_TEST=" + std::to_string(::getpid()) + "/";
  const std::string sleeper_ = "sleep 8" + std::to_string(::getpid());
  std::string folder_;
  std::string key_;
  std::unique_ptr<ProcessSpawner> spawner_;
  std::unique_ptr<LightServer> server_;
  std::vector<LightServer::Id> ids_;
  std::vector<std::shared_ptr<OneGuest>> hosts_;
};

// gcloud makes an RSA key, and whoever has no other has to be told what stands in the way: podctl
// with libssh2 before 1.11 can use one with OpenSSH's servers only.
TEST_F(LightServerTest, AnRsaKeyOfPodctlEntersOrIsSaidToBeOfNoUse) {
  Shell("ssh-keygen -q -t rsa -b 2048 -N '' -C '' -f " + folder_ + "/rsa");
  std::string type;
  std::string key;
  std::ifstream(folder_ + "/rsa.pub") >> type >> key;
  hosts_.push_back(std::make_shared<OneGuest>("host-3", type + " " + key, mark_));
  Result<int> socket = ListenOn(Address(3), port_, 16);
  ASSERT_TRUE(socket) << socket.error().message;
  Result<HostKey> host_key = HostKey::Make();
  ASSERT_TRUE(host_key);
  std::vector<LightServer::Door> doors;
  doors.push_back({.host = hosts_.back(), .key = *host_key, .socket = *socket});
  ids_.push_back(server_->Open(std::move(doors)).front());

  ssh::Job job;
  job.worker.host = Address(3);
  job.worker.port = port_;
  job.worker.user = "alice";
  job.worker.identity_file = folder_ + "/rsa";
  job.command = "wc -c";
  podctl::testing::RecordingObserver observer;
  const auto result = podctl::testing::OwnFanOut().Run({job}, {}, observer, {}).at(0);
  if (result.ok()) return;  // with libssh2 1.11
  EXPECT_EQ(result.attempts, 1);
  EXPECT_EQ(
      result.message,
      "no key to offer " + Address(3) + ":" + std::to_string(port_) +
          ": with a server that is not OpenSSH's, libssh2 before 1.11 cannot use the RSA key " +
          folder_ + "/rsa; make another one: ssh-keygen -t ed25519");
}

TEST_F(LightServerTest, LetsTheHostAnswerFromTheWholeInput) {
  const Output output = Shell("(printf abc; sleep 0.1; printf def) | " + SshTo(0) + " 'reversed'");
  EXPECT_EQ(output.text, "fedcba");
  EXPECT_EQ(output.code, 0);
}

TEST_F(LightServerTest, GivesTheInputToAProcessWhereTheHostDoesNotAnswer) {
  EXPECT_EQ(Shell("printf abcdef | " + SshTo(0) + " 'wc -c'").text, "6\n");
  EXPECT_EQ(Shell("head -c 300000 /dev/zero | " + SshTo(0) + " 'wc -c'").text, "300000\n");
  EXPECT_EQ(Shell("head -c 300000 /dev/zero | " + SshTo(0) + " 'reversed'").code, 127)
      << "so much is for a process, and there is no program of that name that takes it";
}

TEST(InlineCommandTest, AnswersAsTheShellDoesOrNotAtAll) {
  char name[256] = {};
  ASSERT_EQ(::gethostname(name, sizeof name - 1), 0);
  for (const char* command : {"true",
                              "true x",
                              "hostname",
                              "  hostname  ",
                              "echo",
                              "echo a  b=%s/~",
                              "echo a,b c|d",
                              "echo -n x",
                              "echo $HOME",
                              "echo 'a b'",
                              "yes ab | head -c 10",
                              "yes ab | head -c 0",
                              "yes ab | head -c 1k",
                              "yes -x | head -c 3",
                              "false",
                              "hostname -s",
                              "echo a > /dev/null",
                              "echo a; echo b",
                              "echo *",
                              "echo a\\b",
                              "echo a\necho b",
                              "x=1",
                              "echo |",
                              "| true",
                              ""}) {
    const auto answer = AnswerInline(command, name);
    if (!answer) continue;
    std::string text;
    while (text.size() < answer->size) text += answer->text;
    text.resize(answer->size);
    EXPECT_EQ(text, Shell(command).text) << command;
  }
  EXPECT_TRUE(AnswerInline("hostname", "x"));
  EXPECT_TRUE(AnswerInline("echo a b", "x"));
  EXPECT_EQ(AnswerInline("yes ab | head -c 1000000", "x")->size, 1'000'000U);
  EXPECT_FALSE(AnswerInline("echo $HOME", "x"));
  EXPECT_FALSE(AnswerInline("hostname; reboot", "x"));
}

TEST_F(LightServerTest, RunsCommandsAndTellsHowTheyEnded) {
  EXPECT_EQ(Ssh(1, "hostname").text, "host-1\n");
  EXPECT_EQ(Ssh(0, "pwd; echo $USER").text, "/usr\nalice\n");
  EXPECT_EQ(Ssh(0, "exit 7").code, 7);
  EXPECT_EQ(Ssh(0, "kill -KILL $$").code, 255) << "ssh's word for a signal";
  EXPECT_THAT(Ssh(0, "kill -KILL $$", "-v -o LogLevel=DEBUG").text, HasSubstr("exit-signal"));
  EXPECT_THAT(Ssh(0, "echo $SSH_CONNECTION").text,
              MatchesRegex("127[0-9.]* [0-9]+ 127\\.78\\.0\\.1 [0-9]+\n"));
  EXPECT_THAT(Ssh(0, "ls -l /proc/self/fd | grep -c '[0-9] -> '").text, "4\n")
      << "0 to 2 and the folder that ls reads: nothing is inherited";
}

TEST_F(LightServerTest, LetsNobodyElseIn) {
  EXPECT_EQ(Shell(SshTo(0, "", "bob") + " true < /dev/null").code, 255);
  Shell("ssh-keygen -q -t ed25519 -N '' -f " + folder_ + "/other && mv " + folder_ + "/other " +
        folder_ + "/key");
  const Output other = Ssh(0, "true");
  EXPECT_EQ(other.code, 255);
  EXPECT_THAT(other.text, HasSubstr("Permission denied (publickey)"));
}

TEST_F(LightServerTest, CarriesLargeStreamsBothWays) {
  EXPECT_EQ(Shell("head -c 9000000 /dev/zero | " + SshTo(0) + " 'cat | cksum'").text,
            Shell("head -c 9000000 /dev/zero | cksum").text);
  // Both at once, which a server without flow control would mix up or hold in memory.
  EXPECT_EQ(Shell("head -c 9000000 /dev/zero | " + SshTo(0) +
                  " 'tee /dev/stderr' 2>&1 > /dev/null | wc -c")
                .text,
            "9000000\n");
  EXPECT_EQ(Shell(SshTo(0) + " 'yes abc | head -c 9000000' < /dev/null | cksum").text,
            Shell("yes abc | head -c 9000000 | cksum").text);
}

// The client says how much more it takes after the server has closed the channel.
TEST_F(LightServerTest, LateWordsForAClosedChannelHarmNobody) {
  const std::string ask = SshTo(0) + " 'yes abc | head -c 1048576' < /dev/null | wc -c";
  std::string wanted;
  for (int i = 0; i < 32; ++i) wanted += "1048576\n";
  EXPECT_EQ(Shell("for i in 1 2; do for j in $(seq 16); do " + ask + " & done; wait; done").text,
            wanted);
  EXPECT_EQ(Ssh(0, "echo here").text, "here\n");
}

TEST_F(LightServerTest, ALostConnectionIsABrokenPipeForItsCommand) {
  const pid_t ssh = StartSsh(0, "cat /dev/zero; touch " + folder_ + "/gone", "");
  ASSERT_TRUE(Eventually([&] { return Shell("pgrep -xf 'cat /dev/zero'").code == 0; }));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/gone")) << "nobody reads, so it waits";
  ::kill(ssh, SIGKILL);
  EXPECT_TRUE(Eventually([&] { return std::filesystem::exists(folder_ + "/gone"); }));
  ::waitpid(ssh, nullptr, 0);
}

// $PPID is to a command what sshd's own process for its connection is.
TEST_F(LightServerTest, AConnectionEndsWithItsProcess) {
  EXPECT_EQ(Ssh(0, "kill -9 $PPID; exec " + sleeper_).code, 255);
}

TEST_F(LightServerTest, SiblingsAreTheCommandsOfTheSameConnection) {
  const std::string master =
      "-o ControlMaster=auto -o ControlPersist=30 -o ControlPath=" + folder_ + "/master";
  const std::string parent = Ssh(0, "echo $PPID", master).text;
  EXPECT_EQ(Ssh(0, "echo $PPID", master).text, parent);
  EXPECT_NE(Ssh(0, "echo $PPID").text, parent);
  Shell(SshTo(0, "-O exit " + master));
}

// As OpenSSH's client cannot send RFC 4254's "signal", a closed terminal has to serve.
TEST_F(LightServerTest, AClosedTerminalHangsUp) {
  const pid_t ssh = StartSsh(0, sleeper_, "-tt");
  ASSERT_TRUE(Eventually([&] { return Shell("pgrep -xf '" + sleeper_ + "'").code == 0; }));
  ::kill(ssh, SIGKILL);
  EXPECT_TRUE(Eventually([&] { return Shell("pgrep -xf '" + sleeper_ + "'").code == 1; }));
  ::waitpid(ssh, nullptr, 0);
}

TEST_F(LightServerTest, GivesATerminal) {
  EXPECT_THAT(Shell("printf 'tty\\nexit 3\\n' | " + SshTo(0, "-tt")).text, HasSubstr("/dev/pts/"));
  const Output typed = Shell("printf 'stty size; exit 3\\n' | " + SshTo(0, "-tt"));
  EXPECT_EQ(typed.code, 3) << typed.text;
}

TEST_F(LightServerTest, ABackgroundProcessOutlivesItsConnectionAndDiesWithTheServer) {
  EXPECT_EQ(Ssh(0, sleeper_ + " > /dev/null 2>&1 < /dev/null &").code, 0);
  EXPECT_EQ(Shell("pgrep -xf '" + sleeper_ + "'").code, 0);
  server_.reset();
  spawner_.reset();
  // It has been killed; it is there until init has taken it off the table.
  EXPECT_TRUE(Eventually([&] { return Shell("pgrep -xf '" + sleeper_ + "'").code == 1; }));
}

TEST_F(LightServerTest, ForwardsToThisMachineOnly) {
  const std::string jump = "-o ProxyCommand='" + SshTo(0, "-W %h:%p") + "'";
  EXPECT_EQ(Shell(SshTo(1, jump) + " hostname < /dev/null").text, "host-1\n");
  EXPECT_EQ(Shell(SshTo(1, jump) + " 'yes ab | head -c 3000000' < /dev/null | wc -c").text,
            "3000000\n");
  EXPECT_THAT(Shell(SshTo(0, "-W localhost:1") + " < /dev/null").text, HasSubstr("failed"));
  EXPECT_THAT(Shell(SshTo(0, "-W example.org:80") + " < /dev/null").text, HasSubstr("failed"));
}

TEST_F(LightServerTest, ACommandThatCannotStartSaysWhy) {
  hosts_[0]->is_disk_full = true;
  const Output output = Ssh(0, "ls");
  EXPECT_EQ(output.code, 254);
  EXPECT_EQ(output.text, "the disk is full\n");
  const Output huge = Shell(SshTo(1) + " \"true; : $(yes | head -c 110000)\" < /dev/null");
  EXPECT_EQ(huge.code, 254) << huge.text;
  EXPECT_EQ(huge.text, "the command is too long\n");
}

TEST_F(LightServerTest, AClosedDoorRefusesAndItsConnectionsEnd) {
  FILE* const ssh =
      ::popen((SshTo(0) + " 'echo here; " + sleeper_ + "' < /dev/null 2>&1").c_str(), "r");
  std::array<char, 32> text{};
  ASSERT_NE(std::fgets(text.data(), text.size(), ssh), nullptr);
  server_->Close({ids_[0], ids_[2]});
  EXPECT_EQ(WEXITSTATUS(::pclose(ssh)), 255);
  EXPECT_THAT(Ssh(0, "true").text, HasSubstr("Connection refused"));
  EXPECT_THAT(Ssh(2, "true").text, HasSubstr("Connection refused"));
  EXPECT_EQ(Ssh(1, "true").code, 0);
  Shell("sed -i /78.0.1]/d " + folder_ + "/known_hosts");
  OpenDoor(0);
  EXPECT_EQ(Ssh(0, "true").code, 0) << "with a new host key";
}

}  // namespace
}  // namespace podctl::emulator
