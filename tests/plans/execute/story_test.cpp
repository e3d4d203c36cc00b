// Plans carried out, as stories: what reaches the cloud and the workers, and in which order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/record.h"
#include "tests/plans/harness.h"
#include "tests/support/addresses.h"

namespace podctl {
namespace {

using testing::ChangeOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeProvider;
using testing::Harness;
using ::testing::IsEmpty;

class StoryTest : public ::testing::Test {
 protected:
  static std::string Flags(const std::string& value) {
    return Harness::Pod("research",
                        "    libtpuFlags: {xla_jf_conv_full_precision: " + value + "}\n");
  }
  Harness harness_;
};

TEST_F(StoryTest, TheMainJob) {
  harness_.own_keys = {"alice:ssh-ed25519 AAAA alice"};
  harness_.Pods(Flags("true"));
  ExecuteResult result = harness_.Apply();
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.added, 1U);
  EXPECT_THAT(harness_.events.lines, ElementsAre("start pod.research", "done pod.research"));
  EXPECT_EQ(harness_.Node("research")["metadata"]["ssh-keys"].AsString(),
            "alice:ssh-ed25519 AAAA alice");
  EXPECT_EQ(Pods(harness_.Stored()).at(Addr("pod.research")).host_keys.size(), 4U);
  EXPECT_EQ(Pods(harness_.Stored()).at(Addr("pod.research")).host_keys_source, "guestAttributes");

  harness_.Edit("research", [](Value& node) { node.SetPath("metadata.x", "1"); });
  harness_.Pods(Flags("false"));
  result = harness_.Apply();
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.changed, 1U);
  EXPECT_EQ(result.steps, 1U);
  const Value metadata = harness_.Node("research")["metadata"];
  EXPECT_EQ(metadata["ssh-keys"].AsString(), "alice:ssh-ed25519 AAAA alice");
  EXPECT_EQ(metadata["x"].AsString(), "1");
  EXPECT_EQ(metadata["tensorflow-env-vars"].AsString(),
            "-e LIBTPU_INIT_ARGS=--xla_jf_conv_full_precision=false");
  ASSERT_EQ(harness_.workers.Calls().size(), 1U);
  EXPECT_EQ(harness_.workers.Calls()[0].step.kind, Step::Kind::kRestartRuntime);
  EXPECT_THAT(harness_.workers.Calls()[0].workers, ElementsAre(0, 1, 2, 3));
  EXPECT_FALSE(harness_.workers.Calls()[0].access[3].host_keys.empty());

  harness_.cloud.ForgetCalls();
  result = harness_.Apply();
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(harness_.cloud.MutatingCalls(), 0);
  EXPECT_THAT(harness_.events.lines, IsEmpty());

  result = harness_.Destroy();
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.destroyed, 1U);
  EXPECT_EQ(harness_.cloud.NodeCount(), 0U);
  EXPECT_THAT(Pods(harness_.Stored()), IsEmpty());
  EXPECT_THAT(Steps(harness_.Stored()), IsEmpty());
}

TEST_F(StoryTest, AReplacementDeletesFirst) {
  harness_.Pods(Harness::Pod("a"));
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("a", "    cidrBlock: 10.1.0.0/29\n"));
  const ExecuteResult result = harness_.Apply();
  EXPECT_EQ(result.added, 1U);
  EXPECT_EQ(result.destroyed, 1U);
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a", "delete a", "create a"));
  EXPECT_EQ(harness_.Node("a")["cidrBlock"].AsString(), "10.1.0.0/29");
}

TEST_F(StoryTest, DependentsComeAfterStepsAndGoBeforePods) {
  harness_.Pods(Harness::Pod("b", "    dependsOn: [pod.a]\n") +
                Harness::Pod("a", "    bootstrap: [{name: x, run: echo}]\n"));
  harness_.ApplyAll();
  EXPECT_THAT(harness_.events.lines,
              ElementsAre("start pod.a", "done pod.a", "start bootstrap.a.x", "done bootstrap.a.x",
                          "start pod.b", "done pod.b"));
  EXPECT_THAT(harness_.events.output, Contains("a/3 hello"));
  EXPECT_EQ(harness_.events.last_progress.workers_ok, 4U);
  harness_.Destroy();
  EXPECT_THAT(harness_.events.lines,
              ElementsAre("start pod.b", "done pod.b", "start pod.a", "done pod.a"));
}

