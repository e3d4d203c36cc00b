// Patches while somebody else changes the same node: what is theirs stays theirs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "plans/kinds/pod/record.h"
#include "tests/plans/desk.h"
#include "tests/support/addresses.h"

namespace podctl {
namespace {

using testing::Desk;
using testing::FakeProvider;
using ::testing::HasSubstr;

constexpr const char* kNote =
    "note pod.a: somebody else changed metadata.theirs at the same time; "
    "their value is put back";

class PatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Write("1");
    desk_.ApplyAll();
    desk_.cloud.ForgetCalls();
    Write("2");
  }
  void Write(const std::string& mine) {
    desk_.Pods(
        Desk::Pod("a", "    labels: {team: vision}\n    metadata: {mine: \"" + mine + "\"}\n"));
  }
  static void Theirs(FakeProvider& cloud, const std::string& key, const Value& value) {
    cloud.PatchAsSomebodyElse(Desk::Name("a"), {"metadata"}, [&](Value& node) {
      Value metadata = node["metadata"];
      value.is_null() ? metadata.Erase(key) : metadata.Set(key, value);
      node.Set("metadata", metadata);
    });
  }
  Value Metadata(const std::string& key) { return desk_.Node("a")["metadata"][key]; }
  std::size_t Patches() const { return desk_.cloud.Calls("patch").size(); }

  Desk desk_;
};

TEST_F(PatchTest, TheirChangeBeforeOurReadIsMerged) {
  desk_.cloud.Before("get", [](FakeProvider& cloud) { Theirs(cloud, "theirs", "x"); });
  desk_.ApplyAll();
  EXPECT_EQ(Metadata("theirs"), Value("x"));
  EXPECT_EQ(Metadata("mine"), Value("2"));
  EXPECT_EQ(Patches(), 1U);
}

TEST_F(PatchTest, TheirNewKeyBetweenReadAndWriteIsPutBack) {
  desk_.cloud.Before("patch", [](FakeProvider& cloud) { Theirs(cloud, "theirs", "x"); });
  desk_.ApplyAll();
  EXPECT_EQ(Metadata("theirs"), Value("x"));
  EXPECT_EQ(Metadata("mine"), Value("2"));
}

TEST_F(PatchTest, AUserIsToldOfWhatWasPutBack) {
  desk_.cloud.Before("patch", [](FakeProvider& cloud) { Theirs(cloud, "theirs", "x"); });
  EXPECT_TRUE(desk_.Apply().ok());
  desk_.events.At(kNote);
  EXPECT_EQ(Patches(), 2U);
}

TEST_F(PatchTest, TheirNewValueAndTheirRemovalArePutBackToo) {
  desk_.Edit("a", [](Value& node) {
    node.SetPath("metadata.changed", "old");
    node.SetPath("metadata.removed", "old");
  });
  desk_.cloud.Before("patch", [](FakeProvider& cloud) {
    Theirs(cloud, "changed", "new");
    Theirs(cloud, "removed", {});
  });
  desk_.ApplyAll();
  EXPECT_EQ(Metadata("changed"), Value("new"));
  EXPECT_TRUE(Metadata("removed").is_null());
  EXPECT_EQ(Metadata("mine"), Value("2"));
}

TEST_F(PatchTest, SeveralOfTheirChangesAreAllPutBack) {
  desk_.cloud.Before("patch", [](FakeProvider& cloud) {
    Theirs(cloud, "one", "1");
    Theirs(cloud, "two", "2");
  });
  desk_.ApplyAll();
  EXPECT_EQ(Metadata("one"), Value("1"));
  EXPECT_EQ(Metadata("two"), Value("2"));
}

TEST_F(PatchTest, TheyMayComeBetweenInTheNextRoundAsWell) {
  desk_.cloud.Before("patch", [](FakeProvider& cloud) {
    Theirs(cloud, "one", "1");
    cloud.Before("patch", [](FakeProvider& again) { Theirs(again, "two", "2"); });
  });
  desk_.ApplyAll();
  EXPECT_EQ(Metadata("one"), Value("1"));
  EXPECT_EQ(Metadata("two"), Value("2"));
  EXPECT_EQ(Metadata("mine"), Value("2"));
  EXPECT_EQ(Patches(), 3U);
}

TEST_F(PatchTest, AKeyOfOursThatTheyChangeIsOursAllTheSame) {
  // The team is podctl's and no part of this change; somebody sets it between read and write.
  desk_.Pods(
      Desk::Pod("a", "    labels: {team: vision, cost: \"1\"}\n    metadata: {mine: \"1\"}\n"));
  desk_.cloud.Before("patch", [](FakeProvider& cloud) {
    cloud.PatchAsSomebodyElse(Desk::Name("a"), {"labels"},
                              [](Value& node) { node.SetPath("labels.team", "speech"); });
  });
  desk_.ApplyAll();
  EXPECT_EQ(desk_.Node("a")["labels"]["team"], Value("vision"));
  EXPECT_EQ(Patches(), 1U);
}

