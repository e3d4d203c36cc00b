// What needs no workers: broken specs, approval, drift, locks, and secrets that stay secret.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPod =
    "  research: {acceleratorType: v3-32, runtimeVersion: tpu-vm-tf-2.11.0-pod}\n";

class SpecTest : public ::testing::Test {
 protected:
  void SetUp() override { box_.StartEmulator("none"); }
  void ExpectNothingChanged() {
    EXPECT_EQ(box_.Requests()["mutating"].AsInt(), 0) << ToJson(box_.Requests());
    EXPECT_EQ(box_.Run({"state", "list"}).out, "");
  }
  Sandbox box_;
};

struct Broken {
  const char* name;
  std::string text;
  const char* problem;
  const char* place;
  const char* fix;
};

std::string WithPod(const std::string& pod) {
  return "project: my-project\nzone: europe-west4-a\npods:\n  research:\n" + pod;
}

const Broken kBroken[] = {
    {"typo", WithPod("    acceleratorType: v3-32\n    runtimeVerson: tpu-vm-tf-2.11.0-pod\n"),
     "unknown key `runtimeVerson`", "podctl.yaml:6:5", "did you mean `runtimeVersion`?"},
    {"wrong type", WithPod("    acceleratorType: [v3-32]\n    runtimeVersion: x\n"),
     "`acceleratorType` must be text, found a list", "podctl.yaml:5:22", "^"},
    {"duplicate key",
     WithPod("    acceleratorType: v3-32\n    runtimeVersion: x\n    acceleratorType: v3-8\n"),
     "the key `acceleratorType` stands here twice", "podctl.yaml:7:5",
     "podctl.yaml:5:5: first defined here"},
    {"tab", WithPod("\tacceleratorType: v3-32\n"), "a tab where YAML wants blanks",
     "podctl.yaml:5:1", "indent with blanks"},
    {"NUL byte", "project: my-project\npo" + std::string(1, '\0') + "ds: {}\n", "a NUL byte",
     "podctl.yaml:2:3", "save it as UTF-8"},
    {"nesting", "pods: " + std::string(100'000, '[') + std::string(100'000, ']') + "\n",
     "nested deeper than", "podctl.yaml:1:", "levels"},
    {"unclosed nesting", "pods: " + std::string(100'000, '['), "nested deeper than",
     "podctl.yaml:1:", "levels"},
    {"circle",
     "project: p\nzone: europe-west4-a\npods:\n"
     "  a: {acceleratorType: v3-8, runtimeVersion: x, dependsOn: [pod.b]}\n"
     "  b: {acceleratorType: v3-8, runtimeVersion: x, dependsOn: [pod.a]}\n",
     "pods wait for each other", "podctl.yaml:", "pod.a -> pod.b -> pod.a"},
    {"missing variable",
     WithPod("    acceleratorType: v3-32\n    runtimeVersion: ${var.version}\n"),
     "there is no variable `version`", "podctl.yaml:6:21", "declare it under `variables`"},
    {"output-only key",
     WithPod("    acceleratorType: v3-32\n    runtimeVersion: x\n    state: READY\n"), "`state`",
     "podctl.yaml:7:5", "^^^^^"},
    {"empty", "", "the file is empty", "podctl.yaml", ""},
};

TEST_F(SpecTest, ABrokenSpecIsAnErrorWithPlaceAndFixAndNothingIsAsked) {
  for (const Broken& broken : kBroken) {
    SCOPED_TRACE(broken.name);
    box_.WriteFile("podctl.yaml", broken.text);
    for (const Arguments& words :
         {Arguments{"validate"}, Arguments{"plan"}, Arguments{"apply", "--auto-approve"}}) {
      const RunResult run = box_.Run(words);
      EXPECT_EQ(run.code, 1) << run;
      EXPECT_THAT(run.err, AllOf(HasSubstr("Error: "), HasSubstr(broken.problem),
                                 HasSubstr(broken.place), HasSubstr(broken.fix)));
      EXPECT_EQ(run.out, "");
      EXPECT_LT(run.err.size(), 4000U) << "the whole file is no explanation";
    }
  }
  EXPECT_EQ(box_.Requests()["total"].AsInt(), 0) << ToJson(box_.Requests());
}

// Who said it is who can mend it.
TEST_F(SpecTest, AWrongZoneIsLaidToWhoSaidIt) {
  box_.WriteFile("podctl.yaml",
                 "project: p\npods: {a: {acceleratorType: v3-8, runtimeVersion: r}}\n");
  box_.SetVariable("PODCTL_ZONE", "us-central2b");
  EXPECT_THAT(box_.Run({"validate"}).err,
              AllOf(HasSubstr("Error: PODCTL_ZONE: `us-central2b` is no zone\n"),
                    HasSubstr("Did you mean `us-central2-b`?")));
  EXPECT_THAT(box_.Run({"--zone", "us-central1b", "validate"}).err,
              HasSubstr("Error: --zone: `us-central1b` is no zone\n"));
}

TEST_F(SpecTest, ASpecThatCannotBeReadIsAnError) {
  RunResult run = box_.Run({"plan"});
  EXPECT_EQ(run.code, 1) << run;
  EXPECT_THAT(run.err, AllOf(HasSubstr("podctl.yaml"), HasSubstr("podctl init"))) << run;

  std::filesystem::create_symlink("nowhere", box_.Path("podctl.yaml"));
  run = box_.Run({"plan"});
  EXPECT_EQ(run.code, 1) << run;
  EXPECT_THAT(run.err, HasSubstr("podctl.yaml")) << run;
  std::filesystem::remove(box_.Path("podctl.yaml"));

  std::filesystem::create_directory(box_.Path("podctl.yaml"));
  run = box_.Run({"plan"});
  EXPECT_EQ(run.code, 1) << run;
  EXPECT_THAT(run.err, HasSubstr("podctl.yaml")) << run;
  std::filesystem::remove(box_.Path("podctl.yaml"));

  if (geteuid() != 0) {
    box_.WriteSpec(kPod);
    std::filesystem::permissions(box_.Path("podctl.yaml"), std::filesystem::perms::none);
    run = box_.Run({"plan"});
    EXPECT_EQ(run.code, 1) << run;
    EXPECT_THAT(run.err, HasSubstr("podctl.yaml")) << run;
  }
  EXPECT_EQ(box_.Requests()["total"].AsInt(), 0);
}

TEST_F(SpecTest, AllProblemsOfAllFilesAreToldAtOnce) {
  box_.WriteFile("specs/a.yaml",
                 "project: p\nzone: us-east5-a\npods:\n  a: {acceleratorTyp: v3-8}\n");
  box_.WriteFile("specs/b.yaml", "pods:\n  b: {runtimeVersoin: x}\n  a: {}\n");
  const RunResult run = box_.Run({"plan", "-f", "specs"});
  EXPECT_EQ(run.code, 1) << run;
  EXPECT_THAT(run.err, AllOf(HasSubstr("specs/a.yaml:4:"), HasSubstr("specs/b.yaml:2:"),
                             HasSubstr("specs/b.yaml:3:"), HasSubstr("`acceleratorType`?"),
                             HasSubstr("`runtimeVersion`?")))
      << run;
  EXPECT_EQ(box_.Requests()["total"].AsInt(), 0);
}

TEST_F(SpecTest, NobodyToAskIsAnErrorThatNamesTheFlag) {
  box_.WriteSpec(kPod);
  for (const Arguments& words : {Arguments{"apply"}, Arguments{"apply", "--input=false"}}) {
    const RunResult run = box_.Run(words);
    EXPECT_EQ(run.code, 1) << run;
    EXPECT_THAT(run.err, HasSubstr("--auto-approve")) << run;
  }
  auto quiet = box_.RunInPty({"apply", "--input=false"});
  EXPECT_EQ(quiet->Wait(), 1) << quiet->shown();
  EXPECT_THAT(quiet->shown(), AllOf(HasSubstr("--auto-approve"), Not(HasSubstr("Enter a value"))));
  ExpectNothingChanged();
}

TEST_F(SpecTest, OnlyYesIsYes) {
  box_.WriteSpec(kPod);
  for (const char* word : {"no", "y", ""}) {
    auto refused = box_.RunInPty({"apply"});
    ASSERT_TRUE(refused->WaitForText("Enter a value:")) << refused->shown();
    refused->SendKeys(std::string(word) + "\r");
    EXPECT_EQ(refused->Wait(), 1) << refused->shown();
    EXPECT_THAT(refused->shown(), HasSubstr("Apply cancelled.")) << refused->shown();
  }
  ExpectNothingChanged();
  auto approved = box_.RunInPty({"apply"});
  ASSERT_TRUE(approved->WaitForText("Enter a value:")) << approved->shown();
  approved->SendKeys("yes\r");
  EXPECT_EQ(approved->Wait(), 0) << approved->shown();
  EXPECT_THAT(approved->shown(), HasSubstr("Apply complete!")) << approved->shown();
  EXPECT_EQ(box_.GetNode("research").body["state"].AsString(), "READY");

  auto destroyed = box_.RunInPty({"destroy"});
  ASSERT_TRUE(destroyed->WaitForText("There is no undo")) << destroyed->shown();
  destroyed->SendKeys("yes\r");
  EXPECT_EQ(destroyed->Wait(), 0) << destroyed->shown();
  EXPECT_EQ(box_.GetNode("research").status, 404);
}

TEST_F(SpecTest, ANodeThatIsGoneIsMadeAnew) {
  box_.WriteSpec(kPod);
  box_.Apply();
  box_.Change("DELETE", std::string(kNodes) + "/research");
  const RunResult plan = box_.Run({"plan", "--detailed-exitcode"});
  EXPECT_EQ(plan.code, 2) << plan;
  EXPECT_THAT(plan.out, AllOf(HasSubstr("Plan: 1 to add, 0 to change, 0 to destroy."),
                              AnyOf(HasSubstr("gone"), HasSubstr("deleted"))))
      << plan;
  box_.Apply();
  EXPECT_EQ(box_.GetNode("research").body["state"].AsString(), "READY");
}

TEST_F(SpecTest, AChangeMadeOutsideIsShownApartAndUndone) {
  box_.WriteSpec(
      "  research: {acceleratorType: v3-32, runtimeVersion: tpu-vm-tf-2.11.0-pod,\n"
      "             labels: {team: vision}}\n");
  box_.Apply();
  box_.Change("PATCH", std::string(kNodes) + "/research?updateMask=labels",
              R"({"labels": {"team": "speech"}})");
  const RunResult plan = box_.Run({"plan"});
  EXPECT_EQ(plan.code, 0) << plan;
  EXPECT_THAT(plan.out, AllOf(HasSubstr("outside"), HasSubstr("\"speech\""),
                              HasSubstr("Plan: 0 to add, 1 to change, 0 to destroy.")))
      << plan;
  box_.Apply();
  EXPECT_EQ(box_.GetNode("research").body["labels"]["team"].AsString(), "vision");
  EXPECT_EQ(box_.Run({"plan", "--detailed-exitcode"}).code, 0);
}

TEST_F(SpecTest, APreemptedNodeIsReplacedAndThePlanSaysWhy) {
  box_.WriteSpec(kPod);
  box_.Apply();
  const std::string id = box_.GetNode("research").body["id"].AsString();
  box_.Http("POST", "/emulator/nodes",
            R"({"node": "projects/my-project/locations/europe-west4-a/nodes/research",
                "state": "PREEMPTED"})");
  const RunResult plan = box_.Run({"plan"});
  EXPECT_THAT(plan.out, AllOf(HasSubstr("PREEMPTED"), HasSubstr("replaced"),
                              HasSubstr("Plan: 1 to add, 0 to change, 1 to destroy.")))
      << plan;
  box_.Apply();
  EXPECT_EQ(box_.GetNode("research").body["state"].AsString(), "READY");
  EXPECT_NE(box_.GetNode("research").body["id"].AsString(), id);
}

TEST_F(SpecTest, AnImmutableFieldForcesReplacement) {
  box_.WriteSpec(kPod);
  box_.Apply();
  box_.WriteSpec(Replace(kPod, "2.11.0", "2.12.0"));
  const RunResult plan = box_.Run({"plan"});
  EXPECT_THAT(plan.out, AllOf(HasSubstr("# forces replacement"), HasSubstr("-/+ pod.research"),
                              HasSubstr("Plan: 1 to add, 0 to change, 1 to destroy.")))
      << plan;
  box_.Apply();
  EXPECT_EQ(box_.GetNode("research").body["runtimeVersion"].AsString(), "tpu-vm-tf-2.12.0-pod");
}

// The node would be deleted first, and nothing could take its place.
TEST_F(SpecTest, AReplacementThatCannotSucceedIsRefusedBeforeAnythingIsDeleted) {
  box_.WriteSpec("  three: {acceleratorType: v3-8, runtimeVersion: tpu-ubuntu2204-base}\n");
  box_.Apply();
  box_.CountAnew();
  box_.WriteSpec("  three: {acceleratorType: v3-8, runtimeVersion: tpu-ubuntu2204-bsae}\n");
  for (const Arguments& words : {Arguments{"plan"}, Arguments{"apply", "--auto-approve"}}) {
    const RunResult run = box_.Run(words);
    EXPECT_EQ(run.code, 1) << run;
    EXPECT_THAT(run.err, AllOf(HasSubstr("Error: europe-west4-a has no runtime version "
                                         "`tpu-ubuntu2204-bsae`"),
                               HasSubstr("did you mean `tpu-ubuntu2204-base`?"),
                               HasSubstr("The node that there is stays as it is.")))
        << run;
  }
  EXPECT_EQ(box_.Calls("runtimeVersions.get"), 2) << ToJson(box_.Requests());
  box_.WriteSpec("  three: {acceleratorType: v4-8, runtimeVersion: tpu-ubuntu2204-base}\n");
  EXPECT_THAT(box_.Run({"apply", "--auto-approve"}).err,
              HasSubstr("Error: europe-west4-a has no accelerator type `v4-8`"));
  // Who may not be asked holds nothing up.
  box_.OrderFault(R"({"call": "acceleratorTypes.get", "times": 9, "status": 403})");
  const RunResult warned = box_.Run({"plan"});
  EXPECT_EQ(warned.code, 0) << warned;
  EXPECT_THAT(warned.err, HasSubstr("Warning: as far as podctl knows, europe-west4-a has no v4-8"));
  EXPECT_EQ(box_.Requests()["mutating"].AsInt(), 0) << ToJson(box_.Requests());
  EXPECT_EQ(box_.GetNode("three").body["state"], Value("READY"));
}

TEST_F(SpecTest, OneRunAtATimeAndADeadOneHoldsNobodyUp) {
  box_.StopEmulator();
  box_.StartEmulator("none", "5s");
  box_.WriteSpec(kPod);
  auto holder = box_.Start({"apply", "--auto-approve"});
  ASSERT_TRUE(holder->WaitForErr("Creating...")) << holder->err();
  const RunResult refused = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(refused.code, 3) << refused;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("Lock Info:"), HasSubstr("Operation: apply"),
                                 HasSubstr("Who: "), HasSubstr("--lock-timeout")))
      << refused;
  EXPECT_EQ(box_.Run({"plan"}).code, 0) << "a plan only reads";
  EXPECT_EQ(box_.Run({"state", "rm", "pod.research"}).code, 3);

  holder->Signal(SIGKILL);
  EXPECT_EQ(holder->Wait(), 128 + SIGKILL);
  const RunResult next = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(next.code, 0) << next;
  EXPECT_THAT(next.err, HasSubstr("lock")) << "the takeover is told\n" << next;
  EXPECT_EQ(box_.Calls("nodes.create"), 1);
}

