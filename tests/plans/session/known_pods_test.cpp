// Pods by name: what is asked of whom to reach one, and what is remembered and said of it.
#include "plans/session/known_pods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "plans/session/state_edit.h"
#include "providers/ssh/cause.h"
#include "tests/plans/session/session_harness.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::SessionHarness;
using ::testing::SizeIs;

class KnownPodsTest : public ::testing::Test, protected SessionHarness {
 protected:
  KnownPodsTest() {
    Pods(Harness::Pod("research"));
    Applied();
    cloud.ForgetCalls();
  }
  // As another run left it.
  void Edit(const std::function<void(PodRecord&)>& edit) {
    StateEdit state(Opener()(kStatePath), random);
    ASSERT_TRUE(state.Lock({[] { return LockInfo{}; }, {}}, {}));
    ASSERT_TRUE(state.Load());
    edit(podctl::Pods(state.state())[Addr("pod.research")]);
    ASSERT_TRUE(state.Save());
  }
  KnownPods Known() { return KnownPods(ToPods()); }
  std::string Advice(ssh::Outcome outcome) {
    ssh::WorkerResult result;
    result.outcome = outcome;
    return Known().SilenceAdvice("research", {{}, result});
  }
};

TEST_F(KnownPodsTest, NobodyIsAskedForWhatTheStateHas) {
  const auto chosen = Known().Choose("research/1-2", "");
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->target.address, "pod.research");
  EXPECT_THAT(chosen->target.workers, SizeIs(4));
  ASSERT_THAT(chosen->workers, SizeIs(2));
  EXPECT_EQ(chosen->workers[0].index, 1);
  EXPECT_FALSE(chosen->workers[0].host_keys.empty());
  EXPECT_THAT(cloud.Calls(), IsEmpty());
  EXPECT_THAT(reported, IsEmpty());
}

TEST_F(KnownPodsTest, TheApiIsAskedForHostKeysThatTheStateLacks) {
  Edit([](PodRecord& record) { record.host_keys.clear(); });
  const auto target = Known().Find("research");
  ASSERT_TRUE(target) << target.error().message;
  EXPECT_FALSE(target->workers[3].host_keys.empty());
  EXPECT_THAT(cloud.Calls("attributes"), SizeIs(1));
  provider = MakeError(ErrorCode::kInvalidArgument, "no endpoint");
  EXPECT_EQ(Known().Find("research").error().message, "no endpoint");
  EXPECT_TRUE(Known().Record("research")) << "nobody is asked for it";
}

TEST_F(KnownPodsTest, APodThatIsGoneIsKnownAndNotFound) {
  Edit([](PodRecord& record) { record.observed = Value(); });
  watched_pods = {"research"};
  EXPECT_EQ(Known().Find("research").error().hint,
            "`podctl apply --target pod.research` makes it again.")
      << "a pod that is not spot was deleted by somebody";
  EXPECT_TRUE(Known().Record("pod.research"));
  EXPECT_THAT(Known().Find("research").error().message, HasSubstr("pod `research` is gone"));
  EXPECT_EQ(Known().Find("other").error().code, ErrorCode::kNotFound);
  files.SetFile(kStatePath, "{");
  EXPECT_EQ(Known().Find("research").error().code, ErrorCode::kDataLoss);
}

// A pod that may be taken back at any time is asked about before anybody waits for its workers.
TEST_F(KnownPodsTest, ASpotPodThatWasTakenIsToldAtOnce) {
  const NodeName node{"p", "europe-west4-a", "research"};
  Edit([](PodRecord& record) { record.applied.SetPath("schedulingConfig.spot", true); });
  EXPECT_TRUE(Known().Find("research"));
  EXPECT_THAT(cloud.Calls("get"), SizeIs(1));
  cloud.EditNode(node, [](Value& value) {
    value.Set("state", "PREEMPTED");
    value.Erase("networkEndpoints");
  });
  const auto taken = Known().Find("research/0");
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(taken.error().message, "pod `research` is PREEMPTED: the service took its node back");
  EXPECT_THAT(taken.error().hint, HasSubstr("`podctl apply --target pod.research` makes it anew"));
  watched_pods = {"research"};
  EXPECT_EQ(
      Known().Find("research/0").error().hint,
      "`podctl watch` makes it anew, with its bootstrap; where none is at work, `podctl apply "
      "--target pod.research` does.");
  cloud.RemoveNode(node);
  EXPECT_THAT(Known().Find("research").error().message, HasSubstr("is gone"));
  EXPECT_THAT(Known().Find("research").error().hint, HasSubstr("`podctl watch` makes it again;"));
  cloud.FailNext("get", MakeError(ErrorCode::kUnavailable, "down"));
  EXPECT_TRUE(Known().Find("research")) << "nobody can tell, so it is tried";
}

