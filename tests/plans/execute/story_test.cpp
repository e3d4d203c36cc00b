// Plans carried out, as stories: what reaches the cloud and the workers, and in which order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/record.h"
#include "tests/plans/desk.h"
#include "tests/support/addresses.h"

namespace podctl {
namespace {

using testing::ChangeOf;
using ::testing::Contains;
using testing::Desk;
using ::testing::ElementsAre;
using testing::FakeProvider;
using ::testing::IsEmpty;

class StoryTest : public ::testing::Test {
 protected:
  static std::string Flags(const std::string& value) {
    return Desk::Pod("research", "    libtpuFlags: {xla_jf_conv_full_precision: " + value + "}\n");
  }
  Desk desk_;
};

TEST_F(StoryTest, TheMainJob) {
  desk_.own_keys = {"alice:ssh-ed25519 AAAA alice"};
  desk_.Pods(Flags("true"));
  ExecuteResult result = desk_.Apply();
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.added, 1U);
  EXPECT_THAT(desk_.events.lines, ElementsAre("start pod.research", "done pod.research"));
  EXPECT_EQ(desk_.Node("research")["metadata"]["ssh-keys"].AsString(),
            "alice:ssh-ed25519 AAAA alice");
  EXPECT_EQ(Pods(desk_.Stored()).at(Addr("pod.research")).host_keys.size(), 4U);
  EXPECT_EQ(Pods(desk_.Stored()).at(Addr("pod.research")).host_keys_source, "guestAttributes");

  desk_.Edit("research", [](Value& node) { node.SetPath("metadata.x", "1"); });
  desk_.Pods(Flags("false"));
  result = desk_.Apply();
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.changed, 1U);
  EXPECT_EQ(result.steps, 1U);
  const Value metadata = desk_.Node("research")["metadata"];
  EXPECT_EQ(metadata["ssh-keys"].AsString(), "alice:ssh-ed25519 AAAA alice");
  EXPECT_EQ(metadata["x"].AsString(), "1");
  EXPECT_EQ(metadata["tensorflow-env-vars"].AsString(),
            "-e LIBTPU_INIT_ARGS=--xla_jf_conv_full_precision=false");
  ASSERT_EQ(desk_.workers.Calls().size(), 1U);
  EXPECT_EQ(desk_.workers.Calls()[0].step.kind, Step::Kind::kRestartRuntime);
  EXPECT_THAT(desk_.workers.Calls()[0].workers, ElementsAre(0, 1, 2, 3));
  EXPECT_FALSE(desk_.workers.Calls()[0].access[3].host_keys.empty());

  desk_.cloud.ForgetCalls();
  result = desk_.Apply();
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(desk_.cloud.MutatingCalls(), 0);
  EXPECT_THAT(desk_.events.lines, IsEmpty());

  result = desk_.Destroy();
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.destroyed, 1U);
  EXPECT_EQ(desk_.cloud.NodeCount(), 0U);
  EXPECT_THAT(Pods(desk_.Stored()), IsEmpty());
  EXPECT_THAT(Steps(desk_.Stored()), IsEmpty());
}

TEST_F(StoryTest, AReplacementDeletesFirst) {
  desk_.Pods(Desk::Pod("a"));
  desk_.ApplyAll();
  desk_.Pods(Desk::Pod("a", "    cidrBlock: 10.1.0.0/29\n"));
  const ExecuteResult result = desk_.Apply();
  EXPECT_EQ(result.added, 1U);
  EXPECT_EQ(result.destroyed, 1U);
  EXPECT_THAT(desk_.Requests(), ElementsAre("create a", "delete a", "create a"));
  EXPECT_EQ(desk_.Node("a")["cidrBlock"].AsString(), "10.1.0.0/29");
}

TEST_F(StoryTest, DependentsComeAfterStepsAndGoBeforePods) {
  desk_.Pods(Desk::Pod("b", "    dependsOn: [pod.a]\n") +
             Desk::Pod("a", "    bootstrap: [{name: x, run: echo}]\n"));
  desk_.ApplyAll();
  EXPECT_THAT(desk_.events.lines, ElementsAre("start pod.a", "done pod.a", "start bootstrap.a.x",
                                              "done bootstrap.a.x", "start pod.b", "done pod.b"));
  EXPECT_THAT(desk_.events.output, Contains("a/3 hello"));
  EXPECT_EQ(desk_.events.last_progress.workers_ok, 4U);
  desk_.Destroy();
  EXPECT_THAT(desk_.events.lines,
              ElementsAre("start pod.b", "done pod.b", "start pod.a", "done pod.a"));
}

