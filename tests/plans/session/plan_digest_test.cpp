// By which an apply knows the plan that was reviewed.
#include "plans/engine/plan_digest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "plans/session/saved_plan.h"
#include "tests/plans/session/session_harness.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using testing::AllKinds;
using testing::Harness;
using testing::SessionHarness;

class PlanDigest : public ::testing::Test, protected SessionHarness {
 protected:
  std::string Digest() { return DigestOf(Planned(Request())); }
  std::string DigestOfPods(const std::string& pods) {
    Pods(pods);
    return Digest();
  }
  std::string SavedDigest() {
    const PlanRun run = Planned(Request());
    const PlanRequest request = Request();
    const auto saved = SavePlan(run, "/project/x.plan",
                                {request.load, request.state, "https://tpu.example.com/", "0.1"},
                                files, clock, random);
    EXPECT_TRUE(saved.has_value());
    const auto read = ReadPlanFile("/project/x.plan", files, AllKinds());
    EXPECT_TRUE(read.has_value()) << read.error().message;
    return read ? DigestOfPlan(*read) : std::string();
  }
  static std::string WithToken(const std::string& variable) {
    return Harness::Pod("a", "    metadata: {token: {env: " + variable +
                                 ", sensitive: true}}\n    bootstrap: [{name: s, run: \"echo "
                                 "${env.OTHER}\"}]\n");
  }
};

TEST_F(PlanDigest, IsTheSameForTheSamePlanWheneverItIsMade) {
  const std::string first = DigestOfPods(Harness::Pod("a") + Harness::Pod("b"));
  EXPECT_TRUE(IsPlanDigest(first)) << first;
  clock.Advance(std::chrono::hours(30));
  EXPECT_EQ(Digest(), first);
  EXPECT_EQ(SavedDigest(), first);
}

// An apply goes by more than its changes show: by the whole spec.
TEST_F(PlanDigest, AnotherSpecIsAnotherPlanWhateverItChanges) {
  Pods(Harness::Pod("a"));
  Applied();
  const std::string plan = DigestOfPods(Harness::Pod("a") + Harness::Pod("b"));
  for (const char* more :
       {"    lifecycle: {preventDestroy: true}\n", "    ssh: {proxyJump: evil.example.com}\n",
        "    onPreemption: recreate\n"}) {
    EXPECT_NE(DigestOfPods(Harness::Pod("a", more) + Harness::Pod("b")), plan) << more;
  }
}

TEST_F(PlanDigest, AnotherSerialIsNoOtherPlan) {
  Pods(Harness::Pod("a"));
  Applied();
  Pods(Harness::Pod("a") + Harness::Pod("b"));
  const std::string digest = Digest();
  State state = Stored();
  const Plan plan = Planned(Request()).plan;
  const std::string first = DigestOfPlan(plan, state, state.digest_key, {}, {});
  state.serial += 5;
  EXPECT_EQ(DigestOfPlan(plan, state, state.digest_key, {}, {}), first);
  EXPECT_EQ(Digest(), digest);
}

// Of another state, or after `state mv`, the same address stands for another node.
TEST_F(PlanDigest, AnotherNodeOrStateIsAnotherPlan) {
  Pods(Harness::Pod("a"));
  Applied();
  State state = Stored();
  Pods("  {}\n");
  const Plan plan = Planned(Request()).plan;
  ASSERT_FALSE(plan.Empty());
  const auto digest = [&] { return DigestOfPlan(plan, state, state.digest_key, {}, {}); };
  const std::string first = digest();
  PodRecord& record = podctl::Pods(state).at(PodAddress("a"));
  const std::string uid = record.current.uid;
  record.current.uid = "77";
  EXPECT_NE(digest(), first);
  record.current.uid = uid;
  EXPECT_EQ(digest(), first);
  record.current.locator = "other";
  EXPECT_NE(digest(), first);
  record.current.locator = "a";
  state.lineage = "11111111-2222-4333-8444-555555555555";
  EXPECT_NE(digest(), first);
}