// One story, whatever the node says by now, and whether the state has seen it.
TEST_F(KnownPodsTest, OfAPodThatWasSuspendedItsQueuedResourceTells) {
  const NodeName node{"p", "europe-west4-a", "research"};
  Edit([](PodRecord& record) {
    record.queued = QueuedRecord{"lab", Value::EmptyMap(), 1, "ACTIVE"};
    record.queued->terms.Set("spot", true);
    record.auxiliary = {{"lab", "", Present{}}};
  });
  const QueuedName lab{"p", "europe-west4-a", "lab"};
  cloud.queue.Put(lab, "SUSPENDED");
  const std::string message = "pod `research` has no workers: its queued resource lab is SUSPENDED";
  for (const char* state : {"DELETING", "PREEMPTED"}) {
    cloud.EditNode(node, [&](Value& value) { value.Set("state", state); });
    EXPECT_EQ(Known().Find("research").error().message, message) << state;
  }
  cloud.RemoveNode(node);
  EXPECT_EQ(Known().Find("research").error().message, message);
  EXPECT_THAT(Advice(ssh::Outcome::kUnreachable),
              HasSubstr("its queued resource lab is SUSPENDED. `podctl apply --target "
                        "pod.research` asks for it anew."));
  watched_pods = {"research"};
  EXPECT_THAT(Advice(ssh::Outcome::kUnreachable), HasSubstr("`podctl watch` asks for it anew;"));
  Edit([](PodRecord& record) {
    record.observed = Value();
    record.goal = Recovering{"SUSPENDED", "2026-11-20T15:00:00Z"};
  });
  EXPECT_EQ(Known().Find("research").error().message,
            "pod `research` has no workers: its queued resource lab is SUSPENDED, as was found at "
            "2026-11-20T15:00:00Z");
}

// The port is the right one then, and no setting is to be looked for.
TEST_F(KnownPodsTest, OneThatIsSilentAmongOthersThatAnswerIsDown) {
  ssh::WorkerResult silent;
  silent.End(ssh::Outcome::kUnreachable,
             ssh::CauseAt({}, ssh::Cause::Code::kNotConnected, "Connection refused"));
  silent.cause.error = ECONNREFUSED;
  ssh::WorkerResult well;
  well.outcome = ssh::Outcome::kExited;
  EXPECT_EQ(Known().SilenceAdvice("research", {well, silent}),
            "The others answer on that port, so its machine or its sshd is down, or not up yet. "
            "`podctl doctor research` says what to do.");
  EXPECT_THAT(Known().SilenceAdvice("research", {silent, silent}), HasSubstr("PODCTL_SSH_PORT"));
}

TEST_F(KnownPodsTest, ThatAPodWasTakenExplainsItsSilence) {
  EXPECT_EQ(Advice(ssh::Outcome::kUnreachable), "");
  cloud.EditNode({"p", "europe-west4-a", "research"},
                 [](Value& node) { node.Set("state", "PREEMPTED"); });
  EXPECT_TRUE(Known().Find("research")) << "nobody is asked of a pod that is not spot";
  for (const auto outcome : {ssh::Outcome::kUnreachable, ssh::Outcome::kLost}) {
    EXPECT_EQ(Advice(outcome),
              "Pod `research` is PREEMPTED: the service took its node back. `podctl apply --target "
              "pod.research` makes it anew, with its bootstrap.");
  }
}

TEST_F(KnownPodsTest, AnotherNodeOfTheNameAndAStoppedOneExplainSilence) {
  const NodeName node{"p", "europe-west4-a", "research"};
  cloud.EditNode(node, [](Value& value) { value.Set("state", "STOPPED"); });
  EXPECT_EQ(Advice(ssh::Outcome::kUnreachable),
            "Pod `research` is STOPPED. With `desiredState: READY` in the spec, `podctl apply "
            "--target pod.research` starts it.");
  cloud.EditNode(node, [](Value& value) {
    value.Set("state", "READY");
    value.Set("id", "4711");
  });
  for (const auto outcome : {ssh::Outcome::kUnreachable, ssh::Outcome::kHostKeyChanged}) {
    EXPECT_EQ(Advice(outcome),
              "Pod `research` is gone: `research` is another node by now, made outside of podctl. "
              "`podctl plan` shows what is to be done about it.");
  }
}