TEST_F(StoryTest, ALongOperationIsToldOfNowAndThen) {
  Desk slow(FakeProvider::Options{.looks = 20});
  slow.Pods(Desk::Pod("a"));
  slow.ApplyAll();
  EXPECT_GE(slow.events.heartbeats, 3);
  EXPECT_GT(slow.clock.Elapsed(), std::chrono::seconds(60));  // pauses grow up to 15 s
}

TEST_F(StoryTest, OneFailureStopsOnlyWhatDependsOnIt) {
  desk_.Pods(Desk::Pod("a", "    bootstrap: [{name: x, run: echo}]\n") +
             Desk::Pod("b", "    dependsOn: [pod.a]\n") + Desk::Pod("c"));
  desk_.cloud.Before("create", [](FakeProvider& cloud) {
    cloud.FailNext("create", MakeError(ErrorCode::kPermissionDenied, "not allowed"));
  });
  desk_.options.parallelism = 1;
  const ExecuteResult result = desk_.Apply();
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].change.address, "pod.a");
  EXPECT_EQ(result.failures[0].error.message, "not allowed");
  EXPECT_EQ(result.added, 1U);
  EXPECT_FALSE(desk_.Node("c").is_null());
  EXPECT_TRUE(desk_.Node("b").is_null());
  desk_.events.At("skip bootstrap.a.x: pod.a");
  // b waits for both; it is skipped once.
  EXPECT_EQ(result.skipped.size(), 2U);
  EXPECT_FALSE(Pods(desk_.Stored()).contains(Addr("pod.a")));
  desk_.ApplyAll();
}

// It has run with the same words before; what was asked for is done all the same, by a later run
// too.
TEST_F(StoryTest, AStepThatWasAskedForOnceMoreAndFailedIsNotForgotten) {
  desk_.Pods(Desk::Pod("a", "    bootstrap: [{name: x, run: echo}]\n"));
  desk_.ApplyAll();
  desk_.plan_options.replace = {"bootstrap.a.x"};
  desk_.workers.Fail(2, "the script ended with exit code 7");
  EXPECT_EQ(desk_.Apply().failures.size(), 1U);
  EXPECT_EQ(Steps(desk_.Stored()).at(Addr("bootstrap.a.x")).workers.size(), 3U);
  desk_.plan_options.replace.clear();
  desk_.workers.ForgetCalls();
  desk_.ApplyAll();
  ASSERT_EQ(desk_.workers.Calls().size(), 1U);
  EXPECT_THAT(desk_.workers.Calls()[0].workers, ElementsAre(2));
}

TEST_F(StoryTest, AFailedStepKeepsThePodAndWhatWorked) {
  desk_.Pods(Desk::Pod("a", "    bootstrap: [{name: x, run: echo}]\n"));
  desk_.workers.Fail(2, "the script ended with exit code 7", {"pip: no such package", "giving up"});
  const ExecuteResult result = desk_.Apply();
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].error.message,
            "failed on 1 of 4 workers: worker 2: the script ended with exit code 7");
  EXPECT_THAT(result.failures[0].last_lines,
              ElementsAre("a/2 | pip: no such package", "a/2 | giving up"));
  EXPECT_FALSE(desk_.Node("a").is_null());
  EXPECT_EQ(Steps(desk_.Stored()).at(Addr("bootstrap.a.x")).workers.size(), 3U);
  desk_.workers.ForgetCalls();
  desk_.ApplyAll();
  ASSERT_EQ(desk_.workers.Calls().size(), 1U);
  EXPECT_THAT(desk_.workers.Calls()[0].workers, ElementsAre(2));
}

