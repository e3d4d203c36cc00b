#include "providers/ssh/keys/identities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "providers/ssh/libssh2/fan_out.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/recording_ssh_observer.h"
#include "tests/support/ssh_server.h"

namespace podctl::testing {
namespace {

using ::testing::HasSubstr;

// A home folder with a .ssh in it, and the environment that points there.
class IdentitiesTest : public ::testing::Test {
 protected:
  IdentitiesTest() { std::filesystem::create_directories(Ssh("")); }

  std::string Ssh(const std::string& name) const { return home_.path() + "/.ssh/" + name; }
  std::string Public(const std::string& path) const {
    const std::string line = ReadAll(path + ".pub");
    return line.substr(0, line.find(' ', line.find(' ') + 1));
  }
  FixedEnvironment Environment(std::map<std::string, std::string> more = {}) const {
    more["HOME"] = home_.path();
    return FixedEnvironment(std::move(more));
  }
  // Logs in at a real server with exactly this key.
  void ExpectLogsIn(const std::string& key_file, const FixedEnvironment& environment) {
    SshServer server;
    server.Authorize(ReadAll(key_file + ".pub"));
    ssh::Keyring keyring(environment, files_);
    RealClock clock;
    RealRandom random;
    ssh::FanOut fan_out(keyring, clock, random);
    RecordingObserver observer;
    ssh::Job job{server.Access(), "true", nullptr};
    job.worker.identity_file = key_file;
    ssh::Limits limits;
    limits.retry = std::chrono::milliseconds(0);
    const ssh::WorkerResult result = fan_out.Run({job}, limits, observer, {}).at(0);
    EXPECT_TRUE(result.ok()) << result.message << "\n" << server.Log();
  }

