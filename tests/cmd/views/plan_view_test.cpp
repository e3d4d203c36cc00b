// Plans as people see them. Read the golden files as a user would.
#include "cmd/views/plan_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/change.h"
#include "tests/plans/harness.h"
#include "tests/support/addresses.h"
#include "tests/support/golden.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using ::testing::AllOf;
using testing::ExpectGolden;
using testing::Harness;
using ::testing::HasSubstr;
using testing::KindNamed;
using ::testing::Not;

class PlanViewTest : public ::testing::Test {
 protected:
  static std::string Flags(const std::string& value) {
    return Harness::Pod("research",
                        "    libtpuFlags: {xla_jf_conv_full_precision: " + value + "}\n");
  }
  void Show(const std::string& golden, bool color = false) {
    PlanViewOptions options;
    options.color = color;
    ExpectGolden("cmd/plan/" + golden, ShowPlan(harness_.MakePlan(), options));
  }

  Harness harness_;
};

TEST_F(PlanViewTest, Create) {
  harness_.own_keys = {"alice:ssh-ed25519 AAAA alice"};
  harness_.Pods(Flags("true") + R"(    labels: {team: vision}
    networkConfig: {enableExternalIps: true}
    tags: [lab, tpu]
    bootstrap:
      - name: jupyter
        workers: [0]
        run: |
          pip install jupyter matplotlib
          jupyter notebook --port=8888 &
        env: {TPU_LOAD_LIBRARY: "0"}
      - name: everywhere
        run: echo hello
        timeout: 10m
)");
  Show("create.txt");
  Show("create_color.txt", true);
}

TEST_F(PlanViewTest, ChangedFlags) {
  harness_.Pods(Flags("true"));
  harness_.ApplyAll();
  harness_.Pods(Flags("false"));
  Show("flags.txt");
  harness_.workers.Fail(2, "no");
  harness_.workers.Fail(3, "no");
  EXPECT_FALSE(harness_.Apply().ok());
  Show("flags_rest.txt");
}

TEST_F(PlanViewTest, FlagsAreToldOneByOne) {
  const auto pod = [](const std::string& flags, const std::string& env) {
    return Harness::Pod("research",
                        "    libtpuFlags: {" + flags + "}\n    runtimeEnv: {" + env + "}\n");
  };
  harness_.Pods(pod("xla_x: true, xla_gone: 1, xla_kept: 7", "TPU_LOG: \"0\""));
  Show("flags_new.txt");
  harness_.ApplyAll();
  harness_.Pods(pod("xla_x: false, xla_kept: 7, xla_new: all", "TPU_LOG: \"1\""));
  Show("flags_apart.txt");
  Show("flags_apart_color.txt", true);
}

class HandWrittenFlagsTest : public PlanViewTest {
 protected:
  void SetUp() override {
    harness_.Pods(Harness::Pod("research", "    libtpuFlags: {xla_x: true, xla_y: 2}\n"));
    harness_.ApplyAll();
  }
  void Write(const std::string& entry) {
    harness_.Edit("research",
                  [&](Value& node) { node.SetPath("metadata.tensorflow-env-vars", entry); });
  }
};

TEST_F(HandWrittenFlagsTest, OtherPartsAreShownBesideTheFlags) {
  Write("--shm-size=1g -e LIBTPU_INIT_ARGS=\"--xla_y=2 --xla_x=false --verbose\" -e DEBUG=yes");
  Show("flags_by_hand.txt");
}

TEST_F(HandWrittenFlagsTest, AnotherOrderIsNoFlag) {
  Write("-e LIBTPU_INIT_ARGS=\"--xla_y=2 --xla_x=true\"");
  Show("flags_in_other_words.txt");
}

TEST_F(HandWrittenFlagsTest, WhatCannotBeTakenApartIsShownAsItStands) {
  Write("-e LIBTPU_INIT_ARGS='--xla_x=true");
  Show("flags_broken.txt");
}

TEST_F(PlanViewTest, SensitiveFlagsAreShownNowhere) {
  const auto spec = [](const std::string& secret) {
    return "project: p\nzone: europe-west4-a\nvariables: {t: {sensitive: true, default: " + secret +
           "}}\npods:\n" +
           Harness::Pod("a", "    libtpuFlags: {x: \"${var.t}\"}\n    runtimeEnv: {Y: \"1\"}\n");
  };
  harness_.SpecText(spec("the-secret"));
  harness_.ApplyAll();
  harness_.SpecText(spec("the-next-secret"));
  Show("flags_sensitive.txt");
  EXPECT_THAT(ShowPlan(harness_.MakePlan(), {}), Not(HasSubstr("secret\"")));
}