TEST_F(SpecTest, ARunMayWaitForTheLock) {
  box_.StopEmulator();
  box_.StartEmulator("none", "2s");
  box_.WriteSpec(kPod);
  auto first = box_.Start({"apply", "--auto-approve"});
  ASSERT_TRUE(first->WaitForErr("Creating...")) << first->err();
  const RunResult second = box_.Run({"apply", "--auto-approve", "--lock-timeout", "60s"});
  EXPECT_EQ(second.code, 0) << second;
  EXPECT_EQ(first->Wait(), 0) << first->err();
  EXPECT_EQ(box_.Calls("nodes.create"), 1);
}

TEST_F(SpecTest, TheStateIsLookedAfter) {
  box_.WriteSpec(kPod);
  EXPECT_EQ(box_.Run({"state", "list"}).out, "");
  box_.Apply();
  EXPECT_EQ(box_.Run({"state", "list"}).out, "pod.research\n");
  EXPECT_THAT(box_.Run({"state", "show", "pod.research"}).out,
              AllOf(HasSubstr("v3-32"), HasSubstr("READY")));
  EXPECT_THAT(box_.Run({"status"}).out, AllOf(HasSubstr("research"), HasSubstr("READY")));
  const Value status = ParseJson(box_.Run({"status", "--json"}).out).value_or(Value());
  EXPECT_EQ(status["pods"].AsList().at(0)["addresses"].AsList().size(), 4U) << ToJson(status);
  EXPECT_EQ(box_.Run({"state", "show", "pod.reserch"}).code, 1);
  const RunResult removed = box_.Run({"state", "rm", "pod.research"});
  EXPECT_EQ(removed.code, 0) << removed;
  EXPECT_EQ(box_.GetNode("research").status, 200) << "the node itself is left alone";

  // What podctl does not know is not its own to take.
  const RunResult apply = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(apply.code, 1) << apply;
  EXPECT_THAT(apply.err, HasSubstr("podctl made that node with this state, which does not"))
      << apply;

  // Where the file alone is lost, what is kept beside it is named.
  std::filesystem::remove(box_.Path("podctl.state.json"));
  const auto names_the_way_back = HasSubstr("kept: `podctl state restore ");
  EXPECT_THAT(Replace(box_.Run({"plan"}).err, "\n  ", " "), names_the_way_back);
  EXPECT_THAT(Replace(box_.Run({"exec", "research", "--", "true"}).err, "\n  ", " "),
              names_the_way_back);
  const RunResult destroy = box_.Run({"destroy", "--auto-approve"});
  EXPECT_EQ(destroy.code, 1) << "it would go on running\n" << destroy;
  EXPECT_THAT(Replace(destroy.err, "\n  ", " "), names_the_way_back) << destroy;

  for (const char* damaged : {"", "{", "{\"format_version\": 1}"}) {
    box_.WriteFile("podctl.state.json", damaged);
    const RunResult run = box_.Run({"plan"});
    EXPECT_EQ(run.code, 1) << "a damaged state is never no state\n" << run;
    EXPECT_THAT(run.err, HasSubstr("podctl.state.json")) << run;
    EXPECT_EQ(box_.ReadFile("podctl.state.json"), damaged);
  }
}

