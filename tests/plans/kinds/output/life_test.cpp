// Outputs: what an apply leaves in the state for others, and what of it a plan tells.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "plans/engine/plan_file.h"
#include "plans/engine/plan_file/secrets.h"
#include "plans/kinds/moves.h"
#include "plans/kinds/output/record.h"
#include "plans/session/output.h"
#include "plans/spec/loader.h"
#include "providers/base/json.h"
#include "providers/os/environment.h"
#include "state/state_json.h"
#include "tests/plans/harness.h"
#include "tests/support/addresses.h"
#include "tests/support/folders.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using testing::Actions;
using testing::AllKinds;
using testing::ChangeOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Lines;
using ::testing::Not;
using ::testing::SizeIs;

class OutputTest : public ::testing::Test {
 protected:
  static std::string Text(const std::string& entries, const std::string& pods,
                          const std::string& secret = "s3cret") {
    return "project: p\nzone: europe-west4-a\nvariables:\n  token: {sensitive: true, default: " +
           secret + "}\npods:" + (pods.empty() ? " {}\n" : "\n" + pods) +
           (entries.empty() ? "" : "outputs:\n" + entries);
  }
  void Outputs(const std::string& entries, const std::string& pods = "",
               const std::string& secret = "s3cret") {
    harness_.SpecText(Text(entries, pods, secret));
  }
  // Of the stored state; "(none)" where it is not there.
  std::string ValueOf(const std::string& name) {
    const State state = harness_.Stored();
    const OutputRecord* record = podctl::Outputs(state).Get(OutputAddress(name));
    return record == nullptr ? "(none)" : record->sensitive() ? "(digest)" : record->value;
  }
  std::string AddressOf(const std::string& node) {
    return harness_.Node(node)["networkEndpoints"].AsList().front()["ipAddress"].AsString();
  }

  Harness harness_;
};

constexpr const char* kAddressOfA = "  a: ${pod.a.networkEndpoints[0].ipAddress}\n";

TEST_F(OutputTest, IsKnownWhenItsPodIs) {
  Outputs(kAddressOfA, Harness::Pod("a"));
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("create pod.a", "create output.a"));
  EXPECT_THAT(Lines(ChangeOf(plan, "output.a").attributes),
              ElementsAre("value: (none) -> (unknown)"));
  EXPECT_EQ(plan.Counts().add, 1U) << "an output is no thing";
  harness_.ApplyAll();
  EXPECT_EQ(ValueOf("a"), AddressOf("a"));
  EXPECT_THAT(harness_.events.lines, Not(Contains(HasSubstr("output.a"))));
}

TEST_F(OutputTest, FollowsWhatTheSpecSays) {
  Outputs("  a: one\n  b: x\n");
  harness_.ApplyAll();
  EXPECT_EQ(ValueOf("a"), "one");
  Outputs("  a: two\n");
  const Plan plan = harness_.MakePlan();
  EXPECT_FALSE(plan.Empty());
  EXPECT_EQ(plan.Counts().change + plan.Counts().destroy, 0U);
  EXPECT_THAT(Lines(ChangeOf(plan, "output.a").attributes), ElementsAre("value: one -> two"));
  EXPECT_THAT(Lines(ChangeOf(plan, "output.b").attributes), ElementsAre("value: x -> (none)"));
  harness_.ApplyAll();
  EXPECT_EQ(ValueOf("a"), "two");
  EXPECT_EQ(ValueOf("b"), "(none)");
}

TEST_F(OutputTest, FollowsWhatTheSameApplyChanges) {
  const auto spec = [&](const std::string& team) {
    Outputs("  team: ${pod.a.labels.team}\n",
            Harness::Pod("a", "    labels: {team: " + team + "}\n"));
  };
  spec("red");
  harness_.ApplyAll();
  spec("blue");
  EXPECT_THAT(Lines(ChangeOf(harness_.MakePlan(), "output.team").attributes),
              ElementsAre("value: red -> blue"));
  harness_.ApplyAll();
  EXPECT_EQ(ValueOf("team"), "blue");
}

TEST_F(OutputTest, OfANodeThatIsReplacedIsNotKnown) {
  const auto spec = [&](const std::string& type) {
    Outputs(kAddressOfA,
            "  a: {acceleratorType: " + type + ", runtimeVersion: tpu-vm-tf-2.11.0-pod}\n");
  };
  spec("v3-32");
  harness_.ApplyAll();
  const std::string before = AddressOf("a");
  spec("v3-64");
  EXPECT_THAT(Lines(ChangeOf(harness_.MakePlan(), "output.a").attributes),
              ElementsAre("value: " + before + " -> (unknown)"));
  harness_.ApplyAll();
  EXPECT_EQ(ValueOf("a"), AddressOf("a"));
}

