// Workers that only a program leads to: a jump host's `ssh -W`, or a stand-in for gcloud's tunnel;
// with podctl's own SSH and with the program ssh.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "providers/ssh/cause.h"
#include "providers/ssh/libssh2/session.h"
#include "tests/conformance/ssh_transport_suite.h"
#include "tests/providers/ssh/transports_under_test.h"
#include "tests/support/ssh_server.h"

namespace podctl::testing {
// This file only borrows the suite's observer.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SshTransportSuite);
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

using MakeTransport = std::unique_ptr<ssh::Transport> (*)();

class ThroughTest : public ::testing::TestWithParam<MakeTransport> {
 protected:
  // ssh from the machine of the test to the jump host; its host key is in a file of its own.
  std::vector<std::string> Jump(const WorkerAccess& worker, const std::string& jump_key) {
    const std::string known = folder_.path() + "/jump_hosts";
    WriteAll(known, "[127.0.0.1]:" + std::to_string(jump_.port()) + " " + jump_key + "\n");
    std::vector<std::string> words = {"ssh", "-F", "/dev/null", "-W",
                                      worker.host + ":" + std::to_string(worker.port)};
    for (const std::string& option :
         {std::string("BatchMode=yes"), "UserKnownHostsFile=" + known,
          std::string("GlobalKnownHostsFile=/dev/null"), std::string("IdentitiesOnly=yes"),
          "Port=" + std::to_string(jump_.port()), "IdentityFile=" + jump_identity_}) {
      words.insert(words.end(), {"-o", option});
    }
    words.push_back(jump_.Access().user + "@127.0.0.1");
    return words;
  }
  WorkerAccess Worker(int index = 0) {
    WorkerAccess worker = server_.Access(index);
    worker.host_keys = {server_.HostKey()};
    worker.through = Jump(worker, jump_.HostKey());
    return worker;
  }
  std::vector<ssh::WorkerResult> Run(std::vector<WorkerAccess> workers,
                                     const std::string& command = "echo here") {
    std::vector<ssh::Job> jobs;
    for (WorkerAccess& worker : workers) jobs.push_back({std::move(worker), command, nullptr});
    return transport_->Run(jobs, limits_, observer_, {});
  }
  ssh::WorkerResult RunThrough(std::vector<std::string> words) {
    WorkerAccess worker = Worker();
    worker.through = std::move(words);
    return Run({worker}).at(0);
  }

