// What is said to the program ssh, and what is made of what it says. That it does what is wanted is
// in openssh_transport_test and rough_network_test.
#include "providers/ssh/openssh/ssh_program.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "providers/ssh/keys/known_hosts.h"
#include "providers/ssh/openssh/ssh_log.h"
#include "providers/ssh/transport.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/golden.h"
#include "tests/support/ssh_server.h"

namespace podctl::ssh {
namespace {

const std::string kKey =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";
const std::string kOther =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB8eHRwbGhkYFxYVFBMSERAPDg0MCwoJCAcGBQQDAgEA";

WorkerAccess Worker() {
  WorkerAccess worker;
  worker.pod = "research";
  worker.index = 3;
  worker.host = "10.0.0.7";
  worker.port = 2222;
  worker.user = "alice";
  return worker;
}

bool Has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

TEST(SshProgramTest, InsistsOnWhatMustBeAndLeavesTheRestToTheUsersConfiguration) {
  testing::ExpectGolden("ssh/configuration.txt", SshConfiguration("/home/alice"));
  EXPECT_TRUE(SshConfiguration("/home/alice").starts_with(SshConfiguration("")));
}

TEST(SshProgramTest, AcceptsOnlyThePinnedKeys) {
  const auto folder = SshFolder::Make("", "/home/alice", "ssh");
  ASSERT_TRUE(folder) << folder.error().message;
  WorkerAccess worker = Worker();
  worker.host_keys = {kKey};
  worker.revoked_keys = {kOther};
  const auto words = (*folder)->Arguments(worker, 1, 41);
  ASSERT_TRUE(words);
  const std::string hosts = (*folder)->SocketPath(1) + ".hosts";
  EXPECT_TRUE(Has(*words, "StrictHostKeyChecking=yes"));
  EXPECT_TRUE(Has(*words, "UserKnownHostsFile=" + hosts));
  EXPECT_TRUE(Has(*words, "GlobalKnownHostsFile=/dev/null"));
  EXPECT_TRUE(Has(*words, "Port=2222"));
  EXPECT_EQ(words->at(words->size() - 2), "--") << "a host is never taken for an option";
  EXPECT_EQ(testing::ReadAll(hosts), "podctl-worker-3 " + kKey + "\n@revoked * " + kOther + "\n");
  struct stat info {};
  ASSERT_EQ(stat(hosts.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  EXPECT_FALSE((*folder)->TakeLearnedKey(1)) << "what was known before is not learned";
  EXPECT_FALSE(std::filesystem::exists(hosts));
}

TEST(SshProgramTest, TrustsOnFirstUseOnlyWhereThatIsAllowed) {
  const auto folder = SshFolder::Make("", "/home/alice", "ssh");
  ASSERT_TRUE(folder);
  WorkerAccess worker = Worker();
  EXPECT_TRUE(Has(*(*folder)->Arguments(worker, 1, 41), "StrictHostKeyChecking=accept-new"));
  worker.distrust = "the API did not tell it";
  EXPECT_TRUE(Has(*(*folder)->Arguments(worker, 1, 41), "StrictHostKeyChecking=yes"));
  worker.distrust.clear();
  worker.trust_first_use = false;
  EXPECT_TRUE(Has(*(*folder)->Arguments(worker, 2, 41), "StrictHostKeyChecking=yes"));
  const std::string hosts = (*folder)->SocketPath(1) + ".hosts";
  testing::WriteAll(hosts, "[10.0.0.7]:2222 " + kKey + "\n");  // as ssh does
  EXPECT_EQ((*folder)->TakeLearnedKey(1), kKey);
}

TEST(SshProgramTest, AShellIsTheUsersOwnWithThePinnedKey) {
  testing::ExpectGolden("ssh/shell_configuration.txt",
                        SshConfiguration("/home/alice", SshUse::kShell));
  const auto folder = SshFolder::Make("", "/home/alice", "ssh");
  ASSERT_TRUE(folder);
  WorkerAccess worker = Worker();
  worker.host_keys = {kKey};
  const auto words = *(*folder)->ShellArguments(worker, 1, true, "echo 'a b'");
  EXPECT_TRUE(Has(words, "-tt"));
  EXPECT_FALSE(Has(words, "-N"));
  EXPECT_TRUE(Has(words, "StrictHostKeyChecking=yes"));
  EXPECT_TRUE(Has(words, "HostKeyAlias=podctl-worker-3"));
  EXPECT_EQ(words.at(words.size() - 3), "--");
  EXPECT_EQ(words.back(), "echo 'a b'");
  EXPECT_TRUE(Has(*(*folder)->ShellArguments(worker, 1, false, ""), "-T"));
}

TEST(SshProgramTest, AProgramThatLeadsThereIsTheProxyCommand) {
  const auto folder = SshFolder::Make("", "/home/alice", "ssh");
  ASSERT_TRUE(folder);
  WorkerAccess worker = Worker();
  worker.through = {"ssh", "-W", "10.0.0.7:2222", "a b", "100%"};
  const std::string command = "ProxyCommand=ssh -W 10.0.0.7:2222 'a b' 100%%";
  const std::string complaints = (*folder)->SocketPath(1) + ".route";
  EXPECT_TRUE(Has(*(*folder)->Arguments(worker, 1, 41), command + " 2>" + complaints));
  EXPECT_TRUE(Has(*(*folder)->ShellArguments(worker, 1, true, ""), command));
  testing::WriteAll(complaints, "Permission denied");
  EXPECT_EQ((*folder)->TakeRouteLog(1), "Permission denied");
  EXPECT_FALSE(std::filesystem::exists(complaints));
}

TEST(SshProgramTest, LeavesNoFolderBehind) {
  const testing::TempFolder runtime;
  std::string made;
  {
    const auto folder = SshFolder::Make(runtime.path(), "", "ssh");
    ASSERT_TRUE(folder);
    made = std::filesystem::path((*folder)->SocketPath(1)).parent_path();
    EXPECT_TRUE(made.starts_with(runtime.path() + "/podctl-ssh-"));
    struct stat info {};
    ASSERT_EQ(stat(made.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700U);
  }
  EXPECT_FALSE(std::filesystem::exists(made));
  const auto elsewhere = SshFolder::Make("/" + std::string(100, 'x'), "", "ssh");
  ASSERT_TRUE(elsewhere);
  EXPECT_TRUE((*elsewhere)->SocketPath(1).starts_with("/tmp/podctl-ssh-"))
      << "a socket's name is short";
}

Verdict Judged(const std::string& text, const WorkerAccess& worker = Worker()) {
  SshLog log;
  for (std::size_t at = 0; at < text.size(); at += 7) log.Add(std::string_view(text).substr(at, 7));
  log.Finish();
  return log.Judge(worker);
}

TEST(SshLogTest, FollowsTheStages) {
  SshLog log;
  EXPECT_EQ(log.stage(), Stage::kConnecting);
  log.Add("debug1: Connection establ");
  EXPECT_EQ(log.stage(), Stage::kConnecting) << "half a line";
  log.Add("ished.\r\n");
  EXPECT_EQ(log.stage(), Stage::kGreeting);
  log.Add("debug1: Remote protocol version 2.0, remote software version x\r\n");
  EXPECT_EQ(log.stage(), Stage::kHandshaking);
  log.Add("debug1: SSH2_MSG_NEWKEYS received\r\n");
  EXPECT_EQ(log.stage(), Stage::kAuthenticating);
}

TEST(SshLogTest, SaysWhyThereIsNoConnection) {
  const auto verdict = Judged(
      "debug1: Connecting to 10.0.0.7\nssh: connect to host 10.0.0.7 port 2222: Connection "
      "refused\n");
  EXPECT_EQ(verdict.outcome, Outcome::kUnreachable);
  EXPECT_EQ(FullWords(verdict.cause), "cannot connect to 10.0.0.7:2222: Connection refused");
  EXPECT_TRUE(verdict.may_pass);
}

TEST(SshLogTest, NamesTheKeysThatWereRefused) {
  const auto verdict = Judged(
      "debug1: Offering public key: /k/a ED25519 SHA256:x explicit\n"
      "debug1: Offering public key: alice's card RSA SHA256:y agent\n"
      "alice@10.0.0.7: Permission denied (publickey).\n");
  EXPECT_EQ(verdict.outcome, Outcome::kAuthRefused);
  EXPECT_EQ(FullWords(verdict.cause),
            "10.0.0.7:2222 accepts none of our keys for the user `alice` (offered: /k/a ED25519, "
            "alice's card RSA)");
}

TEST(SshLogTest, TheComplaintsOfAProxyAreNotAboutTheWorker) {
  WorkerAccess worker = Worker();
  worker.host_keys = {kKey};
  worker.through = {"ssh", "-W", "10.0.0.7:2222", "bastion"};
  const std::string begin = "debug1: Executing proxy command: exec ssh -W 10.0.0.7:2222 bastion\n";
  const std::string end =
      "kex_exchange_identification: Connection closed by remote host\n"
      "Connection closed by UNKNOWN port 65535\n";
  const auto changed = Judged(begin +
                                  "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n"
                                  "Host key verification failed.\n" +
                                  end,
                              worker);
  EXPECT_EQ(changed.outcome, Outcome::kUnreachable);
  EXPECT_EQ(FullWords(changed.cause),
            "cannot connect to 10.0.0.7:2222 through the jump host bastion: Host key verification "
            "failed.");
  EXPECT_FALSE(changed.may_pass);
  const auto refused = Judged(begin + "bastion: Permission denied (publickey).\n" + end, worker);
  EXPECT_EQ(refused.outcome, Outcome::kUnreachable);
  EXPECT_FALSE(refused.may_pass);
  const auto booting = Judged(begin +
                                  "channel 0: open failed: connect failed: Connection refused\n"
                                  "stdio forwarding failed\n" +
                                  end,
                              worker);
  EXPECT_TRUE(booting.may_pass);
  EXPECT_EQ(FullWords(booting.cause),
            "cannot connect to 10.0.0.7:2222 through the jump host bastion: channel 0: open "
            "failed: connect failed: Connection refused; stdio forwarding failed");
}

TEST(SshLogTest, AChangedKeyIsNeverTriedAgain) {
  WorkerAccess worker = Worker();
  worker.host_keys = {kKey};
  const auto verdict = Judged(
      "debug1: Server host key: ssh-ed25519 SHA256:shown\n"
      "@@@@@@@@@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n"
      "Host key verification failed.\n",
      worker);
  EXPECT_EQ(verdict.outcome, Outcome::kHostKeyChanged);
  EXPECT_NE(FullWords(verdict.cause).find("it shows ssh-ed25519 SHA256:shown"), std::string::npos);
  EXPECT_FALSE(verdict.may_pass);
}

TEST(SshLogTest, SaysSomethingWhateverSshSays) {
  EXPECT_NE(FullWords(Judged("").cause).find("gives no reason"), std::string::npos);
  const std::string odd = FullWords(Judged("\x1b[31mboo\n" + std::string(100'000, 'x')).cause);
  EXPECT_EQ(odd.find('\x1b'), std::string::npos);
  EXPECT_LT(odd.size(), 5'000U);
}

// Remembers for which workers it was asked.
class FakeSsh final : public Transport {
 public:
  std::vector<WorkerResult> Run(const std::vector<Job>& jobs, const Limits&, Observer&,
                                std::stop_token) override {
    for (const Job& job : jobs) workers.push_back(job.worker);
    return std::vector<WorkerResult>(jobs.size());
  }
  std::vector<WorkerAccess> workers;
};

class Deaf final : public Observer {
 public:
  void OnLine(std::size_t, Stream, std::string_view) override {}
  void OnPhase(std::size_t, Phase) override {}
};

TEST(TransportSelectorTest, TakesTheTransportThatTheWorkersAskFor) {
  const FixedEnvironment environment{{{"HOME", "/home/alice"}}};
  testing::FakeFileSystem files;
  ASSERT_TRUE(files.MakeFolders("/home/alice/.ssh"));
  ASSERT_TRUE(files.WriteNew("/home/alice/.ssh/known_hosts",
                             "[10.0.0.8]:2222 " + kKey + "\n@cert-authority * " + kOther + "\n",
                             0600));
  KnownHostsFiles known(environment, files);
  FakeSsh own;
  FakeSsh openssh;
  TransportSelector selector(own, openssh,
                             [&known](WorkerAccess& worker) { known.Consult(worker); });
  Deaf observer;
  Job job{Worker(), "true", nullptr};
  selector.Run({job}, Limits(), observer, {});
  ASSERT_EQ(own.workers.size(), 1U);
  EXPECT_NE(own.workers[0].distrust, "");
  job.worker.host = "10.0.0.8";
  selector.Run({job}, Limits(), observer, {});
  EXPECT_EQ(own.workers.back().host_keys, std::vector<HostKeyText>{kKey});
  job.worker.host = "10.0.0.7";
  job.worker.use_openssh = true;
  selector.Run({job}, Limits(), observer, {});
  EXPECT_EQ(own.workers.size(), 2U);
  ASSERT_EQ(openssh.workers.size(), 1U);
  EXPECT_EQ(openssh.workers[0].distrust, "") << "ssh can check a certificate";
  // What came from elsewhere, such as an API that did not tell the keys, stays.
  job.worker.distrust = "the API did not tell it";
  selector.Run({job}, Limits(), observer, {});
  EXPECT_EQ(openssh.workers.back().distrust, "the API did not tell it");
  EXPECT_TRUE(selector.Run({}, Limits(), observer, {}).empty());
}

}  // namespace
}  // namespace podctl::ssh