TEST_F(OutputTest, OfAPodThatFailsStaysWhatItWas) {
  Outputs("  a: one\n");
  harness_.ApplyAll();
  Outputs(kAddressOfA, Harness::Pod("a"));
  harness_.cloud.FailNext("create", MakeError(ErrorCode::kPermissionDenied, "no"));
  const ExecuteResult result = harness_.Apply();
  EXPECT_THAT(result.failures, SizeIs(1));
  EXPECT_THAT(result.skipped, IsEmpty());
  EXPECT_EQ(ValueOf("a"), "one");
  harness_.ApplyAll();
  EXPECT_EQ(ValueOf("a"), AddressOf("a"));
}

TEST_F(OutputTest, GoesWithItsPods) {
  Outputs(kAddressOfA, Harness::Pod("a"));
  harness_.ApplyAll();
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_THAT(harness_.Stored().records, IsEmpty());
}

TEST_F(OutputTest, CannotBeReplaced) {
  Outputs("  a: one\n");
  harness_.ApplyAll();
  harness_.plan_options.replace = {"output.a"};
  const Diagnostics problems = harness_.TryPlan();
  ASSERT_TRUE(problems.has_errors());
  EXPECT_THAT(problems.items().front().summary, HasSubstr("output.a cannot be replaced"));
}

TEST_F(OutputTest, WhatIsNotThereIsAnError) {
  Outputs("  a: ${pod.a.labels.nobody}\n", Harness::Pod("a"));
  const ExecuteResult first = harness_.Apply();
  ASSERT_THAT(first.failures, SizeIs(1));
  EXPECT_THAT(first.failures.front().error.message, HasSubstr("which is not there"));
  const Diagnostics problems = harness_.TryPlan();
  ASSERT_TRUE(problems.has_errors());
  EXPECT_THAT(problems.items().front().summary,
              HasSubstr("output.a refers to `${pod.a.labels.nobody}`, which is not there"));
}

TEST_F(OutputTest, FollowsItsPodToAnotherName) {
  Outputs(kAddressOfA, Harness::Pod("a"));
  harness_.ApplyAll();
  State state = harness_.Stored();
  ASSERT_TRUE(MoveAddress(state, Addr("pod.a"), Addr("pod.b")));
  EXPECT_THAT(podctl::Outputs(state).at(Addr("output.a")).depends_on, ElementsAre(Addr("pod.b")));
}

// ---- What is sensitive.

class SensitiveOutputTest : public OutputTest {
 protected:
  Result<std::string> Anew(const std::string& text) {
    testing::FakeFileSystem files;
    files.SetFile("podctl.yaml", text);
    LoadOptions load = testing::WithKinds();
    Diagnostics problems;
    const Spec spec = LoadSpec(load, files, FixedEnvironment({}), problems);
    EXPECT_FALSE(problems.has_errors());
    return SensitiveOutput("t", spec, harness_.Stored(), AllKinds().all);
  }
};

constexpr const char* kSecret =
    "  t: {value: \"${var.token}@${pod.a.networkEndpoints[0].ipAddress}\", sensitive: true}\n";

TEST_F(SensitiveOutputTest, TheStateHoldsADigest) {
  Outputs(kSecret, Harness::Pod("a"));
  EXPECT_TRUE(ChangeOf(harness_.MakePlan(), "output.t").attributes.front().sensitive);
  harness_.ApplyAll();
  EXPECT_EQ(ValueOf("t"), "(digest)");
  EXPECT_THAT(StateToJson(harness_.Stored()), Not(HasSubstr("s3cret")));
}

TEST_F(SensitiveOutputTest, AnotherValueIsNoticed) {
  Outputs(kSecret, Harness::Pod("a"));
  harness_.ApplyAll();
  Outputs(kSecret, Harness::Pod("a"), "another");
  EXPECT_THAT(Actions(harness_.MakePlan()), Contains("update output.t"));
  harness_.ApplyAll();
}

TEST_F(SensitiveOutputTest, IsMadeAnewOfSpecAndState) {
  Outputs(kSecret, Harness::Pod("a"));
  harness_.ApplyAll();
  const auto value = Anew(Text(kSecret, Harness::Pod("a")));
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(*value, "s3cret@" + AddressOf("a"));
  const auto other = Anew(Text(kSecret, Harness::Pod("a"), "another"));
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("another one than was applied last"));
  const auto none = Anew(Text("", Harness::Pod("a")));
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("the spec has no such output"));
}

