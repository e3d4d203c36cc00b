// What an apply asks, whom it lets in, and how it ends.
#include "plans/session/apply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plans/session/session_harness.h"

namespace podctl {
namespace {

using testing::Actions;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::EventLog;
using testing::FakeProvider;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SessionHarness;
using How = ApplyEnd::How;

class ApplySession : public ::testing::Test, protected SessionHarness, protected ApplyListener {
 protected:
  ApplyEnd ApplyNow() {
    PlanRun run = Planned(Request(true));
    return Apply(ToApply(), {}, *this, &run);
  }

  bool Approve(const PlanRun& run) override {
    asked = Actions(run.plan);
    return approves;
  }
  void OnNoLogin(const Error& why) override { reported.push_back(why.message); }
  EventSink& OnBegin() override {
    ++begun;
    return events;
  }

  bool approves = true;
  std::vector<std::string> asked;
  int begun = 0;
  EventLog events;
};

TEST_F(ApplySession, DoesWhatWasApproved) {
  Pods(Harness::Pod("a"));
  const ApplyEnd end = ApplyNow();
  EXPECT_EQ(end.how, How::kDone);
  EXPECT_TRUE(end.result.ok());
  EXPECT_EQ(end.result.added, 1U);
  EXPECT_THAT(asked, ElementsAre("create pod.a"));
  EXPECT_THAT(events.lines, Contains("done pod.a"));
  EXPECT_EQ(podctl::Pods(Stored()).size(), 1U);
}

TEST_F(ApplySession, WhatAStateHasIsDestroyedWithoutASpec) {
  Pods(Harness::Pod("a"));
  PlanRequest request = Request();
  request.load.paths.clear();
  request.plan.mode = PlanMode::kDestroy;
  EXPECT_EQ(Refused(request).why, NoPlan::Why::kSpec) << "there is no state either";
  EXPECT_EQ(ApplyNow().how, How::kDone);
  EXPECT_THAT(Actions(Planned(request).plan), ElementsAre("delete pod.a"));
  request.plan.mode = PlanMode::kNormal;
  EXPECT_EQ(Refused(request).why, NoPlan::Why::kSpec);
}

TEST_F(ApplySession, WhatAnEarlierRunBeganCountsWhereItIsFoundComplete) {
  Pods(Harness::Pod("a"));
  cloud.Before("operation", [this](FakeProvider&) { drain.request_stop(); });
  ApplyEnd end = ApplyNow();
  EXPECT_TRUE(end.result.interrupted);
  EXPECT_EQ(end.result.added, 0U);
  drain = {};
  cloud.FinishOperations();
  end = ApplyNow();
  EXPECT_EQ(end.result.added, 1U);
  EXPECT_EQ(ApplyNow().result.added, 0U) << "once";

  Spec("project: p\npods: {}\n");
  cloud.Before("operation", [this](FakeProvider&) { drain.request_stop(); });
  EXPECT_EQ(ApplyNow().result.destroyed, 0U);
  drain = {};
  cloud.FinishOperations();
  EXPECT_EQ(ApplyNow().result.destroyed, 1U);
}

TEST_F(ApplySession, DoesNothingThatWasDeclined) {
  Pods(Harness::Pod("a"));
  approves = false;
  EXPECT_EQ(ApplyNow().how, How::kDeclined);
  EXPECT_EQ(cloud.MutatingCalls(), 0);
  EXPECT_EQ(begun, 0);
  EXPECT_EQ(keys_made, 0);
  EXPECT_EQ(files.FileText(kStatePath), std::nullopt);
}

TEST_F(ApplySession, AKeyIsMadeOnlyOnceThePlanIsApproved) {
  Pods(Harness::Pod("a"));
  ApplyNow();
  EXPECT_EQ(keys_made, 1);
  const auto node = cloud.Node(Harness::Name("a"));
  ASSERT_TRUE(node);
  EXPECT_THAT((*node)["metadata"]["ssh-keys"].AsString(), HasSubstr("ssh-ed25519"));
}

TEST_F(ApplySession, WithoutAWayInNothingIsBegun) {
  Pods(Harness::Pod("a"));
  login.on = {"p"};
  PlanRun run = Planned(Request(true));
  login.user = MakeError(ErrorCode::kPermissionDenied, "not you");
  const ApplyEnd end = Apply(ToApply(), {}, *this, &run);
  EXPECT_EQ(end.how, How::kNoAccess);
  EXPECT_EQ(end.no_access->error.message, "not you");
  EXPECT_FALSE(end.no_access->no_key);
  EXPECT_EQ(cloud.MutatingCalls(), 0);
  EXPECT_EQ(begun, 0);
}

TEST_F(ApplySession, SaysWhetherItIsForLackOfAKey) {
  Pods(Harness::Pod("a", "    ssh: {identityFile: /home/a/no-such-key}\n"));
  const ApplyEnd end = ApplyNow();
  EXPECT_EQ(end.how, How::kNoAccess);
  EXPECT_TRUE(end.no_access->no_key);
  EXPECT_EQ(cloud.MutatingCalls(), 0);
}

TEST_F(ApplySession, NobodyIsAskedAboutNothing) {
  Pods(Harness::Pod("a"));
  ApplyNow();
  asked.clear();
  const auto requests = cloud.MutatingCalls();
  const ApplyEnd end = ApplyNow();
  EXPECT_EQ(end.how, How::kNothing);
  EXPECT_THAT(asked, IsEmpty());
  EXPECT_EQ(cloud.MutatingCalls(), requests);
}

TEST_F(ApplySession, WhereNothingIsToBeDoneTheNameOfWhoIsLetInIsStillNoted) {
  Pods(Harness::Pod("a"));
  ApplyNow();
  login.on = {"p"};
  cloud.EditNode(Harness::Name("a"),
                 [](Value& node) { node.SetPath("metadata.enable-oslogin", Value("TRUE")); });
  login.user = std::string();
  PlanRun run = Planned(Request(true));
  ASSERT_TRUE(run.plan.Empty()) << Join(Actions(run.plan), ", ");
  login.user = MakeError(ErrorCode::kPermissionDenied, "not you");
  EXPECT_EQ(Apply(ToApply(), {}, *this, &run).how, How::kNothing);
  EXPECT_THAT(reported, ElementsAre("not you"));
}

TEST_F(ApplySession, AFailureIsAResultAndIsSaved) {
  Pods(Harness::Pod("a") + Harness::Pod("b"));
  cloud.FailNext("create", MakeError(ErrorCode::kPermissionDenied, "not you"));
  const ApplyEnd end = ApplyNow();
  EXPECT_EQ(end.how, How::kDone);
  EXPECT_EQ(end.result.failures.size(), 1U);
  EXPECT_EQ(end.result.added, 1U);
  EXPECT_EQ(podctl::Pods(Stored()).size(), 1U);
}

}  // namespace
}  // namespace podctl
