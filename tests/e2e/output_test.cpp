// Outputs with the built binary: apply leaves them in the state, and other tools read them there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kPod =
    "  research:\n"
    "    acceleratorType: v3-8\n"
    "    runtimeVersion: tpu-vm-tf-2.11.0\n"
    "    labels: {team: vision}\n";
constexpr const char* kOutputs =
    "outputs:\n"
    "  address: ${pod.research.networkEndpoints[0].ipAddress}\n"
    "  team: {value: \"${pod.research.labels.team}\", description: whose it is}\n"
    "  token: {value: \"t-${var.token}\", sensitive: true}\n";

class OutputTest : public ::testing::Test {
 protected:
  void SetUp() override {
    box_.StartEmulator("none");
    box_.SetVariable("PODCTL_VAR_token", "s3cret");
    Write(kOutputs);
  }
  void Write(const std::string& outputs, const std::string& pod = kPod) {
    box_.WriteSpec(pod + outputs + "variables: {token: {sensitive: true}}\n");
  }
  std::string Address() {
    return box_.GetNode("research").body["networkEndpoints"].AsList()[0]["ipAddress"].AsString();
  }

  Sandbox box_;
};

TEST_F(OutputTest, AreShownByApplyAndReadByTools) {
  const RunResult applied = box_.Apply();
  const std::string address = Address();
  EXPECT_THAT(applied.out,
              HasSubstr("1 added, 0 changed, 0 destroyed.\n\nOutputs:\n\naddress = \"" + address +
                        "\"\nteam = \"vision\"\ntoken = <sensitive>\n"));
  EXPECT_THAT(box_.ReadFile("podctl.state.json"), Not(HasSubstr("s3cret")));
  EXPECT_EQ(box_.Run({"output"}).out,
            "address = \"" + address + "\"\nteam = \"vision\"\ntoken = <sensitive>\n");
  EXPECT_EQ(box_.Run({"output", "address"}).out, "\"" + address + "\"\n");
  EXPECT_EQ(box_.Run({"output", "--raw", "address"}).out, address);
  EXPECT_EQ(box_.Run({"output", "--json", "team"}).out, "\"vision\"\n");
  EXPECT_EQ(box_.Run({"output", "--raw", "token"}).out, "t-s3cret");
  const auto all = ParseJson(box_.Run({"output", "--json"}).out);
  ASSERT_TRUE(all);
  EXPECT_EQ(ToJson((*all)["team"]), R"({"sensitive":false,"type":"string","value":"vision"})");
  EXPECT_EQ(ToJson((*all)["token"]), R"({"sensitive":true,"type":"string","value":"t-s3cret"})");
  EXPECT_THAT(box_.Run({"state", "list"}).out, Not(HasSubstr("output")));
  EXPECT_THAT(box_.Run({"status", "--json"}).out, Not(HasSubstr("output")));
  EXPECT_THAT(box_.Run({"state", "show", "output.team"}).out, HasSubstr("value = \"vision\""));
  const RunResult plan = box_.Run({"plan", "--detailed-exitcode"});
  EXPECT_EQ(plan.code, 0) << plan;
}

TEST_F(OutputTest, NeedNoSpec) {
  box_.Apply();
  box_.WriteFile("podctl.yaml", "pods: {}\n");
  EXPECT_EQ(box_.Run({"output", "--state", "podctl.state.json", "--raw", "team"}).out, "vision");
  const RunResult secret = box_.Run({"output", "token"});
  EXPECT_EQ(secret.code, 1);
  EXPECT_THAT(secret.err, HasSubstr("the value of the sensitive output `token` cannot be told: the "
                                    "spec has no such output"));
  const auto all = ParseJson(box_.Run({"output", "--json"}).out);
  ASSERT_TRUE(all);
  EXPECT_EQ(ToJson((*all)["token"]), R"({"sensitive":true,"type":"string"})");
}

