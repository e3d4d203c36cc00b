// Patches while somebody else changes the same node: what is theirs stays theirs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "plans/kinds/pod/record.h"
#include "tests/plans/harness.h"
#include "tests/support/addresses.h"

namespace podctl {
namespace {

using testing::FakeProvider;
using testing::Harness;
using ::testing::HasSubstr;

constexpr const char* kNote =
    "note pod.a: somebody else changed metadata.theirs at the same time; "
    "their value is put back";

class PatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Write("1");
    harness_.ApplyAll();
    harness_.cloud.ForgetCalls();
    Write("2");
  }
  void Write(const std::string& mine) {
    harness_.Pods(
        Harness::Pod("a", "    labels: {team: vision}\n    metadata: {mine: \"" + mine + "\"}\n"));
  }
  static void Theirs(FakeProvider& cloud, const std::string& key, const Value& value) {
    cloud.PatchAsSomebodyElse(Harness::Name("a"), {"metadata"}, [&](Value& node) {
      Value metadata = node["metadata"];
      value.is_null() ? metadata.Erase(key) : metadata.Set(key, value);
      node.Set("metadata", metadata);
    });
  }
  Value Metadata(const std::string& key) { return harness_.Node("a")["metadata"][key]; }
  std::size_t Patches() const { return harness_.cloud.Calls("patch").size(); }

  Harness harness_;
};

TEST_F(PatchTest, TheirChangeBeforeOurReadIsMerged) {
  harness_.cloud.Before("get", [](FakeProvider& cloud) { Theirs(cloud, "theirs", "x"); });
  harness_.ApplyAll();
  EXPECT_EQ(Metadata("theirs"), Value("x"));
  EXPECT_EQ(Metadata("mine"), Value("2"));
  EXPECT_EQ(Patches(), 1U);
}

TEST_F(PatchTest, TheirNewKeyBetweenReadAndWriteIsPutBack) {
  harness_.cloud.Before("patch", [](FakeProvider& cloud) { Theirs(cloud, "theirs", "x"); });
  harness_.ApplyAll();
  EXPECT_EQ(Metadata("theirs"), Value("x"));
  EXPECT_EQ(Metadata("mine"), Value("2"));
}

TEST_F(PatchTest, AUserIsToldOfWhatWasPutBack) {
  harness_.cloud.Before("patch", [](FakeProvider& cloud) { Theirs(cloud, "theirs", "x"); });
  EXPECT_TRUE(harness_.Apply().ok());
  harness_.events.At(kNote);
  EXPECT_EQ(Patches(), 2U);
}

TEST_F(PatchTest, TheirNewValueAndTheirRemovalArePutBackToo) {
  harness_.Edit("a", [](Value& node) {
    node.SetPath("metadata.changed", "old");
    node.SetPath("metadata.removed", "old");
  });
  harness_.cloud.Before("patch", [](FakeProvider& cloud) {
    Theirs(cloud, "changed", "new");
    Theirs(cloud, "removed", {});
  });
  harness_.ApplyAll();
  EXPECT_EQ(Metadata("changed"), Value("new"));
  EXPECT_TRUE(Metadata("removed").is_null());
  EXPECT_EQ(Metadata("mine"), Value("2"));
}

TEST_F(PatchTest, SeveralOfTheirChangesAreAllPutBack) {
  harness_.cloud.Before("patch", [](FakeProvider& cloud) {
    Theirs(cloud, "one", "1");
    Theirs(cloud, "two", "2");
  });
  harness_.ApplyAll();
  EXPECT_EQ(Metadata("one"), Value("1"));
  EXPECT_EQ(Metadata("two"), Value("2"));
}

TEST_F(PatchTest, TheyMayComeBetweenInTheNextRoundAsWell) {
  harness_.cloud.Before("patch", [](FakeProvider& cloud) {
    Theirs(cloud, "one", "1");
    cloud.Before("patch", [](FakeProvider& again) { Theirs(again, "two", "2"); });
  });
  harness_.ApplyAll();
  EXPECT_EQ(Metadata("one"), Value("1"));
  EXPECT_EQ(Metadata("two"), Value("2"));
  EXPECT_EQ(Metadata("mine"), Value("2"));
  EXPECT_EQ(Patches(), 3U);
}

TEST_F(PatchTest, AKeyOfOursThatTheyChangeIsOursAllTheSame) {
  // The team is podctl's and no part of this change; somebody sets it between read and write.
  harness_.Pods(
      Harness::Pod("a", "    labels: {team: vision, cost: \"1\"}\n    metadata: {mine: \"1\"}\n"));
  harness_.cloud.Before("patch", [](FakeProvider& cloud) {
    cloud.PatchAsSomebodyElse(Harness::Name("a"), {"labels"},
                              [](Value& node) { node.SetPath("labels.team", "speech"); });
  });
  harness_.ApplyAll();
  EXPECT_EQ(harness_.Node("a")["labels"]["team"], Value("vision"));
  EXPECT_EQ(Patches(), 1U);
}

