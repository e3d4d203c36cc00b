// When bootstrap steps and restarts of tpu-runtime are planned, and on which workers.
#include "plans/kinds/step/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/change.h"
#include "plans/kinds/step/record.h"
#include "plans/kinds/step/runtime_unit.h"
#include "tests/plans/harness.h"
#include "tests/support/addresses.h"

namespace podctl {
namespace {

using testing::Actions;
using testing::ChangeOf;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kStep = "bootstrap.a.x";
constexpr const char* kRestart = "bootstrap.a.tpu-runtime";

class StepsTest : public ::testing::Test {
 protected:
  static std::string Step(const std::string& keys) {
    return Harness::Pod("a", "    bootstrap: [{name: x, " + keys + "}]\n");
  }
  static std::string Flags(const std::string& value) {
    return Harness::Pod("a", "    libtpuFlags: {xla_jf_conv_full_precision: " + value + "}\n");
  }
  void Write(const std::string& pods) { harness_.Pods(pods); }
  void ApplyAll(const std::string& pods) {
    harness_.Pods(pods);
    harness_.ApplyAll();
  }
  std::vector<int> Workers(const Plan& plan, const std::string& address) {
    const StepChange* run = AsStep(ChangeOf(plan, address));
    return run == nullptr ? std::vector<int>{} : run->workers.value_or(std::vector<int>{-1});
  }
  bool IsSensitive(const Plan& plan, const std::string& address) {
    const StepChange* run = AsStep(ChangeOf(plan, address));
    if (run == nullptr) throw std::invalid_argument(address + " is no step");
    return run->sensitive;
  }
  std::string Reason(const Plan& plan, const std::string& address) {
    return ChangeOf(plan, address).reason;
  }

  Harness harness_;
};

TEST_F(StepsTest, AStepOfANewPodRunsOnAllItsWorkers) {
  Write(Step("run: echo hi"));
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("create pod.a", "run bootstrap.a.x"));
  EXPECT_THAT(Workers(plan, kStep), ElementsAre(-1));  // known after apply
  EXPECT_EQ(plan.Counts().steps, 1U);
  EXPECT_THAT(SummaryOfSteps(plan), HasSubstr("on 4 workers")) << "from the catalogue";
  harness_.ApplyAll();
  ASSERT_EQ(harness_.workers.Calls().size(), 1U);
  EXPECT_THAT(harness_.workers.Calls()[0].workers, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(harness_.workers.Calls()[0].step.script, "echo hi");
}

TEST_F(StepsTest, HowManyWorkersAnUnknownTypeHasIsKnownAfterApply) {
  Write(
      "  a:\n    acceleratorType: v99-64\n    runtimeVersion: r\n"
      "    bootstrap: [{name: x, run: echo}]\n");
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(SummaryOfSteps(plan), HasSubstr("on workers known after apply"));
}

TEST_F(StepsTest, AChangedStepRunsAgainWhereTheSpecSays) {
  ApplyAll(Step("run: echo hi, workers: \"1-2\""));
  EXPECT_THAT(harness_.workers.Calls()[0].workers, ElementsAre(1, 2));
  Write(Step("run: echo ho, workers: \"1-2\""));
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Workers(plan, kStep), ElementsAre(1, 2));
  EXPECT_EQ(Reason(plan, kStep), "the step changed");
  EXPECT_THAT(SummaryOfSteps(plan), HasSubstr("on 2 workers"));
}

TEST_F(StepsTest, AChangedScriptIsToldWithWhatItWas) {
  const auto reported = [&] {
    return testing::Lines(ChangeOf(harness_.MakePlan(), kStep).attributes);
  };
  ApplyAll(Step("run: echo hi"));
  EXPECT_EQ(Steps(harness_.Stored()).at(Addr(kStep)).script, "echo hi");
  Write(Step("run: echo ho"));
  EXPECT_THAT(reported(), ElementsAre("script: echo hi -> echo ho"));
  Write(Step("run: echo hi, env: {A: b}"));
  EXPECT_THAT(reported(), IsEmpty()) << "it is the same";
  const std::string step = Step("run: \"echo ${var.t}\"");
  const auto secret = [&](const std::string& pods) {
    harness_.SpecText(
        "project: p\nzone: europe-west4-a\nvariables: {t: {sensitive: true, default: s}}\npods:\n" +
        pods);
  };
  secret(step);
  EXPECT_THAT(reported(), IsEmpty());
  harness_.ApplyAll();
  EXPECT_EQ(Steps(harness_.Stored()).at(Addr(kStep)).script, "") << "nothing of a secret is kept";
  Write(Step("run: echo ho"));
  EXPECT_THAT(reported(), IsEmpty());
  ApplyAll(Step("run: echo " + std::string(kLongestScript, 'x')));
  EXPECT_EQ(Steps(harness_.Stored()).at(Addr(kStep)).script, "");
}

TEST_F(StepsTest, AnEnvironmentIsPartOfTheStepAndATimeoutIsNot) {
  ApplyAll(Step("run: echo, timeout: 5m"));
  Write(Step("run: echo, timeout: 9m"));
  EXPECT_TRUE(harness_.MakePlan().Empty());
  Write(Step("run: echo, env: {A: b}"));
  EXPECT_THAT(Workers(harness_.MakePlan(), kStep), ElementsAre(0, 1, 2, 3));
}

TEST_F(StepsTest, AWiderSelectionRunsOnTheNewWorkersOnly) {
  ApplyAll(Step("run: echo, workers: \"0\""));
  Write(Step("run: echo"));
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Workers(plan, kStep), ElementsAre(1, 2, 3));
  EXPECT_EQ(Reason(plan, kStep), "it has not succeeded everywhere");
}