TEST_F(OutputTest, AChangeOfThemAloneIsAChange) {
  box_.Apply();
  Write(Replace(kOutputs, "labels.team}\"", "labels.team}/x\""));
  const RunResult plan = box_.Run({"plan", "--detailed-exitcode"});
  EXPECT_EQ(plan.code, 2) << plan;
  EXPECT_THAT(plan.out, AllOf(HasSubstr("Changes to Outputs:\n  ~ team = \"vision\" -> "
                                        "\"vision/x\"\n"),
                              Not(HasSubstr("to add"))));
  const auto events = JsonLines(box_.Run({"plan", "--json"}).out);
  EXPECT_EQ(ToJson(events.back()["outputs"]["team"]), R"({"action":"update","sensitive":false})");
  box_.CountAnew();
  const RunResult applied = box_.Apply();
  EXPECT_THAT(applied.out, HasSubstr("0 added, 0 changed, 0 destroyed."));
  EXPECT_EQ(box_.Requests()["mutating"].AsInt(), 0);
  EXPECT_EQ(box_.Run({"output", "--raw", "team"}).out, "vision/x");
}

TEST_F(OutputTest, ASavedPlanLeavesThem) {
  ASSERT_EQ(box_.Run({"plan", "--out", "p"}).code, 0);
  EXPECT_THAT(box_.ReadFile("p"), Not(HasSubstr("s3cret")));
  EXPECT_THAT(box_.Run({"show", "p"}).out, HasSubstr("+ address = (known after apply)\n"));
  const auto document = ParseJson(box_.Run({"show", "--json", "p"}).out);
  ASSERT_TRUE(document);
  EXPECT_EQ(ToJson((*document)["output_changes"]["address"]),
            R"({"actions":["create"],"after_sensitive":false,"after_unknown":true,)"
            R"("before":null,"before_sensitive":false})");
  const RunResult applied = box_.Run({"apply", "p"});
  EXPECT_EQ(applied.code, 0) << applied;
  EXPECT_THAT(applied.out, EndsWith("team = \"vision\"\ntoken = <sensitive>\n"));
  EXPECT_EQ(box_.Run({"output", "--raw", "token"}).out, "t-s3cret");
}

TEST_F(OutputTest, WhatIsNotThereIsNamedWithWhatIs) {
  const RunResult none = box_.Run({"output"});
  EXPECT_EQ(none.code, 0) << none;
  EXPECT_THAT(none.out, IsEmpty());
  EXPECT_THAT(none.err, HasSubstr("No outputs found"));
  EXPECT_EQ(box_.Run({"output", "--json"}).out, "{}\n");
  box_.Apply();
  const RunResult near = box_.Run({"output", "adress"});
  EXPECT_EQ(near.code, 1) << near;
  EXPECT_THAT(near.err, AllOf(HasSubstr("there is no output `adress` in the state"),
                              HasSubstr("Did you mean `address`?")));
  EXPECT_THAT(box_.Run({"output", "--raw"}).err, HasSubstr("`--raw` is of one output"));
  EXPECT_THAT(box_.Run({"__complete", "fish", "none", "--", "output", "a"}).out,
              HasSubstr("address"));
}

TEST_F(OutputTest, GoWithADestroy) {
  box_.Apply();
  const RunResult destroyed = box_.Run({"destroy", "--auto-approve"});
  EXPECT_EQ(destroyed.code, 0) << destroyed;
  EXPECT_THAT(destroyed.out, HasSubstr("Changes to Outputs:\n  - address = "));
  EXPECT_THAT(box_.Run({"output"}).out, IsEmpty());
}

// ---- Outputs of another state (`stateOf`).

