#include "plans/kinds/pod/route.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "providers/base/encoding.h"
#include "state/jump_host.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

WorkerAccess Way(const PodRecord& record, const std::string& host = "10.0.0.7",
                 bool has_external = true) {
  WorkerAccess worker;
  worker.index = 2;
  worker.host = host;
  worker.port = 2222;
  ChooseRoute(record, has_external, &worker);
  return worker;
}

TEST(RouteTest, GoesStraightWhereTheSpecSaysNothing) {
  const WorkerAccess worker = Way({});
  EXPECT_THAT(worker.through, IsEmpty());
  EXPECT_EQ(worker.no_route, "");
}

TEST(RouteTest, JumpsAsSshDoes) {
  PodRecord record;
  record.ssh.proxy_jump = "alice@bastion.example:2200";
  EXPECT_THAT(Way(record).through, ElementsAre("ssh", "-W", "10.0.0.7:2222", "-o", "BatchMode=yes",
                                               "-p", "2200", "alice@bastion.example"));
  record.ssh.proxy_jump = "bastion";
  EXPECT_THAT(Way(record, "fd00::7").through,
              ElementsAre("ssh", "-W", "[fd00::7]:2222", "-o", "BatchMode=yes", "bastion"));
}

TEST(RouteTest, TunnelsToTheVmsName) {
  PodRecord record;
  record.project = "p";
  record.zone = "z";
  record.ssh.iap = true;
  record.vm_names[2] = "t1v-n-1-w-2";
  EXPECT_THAT(Way(record).through,
              ElementsAre("gcloud", "compute", "start-iap-tunnel", "t1v-n-1-w-2", "2222",
                          "--listen-on-stdin", "--project=p", "--zone=z", "--verbosity=warning"));
}

// Under `hostKeys: pinned` the first use is trusted only where the API holds no keys.
TEST(RouteTest, AnApiThatFailsIsNoReasonToTrustTheFirstKey) {
  std::vector<WorkerAccess> workers(2);
  workers[0].host_keys = {"ssh-ed25519 AAAA"};
  DistrustUnread(MakeError(ErrorCode::kNotFound, "no such attribute"), &workers);
  EXPECT_EQ(workers[1].distrust, "");
  DistrustUnread(MakeError(ErrorCode::kUnavailable, "503: try again"), &workers);
  EXPECT_EQ(workers[0].distrust, "");
  EXPECT_THAT(workers[1].distrust, HasSubstr("the API did not tell it (503: try again)"));
}

TEST(RouteTest, HasNoWayToAVmWithoutAUsableName) {
  PodRecord record;
  record.ssh.iap = true;
  EXPECT_THAT(Way(record).no_route, HasSubstr("`hostname`"));
  record.vm_names[2] = "--account=x";
  EXPECT_THAT(Way(record).no_route, HasSubstr("`hostname`"));
  EXPECT_THAT(Way(record).through, IsEmpty());
}

TEST(RouteTest, ForcedToTheExternalAddressItWantsOne) {
  PodRecord record;
  record.ssh.external_address = true;
  EXPECT_EQ(Way(record).no_route, "");
  EXPECT_THAT(Way(record, "10.0.0.7", false).no_route, HasSubstr("no external address"));
  record.ssh.iap = true;
  record.vm_names[2] = "t1v-n-1-w-2";
  EXPECT_EQ(Way(record, "10.0.0.7", false).no_route, "") << "IAP needs none";
}

TEST(RouteTest, AsksForAllAttributesOnlyWhereNamesAreNeeded) {
  SshSettings ssh;
  EXPECT_EQ(AttributesQuery(ssh), "hostkeys/");
  ssh.iap = true;
  EXPECT_EQ(AttributesQuery(ssh), "");
  const auto names = VmNamesOf({{{"guestInventory", "hostname", "a"}}, {{"hostkeys", "x", "b"}}});
  EXPECT_EQ(names, (std::map<int, std::string>{{0, "a"}}));
}

// Workers write them, and a known_hosts file that podctl writes is read by ssh.
TEST(RouteTest, AHostKeyIsOneKeyOfItsType) {
  using namespace std::string_literals;
  const std::string blob = Base64Encode("\0\0\0\x0bssh-ed25519\0\0\0\x20"s + std::string(32, 'k'));
  const auto keys = [](const std::string& type, const std::string& value) {
    return HostKeysOf({{{"hostkeys", type, value}}});
  };
  EXPECT_EQ(keys("ssh-ed25519", blob).at(0), std::vector<HostKeyText>{"ssh-ed25519 " + blob});
  EXPECT_EQ(keys("ssh-ed25519", blob + "\n").size(), 1U);
  for (const std::string& odd :
       {blob + "\nworker-1 ssh-ed25519 " + blob, blob + " comment", "AAAA"s, "x"s, ""s,
        Base64Encode("\0\0\0\x07ssh-rsa\0\0\0\x01k"s)}) {
    EXPECT_TRUE(keys("ssh-ed25519", odd).empty()) << odd;
  }
  EXPECT_TRUE(keys("* ssh-ed25519", blob).empty());
  EXPECT_TRUE(keys("ssh-rsa", blob).empty());
  // An older state may hold one.
  PodRecord record;
  record.host_keys[0] = {"ssh-ed25519 " + blob + "\nevil ssh-ed25519 " + blob};
  EXPECT_TRUE(PublishedNode(Value::EmptyMap(), &record)["sshHostKeys"].AsList()[0].is_null());
}

TEST(JumpHostTest, TakesOneHostWithUserAndPort) {
  const auto jump = ParseJumpHost("al.ice@[fd00::1]:22");
  ASSERT_TRUE(jump);
  EXPECT_EQ(jump->target, "al.ice@fd00::1");
  EXPECT_EQ(jump->port, 22);
  for (const char* bad : {"", "-oProxyCommand=x", "a@-b", "a b", "a,b", "@b", "a@", "a:", "a:0",
                          "a:65536", "a:22x", "[::1", "[]", "ssh://a", "a;b", "a@b@c", "fd00::1"}) {
    EXPECT_FALSE(ParseJumpHost(bad)) << bad;
  }
}

}  // namespace
}  // namespace podctl