TEST_F(StoryTest, ALongOperationIsToldOfNowAndThen) {
  Harness slow(FakeProvider::Options{.looks = 20});
  slow.Pods(Harness::Pod("a"));
  slow.ApplyAll();
  EXPECT_GE(slow.events.heartbeats, 3);
  EXPECT_GT(slow.clock.Elapsed(), std::chrono::seconds(60));  // pauses grow up to 15 s
}

TEST_F(StoryTest, OneFailureStopsOnlyWhatDependsOnIt) {
  harness_.Pods(Harness::Pod("a", "    bootstrap: [{name: x, run: echo}]\n") +
                Harness::Pod("b", "    dependsOn: [pod.a]\n") + Harness::Pod("c"));
  harness_.cloud.Before("create", [](FakeProvider& cloud) {
    cloud.FailNext("create", MakeError(ErrorCode::kPermissionDenied, "not allowed"));
  });
  harness_.options.parallelism = 1;
  const ExecuteResult result = harness_.Apply();
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].change.address, "pod.a");
  EXPECT_EQ(result.failures[0].error.message, "not allowed");
  EXPECT_EQ(result.added, 1U);
  EXPECT_FALSE(harness_.Node("c").is_null());
  EXPECT_TRUE(harness_.Node("b").is_null());
  harness_.events.At("skip bootstrap.a.x: pod.a");
  // b waits for both; it is skipped once.
  EXPECT_EQ(result.skipped.size(), 2U);
  EXPECT_FALSE(Pods(harness_.Stored()).contains(Addr("pod.a")));
  harness_.ApplyAll();
}

// It has run with the same words before; what was asked for is done all the same, by a later run
// too.
TEST_F(StoryTest, AStepThatWasAskedForOnceMoreAndFailedIsNotForgotten) {
  harness_.Pods(Harness::Pod("a", "    bootstrap: [{name: x, run: echo}]\n"));
  harness_.ApplyAll();
  harness_.plan_options.replace = {"bootstrap.a.x"};
  harness_.workers.Fail(2, "the script ended with exit code 7");
  EXPECT_EQ(harness_.Apply().failures.size(), 1U);
  EXPECT_EQ(Steps(harness_.Stored()).at(Addr("bootstrap.a.x")).workers.size(), 3U);
  harness_.plan_options.replace.clear();
  harness_.workers.ForgetCalls();
  harness_.ApplyAll();
  ASSERT_EQ(harness_.workers.Calls().size(), 1U);
  EXPECT_THAT(harness_.workers.Calls()[0].workers, ElementsAre(2));
}

TEST_F(StoryTest, AFailedStepKeepsThePodAndWhatWorked) {
  harness_.Pods(Harness::Pod("a", "    bootstrap: [{name: x, run: echo}]\n"));
  harness_.workers.Fail(2, "the script ended with exit code 7",
                        {"pip: no such package", "giving up"});
  const ExecuteResult result = harness_.Apply();
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].error.message,
            "failed on 1 of 4 workers: worker 2: the script ended with exit code 7");
  EXPECT_THAT(result.failures[0].last_lines,
              ElementsAre("a/2 | pip: no such package", "a/2 | giving up"));
  EXPECT_FALSE(harness_.Node("a").is_null());
  EXPECT_EQ(Steps(harness_.Stored()).at(Addr("bootstrap.a.x")).workers.size(), 3U);
  harness_.workers.ForgetCalls();
  harness_.ApplyAll();
  ASSERT_EQ(harness_.workers.Calls().size(), 1U);
  EXPECT_THAT(harness_.workers.Calls()[0].workers, ElementsAre(2));
}

