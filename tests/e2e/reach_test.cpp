// Workers that are not simply there: behind a jump host, behind Google's Identity-Aware Proxy (a
// stand-in for gcloud that bridges to the emulator's workers), by the program ssh, by OS Login.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"
#include "tests/support/ssh_server.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// What `gcloud compute start-iap-tunnel VM PORT --listen-on-stdin` does, for the emulator's VMs. A
// file `refuse` beside it makes it say what gcloud says to who may not.
constexpr const char* kGcloud = R"(#!/bin/bash
here=$(dirname "$0")
echo "$*" >> "$here/calls"
if [ -e "$here/refuse" ]; then
  echo "ERROR: (gcloud.compute.start-iap-tunnel) Error while connecting [4033: 'not authorized']." >&2
  exit 1
fi
server=${PODCTL_ENDPOINT#http://}
ask() {
  exec 3<>"/dev/tcp/${server%:*}/${server#*:}"
  printf '%s %s HTTP/1.0\r\nHost: %s\r\n\r\n' "$1" "$2" "$server" >&3
  cat <&3
  exec 3>&-
}
for node in $(ask GET /v2/projects/my-project/locations/-/nodes | grep -o '"name": *"projects/[^"]*' | sed 's/.*"//'); do
  number=$(ask POST "/v2/$node:getGuestAttributes" | grep -o '"value": *"t1v-[^"]*' | sed 's/.*"//' | grep -nx "$3" | cut -d: -f1)
  [ -n "$number" ] || continue
  address=$(ask GET "/v2/$node" | grep -o '"ipAddress": *"[^"]*' | sed 's/.*"//' | sed -n "${number}p")
  exec 4<>"/dev/tcp/$address/$4" 5<&0
  cat <&5 >&4 &
  exec cat <&4
done
echo "ERROR: (gcloud.compute.start-iap-tunnel) The resource $3 was not found" >&2
exit 1
)";

class ReachTest : public ::testing::Test {
 protected:
  void SetUp() override {
    box_.StartEmulator("light");
    Program("gcloud", kGcloud);
    box_.SetVariable("PATH", box_.Path("bin") + ":" + std::getenv("PATH"));
  }
  void Program(const std::string& name, const std::string& text) {
    box_.WriteFile("bin/" + name, text);
    std::filesystem::permissions(box_.Path("bin/" + name), std::filesystem::perms::owner_all);
  }
  void Spec(const std::string& ssh, const std::string& more = "") {
    box_.WriteSpec(
        "  research:\n    acceleratorType: v3-32\n    runtimeVersion: tpu-vm-tf-2.11.0-pod\n    "
        "ssh: " +
        ssh + "\n" + more);
  }
  std::string Calls() { return box_.ReadFile("bin/calls"); }
  // Everything that goes over SSH does so.
  void ExpectAllCommandsGoThrough() {
    const RunResult all = box_.Run({"exec", "research", "--", "echo here"});
    EXPECT_EQ(all.code, 0) << all;
    EXPECT_EQ(CountLines(all.out, "research/"), 4) << all;
    const RunResult shell = box_.Run({"ssh", "research", "--worker", "2", "--", "echo $0; exit 7"});
    EXPECT_EQ(shell.code, 7) << shell;
    box_.WriteFile("note", "hello\n");
    const RunResult copy = box_.Run({"cp", "note", "research/1:/tmp/podctl-reach-note"});
    EXPECT_EQ(copy.code, 0) << copy;
    const RunResult read = box_.Run(
        {"exec", "research/1", "--", "cat /tmp/podctl-reach-note; rm /tmp/podctl-reach-note"});
    EXPECT_THAT(read.out, HasSubstr("hello")) << read;
    ExpectATunnel();
  }
  // The worker shares this machine's network, so this test can be at the other end.
  void ExpectATunnel() {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(::listen(listener, 1), 0);
    ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
    const std::string port = std::to_string(ntohs(address.sin_port));
    std::thread server([listener] {
      const int guest = ::accept(listener, nullptr, nullptr);
      ::send(guest, "hello\n", 6, MSG_NOSIGNAL);
      ::close(guest);
    });
    auto tunnel = box_.Start({"tunnel", "research", "0:" + port});
    EXPECT_TRUE(tunnel->WaitForOut(" port " + port)) << tunnel->err();
    const std::string out = tunnel->out();
    const std::string url = out.substr(0, out.find(' '));
    const RunResult got =
        box_.RunProgram({"bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/${0##*:}; cat <&3", url});
    EXPECT_EQ(got.out, "hello\n") << got;
    ::shutdown(listener, SHUT_RDWR);  // where nobody came
    server.join();
    ::close(listener);
    tunnel->Signal(SIGINT);
    EXPECT_EQ(tunnel->Wait(), 0) << tunnel->err();
  }