TEST_F(SpecTest, ATokenStaysHome) {
  const std::string token = "ya29.not-for-your-eyes";
  box_.WriteFile("token", token + "\n");
  box_.SetVariable("CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", box_.Path("token"));
  box_.WriteSpec(kPod);
  // An address that is reserved for documentation (RFC 5737): nobody must be asked there.
  const RunResult refused = box_.Run({"plan", "--endpoint", "http://192.0.2.1/"});
  EXPECT_EQ(refused.code, 1) << refused;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("unencrypted"), HasSubstr("https"))) << refused;
  std::string everything = refused.out + refused.err;
  for (const Arguments& words : {Arguments{"plan"}, Arguments{"apply", "--auto-approve", "--json"},
                                 Arguments{"show"}, Arguments{"status", "--json"}}) {
    const RunResult run = box_.Run(words);
    EXPECT_EQ(run.code, 0) << run;
    everything += run.out + run.err;
  }
  box_.OrderFault(R"({"status": 401, "message": "Request had invalid credentials."})");
  const RunResult unauthorised = box_.Run({"plan"});
  EXPECT_EQ(unauthorised.code, 1) << unauthorised;
  everything += unauthorised.err + box_.ReadFile("podctl.state.json");
  EXPECT_THAT(everything, Not(HasSubstr(token)));
}