TEST_F(PlanDigest, EachDifferenceIsAnother) {
  const std::string more = "    labels: {team: a}\n";
  const auto step = [](const std::string& text) {
    return Harness::Pod("a", "    bootstrap: [{name: s, " + text + "}]\n");
  };
  std::set<std::string> digests;
  std::size_t count = 0;
  for (const std::string& pods :
       {Harness::Pod("a"), Harness::Pod("b"), Harness::Pod("a") + Harness::Pod("b"),
        Harness::Pod("a", more), Harness::Pod("a", "    labels: {team: b}\n"),
        Harness::Pod("a", "    timeouts: {create: 9m}\n"),
        Harness::Pod("a", "    zone: us-central1-a\n"),
        Harness::Pod("a", "    lifecycle: {preventDestroy: true}\n"), step("run: \"echo 1\""),
        step("run: \"echo 2\""), step("run: \"echo 1\", timeout: 1m"),
        step("run: \"echo 1\", env: {A: b}"), step("run: \"echo 1\", workers: [0]")}) {
    digests.insert(DigestOfPods(pods));
    EXPECT_EQ(digests.size(), ++count) << pods;
  }
  PlanRequest destroy = Request();
  destroy.plan.mode = PlanMode::kDestroy;
  digests.insert(DigestOf(Planned(destroy)));
  EXPECT_EQ(digests.size(), ++count);
}

TEST_F(PlanDigest, AReplacementIsAnotherByItsOrder) {
  const auto pod = [](const std::string& version, bool first) {
    return "  a:\n    acceleratorType: v3-8\n    runtimeVersion: " + version +
           "\n    lifecycle: {createBeforeDestroy: " + (first ? "true" : "false") + "}\n";
  };
  Pods(pod("tpu-vm-tf-2.11.0", false));
  Applied();
  EXPECT_NE(DigestOfPods(pod("tpu-vm-tf-2.12.0", false)),
            DigestOfPods(pod("tpu-vm-tf-2.12.0", true)));
}

TEST_F(PlanDigest, OfASensitiveValueAnHmacUnderTheStatesKeyIsCovered) {
  Pods(Harness::Pod("b"));
  Applied();
  const std::string first = DigestOfPods(Harness::Pod("b") + WithToken("TOKEN"));
  EXPECT_EQ(SavedDigest(), first) << "a saved plan has digests in place of the values";
  EXPECT_NE(DigestOfPods(Harness::Pod("b") + WithToken("OTHER")), first);
  // Who has the state's key cannot be told apart by who has not.
  State state = Stored();
  const Plan plan = Planned(Request()).plan;
  EXPECT_NE(DigestOfPlan(plan, state, state.digest_key, {}, {}),
            DigestOfPlan(plan, state, std::string(64, 'f'), {}, {}));
}

// There is no key yet that another run would have, too.
TEST_F(PlanDigest, BeforeThereIsAStateASensitiveValueIsCoveredByItsPresence) {
  const std::string first = DigestOfPods(WithToken("TOKEN"));
  EXPECT_EQ(SavedDigest(), first);
  EXPECT_NE(DigestOfPods(Harness::Pod("a")), first);
}

TEST_F(PlanDigest, WhatIsStartedBehindThePlanIsCovered) {
  const auto job = [](const std::string& words) {
    return Harness::Pod("a") +
           "jobs:\n  train:\n    pod: a\n    launcher: shell\n    command: [echo, " + words +
           "]\n    autostart: true\n";
  };
  EXPECT_NE(DigestOfPods(job("one")), DigestOfPods(job("two")));
}

TEST_F(PlanDigest, WhatHasTheFormOfOneIsKnown) {
  EXPECT_FALSE(IsPlanDigest(""));
  EXPECT_FALSE(IsPlanDigest("sha256:"));
  EXPECT_FALSE(IsPlanDigest("sha256:" + std::string(63, 'a')));
  EXPECT_FALSE(IsPlanDigest("sha256:" + std::string(64, 'A')));
  EXPECT_FALSE(IsPlanDigest(std::string(71, 'a')));
  EXPECT_TRUE(IsPlanDigest("sha256:" + std::string(64, 'a')));
}

}  // namespace
}  // namespace podctl