TEST_F(SensitiveOutputTest, WhatWasSecretIsNotShownWhenItIsNoneAnyMore) {
  Outputs("  t: {value: \"${var.token}\", sensitive: true}\n");
  harness_.ApplyAll();
  Outputs("  t: open\n");
  const Plan plan = harness_.MakePlan();
  EXPECT_TRUE(ChangeOf(plan, "output.t").attributes.front().sensitive);
  harness_.ApplyAll();
  EXPECT_EQ(ValueOf("t"), "open");
}

// ---- A saved plan.

TEST_F(SensitiveOutputTest, ASavedPlanHoldsNoSecret) {
  Outputs("  a: x\n  t: {value: \"${var.token}\", sensitive: true}\n");
  SavedPlan saved;
  saved.podctl_version = "1";
  saved.plan = harness_.MakePlan();
  HideSecrets({"key", false}, &saved.plan);
  const auto text = PlanToJson(saved);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_THAT(*text, Not(HasSubstr("s3cret")));
  const auto read = PlanFromJson(*text, "x", AllKinds());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(Actions(read->plan), ElementsAre("create output.a", "create output.t"));
}

// ---- The state's format.

std::string OddText(std::mt19937& dice) {
  static const std::vector<std::string> kPieces = {"a",    "\"", "\\", "\n", "${x}", "é",    "\t",
                                                   "\x01", " ",  "</", "😀",  "0",    "null", "\r"};
  std::string text;
  const auto count = dice() % 12;
  for (std::size_t i = 0; i < count; ++i) text += kPieces[dice() % kPieces.size()];
  return text;
}

TEST(OutputFormat, EveryStateIsReadBackAsItWasWritten) {
  constexpr int kStates = 300;
  std::mt19937 dice(17);
  for (int i = 0; i < kStates; ++i) {
    State state;
    state.lineage = "8f14e45f-ceea-467f-a0e6-c1a5b1b7d3aa";
    state.serial = dice() % 1000;
    state.digest_key = "00112233445566778899aabbccddeeff";
    const auto count = dice() % 5;
    for (std::size_t n = 0; n < count; ++n) {
      OutputRecord output;
      if (dice() % 3 == 0) {
        output.digest = OutputDigest(OddText(dice), state.digest_key);
      } else {
        output.value = OddText(dice);
      }
      if (dice() % 2 == 0) output.depends_on = {Addr("pod.a"), Addr("trainingJob.b")};
      const Address address = OutputAddress("o" + std::to_string(n));
      state.records.emplace(address, output);
      const auto one = RecordFromJson(RecordToJson(output), address, RememberedKinds(), "x");
      ASSERT_TRUE(one) << one.error().message;
      EXPECT_EQ(*one, AnyRecord(output));
    }
    const std::string text = StateToJson(state);
    const auto read = StateFromJson(text, "x", RememberedKinds());
    ASSERT_TRUE(read) << read.error().message << "\n" << text;
    EXPECT_EQ(*read, state);
    EXPECT_EQ(StateToJson(*read), text);
    EXPECT_TRUE(StateText(state).SaidBy(text, RememberedKinds()));
  }
}

// Files of every version stay in tests/golden/state, and are read for ever.
TEST(OutputFormat, Version6IsRead) {
  std::ifstream file(testing::SourceFolder() + "/tests/golden/state/version6.state.json");
  std::stringstream text;
  text << file.rdbuf();
  const auto state = StateFromJson(text.str(), "x", RememberedKinds());
  ASSERT_TRUE(state) << state.error().message;
  const auto outputs = podctl::Outputs(*state);
  EXPECT_THAT(outputs, SizeIs(3));
  EXPECT_EQ(outputs.at(Addr("output.address")).value, "127.97.91.5");
  EXPECT_THAT(outputs.at(Addr("output.address")).depends_on, ElementsAre(Addr("pod.research")));
  EXPECT_EQ(outputs.at(Addr("output.several")).value, "one\ntwo \"é\"\n");
  EXPECT_EQ(outputs.at(Addr("output.token")).digest, OutputDigest("t-s3cret", state->digest_key));
  const auto again = StateFromJson(StateToJson(*state), "x", RememberedKinds());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *state);
}

// A podctl that knows no outputs reads a state without any, and refuses one that has some.
TEST(OutputFormat, OnlyAStateWithOutputsIsOfTheNewVersion) {
  State state;
  state.lineage = "8f14e45f-ceea-467f-a0e6-c1a5b1b7d3aa";
  state.digest_key = "00112233445566778899aabbccddeeff";
  EXPECT_THAT(StateToJson(state), HasSubstr("\"format_version\": 5,"));
  OutputRecord output;
  output.value = "x";
  state.records.emplace(OutputAddress("a"), output);
  EXPECT_THAT(StateToJson(state), HasSubstr("\"format_version\": 6,"));
}

}  // namespace
}  // namespace podctl