// What a step did before it failed stays there, whatever the spec says afterwards.
TEST_F(StoryTest, AStepThatFailedIsNotTakenForTheOneBefore) {
  const auto step = [](const std::string& run) {
    return Desk::Pod("a", "    bootstrap: [{name: x, run: " + run + "}]\n");
  };
  desk_.Pods(step("echo A"));
  desk_.ApplyAll();
  desk_.Pods(step("echo B"));
  desk_.workers.Fail(2, "the script ended with exit code 7");
  EXPECT_EQ(desk_.Apply().failures.size(), 1U);
  EXPECT_EQ(ChangeOf(desk_.MakePlan(), "bootstrap.a.x").reason, "it has not succeeded everywhere");
  desk_.Pods(step("echo A"));
  desk_.workers.ForgetCalls();
  desk_.ApplyAll();
  ASSERT_EQ(desk_.workers.Calls().size(), 1U);
  EXPECT_THAT(desk_.workers.Calls()[0].workers, ElementsAre(0, 1, 2, 3));
  // Of none of them is anything known.
  desk_.Pods(step("echo C"));
  for (int worker = 0; worker < 4; ++worker) desk_.workers.Fail(worker, "no route");
  EXPECT_EQ(desk_.Apply().failures.size(), 1U);
  desk_.Pods(step("echo A"));
  EXPECT_EQ(ChangeOf(desk_.MakePlan(), "bootstrap.a.x").reason, "it has not succeeded yet");
}

TEST_F(StoryTest, FailuresAreGroupedByCause) {
  desk_.Pods(Desk::Pod("a", "    bootstrap: [{name: x, run: echo}]\n"));
  for (int worker : {0, 1, 3}) desk_.workers.Fail(worker, "no route");
  desk_.workers.Fail(2, "refused");
  const ExecuteResult result = desk_.Apply();
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].error.message,
            "failed on 4 of 4 workers: workers 0-1,3: no route; worker 2: refused");
}

// Whatever address stands in the message of each.
TEST_F(StoryTest, OneCauseOfManyWorkersIsSaidOnce) {
  desk_.Pods(Desk::Pod("a", "    bootstrap: [{name: x, run: echo}]\n"));
  desk_.workers.FailAlike({0, 1, 3}, "cannot connect to 10.0.0.", "cannot connect to port 22");
  const ExecuteResult many = desk_.Apply();
  ASSERT_EQ(many.failures.size(), 1U);
  EXPECT_EQ(many.failures[0].error.message,
            "failed on 3 of 4 workers: workers 0-1,3: cannot connect to port 22");
  desk_.workers.FailAlike({3}, "cannot connect to 10.0.0.", "cannot connect to port 22");
  const ExecuteResult one = desk_.Apply();
  ASSERT_EQ(one.failures.size(), 1U);
  EXPECT_EQ(one.failures[0].error.message,
            "failed on 1 of 3 workers: worker 3: cannot connect to 10.0.0.3");
}

TEST_F(StoryTest, HostKeysSeenForTheFirstTimeAreRemembered) {
  Desk desk(FakeProvider::Options{.host_keys = false});
  desk.workers.ShowHostKey("ssh-ed25519 AAAA");
  desk.Pods(Desk::Pod("a", "    bootstrap: [{name: x, run: echo}]\n"));
  desk.ApplyAll();
  const PodRecord record = Pods(desk.Stored()).at(Addr("pod.a"));
  EXPECT_EQ(record.host_keys_source, "firstUse");
  EXPECT_THAT(record.host_keys.at(3), ElementsAre("ssh-ed25519 AAAA3"));
  desk.Pods(Desk::Pod("a", "    bootstrap: [{name: x, run: echo again}]\n"));
  desk.ApplyAll();
  EXPECT_THAT(desk.workers.Calls()[1].access[3].host_keys, ElementsAre("ssh-ed25519 AAAA3"));
}

TEST_F(StoryTest, AThousandPodsAreMadeAndKept) {
  std::string pods;
  for (int i = 0; i < 1000; ++i) pods += Desk::Pod("n" + std::to_string(i));
  desk_.Pods(pods);
  EXPECT_EQ(desk_.Apply().added, 1000U);
  desk_.cloud.ForgetCalls();
  EXPECT_TRUE(desk_.MakePlan().Empty());
  EXPECT_EQ(desk_.cloud.Calls().size(), 1U);  // one list
}

}  // namespace
}  // namespace podctl