  Sandbox box_;
};

TEST_F(ReachTest, EveryCommandGoesThroughIap) {
  Spec("{iap: true}", "    bootstrap: [{name: hello, run: echo hi}]\n");
  box_.Apply();
  EXPECT_THAT(Calls(), HasSubstr("compute start-iap-tunnel t1v-n-"));
  EXPECT_THAT(Calls(), HasSubstr(" --listen-on-stdin --project=my-project --zone=europe-west4-a "
                                 "--verbosity=warning\n"));
  ExpectAllCommandsGoThrough();
  Spec("{iap: true, transport: openssh}", "    bootstrap: [{name: hello, run: echo hi}]\n");
  box_.Apply();
  ExpectAllCommandsGoThrough();
}

TEST_F(ReachTest, WhoMayNotUseIapIsToldAtOnce) {
  Spec("{iap: true}");
  box_.Apply();
  box_.WriteFile("bin/refuse", "");
  for (const char* ssh : {"{iap: true}", "{iap: true, transport: openssh}"}) {
    Spec(ssh);
    box_.Apply();
    const int before = CountLines(Calls(), "compute start-iap-tunnel");
    const RunResult run = box_.Run({"exec", "research/0", "--", "true"});
    EXPECT_EQ(run.code, 1) << run;
    EXPECT_EQ(CountLines(Calls(), "compute start-iap-tunnel"), before + 1) << Calls();
    EXPECT_THAT(run.err, AllOf(HasSubstr("through `gcloud`"), HasSubstr("not authorized"),
                               Not(HasSubstr("tried"))))
        << run;
  }
}

TEST_F(ReachTest, IapFindsTheWorkersOfEverySlice) {
  box_.WriteSpec(
      "  research:\n    zone: us-central2-b\n    acceleratorType: v4-16\n    runtimeVersion: "
      "tpu-ubuntu2204-base\n"
      "    queuedResource: {}\n    slices: 2\n    ssh: {iap: true}\n"
      "    bootstrap: [{name: hello, run: echo hi, workers: ['1/1']}]\n");
  const RunResult apply = box_.Apply();
  EXPECT_THAT(apply.out + apply.err, HasSubstr("research[1]/1"));
  const RunResult run = box_.Run({"exec", "research", "--worker", "1/0", "--", "hostname"});
  EXPECT_EQ(run.code, 0) << run;
  const Value record = Remembered(box_.State(), "pod.research");
  EXPECT_EQ(run.out, "research[1]/0 | " + record["vm_names"]["2"].AsString() + "\n") << run;
  const RunResult bad =
      box_.Run({"exec", "research", "--", "case $(hostname) in *-w-1) exit 3;; esac"});
  EXPECT_THAT(bad.err, HasSubstr("2 workers ([0-1]/1): exit code 3")) << bad;
}

class JumpTest : public ReachTest {
 protected:
  void SetUp() override {
    ReachTest::SetUp();
    UseJumpKey(jump_.HostKey());
    // As ~/.ssh/config would say it, which ssh reads in the home of the password file.
    Program("ssh", "#!/bin/sh\nexec /usr/bin/ssh -F " + box_.Path("ssh_config") + " \"$@\"\n");
  }
  void UseJumpKey(const std::string& key) {
    box_.WriteFile("jump_hosts", "[127.0.0.1]:" + std::to_string(jump_.port()) + " " + key + "\n");
    box_.WriteFile("ssh_config", "UserKnownHostsFile " + box_.Path("jump_hosts") +
                                     "\nGlobalKnownHostsFile /dev/null\nIdentitiesOnly yes\n"
                                     "IdentityFile " +
                                     jump_.client_key() + "\n");
  }
  std::string Through(const std::string& more = "") {
    return "{proxyJump: '" + jump_.Access().user + "@127.0.0.1:" + std::to_string(jump_.port()) +
           "'" + more + "}";
  }