TEST_F(StepsTest, AWorkerThatThePodDoesNotHaveIsAnError) {
  ApplyAll(Step("run: echo"));
  Write(Step("run: echo, workers: \"0,4\""));
  const Diagnostics diagnostics = harness_.TryPlan();
  ASSERT_EQ(diagnostics.items().size(), 1U);
  EXPECT_EQ(diagnostics.items()[0].summary, "there is no worker 4: pod `a` has 4 workers");
  EXPECT_GT(diagnostics.items()[0].place.line, 0);
}

TEST_F(StepsTest, APodMadeAnewByOthersGetsItsStepsAgain) {
  ApplyAll(Step("run: echo"));
  const Value node = harness_.Node("a");
  harness_.cloud.RemoveNode(Harness::Name("a"));
  harness_.cloud.PutNode(Harness::Name("a"), node);  // with another id
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("run bootstrap.a.x"));
  EXPECT_EQ(Reason(plan, kStep), "the pod was made anew");
  EXPECT_THAT(harness_.notes,
              ElementsAre("pod.a: the node was deleted and made anew outside of podctl"));
}

TEST_F(StepsTest, ANewWorkerGetsTheStepAndTheRestart) {
  ApplyAll(Flags("true") + "    bootstrap: [{name: x, run: echo}]\n");
  harness_.Edit("a", [](Value& node) {
    Value::List endpoints = node["networkEndpoints"].AsList();
    endpoints.push_back(endpoints.back());
    node.Set("networkEndpoints", endpoints);
  });
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Workers(plan, kStep), ElementsAre(4));
  EXPECT_THAT(Workers(plan, kRestart), ElementsAre(4));
}

TEST_F(StepsTest, AStepThatLeavesTheSpecIsForgotten) {
  ApplyAll(Step("run: echo"));
  ApplyAll(Harness::Pod("a"));
  EXPECT_THAT(Steps(harness_.Stored()), IsEmpty());
  // Back again, it is new.
  Write(Step("run: echo"));
  EXPECT_THAT(Workers(harness_.MakePlan(), kStep), ElementsAre(0, 1, 2, 3));
}

TEST_F(StepsTest, AStepThatReadsAPodThatIsReplacedRunsAgain) {
  const std::string a = Harness::Pod("a");
  const std::string b = Harness::Pod(
      "b", "    bootstrap: [{name: x, run: \"ping ${pod.a.networkEndpoints[0].ipAddress}\"}]\n");
  ApplyAll(a + b);
  EXPECT_EQ(harness_.workers.Calls()[0].step.script, "ping 10.164.0.2");
  harness_.Edit("a", [](Value& node) { node.Set("state", "PREEMPTED"); });
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("replace pod.a", "run bootstrap.b.x"));
}