TEST_F(PlanViewTest, FlagsOfAnImageWithoutTheUnitSayWhoTakesThem) {
  const auto pod = [](const std::string& value) {
    return "  research:\n    acceleratorType: v4-32\n    runtimeVersion: tpu-ubuntu2204-base\n"
           "    libtpuFlags: {xla_jf_conv_full_precision: " +
           value + "}\n";
  };
  harness_.Pods(pod("true"));
  harness_.ApplyAll();
  harness_.Pods(pod("false"));
  Show("flags_without_unit.txt");
}

TEST_F(PlanViewTest, ReplaceAndDelete) {
  harness_.Pods(Flags("true") + "    labels: {team: vision}\n" + Harness::Pod("old"));
  harness_.ApplyAll();
  harness_.Pods(Flags("true") + "    labels: {team: speech}\n    cidrBlock: 10.1.0.0/29\n");
  Show("replace_delete.txt");
}

TEST_F(PlanViewTest, Drift) {
  harness_.Pods(Harness::Pod("changed", "    labels: {team: vision}\n    tags: [a]\n") +
                Harness::Pod("gone") + Harness::Pod("preempted") + Harness::Pod("sick"));
  harness_.ApplyAll();
  harness_.Edit("changed", [](Value& node) {
    node.SetPath("labels.team", "speech");
    node.Erase("tags");
  });
  harness_.cloud.RemoveNode(Harness::Name("gone"));
  harness_.Edit("preempted", [](Value& node) { node.Set("state", "PREEMPTED"); });
  harness_.Edit("sick", [](Value& node) {
    node.Set("health", "UNHEALTHY_MAINTENANCE");
    node.Set("healthDescription", "Maintenance is \x1b[31mnear\x1b[0m.");
  });
  Show("drift.txt");
}

TEST_F(PlanViewTest, DriftThatNeedsNothing) {
  harness_.Pods(Harness::Pod("a"));
  harness_.ApplyAll();
  harness_.Edit("a", [](Value& node) { node.Set("state", "REPAIRING"); });
  Show("drift_only.txt");
}

TEST_F(PlanViewTest, KnownAfterApplyAndSensitive) {
  harness_.environment["TOKEN"] = "the-secret";
  harness_.Pods(Harness::Pod("first") +
                Harness::Pod("second",
                             "    metadata:\n"
                             "      peer: \"${pod.first.networkEndpoints[0].ipAddress}\"\n"
                             "      token: {env: TOKEN, sensitive: true}\n"));
  Show("unknown_sensitive.txt");
  EXPECT_THAT(ShowPlan(harness_.MakePlan(), {}), Not(HasSubstr("the-secret")));
  harness_.ApplyAll();
  harness_.environment["TOKEN"] = "the-next-secret";
  Show("sensitive_change.txt");
  Plan plan = harness_.MakePlan();
  for (AttributeChange& each : plan.changes.back().attributes) {
    if (each.sensitive) each.origin = "version 3 -> 4";
  }
  ExpectGolden("cmd/plan/version_of_secret.txt", ShowPlan(plan, {}));
}

TEST_F(PlanViewTest, SensitiveStep) {
  harness_.SpecText(
      "project: p\nzone: europe-west4-a\nvariables: {t: {sensitive: true, default: the-secret}}\n"
      "pods:\n" +
      Harness::Pod("a", "    bootstrap: [{name: x, run: \"login ${var.t}\", env: {A: b}}]\n"));
  Show("sensitive_step.txt");
}

TEST_F(PlanViewTest, LongTexts) {
  std::string script;
  for (int i = 1; i <= 20; ++i) script += "          echo line " + std::to_string(i) + "\n";
  harness_.Pods(Harness::Pod("a",
                             "    metadata:\n      startup-script: |\n        #!/bin/sh\n"
                             "        echo one\n        echo two\n"
                             "    bootstrap:\n      - name: long\n        run: |\n" +
                                 script));
  Show("long.txt");
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("a",
                             "    metadata:\n      startup-script: |\n        #!/bin/sh\n"
                             "        echo one\n        echo three\n        echo two\n"
                             "    bootstrap:\n      - name: long\n        run: |\n" +
                                 script));
  Show("long_change.txt");
}