  SshServer jump_;
};

TEST_F(JumpTest, EveryCommandGoesThroughTheJumpHost) {
  Spec(Through());
  box_.Apply();
  EXPECT_THAT(jump_.Log(), HasSubstr("Accepted publickey"));
  ExpectAllCommandsGoThrough();
  Spec(Through(", transport: openssh"));
  box_.Apply();
  ExpectAllCommandsGoThrough();
  UseJumpKey(jump_.HostKey().substr(0, 30) + "AAAAA" + jump_.HostKey().substr(35));
  const RunResult run = box_.Run({"exec", "research/0", "--", "true"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err,
              AllOf(HasSubstr("through the jump host"), HasSubstr("Host key verification failed")))
      << run;
}

TEST_F(ReachTest, TheProgramSshServesShellsAndTunnels) {
  Spec("{transport: openssh}");
  box_.Apply();
  ExpectAllCommandsGoThrough();
  auto shell = box_.RunInPty({"ssh", "research"});
  shell->SendKeys("echo sum $((20+22)); exit 5\n");
  EXPECT_TRUE(shell->WaitForText("sum 42"));
  EXPECT_EQ(shell->Wait(), 5);
}

TEST_F(ReachTest, TheProgramSshAcceptsOnlyThePinnedKey) {
  Spec("{transport: openssh}");
  box_.Apply();
  box_.Http("POST", "/emulator/workers",
            R"({"node": "projects/my-project/locations/europe-west4-a/nodes/research", "worker": 0,
                "action": "new-host-keys"})");
  ASSERT_TRUE(Eventually([&] {
    const RunResult run = box_.Run({"ssh", "research", "--", "true"});
    return run.code == 255 && run.err.find("Host key verification failed") != std::string::npos;
  }));
}

class OsLoginTest : public ReachTest {
 protected:
  void SetUp() override {
    ReachTest::SetUp();
    box_.SetVariable("CLOUDSDK_CORE_ACCOUNT", "alice.b@example.com");
  }
  void ExpectEntered(const std::string& user) {
    const RunResult run = box_.Run({"exec", "research/0", "--", "echo $USER"});
    EXPECT_EQ(run.out, "research/0 | " + user + "\n") << run;
  }
};

// What lets podctl in is made and published when the plan is approved, not before.
TEST_F(ReachTest, NoKeyIsMadeForAPlanThatIsNotApproved) {
  Spec("{}");
  const std::string key = "home/.ssh/podctl_ed25519";
  const RunResult asked = box_.Run({"apply"});  // without a terminal nobody can be asked
  EXPECT_EQ(asked.code, 1) << asked;
  EXPECT_THAT(asked.err, HasSubstr("--auto-approve"));
  EXPECT_FALSE(std::filesystem::exists(box_.Path(key)));
  box_.Apply();
  EXPECT_TRUE(std::filesystem::exists(box_.Path(key)));
  EXPECT_EQ(box_.Run({"exec", "research", "--", "true"}).code, 0);
}

TEST_F(OsLoginTest, NoKeyIsPublishedForAPlanThatIsNotApproved) {
  box_.Http("POST", "/emulator/projectMetadata", R"({"enable-oslogin": "TRUE"})");
  Spec("{}");
  EXPECT_EQ(box_.Run({"apply"}).code, 1);
  EXPECT_EQ(box_.Calls("oslogin.users.importSshPublicKey"), 0);
}

TEST_F(OsLoginTest, AProjectsSwitchIsSeenAndItsUserNameIsUsed) {
  box_.Http("POST", "/emulator/projectMetadata", R"({"enable-oslogin": "TRUE"})");
  Spec("{}", "    bootstrap: [{name: hello, run: echo hi}]\n");
  const RunResult plan = box_.Run({"plan"});
  EXPECT_THAT(plan.out, Not(HasSubstr("ssh-keys"))) << plan;
  EXPECT_EQ(box_.Calls("oslogin.users.importSshPublicKey"), 0) << "a plan changes nothing";
  box_.Apply();
  EXPECT_EQ(box_.Calls("oslogin.users.importSshPublicKey"), 1);
  EXPECT_EQ(box_.GetNode("research").body["metadata"].Find("ssh-keys"), nullptr);
  ExpectEntered("alice_b_example_com");
  EXPECT_EQ(box_.Calls("oslogin.users.importSshPublicKey"), 1) << "the key is there already";
  // Somebody else comes, with the same state.
  box_.SetVariable("CLOUDSDK_CORE_ACCOUNT", "bob@example.com");
  ExpectEntered("bob_example_com");
  EXPECT_EQ(box_.Run({"plan", "--detailed-exitcode"}).code, 0);
}