  TempFolder folder_;
  SshServer jump_;
  SshServer server_;
  std::string jump_identity_ = jump_.client_key();
  RecordingObserver observer_;
  ssh::Limits limits_;
  std::unique_ptr<ssh::Transport> transport_ = GetParam()();
};

TEST_P(ThroughTest, EightWorkersAreReachedThroughAJumpHost) {
  std::vector<WorkerAccess> workers;
  for (int i = 0; i < 8; ++i) workers.push_back(Worker(i));
  for (const auto& result : Run(workers)) EXPECT_TRUE(result.ok()) << result.message;
  EXPECT_THAT(jump_.Log(), HasSubstr("Accepted publickey"));
}

TEST_P(ThroughTest, TheWorkersOwnKeyIsStillPinned) {
  WorkerAccess worker = Worker();
  worker.host_keys = {jump_.HostKey()};
  EXPECT_EQ(Run({worker}).at(0).outcome, ssh::Outcome::kHostKeyChanged);
}

TEST_P(ThroughTest, AJumpHostWithAnotherKeyIsNamedAndNotTriedAgain) {
  WorkerAccess worker = Worker();
  worker.through = Jump(worker, server_.HostKey());
  const auto result = Run({worker}).at(0);
  EXPECT_EQ(result.outcome, ssh::Outcome::kUnreachable) << "the worker's key is not at fault";
  EXPECT_THAT(result.message, HasSubstr("through the jump host " + worker.through.back()));
  EXPECT_THAT(result.message, HasSubstr("Host key verification failed"));
  EXPECT_EQ(result.attempts, 1);
}

TEST_P(ThroughTest, AJumpHostThatRefusesTheLoginIsNamedAndNotTriedAgain) {
  MakeKey(folder_.path() + "/stranger", {"-t", "ed25519"});
  jump_identity_ = folder_.path() + "/stranger";
  const WorkerAccess worker = Worker();
  const auto result = Run({worker}).at(0);
  EXPECT_EQ(result.outcome, ssh::Outcome::kUnreachable) << "the worker refused nothing";
  EXPECT_THAT(result.message, HasSubstr("through the jump host " + worker.through.back()));
  EXPECT_THAT(result.message, HasSubstr("Permission denied (publickey"));
  EXPECT_EQ(result.attempts, 1);
}

TEST_P(ThroughTest, AJumpHostThatDiesInTheMiddleLosesTheCommandAndTheNextOneIsRun) {
  const std::string mark = folder_.path() + "/begun";
  std::thread killer([&] {
    for (int i = 0; i < 1000 && ReadAll(mark).empty(); ++i) {
      std::this_thread::sleep_for(milliseconds(10));
    }
    jump_.Stop();
  });
  const auto lost = Run({Worker()}, "echo x > " + mark + "; sleep 30").at(0);
  killer.join();
  EXPECT_EQ(lost.outcome, ssh::Outcome::kLost) << lost.message;
  EXPECT_THAT(lost.message, HasSubstr("may or may not have run"));
  jump_.Start();
  EXPECT_TRUE(Run({Worker()}).at(0).ok());
}

TEST_P(ThroughTest, AJumpHostThatIsStillBootingIsTriedAgain) {
  jump_.Stop();
  ssh::WorkerResult result;
  // Started by this thread, since a server dies with the thread that started it.
  std::thread runner([&] { result = Run({Worker()}).at(0); });
  std::this_thread::sleep_for(milliseconds(700));
  jump_.Start();
  runner.join();
  EXPECT_TRUE(result.ok()) << result.message;
  EXPECT_GT(result.attempts, 1);
}

TEST_P(ThroughTest, AProgramThatIsNotThereIsNamed) {
  limits_.retry = milliseconds(0);
  const auto result = RunThrough({"no-such-tunnel", "x"});
  EXPECT_EQ(result.outcome, ssh::Outcome::kUnreachable);
  EXPECT_THAT(result.message, HasSubstr("no-such-tunnel"));
}

TEST_P(ThroughTest, SaysWhatTheProgramSaidBeforeItDied) {
  limits_.retry = milliseconds(0);
  const auto reported =
      RunThrough({"sh", "-c", "echo first >&2; echo 'no such instance' >&2; exit 3"});
  EXPECT_EQ(reported.outcome, ssh::Outcome::kUnreachable);
  EXPECT_THAT(reported.message, HasSubstr("through `sh`: first; no such instance"));
}

TEST_P(ThroughTest, GivesUpOnAProgramThatSaysNothingAndEndsIt) {
  limits_.retry = milliseconds(0);
  limits_.connect = milliseconds(300);
  limits_.first_byte = milliseconds(200);
  const auto result = RunThrough({"sleep", "98765.25"});
  EXPECT_EQ(result.outcome, ssh::Outcome::kUnreachable);
  EXPECT_THAT(result.message, HasSubstr("said nothing through `sleep` within 0.5s"));
  // Under ssh it is nobody's child here: the signal is on its way to it, and nobody waits for it.
  for (int i = 0; i < 1000 && IsRunning("sleep", "98765.25"); ++i) usleep(10'000);
  EXPECT_FALSE(IsRunning("sleep", "98765.25"));
}

// Each costs a process.
TEST_P(ThroughTest, NoMoreThanSixtyFourProgramsRunAtOnce) {
  limits_.retry = milliseconds(0);
  limits_.connect = milliseconds(1500);
  limits_.first_byte = milliseconds(500);
  const std::string begun = folder_.path() + "/begun";
  std::filesystem::create_directory(begun);
  WorkerAccess worker = Worker();
  // Notes how many of its kind live, and says nothing to the end.
  worker.through = {"sh", "-c",
                    "cd " + begun +
                        "; : > $$; n=0; for p in *; do read -r is < /proc/$p/stat; case $is in "
                        "'' | *') Z '*) ;; *) n=$((n+1));; esac; is=; done 2> /dev/null; echo $n > "
                        "$$; exec sleep 98767.25"};
  std::vector<WorkerAccess> workers;
  for (int i = 0; i < 100; ++i) {
    workers.push_back(worker);
    workers.back().index = i;
  }
  for (const auto& result : Run(workers)) EXPECT_EQ(result.outcome, ssh::Outcome::kUnreachable);
  int most = 0;
  for (const auto& entry : std::filesystem::directory_iterator(begun)) {
    most = std::max(most, std::atoi(ReadAll(entry.path().string()).c_str()));
  }
  EXPECT_GT(most, 1);
  EXPECT_LE(most, 64);
}

TEST_P(ThroughTest, AProgramThatTalksWithoutEndHoldsNothingUp) {
  WorkerAccess worker = Worker();
  // A tunnel that warns of a megabyte before it carries anything.
  std::string script = "head -c 1000000 /dev/zero | tr '\\0' 'w' >&2; echo >&2; exec";
  for (const std::string& word : worker.through) script += " '" + word + "'";
  worker.through = {"sh", "-c", script};
  const auto result = Run({worker}).at(0);
  EXPECT_TRUE(result.ok()) << result.message;
}

TEST_P(ThroughTest, WhereThereIsNoWaySaysWhy) {
  WorkerAccess worker = Worker();
  worker.no_route = "nobody knows its name";
  const auto result = Run({worker}).at(0);
  EXPECT_EQ(result.outcome, ssh::Outcome::kUnreachable);
  EXPECT_THAT(result.message, HasSubstr("nobody knows its name"));
  EXPECT_EQ(result.attempts, 1);
}

INSTANTIATE_TEST_SUITE_P(Own, ThroughTest, ::testing::Values(&Make<OwnFanOut>));
INSTANTIATE_TEST_SUITE_P(OpenSsh, ThroughTest, ::testing::Values(&Make<OwnOpenSsh>));

class ThroughOneSession : public ThroughTest {};

TEST_P(ThroughOneSession, ASingleSessionGoesThroughToo) {
  const FixedEnvironment environment{{}};
  RealFileSystem files;
  RealClock clock;
  RealRandom random;
  ssh::Keyring keyring(environment, files);
  const WorkerAccess worker = Worker();
  const auto identities = keyring.For(worker.identity_file);
  ASSERT_TRUE(identities);
  ssh::Verdict why;
  const auto session = ssh::Dial(worker, *identities, limits_, clock, random, {}, {}, why);
  EXPECT_NE(session, nullptr) << FullWords(why.cause);
}

INSTANTIATE_TEST_SUITE_P(Own, ThroughOneSession, ::testing::Values(&Make<OwnFanOut>));

TEST(RouteTest, KnowsWhatAnotherTryWillNotMend) {
  EXPECT_TRUE(ssh::WillNotPass("Host key verification failed."));
  EXPECT_TRUE(ssh::WillNotPass("alice@bastion: Permission denied (publickey)."));
  EXPECT_TRUE(ssh::WillNotPass(
      "ERROR: (gcloud.compute.start-iap-tunnel) Error while connecting [4033: 'not authorized']."));
  // What a machine that boots says.
  EXPECT_FALSE(ssh::WillNotPass(
      "ERROR: (gcloud.compute.start-iap-tunnel) Error while connecting [4003: 'failed to connect "
      "to backend']. (Failed to connect to port 22)"));
  EXPECT_FALSE(ssh::WillNotPass(
      "channel 0: open failed: connect failed: Connection refused; stdio forwarding failed"));
}

}  // namespace
}  // namespace podctl::testing