TEST_F(PlanViewTest, LinesFarFromAChangeAreLeftOut) {
  const auto script = [](int from, int to, const std::string& odd) {
    std::string text;
    for (int i = from; i <= to; ++i) {
      text += "        echo " + (i == 10 ? odd : std::to_string(i)) + "\n";
    }
    return Harness::Pod("a", "    metadata:\n      startup-script: |\n" + text);
  };
  harness_.Pods(script(1, 20, "ten"));
  harness_.ApplyAll();
  harness_.Pods(script(1, 21, "TEN"));
  Show("lines.txt");
  Show("lines_color.txt", true);
}

TEST_F(PlanViewTest, WorkersKnownAfterApply) {
  harness_.Pods(
      "  a:\n    acceleratorType: v99-64\n    runtimeVersion: r\n"
      "    bootstrap: [{name: x, run: echo}]\n");
  Show("workers_unknown.txt");
}

// A saved plan may have been touched by anybody.
TEST_F(PlanViewTest, NamesAreShownAsData) {
  const std::string escape = "\x1b[2J";
  Change change;
  change.address = PodAddress(escape);
  change.reason = escape;
  change.verb = Verb::kUpdate;
  change.payload = Payload(PodChange{{}, {"p", escape, escape}}, KindNamed("pod"));
  change.attributes.push_back({escape, Value(escape), Value(escape)});
  Change step;
  step.address = Address("bootstrap", escape);
  StepChange run;
  run.step.script = escape;
  run.step.env[escape] = escape;
  run.step.files.push_back({escape, escape});
  step.verb = Verb::kRun;
  step.payload = Payload(run, KindNamed("bootstrap"));
  Plan plan;
  plan.changes = {change, step};
  plan.drift.push_back({Drift::Kind::kChanged, PodAddress(escape), escape, change.attributes});
  const std::string text = ShowPlan(plan, {});
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("pod.\\x1b[2J"));
}

TEST_F(PlanViewTest, CreateBeforeDestroy) {
  const std::string keys = "    lifecycle: {createBeforeDestroy: true}\n";
  harness_.Pods(Harness::Pod("research", keys));
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("research", keys + "    cidrBlock: 10.1.0.0/29\n"));
  Show("create_before_destroy.txt");
}

TEST_F(PlanViewTest, Moved) {
  harness_.Pods(Harness::Pod("a") + Harness::Pod("b"));
  harness_.ApplyAll();
  harness_.SpecText(
      "project: p\nzone: europe-west4-a\n"
      "moved: [{from: pod.a, to: pod.c}, {from: pod.b, to: pod.d}]\npods:\n" +
      Harness::Pod("c") + Harness::Pod("d", "    description: x\n"));
  Show("moved.txt");
}

TEST_F(PlanViewTest, APodThatMayOnlyHaveANewNameHintsAtMoved) {
  harness_.Pods(Harness::Pod("old") + Harness::Pod("stays"));
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("fresh") + Harness::Pod("stays"));
  Show("move_hint.txt");
  const std::string hint = "Only renamed?";
  EXPECT_THAT(PlanSummary(harness_.MakePlan()), HasSubstr(hint));
  // Of two that fit nobody knows which.
  harness_.Pods(Harness::Pod("fresh") + Harness::Pod("fresh2") + Harness::Pod("stays"));
  EXPECT_THAT(PlanSummary(harness_.MakePlan()), Not(HasSubstr(hint)));
  // Of another size or place it is another one, and so it is with a node of another name.
  for (const char* other :
       {"    acceleratorType: v2-8\n    runtimeVersion: tpu-ubuntu2204-base\n",
        "    acceleratorType: v3-8\n    zone: us-central1-a\n    runtimeVersion: "
        "tpu-ubuntu2204-base\n"}) {
    harness_.Pods(std::string("  fresh:\n") + other + Harness::Pod("stays"));
    EXPECT_THAT(PlanSummary(harness_.MakePlan()), Not(HasSubstr(hint))) << other;
  }
  harness_.Pods(Harness::Pod("fresh", "    nodeId: another\n") + Harness::Pod("stays"));
  EXPECT_THAT(PlanSummary(harness_.MakePlan()), Not(HasSubstr(hint)));
}

TEST_F(PlanViewTest, ReplacedForAReason) {
  const std::string by = "    lifecycle: {replaceTriggeredBy: [pod.base.description]}\n";
  harness_.Pods(Harness::Pod("base") + Harness::Pod("triggered", by) + Harness::Pod("asked"));
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("base", "    description: x\n") + Harness::Pod("triggered", by) +
                Harness::Pod("asked"));
  harness_.plan_options.replace = {"pod.asked"};
  Show("replace_reasons.txt");
}