// Else a port is named as the cause, which nobody can do anything about.
TEST_F(KnownPodsTest, ATroubleOfTheNodeExplainsSilence) {
  const NodeName node{"p", "europe-west4-a", "research"};
  cloud.EditNode(node, [](Value& value) { value.Set("state", "REPAIRING"); });
  EXPECT_EQ(Advice(ssh::Outcome::kUnreachable),
            "Pod `research` is REPAIRING: the service repairs it, and it comes back by itself. "
            "`podctl doctor research` says what to do.");
  cloud.EditNode(node, [](Value& value) {
    value.Set("state", "READY");
    value.Set("health", "UNHEALTHY_MAINTENANCE");
    value.Set("healthDescription", "until noon");
  });
  EXPECT_THAT(Advice(ssh::Outcome::kLost), HasSubstr("after which it comes back by itself (until "
                                                     "noon). "));
  ssh::WorkerResult changed;
  changed.outcome = ssh::Outcome::kHostKeyChanged;
  EXPECT_THAT(Known().SilenceAdvice("research", {changed}), Not(HasSubstr("MAINTENANCE")))
      << "no maintenance gives a machine another key";
}

TEST_F(KnownPodsTest, OfAPodThatIsAskedForTheServiceSaysHowFarItIs) {
  Edit([](PodRecord& record) {
    record.observed = Value();
    record.queued = QueuedRecord{"lab", Value::EmptyMap(), 1, ""};
    record.auxiliary = {{"lab", "", Creating{{"operations/1", "2026-11-20T14:30:00Z", 1}, true}}};
    record.current.life = Absent{};
  });
  cloud.queue.capacity = false;
  cloud.queue.Put({"p", "europe-west4-a", "lab"}, "WAITING_FOR_RESOURCES", "");
  const auto waits = Known().Find("research");
  ASSERT_FALSE(waits);
  EXPECT_EQ(waits.error().message,
            "pod `research` has no workers yet: its queued resource lab is WAITING_FOR_RESOURCES, "
            "since 2026-11-20T14:30:00Z");
  EXPECT_EQ(waits.error().hint, "`podctl apply --target pod.research` waits for it.");
  cloud.FailNext("queue get", MakeError(ErrorCode::kUnavailable, "down"));
  EXPECT_EQ(Known().Find("research").error().message, "pod `research` has no workers yet");
}

TEST_F(KnownPodsTest, WhoRunsPodctlIsWhoOsLoginLetsIn) {
  Edit([](PodRecord& record) { record.ssh.os_login_user = "bob"; });
  EXPECT_EQ(Known().Find("research")->workers[0].user, "a_com");
  EXPECT_THAT(reported, IsEmpty());
  login.user = std::string();
  EXPECT_TRUE(Known().Find("research"));
  login.user = MakeError(ErrorCode::kUnavailable, "down");
  EXPECT_EQ(Known().Find("research")->workers[0].user, "bob");
  EXPECT_THAT(reported, ElementsAre("nobody in p, and the spec says `publishKey: false`.",
                                    "OS Login could not be asked (down); entering as bob."));
}

TEST_F(KnownPodsTest, HostKeysAreRememberedUnlessSomebodyElseIsAtTheState) {
  Known().Remember("pod.research", {});
  Edit([](PodRecord& record) { record.host_keys.clear(); });
  opened.clear();
  Known().Remember("pod.research", {{2, "ssh-ed25519 AAAA"}});
  EXPECT_THAT(podctl::Pods(Stored()).Get(Addr("pod.research"))->host_keys.at(2),
              ElementsAre("ssh-ed25519 AAAA"));
  Lock();
  Known().Remember("pod.research", {{2, "ssh-ed25519 BBBB"}});
  EXPECT_THAT(reported, ElementsAre(HasSubstr("forgotten: ")));
  EXPECT_THAT(opened, SizeIs(2));
}

TEST_F(KnownPodsTest, AdviceIsAboutTheFirstThatHelps) {
  EXPECT_EQ(Advice(ssh::Outcome::kExited), "");
  EXPECT_THAT(Advice(ssh::Outcome::kHostKeyChanged), HasSubstr("podctl apply --refresh-only"));
  EXPECT_THAT(Advice(ssh::Outcome::kAuthRefused), HasSubstr("does not go by them yet"));
  cloud.EditNode({"p", "europe-west4-a", "research"},
                 [](Value& node) { node.SetPath("metadata.ssh-keys", ""); });
  EXPECT_THAT(Advice(ssh::Outcome::kAuthRefused),
              HasSubstr("`podctl apply --target pod.research` publishes it."));
  provider = MakeError(ErrorCode::kInvalidArgument, "no endpoint");
  EXPECT_EQ(Advice(ssh::Outcome::kAuthRefused), "");
}

}  // namespace
}  // namespace podctl