TEST_F(PatchTest, TheirChangeAfterOurWriteIsTheirs) {
  desk_.cloud.Before("operations", [](FakeProvider& cloud) {
    cloud.Before("operations", [](FakeProvider& after) {
      after.FinishOperations();  // ours has landed
      Theirs(after, "theirs", "x");
      Theirs(after, "mine", "2");
    });
  });
  desk_.ApplyAll();
  EXPECT_EQ(Metadata("theirs"), Value("x"));
  EXPECT_EQ(Patches(), 1U);
}

TEST_F(PatchTest, OurValueWrittenOverByOthersIsWrittenAgain) {
  desk_.cloud.Before("operations", [](FakeProvider& cloud) {
    cloud.Before("operations", [](FakeProvider& after) {
      after.FinishOperations();
      Theirs(after, "mine", "stale");
    });
  });
  desk_.ApplyAll();
  EXPECT_EQ(Metadata("mine"), Value("2"));
  EXPECT_EQ(Patches(), 2U);
}

TEST_F(PatchTest, ALostReplyIsRepeated) {
  desk_.cloud.LoseReply("patch");
  desk_.ApplyAll();
  EXPECT_EQ(Metadata("mine"), Value("2"));
}

TEST_F(PatchTest, ALostReplyDoesNotHideTheirChange) {
  Desk desk(FakeProvider::Options{.looks = 0});
  desk.Pods(Desk::Pod("a", "    metadata: {mine: \"1\"}\n"));
  desk.ApplyAll();
  desk.Pods(Desk::Pod("a", "    metadata: {mine: \"2\"}\n"));
  desk.cloud.Before("patch", [](FakeProvider& cloud) { Theirs(cloud, "theirs", "x"); });
  desk.cloud.LoseReply("patch");
  desk.ApplyAll();
  EXPECT_EQ(desk.Node("a")["metadata"]["theirs"], Value("x"));
  EXPECT_EQ(desk.Node("a")["metadata"]["mine"], Value("2"));
}

TEST_F(PatchTest, AnotherOperationIsWaitedFor) {
  desk_.cloud.FailNext("patch", MakeError(ErrorCode::kAborted, "another operation is going on"), 9);
  desk_.ApplyAll();
  EXPECT_EQ(Patches(), 10U);
}

TEST_F(PatchTest, WhoMayNotListOperationsPatchesAllTheSame) {
  desk_.cloud.FailNext("operations", MakeError(ErrorCode::kPermissionDenied, "no listing"), 99);
  const ExecuteResult result = desk_.Apply();
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(Metadata("mine"), Value("2"));
  EXPECT_EQ(desk_.events.Count("note pod.a: cannot see whether somebody else changes it at the "
                               "same time: no listing"),
            1U);
}

TEST_F(PatchTest, WhoChangesNoMapsListsNoOperations) {
  Write("1");
  desk_.ApplyAll();
  desk_.Pods(Desk::Pod("a",
                       "    labels: {team: vision}\n    metadata: {mine: \"1\"}\n"
                       "    description: x\n"));
  desk_.cloud.ForgetCalls();
  desk_.ApplyAll();
  EXPECT_TRUE(desk_.cloud.Calls("operations").empty());
}

TEST_F(PatchTest, ARefusedPatchLeavesTheRecordAsItWas) {
  desk_.cloud.FailNext("patch", MakeError(ErrorCode::kFailedPrecondition, "not while STOPPED"));
  const ExecuteResult result = desk_.Apply();
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(Pods(desk_.Stored()).at(Addr("pod.a")).metadata.at("mine"), "1");
  EXPECT_FALSE(Pods(desk_.Stored()).at(Addr("pod.a")).pending().has_value());
}

TEST_F(PatchTest, AFailedOperationIsAFailure) {
  desk_.cloud.FailOperation("patch", MakeError(ErrorCode::kInternal, "the service stumbled"));
  const ExecuteResult result = desk_.Apply();
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].error.message, "the service stumbled");
  desk_.ApplyAll();
}

TEST_F(PatchTest, ANodeThatGotThereByItselfNeedsNoPatch) {
  desk_.cloud.Before("operations", [](FakeProvider& cloud) { Theirs(cloud, "mine", "2"); });
  desk_.ApplyAll();
  EXPECT_EQ(Patches(), 0U);
}

TEST_F(PatchTest, SomebodyWhoNeverStopsIsGivenUpOn) {
  const std::function<void(FakeProvider&)> spoil = [&](FakeProvider& cloud) {
    cloud.FinishOperations();
    Theirs(cloud, "mine", "stale");
    cloud.Before("get", spoil);
  };
  desk_.cloud.Before("get", spoil);
  const ExecuteResult result = desk_.Apply();
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_THAT(result.failures[0].error.message, HasSubstr("keeps changing the node"));
  EXPECT_LE(Patches(), 5U);
}

}  // namespace
}  // namespace podctl