// Another pod's description is whoever's may edit that pod.
TEST_F(StepsTest, WhatOthersWroteIsNoShellText) {
  const auto pods = [](const std::string& description, const std::string& step) {
    return Harness::Pod("a", "    description: \"" + description + "\"\n") +
           Harness::Pod("b", "    bootstrap: [{name: x, " + step + "}]\n");
  };
  const std::string run = "run: \"echo ${pod.a.description}\"";
  Write(pods("x; rm -rf /", run));
  const auto failed = harness_.Apply();
  ASSERT_FALSE(failed.failures.empty());
  EXPECT_THAT(failed.failures.front().error.message,
              HasSubstr("`${pod.a.description}`, which holds characters that a shell would read"));
  EXPECT_THAT(failed.failures.front().error.hint, HasSubstr("`env`"));
  const Diagnostics refused = harness_.TryPlan();
  ASSERT_EQ(refused.items().size(), 1U);
  EXPECT_THAT(refused.items()[0].summary,
              HasSubstr("step `x` of pod `b` refers to `${pod.a.description}`, which holds "));
  const std::string quoted = "run: 'echo \"$D\"', env: {D: \"${pod.a.description}\"}";
  ApplyAll(pods("x; rm -rf /", quoted));
  EXPECT_EQ(harness_.workers.Calls().back().step.env.at("D"), "x; rm -rf /");
  // A line of its own is no value for a variable either.
  Write(pods("x\\ny", quoted));
  EXPECT_FALSE(harness_.TryPlan().items().empty());
}

// The runtime's entry is arguments of docker, and a startup script is root's.
TEST_F(StepsTest, WhatOthersWroteIsNoArgumentOfDocker) {
  const auto pods = [](const std::string& description, const std::string& keys) {
    return Harness::Pod("a", "    description: \"" + description + "\"\n") +
           Harness::Pod("b", "    " + keys + "\n");
  };
  const auto entry = [&](const char* key) {
    return harness_.Node("b")["metadata"][key].AsString();
  };
  const std::string env = "runtimeEnv: {X: \"${pod.a.description}\"}";
  ApplyAll(pods("x --privileged; id", env));
  EXPECT_EQ(entry("tensorflow-env-vars"), "-e X='x --privileged; id'");
  EXPECT_THAT(Actions(harness_.MakePlan()), IsEmpty()) << "the worker runs with it";
  const std::string flags = "libtpuFlags: {x: \"${pod.a.description}\"}";
  Write(pods("x --privileged; id", flags));
  Diagnostics refused = harness_.TryPlan();
  ASSERT_EQ(refused.items().size(), 1U);
  EXPECT_EQ(refused.items()[0].summary,
            "pod.b refers to `${pod.a.description}`, which has a blank in its value");
  ApplyAll(pods("x", flags));
  EXPECT_EQ(entry("tensorflow-env-vars"), "-e LIBTPU_INIT_ARGS=--x=x");
}

TEST_F(StepsTest, WhatOthersWroteIsNoScriptOfTheGuest) {
  const auto pods = [](const std::string& description, const std::string& key) {
    return Harness::Pod("a", "    description: \"" + description + "\"\n") +
           Harness::Pod("b", "    metadata: {" + key + ": \"echo ${pod.a.description}\"}\n");
  };
  // Known by the time it is applied.
  Write(pods("x; id", "startup-script"));
  const auto failed = harness_.Apply();
  ASSERT_FALSE(failed.failures.empty());
  EXPECT_EQ(failed.failures.front().error.message,
            "the pod refers to `${pod.a.description}`, which holds characters that a shell would "
            "read");
  EXPECT_THAT(failed.failures.front().error.hint, HasSubstr("a metadata key of its own"));
  for (const char* key : {"startup-script", "shutdown-script", "user-data", "my-script"}) {
    Write(pods("x; id", key));
    const Diagnostics refused = harness_.TryPlan();
    ASSERT_EQ(refused.items().size(), 1U) << key;
    EXPECT_THAT(refused.items()[0].summary, HasSubstr("pod.b refers to `${pod.a.description}`"));
  }
  ApplyAll(pods("x; id", "note"));
  EXPECT_EQ(harness_.Node("b")["metadata"]["note"].AsString(), "echo x; id");
  ApplyAll(pods("word", "startup-script"));
  EXPECT_EQ(harness_.Node("b")["metadata"]["startup-script"].AsString(), "echo word");
}