// What a step did before it failed stays there, whatever the spec says afterwards.
TEST_F(StoryTest, AStepThatFailedIsNotTakenForTheOneBefore) {
  const auto step = [](const std::string& run) {
    return Harness::Pod("a", "    bootstrap: [{name: x, run: " + run + "}]\n");
  };
  harness_.Pods(step("echo A"));
  harness_.ApplyAll();
  harness_.Pods(step("echo B"));
  harness_.workers.Fail(2, "the script ended with exit code 7");
  EXPECT_EQ(harness_.Apply().failures.size(), 1U);
  EXPECT_EQ(ChangeOf(harness_.MakePlan(), "bootstrap.a.x").reason,
            "it has not succeeded everywhere");
  harness_.Pods(step("echo A"));
  harness_.workers.ForgetCalls();
  harness_.ApplyAll();
  ASSERT_EQ(harness_.workers.Calls().size(), 1U);
  EXPECT_THAT(harness_.workers.Calls()[0].workers, ElementsAre(0, 1, 2, 3));
  // Of none of them is anything known.
  harness_.Pods(step("echo C"));
  for (int worker = 0; worker < 4; ++worker) harness_.workers.Fail(worker, "no route");
  EXPECT_EQ(harness_.Apply().failures.size(), 1U);
  harness_.Pods(step("echo A"));
  EXPECT_EQ(ChangeOf(harness_.MakePlan(), "bootstrap.a.x").reason, "it has not succeeded yet");
}

TEST_F(StoryTest, FailuresAreGroupedByCause) {
  harness_.Pods(Harness::Pod("a", "    bootstrap: [{name: x, run: echo}]\n"));
  for (int worker : {0, 1, 3}) harness_.workers.Fail(worker, "no route");
  harness_.workers.Fail(2, "refused");
  const ExecuteResult result = harness_.Apply();
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].error.message,
            "failed on 4 of 4 workers: workers 0-1,3: no route; worker 2: refused");
}

// Whatever address stands in the message of each.
TEST_F(StoryTest, OneCauseOfManyWorkersIsSaidOnce) {
  harness_.Pods(Harness::Pod("a", "    bootstrap: [{name: x, run: echo}]\n"));
  harness_.workers.FailAlike({0, 1, 3}, "cannot connect to 10.0.0.", "cannot connect to port 22");
  const ExecuteResult many = harness_.Apply();
  ASSERT_EQ(many.failures.size(), 1U);
  EXPECT_EQ(many.failures[0].error.message,
            "failed on 3 of 4 workers: workers 0-1,3: cannot connect to port 22");
  harness_.workers.FailAlike({3}, "cannot connect to 10.0.0.", "cannot connect to port 22");
  const ExecuteResult one = harness_.Apply();
  ASSERT_EQ(one.failures.size(), 1U);
  EXPECT_EQ(one.failures[0].error.message,
            "failed on 1 of 3 workers: worker 3: cannot connect to 10.0.0.3");
}

TEST_F(StoryTest, HostKeysSeenForTheFirstTimeAreRemembered) {
  Harness harness(FakeProvider::Options{.host_keys = false});
  harness.workers.ShowHostKey("ssh-ed25519 AAAA");
  harness.Pods(Harness::Pod("a", "    bootstrap: [{name: x, run: echo}]\n"));
  harness.ApplyAll();
  const PodRecord record = Pods(harness.Stored()).at(Addr("pod.a"));
  EXPECT_EQ(record.host_keys_source, "firstUse");
  EXPECT_THAT(record.host_keys.at(3), ElementsAre("ssh-ed25519 AAAA3"));
  harness.Pods(Harness::Pod("a", "    bootstrap: [{name: x, run: echo again}]\n"));
  harness.ApplyAll();
  EXPECT_THAT(harness.workers.Calls()[1].access[3].host_keys, ElementsAre("ssh-ed25519 AAAA3"));
}

TEST_F(StoryTest, AThousandPodsAreMadeAndKept) {
  std::string pods;
  for (int i = 0; i < 1000; ++i) pods += Harness::Pod("n" + std::to_string(i));
  harness_.Pods(pods);
  EXPECT_EQ(harness_.Apply().added, 1000U);
  harness_.cloud.ForgetCalls();
  EXPECT_TRUE(harness_.MakePlan().Empty());
  EXPECT_EQ(harness_.cloud.Calls().size(), 1U);  // one list
}

}  // namespace
}  // namespace podctl