TEST_F(PlanViewTest, AChangedScriptIsShownAsADifference) {
  const auto spec = [&](const std::string& script) {
    harness_.Pods(Harness::Pod(
        "a", "    bootstrap: [{name: setup, env: {A: b}, run: \"" + script + "\"}]\n"));
  };
  spec("set -e\\npip install jax==0.4.1\\npip install flax\\n");
  harness_.ApplyAll();
  spec("set -e\\npip install jax==0.4.2\\npip install flax\\n");
  Show("changed_script.txt");
  // Who reviews a saved plan sees all of it.
  PlanViewOptions options;
  options.whole = true;
  EXPECT_THAT(ShowPlan(harness_.MakePlan(), options),
              AllOf(HasSubstr("+pip install jax==0.4.2"), HasSubstr("| pip install flax")));
}

// Why it is requested is said once, in the headline or below it.
TEST_F(PlanViewTest, ARequestIsToldOnce) {
  harness_.SpecText(
      "project: p\nfiles:\n  hosts: {path: hosts, content: x}\n"
      "trainingJobs:\n  mnist: {tpuSpec: 8xV3, image: i}\n");
  harness_.ApplyAll();
  harness_.plan_options.replace = {"file.hosts", "trainingJob.mnist"};
  Show("requested.txt");
}

TEST_F(PlanViewTest, RefreshOnly) {
  harness_.Pods(Harness::Pod("a", "    labels: {team: vision}\n") + Harness::Pod("gone"));
  harness_.ApplyAll();
  harness_.plan_options.mode = PlanMode::kRefreshOnly;
  Show("refresh_only_nothing.txt");
  harness_.Edit("a", [](Value& node) { node.SetPath("labels.team", "speech"); });
  harness_.cloud.RemoveNode(Harness::Name("gone"));
  Show("refresh_only.txt");
}

TEST_F(PlanViewTest, WithAnErrorBelow) {
  PlanViewOptions options;
  options.failed = true;
  EXPECT_EQ(ShowPlan({}, options), "");
  harness_.Pods(Harness::Pod("a"));
  ExpectGolden("cmd/plan/failed.txt", ShowPlan(harness_.MakePlan(), options));
}

// What is reviewed before it is carried out.
TEST_F(PlanViewTest, WholeTextsAreShownLineByLine) {
  harness_.Pods(
      Harness::Pod("a", "    metadata: {startup-script: \"#!/bin/sh\\necho good\\necho on\"}\n"));
  PlanViewOptions options;
  EXPECT_THAT(ShowPlan(harness_.MakePlan(), options), Not(HasSubstr("echo good")));
  options.whole = true;
  EXPECT_THAT(
      ShowPlan(harness_.MakePlan(), options),
      HasSubstr("(3 lines)\n          +#!/bin/sh\n          +echo good\n          +echo on\n"));
}

TEST_F(PlanViewTest, NoChanges) {
  harness_.Pods(Flags("true"));
  harness_.ApplyAll();
  Show("no_changes.txt");
}

TEST_F(PlanViewTest, Destroy) {
  Plan nothing;
  nothing.mode = PlanMode::kDestroy;
  ExpectGolden("cmd/plan/destroy_nothing.txt", ShowPlan(nothing, {}));
  harness_.Pods(Flags("true"));
  harness_.ApplyAll();
  harness_.plan_options.mode = PlanMode::kDestroy;
  Show("destroy.txt");
}

// What a spec says cannot look like a line of podctl's own.
TEST(JobsTextTest, EachLineOfWhatIsStartedStandsBelowItsJob) {
  const std::vector<std::string> clauses = {
      "a is a job of pod.p, which is created; it is started then\n  command:\n    | one\n    | "
      "two\x1b[2J\n  launcher: shell",
      "b is a job of pod.p, which is created"};
  EXPECT_EQ(JobsText(clauses),
            "Jobs: a is a job of pod.p, which is created; it is started then.\n"
            "        command:\n"
            "          | one\n"
            "          | two\\x1b[2J\n"
            "        launcher: shell\n"
            "      b is a job of pod.p, which is created.");
  EXPECT_THAT(
      JobNotes(clauses),
      ::testing::ElementsAre("Jobs: a is a job of pod.p, which is created; it is started then.",
                             "a, command: | one | two\x1b[2J", "a, launcher: shell",
                             "Jobs: b is a job of pod.p, which is created."));
  EXPECT_EQ(JobsText({}), "");
}

}  // namespace
}  // namespace podctl