TEST_F(StepsTest, ThePlanSaysWhatReferencesStandFor) {
  ApplyAll(Harness::Pod("a"));
  Write(Harness::Pod("a") + Harness::Pod("b",
                                         "    bootstrap: [{name: x, run: \"ping "
                                         "${pod.a.networkEndpoints[0].ipAddress}\"}]\n"));
  const Change change = ChangeOf(harness_.MakePlan(), "bootstrap.b.x");
  EXPECT_THAT(
      WordsOfStep(change).body,
      ::testing::Contains("where ${pod.a.networkEndpoints[0].ipAddress} is \"10.164.0.2\""));
}

TEST_F(StepsTest, ASecretStepIsMarked) {
  harness_.SpecText(
      "project: p\nzone: europe-west4-a\nvariables: {t: {sensitive: true, default: s}}\npods:\n" +
      Step("run: \"echo ${var.t}\""));
  EXPECT_TRUE(IsSensitive(harness_.MakePlan(), kStep));
  harness_.ApplyAll();
  EXPECT_TRUE(harness_.workers.Calls().back().step.hides_output);
  Write(Step("run: echo"));
  EXPECT_FALSE(IsSensitive(harness_.MakePlan(), kStep));
}

// ---- tpu-runtime.

TEST_F(StepsTest, ANewPodsRuntimeStartsWithItsFlagsByItself) {
  Write(Flags("true"));
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("create pod.a"));
  harness_.ApplyAll();
  EXPECT_THAT(harness_.workers.Calls(), IsEmpty());
}

TEST_F(StepsTest, ChangedFlagsRestartTheRuntimeOnAllWorkersAfterThePatch) {
  ApplyAll(Flags("true"));
  Write(Flags("false"));
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("update pod.a", "run bootstrap.a.tpu-runtime"));
  EXPECT_THAT(Workers(plan, kRestart), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ChangeOf(plan, kRestart).waits_for, ElementsAre("pod.a"));
  EXPECT_EQ(Reason(plan, kRestart), "libtpuFlags.xla_jf_conv_full_precision changes");
  EXPECT_EQ(plan.Counts().change, 1U);
  EXPECT_EQ(plan.Counts().steps, 1U);
  harness_.ApplyAll();
  ASSERT_EQ(harness_.workers.Calls().size(), 1U);
  EXPECT_EQ(harness_.workers.Calls()[0].step.kind, podctl::Step::Kind::kRestartRuntime);
}

TEST_F(StepsTest, TheRestartComesBeforeThePodsOtherSteps) {
  ApplyAll(Flags("true"));
  Write(Flags("false") + "    bootstrap: [{name: x, run: echo}]\n");
  EXPECT_THAT(ChangeOf(harness_.MakePlan(), kStep).waits_for,
              ElementsAre("bootstrap.a.tpu-runtime", "pod.a"));
}

TEST_F(StepsTest, FirstFlagsAndLastFlagsRestartToo) {
  ApplyAll(Harness::Pod("a"));
  Write(Flags("true"));
  EXPECT_THAT(Workers(harness_.MakePlan(), kRestart), ElementsAre(0, 1, 2, 3));
  harness_.ApplyAll();
  Write(Harness::Pod("a"));
  EXPECT_THAT(Workers(harness_.MakePlan(), kRestart), ElementsAre(0, 1, 2, 3));
  harness_.ApplyAll();
}

TEST_F(StepsTest, OtherMetadataRestartsNothing) {
  ApplyAll(Flags("true"));
  Write(Flags("true") + "    metadata: {m: \"1\"}\n");
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("update pod.a"));
}

TEST_F(StepsTest, FlagsChangedByOthersAreSetBackWithARestart) {
  ApplyAll(Flags("true"));
  harness_.Edit("a", [](Value& node) { node.SetPath("metadata.tensorflow-env-vars", "-e X=1"); });
  EXPECT_THAT(Actions(harness_.MakePlan()),
              ElementsAre("update pod.a", "run bootstrap.a.tpu-runtime"));
}

TEST_F(StepsTest, IgnoredFlagsRestartNothing) {
  ApplyAll(Flags("true"));
  Write(Flags("false") + "    lifecycle: {ignoreChanges: [metadata.tensorflow-env-vars]}\n");
  EXPECT_TRUE(harness_.MakePlan().Empty());
}