TEST_F(OsLoginTest, WhereItIsTurnedOnLaterTheNextApplyLearnsTheName) {
  Spec("{}");
  box_.Apply();
  box_.Http("POST", "/emulator/projectMetadata", R"({"enable-oslogin": "TRUE"})");
  EXPECT_THAT(box_.Run({"apply", "--auto-approve"}).out, HasSubstr("No changes"));
  EXPECT_EQ(Remembered(box_.State(), "pod.research")["ssh"]["os_login_user"].AsString(),
            "alice_b_example_com");
  ExpectEntered("alice_b_example_com");
}

TEST_F(OsLoginTest, AKeyThatIsToBeWithheldIsPublishedByNobody) {
  box_.Http("POST", "/emulator/projectMetadata", R"({"enable-oslogin": "TRUE"})");
  Spec("{publishKey: false}");
  const RunResult unknown = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(unknown.code, 1) << unknown;
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("OS Login has no user name for alice.b@example.com"),
                                 HasSubstr("gcloud compute os-login ssh-keys add")));
  EXPECT_EQ(box_.Calls("nodes.create"), 0);
  // Alice publishes it herself.
  box_.WriteFile("home/.ssh/config", "");
  const std::string file = box_.Path("home/.ssh/id_ed25519");
  ASSERT_EQ(box_.RunProgram({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file}).code, 0);
  std::string key = box_.ReadFile("home/.ssh/id_ed25519.pub");
  key.resize(key.find('\n'));
  box_.Http("POST", "/v1/users/alice.b@example.com:importSshPublicKey",
            R"({"key": ")" + key + "\"}");
  box_.Apply();
  ExpectEntered("alice_b_example_com");
  EXPECT_EQ(box_.Calls("oslogin.users.importSshPublicKey"), 1) << "her own";
  box_.SetVariable("CLOUDSDK_CORE_ACCOUNT", "bob@example.com");
  const RunResult bob = box_.Run({"exec", "research/0", "--", "true"});
  EXPECT_THAT(bob.err, HasSubstr("OS Login has no user name for bob@example.com")) << bob;
  EXPECT_EQ(box_.Calls("oslogin.users.importSshPublicKey"), 1);
}

// Whoever applies it enters as themselves.
TEST_F(OsLoginTest, APlanThatWasSavedIsAppliedBySomebodyElse) {
  box_.Http("POST", "/emulator/projectMetadata", R"({"enable-oslogin": "TRUE"})");
  Spec("{}", "    bootstrap: [{name: who, workers: [0], run: 'echo I am $USER'}]\n");
  EXPECT_EQ(box_.Run({"plan", "--out", "saved"}).code, 0);
  box_.SetVariable("CLOUDSDK_CORE_ACCOUNT", "bob@example.com");
  const RunResult applied = box_.Run({"apply", "saved"});
  EXPECT_EQ(applied.code, 0) << applied;
  EXPECT_THAT(applied.out + applied.err, HasSubstr("I am bob_example_com"));
}

TEST_F(OsLoginTest, ANodesOwnWordGoesBeforeTheProjects) {
  box_.Http("POST", "/emulator/projectMetadata", R"({"enable-oslogin": "TRUE"})");
  Spec("{}", "    metadata: {enable-oslogin: 'FALSE'}\n");
  box_.Apply();
  EXPECT_NE(box_.GetNode("research").body["metadata"].Find("ssh-keys"), nullptr);
  EXPECT_EQ(box_.Calls("oslogin.users.getLoginProfile"), 0);
  Spec("{}", "    metadata: {enable-oslogin: 'true'}\n");
  box_.Apply();
  ExpectEntered("alice_b_example_com");
}

}  // namespace
}  // namespace podctl::testing