  TempFolder home_;
  RealFileSystem files_;
};

struct Kind {
  const char* name;
  std::vector<std::string> arguments;
};
void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}

class KeyKindTest : public IdentitiesTest, public ::testing::WithParamInterface<Kind> {};

TEST_P(KeyKindTest, ReadsTheKeyAndLogsInWithIt) {
  const std::string path = Ssh("key");
  MakeKey(path, GetParam().arguments);
  const auto identities = ssh::Identities::Load(path, Environment(), files_);
  ASSERT_TRUE(identities) << identities.error().message;
  EXPECT_EQ((*identities)->PublicKeyLine(), Public(path));
  ExpectLogsIn(path, Environment());
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, KeyKindTest,
    ::testing::Values(Kind{"Ed25519", {"-t", "ed25519"}},
                      Kind{"Ecdsa256", {"-t", "ecdsa", "-b", "256"}},
                      Kind{"Ecdsa384", {"-t", "ecdsa", "-b", "384"}},
                      Kind{"Ecdsa521", {"-t", "ecdsa", "-b", "521"}},
                      Kind{"Rsa", {"-t", "rsa", "-b", "2048"}},
                      Kind{"RsaPem", {"-t", "rsa", "-b", "2048", "-m", "PEM"}},
                      Kind{"RsaPkcs8", {"-t", "rsa", "-b", "2048", "-m", "PKCS8"}},
                      Kind{"EcdsaPem", {"-t", "ecdsa", "-b", "256", "-m", "PEM"}},
                      Kind{"EcdsaPkcs8", {"-t", "ecdsa", "-b", "384", "-m", "PKCS8"}}),
    [](const auto& kind) { return std::string(kind.param.name); });

TEST_F(IdentitiesTest, OffersTheUsualFilesInOrderAndPassesOverTheRest) {
  MakeKey(Ssh("google_compute_engine"), {"-t", "rsa", "-b", "2048"});
  MakeKey(Ssh("podctl_ed25519"), {"-t", "ed25519"});
  MakeKey(Ssh("id_ed25519"), {"-t", "ed25519"});
  MakeKey(Ssh("id_ecdsa"), {"-t", "ecdsa"}, "a passphrase");
  WriteAll(Ssh("id_rsa"), "rubbish\n");
  const auto identities = ssh::Identities::Load("", Environment(), files_);
  ASSERT_TRUE(identities) << identities.error().message;
  ASSERT_EQ((*identities)->keys().size(), 3U);
  EXPECT_EQ((*identities)->keys()[0]->label(), Ssh("id_ed25519"));
  EXPECT_EQ((*identities)->keys()[1]->label(), Ssh("podctl_ed25519"));
  EXPECT_EQ((*identities)->keys()[2]->label(), Ssh("google_compute_engine"));
  EXPECT_EQ((*identities)->PublicKeyLine(), Public(Ssh("id_ed25519")));
}

TEST_F(IdentitiesTest, ExpandsTheHomeFolder) {
  MakeKey(Ssh("mine"), {"-t", "ed25519"});
  const auto identities = ssh::Identities::Load("~/.ssh/mine", Environment(), files_);
  ASSERT_TRUE(identities) << identities.error().message;
  EXPECT_EQ((*identities)->PublicKeyLine(), Public(Ssh("mine")));
}

TEST_F(IdentitiesTest, SaysWhatToDoWithoutAnyKey) {
  const auto identities = ssh::Identities::Load("", Environment(), files_);
  ASSERT_FALSE(identities);
  EXPECT_EQ(identities.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(identities.error().hint, "make one: ssh-keygen -t ed25519");
}

TEST_F(IdentitiesTest, NamesAKeyThatIsProtected) {
  for (const char* format : {"RFC4716", "PEM", "PKCS8"}) {
    const std::string path = Ssh(std::string("locked-") + format);
    MakeKey(path, {"-t", "ecdsa", "-m", format}, "a passphrase");
    const auto identities = ssh::Identities::Load(path, Environment(), files_);
    ASSERT_FALSE(identities) << format;
    EXPECT_EQ(identities.error().code, ErrorCode::kFailedPrecondition) << format;
    EXPECT_THAT(identities.error().message, HasSubstr(path));
    EXPECT_EQ(identities.error().hint, "add it to ssh-agent: ssh-add " + path);
  }
}

TEST_F(IdentitiesTest, RefusesWhatIsNoKey) {
  const std::string begin = "-----BEGIN OPENSSH PRIVATE KEY-----\n";
  const std::string end = "-----END OPENSSH PRIVATE KEY-----\n";
  MakeKey(Ssh("good"), {"-t", "ed25519"});
  const std::string good = ReadAll(Ssh("good"));
  std::vector<std::string> texts = {
      "", "hello", begin, begin + end, begin + "AAAA\n" + end, begin + "!!!\n" + end};
  // Cut anywhere, the key must be refused and nothing read past its end.
  const std::string body = good.substr(begin.size(), good.size() - begin.size() - end.size());
  for (std::size_t size = 0; size + 60 < body.size(); size += 4) {
    texts.push_back(begin + body.substr(0, size) + "\n" + end);
  }
  for (const std::string& text : texts) {
    WriteAll(Ssh("bad"), text);
    const auto identities = ssh::Identities::Load(Ssh("bad"), Environment(), files_);
    ASSERT_FALSE(identities) << text;
    EXPECT_EQ(identities.error().code, ErrorCode::kInvalidArgument) << text;
  }
}

TEST_F(IdentitiesTest, MakesAKeyWhenThereIsNone) {
  const auto made = ssh::Identities::LoadOrMake(Environment(), files_);
  ASSERT_TRUE(made) << made.error().message;
  const std::string path = Ssh("podctl_ed25519");
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  EXPECT_EQ((*made)->PublicKeyLine(), Public(path));
  // OpenSSH reads it too, and finds the same public key in it.
  EXPECT_EQ(RunProgram({"sh", "-c", "ssh-keygen -y -f " + path + " > " + path + ".again"}), 0);
  EXPECT_EQ(ReadAll(path + ".again"), ReadAll(path + ".pub"));
  ExpectLogsIn(path, Environment());
  // Found, not made, the next time.
  const auto found = ssh::Identities::LoadOrMake(Environment(), files_);
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)->PublicKeyLine(), (*made)->PublicKeyLine());
}