TEST_F(PatchTest, TheirChangeAfterOurWriteIsTheirs) {
  harness_.cloud.Before("operations", [](FakeProvider& cloud) {
    cloud.Before("operations", [](FakeProvider& after) {
      after.FinishOperations();  // ours has landed
      Theirs(after, "theirs", "x");
      Theirs(after, "mine", "2");
    });
  });
  harness_.ApplyAll();
  EXPECT_EQ(Metadata("theirs"), Value("x"));
  EXPECT_EQ(Patches(), 1U);
}

TEST_F(PatchTest, OurValueWrittenOverByOthersIsWrittenAgain) {
  harness_.cloud.Before("operations", [](FakeProvider& cloud) {
    cloud.Before("operations", [](FakeProvider& after) {
      after.FinishOperations();
      Theirs(after, "mine", "stale");
    });
  });
  harness_.ApplyAll();
  EXPECT_EQ(Metadata("mine"), Value("2"));
  EXPECT_EQ(Patches(), 2U);
}

TEST_F(PatchTest, ALostReplyIsRepeated) {
  harness_.cloud.LoseReply("patch");
  harness_.ApplyAll();
  EXPECT_EQ(Metadata("mine"), Value("2"));
}

TEST_F(PatchTest, ALostReplyDoesNotHideTheirChange) {
  Harness harness(FakeProvider::Options{.looks = 0});
  harness.Pods(Harness::Pod("a", "    metadata: {mine: \"1\"}\n"));
  harness.ApplyAll();
  harness.Pods(Harness::Pod("a", "    metadata: {mine: \"2\"}\n"));
  harness.cloud.Before("patch", [](FakeProvider& cloud) { Theirs(cloud, "theirs", "x"); });
  harness.cloud.LoseReply("patch");
  harness.ApplyAll();
  EXPECT_EQ(harness.Node("a")["metadata"]["theirs"], Value("x"));
  EXPECT_EQ(harness.Node("a")["metadata"]["mine"], Value("2"));
}

TEST_F(PatchTest, AnotherOperationIsWaitedFor) {
  harness_.cloud.FailNext("patch", MakeError(ErrorCode::kAborted, "another operation is going on"),
                          9);
  harness_.ApplyAll();
  EXPECT_EQ(Patches(), 10U);
}

TEST_F(PatchTest, WhoMayNotListOperationsPatchesAllTheSame) {
  harness_.cloud.FailNext("operations", MakeError(ErrorCode::kPermissionDenied, "no listing"), 99);
  const ExecuteResult result = harness_.Apply();
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(Metadata("mine"), Value("2"));
  EXPECT_EQ(harness_.events.Count("note pod.a: cannot see whether somebody else changes it at the "
                                  "same time: no listing"),
            1U);
}

TEST_F(PatchTest, WhoChangesNoMapsListsNoOperations) {
  Write("1");
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("a",
                             "    labels: {team: vision}\n    metadata: {mine: \"1\"}\n"
                             "    description: x\n"));
  harness_.cloud.ForgetCalls();
  harness_.ApplyAll();
  EXPECT_TRUE(harness_.cloud.Calls("operations").empty());
}

TEST_F(PatchTest, ARefusedPatchLeavesTheRecordAsItWas) {
  harness_.cloud.FailNext("patch", MakeError(ErrorCode::kFailedPrecondition, "not while STOPPED"));
  const ExecuteResult result = harness_.Apply();
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(Pods(harness_.Stored()).at(Addr("pod.a")).metadata.at("mine"), "1");
  EXPECT_FALSE(Pods(harness_.Stored()).at(Addr("pod.a")).pending().has_value());
}

TEST_F(PatchTest, AFailedOperationIsAFailure) {
  harness_.cloud.FailOperation("patch", MakeError(ErrorCode::kInternal, "the service stumbled"));
  const ExecuteResult result = harness_.Apply();
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].error.message, "the service stumbled");
  harness_.ApplyAll();
}

TEST_F(PatchTest, ANodeThatGotThereByItselfNeedsNoPatch) {
  harness_.cloud.Before("operations", [](FakeProvider& cloud) { Theirs(cloud, "mine", "2"); });
  harness_.ApplyAll();
  EXPECT_EQ(Patches(), 0U);
}

TEST_F(PatchTest, SomebodyWhoNeverStopsIsGivenUpOn) {
  const std::function<void(FakeProvider&)> spoil = [&](FakeProvider& cloud) {
    cloud.FinishOperations();
    Theirs(cloud, "mine", "stale");
    cloud.Before("get", spoil);
  };
  harness_.cloud.Before("get", spoil);
  const ExecuteResult result = harness_.Apply();
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_THAT(result.failures[0].error.message, HasSubstr("keeps changing the node"));
  EXPECT_LE(Patches(), 5U);
}

}  // namespace
}  // namespace podctl