class StateOfTest : public OutputTest {
 protected:
  void SetUp() override {
    OutputTest::SetUp();
    box_.SetVariable("STORAGE_EMULATOR_HOST", box_.url());
    box_.Http("POST", "/storage/v1/b?project=my-project", R"({"name":"states"})");
  }
  // A spec of its own, whose state is at `state`.
  void ApplyInfra(const std::string& state, const std::string& team) {
    box_.WriteFile("infra.yaml", "project: my-project\nzone: europe-west4-a\nstate: " + state +
                                     "\npods: {}\noutputs: {team: " + team +
                                     ", token: {value: x, sensitive: true}}\n");
    const RunResult run = box_.Run({"apply", "-f", "infra.yaml", "--auto-approve"});
    ASSERT_EQ(run.code, 0) << run;
  }
  void WriteUser(const std::string& state, const std::string& output = "team") {
    Write("stateOf: {infra: " + state + "}\noutputs: {theirs: \"${state.infra.outputs." + output +
              "}!\"}\n",
          Replace(kPod, "vision", "\"${state.infra.outputs." + output + "}\""));
  }
  // An apply uses what the other state says, and a plan sees when that changes.
  void ExpectUsed(const std::string& place) {
    ApplyInfra(place, "vision");
    WriteUser(place);
    box_.Apply();
    EXPECT_EQ(box_.GetNode("research").body["labels"]["team"].AsString(), "vision");
    EXPECT_EQ(box_.Run({"output", "--raw", "theirs"}).out, "vision!");
    ASSERT_EQ(box_.Run({"plan", "--out", "none.plan", "--detailed-exitcode"}).code, 0);
    ApplyInfra(place, "speech");
    const RunResult plan = box_.Run({"plan", "--out", "p"});
    EXPECT_THAT(plan.out, HasSubstr("~ theirs = \"vision!\" -> \"speech!\""));
    ApplyInfra(place, "other");
    const RunResult applied = box_.Run({"apply", "p"});
    EXPECT_EQ(applied.code, 0) << applied;
    EXPECT_EQ(box_.GetNode("research").body["labels"]["team"].AsString(), "speech")
        << "as it was reviewed";
  }
};

TEST_F(StateOfTest, OfALocalState) {
  ExpectUsed("infra.state.json");
}

TEST_F(StateOfTest, OfAStateInABucket) {
  ExpectUsed("gs://states/infra");
}

TEST_F(StateOfTest, OwnStateInABucketWithOutputs) {
  box_.SetVariable("PODCTL_VAR_token", "s3cret");
  box_.WriteFile("podctl.yaml", "state: gs://states/own\n" + box_.ReadFile("podctl.yaml"));
  box_.Apply();
  EXPECT_EQ(box_.Run({"output", "--raw", "team"}).out, "vision");
  EXPECT_EQ(box_.Run({"output", "--raw", "token"}).out, "t-s3cret");
  EXPECT_EQ(box_.Run({"plan", "--detailed-exitcode"}).code, 0);
}

TEST_F(StateOfTest, WhatIsNotThereIsToldAtItsPlace) {
  WriteUser("gs://states/gone");
  const RunResult gone = box_.Run({"plan"});
  EXPECT_EQ(gone.code, 1);
  EXPECT_THAT(gone.err, AllOf(HasSubstr("there is no state `infra` at gs://states/gone"),
                              HasSubstr("podctl.yaml:"), HasSubstr("stateOf")))
      << gone;
  ApplyInfra("infra.state.json", "vision");
  WriteUser("infra.state.json", "taem");
  EXPECT_THAT(box_.Run({"plan"}).err, HasSubstr("did you mean `${state.infra.outputs.team}`?"));
  EXPECT_EQ(box_.Run({"validate"}).code, 0) << "it contacts nothing";
  WriteUser("infra.state.json", "token");
  EXPECT_THAT(box_.Run({"plan"}).err, HasSubstr("is sensitive"));
  WriteUser("podctl.state.json");
  EXPECT_THAT(box_.Run({"plan"}).err, HasSubstr("`infra` is the spec's own state"));
}

TEST_F(StateOfTest, ADestroyNeedsNoOtherState) {
  ApplyInfra("infra.state.json", "vision");
  WriteUser("infra.state.json");
  box_.Apply();
  ASSERT_EQ(box_.RunProgram({"rm", "infra.state.json"}).code, 0);
  const RunResult destroyed = box_.Run({"destroy", "--auto-approve"});
  EXPECT_EQ(destroyed.code, 0) << destroyed;
}

}  // namespace
}  // namespace podctl::testing