// Dead at any step of the making, of the process or of the machine: the next run has a key, and one
// that was told to anybody is never lost.
TEST(MadeIdentity, OutlivesDeathAtEveryStep) {
  const FixedEnvironment environment(std::map<std::string, std::string>{{"HOME", "/home"}});
  for (const bool power : {false, true}) {
    for (int step = 0;; ++step) {
      SCOPED_TRACE(step);
      FakeFileSystem files;
      files.SetFolder("/home");
      files.StopAfter(step);
      const auto made = ssh::Identities::LoadOrMake(environment, files);
      const bool whole = !files.Stopped();
      power ? files.CutPower(0, FakeFileSystem::TornBytes::kHalf) : files.Restart();
      const auto found = ssh::Identities::LoadOrMake(environment, files);
      ASSERT_TRUE(found) << found.error().message;
      if (made) {
        EXPECT_EQ((*found)->PublicKeyLine(), (*made)->PublicKeyLine());
      }
      if (whole) break;
    }
  }
}

// Whenever another run makes the first key at the same time: both go on with the same one.
TEST(MadeIdentity, IsTheOneThatAnotherRunMadeMeanwhile) {
  const FixedEnvironment environment(std::map<std::string, std::string>{{"HOME", "/home"}});
  constexpr const char* kPath = "/home/.ssh/podctl_ed25519";
  FakeFileSystem elsewhere;
  elsewhere.SetFolder("/home");
  const auto theirs = ssh::Identities::LoadOrMake(environment, elsewhere);
  ASSERT_TRUE(theirs) << theirs.error().message;
  bool met = true;
  for (int call = 1; met; ++call) {
    SCOPED_TRACE(call);
    FakeFileSystem files;
    files.SetFolder("/home");
    met = false;
    bool first = false;
    files.Interleave(call, [&] {
      met = true;
      first = !files.FileText(kPath);
      if (first) files.SetFile(kPath, *elsewhere.FileText(kPath), 0600);
    });
    const auto made = ssh::Identities::LoadOrMake(environment, files);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ((*made)->PublicKeyLine() == (*theirs)->PublicKeyLine(), first);
  }
}

class AgentTest : public IdentitiesTest {
 protected:
  AgentTest() : socket_(home_.path() + "/agent") {
    pid_ = StartProgram({"ssh-agent", "-D", "-a", socket_}, home_.path() + "/agent.log");
    for (int i = 0; i < 500 && !std::filesystem::exists(socket_); ++i) usleep(10'000);
  }
  ~AgentTest() override { EndProgram(pid_); }
  void AddToAgent(const std::string& path) {
    ASSERT_EQ(RunProgram({"env", "SSH_AUTH_SOCK=" + socket_, "ssh-add", path}), 0);
  }
  FixedEnvironment WithAgent() const { return Environment({{"SSH_AUTH_SOCK", socket_}}); }

  std::string socket_;
  pid_t pid_ = -1;
};

TEST_F(AgentTest, TheAgentsKeysComeFirst) {
  MakeKey(Ssh("id_ed25519"), {"-t", "ed25519"});
  MakeKey(Ssh("held"), {"-t", "ecdsa"});
  AddToAgent(Ssh("held"));
  AddToAgent(Ssh("id_ed25519"));
  const auto identities = ssh::Identities::Load("", WithAgent(), files_);
  ASSERT_TRUE(identities) << identities.error().message;
  ASSERT_EQ((*identities)->keys().size(), 2U) << "the file that the agent holds is no further key";
  EXPECT_EQ((*identities)->PublicKeyLine(), Public(Ssh("held")));
}

// The file is named, so only that key may be used, but its passphrase is known only to the agent:
// the test takes the private half away to prove who signs.
TEST_F(AgentTest, SignsForAProtectedFile) {
  for (const std::string type : {"ed25519", "ecdsa", "rsa"}) {
    const std::string path = Ssh("locked_" + type);
    MakeKey(path, {"-t", type});
    AddToAgent(path);
    ASSERT_EQ(RunProgram({"ssh-keygen", "-q", "-p", "-N", "a passphrase", "-f", path}), 0);
    ExpectLogsIn(path, WithAgent());
  }
}

TEST_F(AgentTest, AStaleSocketIsNoTrouble) {
  MakeKey(Ssh("id_ed25519"), {"-t", "ed25519"});
  EndProgram(std::exchange(pid_, -1));
  const auto identities = ssh::Identities::Load("", WithAgent(), files_);
  ASSERT_TRUE(identities) << identities.error().message;
  EXPECT_EQ((*identities)->keys().size(), 1U);
}

}  // namespace
}  // namespace podctl::testing