TEST_F(SpecTest, ASecretIsNeitherShownNorStored) {
  box_.SetVariable("WANDB", "hunter2-value");
  const std::string pod =
      "  research:\n"
      "    acceleratorType: v3-32\n"
      "    runtimeVersion: tpu-vm-tf-2.11.0-pod\n"
      "    metadata:\n"
      "      wandb-key: {env: WANDB, sensitive: true}\n";
  box_.WriteSpec(pod);
  std::string everything;
  const auto run = [&](const Arguments& words) {
    RunResult result = box_.Run(words);
    EXPECT_EQ(result.code, 0) << result;
    everything += result.out + result.err;
    return result;
  };
  EXPECT_THAT(run({"plan"}).out, HasSubstr("(sensitive value)"));
  run({"apply", "--auto-approve", "--json"});
  EXPECT_EQ(box_.GetNode("research").body["metadata"]["wandb-key"].AsString(), "hunter2-value");
  EXPECT_THAT(run({"plan"}).out, HasSubstr("No changes."));
  everything += box_.ReadFile("podctl.state.json");

  box_.SetVariable("WANDB", "hunter3-value");
  EXPECT_THAT(run({"plan"}).out, HasSubstr("1 to change"));
  run({"apply", "--auto-approve"});
  EXPECT_EQ(box_.GetNode("research").body["metadata"]["wandb-key"].AsString(), "hunter3-value");
  run({"show"});
  run({"show", "--json"});
  run({"destroy", "--auto-approve"});
  everything += box_.ReadFile("podctl.state.json");
  EXPECT_THAT(everything, AllOf(Not(HasSubstr("hunter2")), Not(HasSubstr("hunter3"))));
}

}  // namespace
}  // namespace podctl::testing