TEST_F(StepsTest, ASingleHostNeedsNoRestart) {
  const auto pod = [](const std::string& value) {
    return "  a:\n    acceleratorType: v3-8\n    runtimeVersion: r\n    libtpuFlags: {f: " + value +
           "}\n";
  };
  ApplyAll(pod("1"));
  EXPECT_EQ(Pods(harness_.Stored()).at(Addr("pod.a")).exec_env.at("LIBTPU_INIT_ARGS"), "--f=1");
  Write(pod("2"));
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("update pod.a"));
  harness_.ApplyAll();
  EXPECT_EQ(Pods(harness_.Stored()).at(Addr("pod.a")).exec_env.at("LIBTPU_INIT_ARGS"), "--f=2");
}

// A pod of several hosts whose programs see its flags, or do not, in a step that runs on it.
class ImageTest : public StepsTest {
 protected:
  static std::string On(const std::string& image, const std::string& flag) {
    return "  a:\n    acceleratorType: v3-32\n    runtimeVersion: " + image +
           "\n    libtpuFlags: {xla_jf_conv_full_precision: " + flag +
           "}\n    bootstrap: [{name: x, run: echo " + flag + "}]\n";
  }
  std::string FlagsSeen() {
    const auto env = harness_.workers.Calls().back().access.back().env;
    const auto flags = env.find("LIBTPU_INIT_ARGS");
    return flags == env.end() ? "none" : flags->second;
  }
};

TEST_F(ImageTest, WithoutTheUnitNothingIsRestartedAndProgramsTakeTheFlags) {
  ApplyAll(On("tpu-ubuntu2204-base", "1"));
  Write(On("tpu-ubuntu2204-base", "2"));
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("update pod.a", "run bootstrap.a.x"));
  harness_.ApplyAll();
  EXPECT_EQ(FlagsSeen(), "--xla_jf_conv_full_precision=2");
}

TEST_F(ImageTest, WithTheUnitProgramsBesideItDoNotTakeThem) {
  ApplyAll(On("tpu-vm-tf-2.11.0-pod", "1"));
  EXPECT_EQ(FlagsSeen(), "none");
}

// Whether it has the unit the workers tell, once: the same flags restart nothing again.
TEST_F(ImageTest, OfAnUnknownNameTheWorkersTell) {
  harness_.workers.HaveNoRuntimeUnit();
  ApplyAll(On("our-own-image", "1"));
  Write(On("our-own-image", "2"));
  EXPECT_THAT(Actions(harness_.MakePlan()),
              ElementsAre("update pod.a", "run bootstrap.a.tpu-runtime", "run bootstrap.a.x"));
  harness_.ApplyAll();
  EXPECT_EQ(FlagsSeen(), "--xla_jf_conv_full_precision=2");
  const State state = harness_.Stored();
  PodRecord record = Pods(state).at(Addr("pod.a"));
  EXPECT_TRUE(ProgramsTakeFlags(state, "a", record));
  record.current.uid = "made anew";
  EXPECT_FALSE(ProgramsTakeFlags(state, "a", record)) << "nobody has asked that node";
}

TEST_F(StepsTest, AfterAPartlyFailedRestartOnlyTheStaleWorkersAreLeft) {
  ApplyAll(Flags("true"));
  Write(Flags("false"));
  harness_.workers.Fail(2, "tpu-runtime did not stay active");
  EXPECT_FALSE(harness_.Apply().ok());
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("run bootstrap.a.tpu-runtime"));
  EXPECT_THAT(Workers(plan, kRestart), ElementsAre(2));
  EXPECT_EQ(Reason(plan, kRestart), "not every worker runs with the current tensorflow-env-vars");
  harness_.ApplyAll();
}

TEST_F(StepsTest, APatchThatWasNotFollowedByItsRestartIsMadeGood) {
  ApplyAll(Flags("true"));
  Write(Flags("false"));
  harness_.workers.Fail(0, "no");
  harness_.workers.Fail(1, "no");
  harness_.workers.Fail(2, "no");
  harness_.workers.Fail(3, "no");
  EXPECT_FALSE(harness_.Apply().ok());
  // Back to the old value: the runtime runs with it still, but nobody can know; all restart.
  Write(Flags("true"));
  EXPECT_THAT(Workers(harness_.MakePlan(), kRestart), ElementsAre(0, 1, 2, 3));
}

}  // namespace
}  // namespace podctl
