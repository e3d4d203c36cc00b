// A plan that is kept and applied later: only while the world is the one that was reviewed.
#include "plans/session/saved_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plans/kinds/kinds.h"
#include "plans/kinds/pod/lineage_label.h"
#include "providers/os/this_process.h"
#include "tests/plans/session/session_harness.h"
#include "tests/support/fake_clock.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using testing::AllKinds;
using ::testing::ElementsAre;
using testing::EventLog;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SessionHarness;

constexpr const char* kFile = "/project/x.plan";

class SavedPlanSession : public ::testing::Test, protected SessionHarness, protected ApplyListener {
 protected:
  void Save() {
    const PlanRun run = Planned(Request());
    const PlanRequest request = Request();
    const auto saved =
        SavePlan(run, kFile, {request.load, request.state, kEndpoint, "0.1"}, files, clock, random);
    ASSERT_TRUE(saved) << saved.error().message;
  }
  SavedPlanRequest ToApplyIt() {
    PlanRequest plan = Request(true);
    plan.state.given = true;
    return {kFile, "", kEndpoint, plan};
  }
  std::variant<PlanRun, NoPlan> PrepareIt(const SavedPlanRequest& request) {
    return PrepareSavedPlan(ToPlan(), request, *this);
  }
  NoPlan Refusal() { return Why(PrepareIt(ToApplyIt())); }
  void ApplyIt() {
    PlanRun run = Take(PrepareIt(ToApplyIt()));
    ASSERT_TRUE(Apply(ToApply(), {}, *this, &run).result.ok());
  }

  bool Approve(const PlanRun&) override { return true; }
  void OnNoLogin(const Error&) override {}
  EventSink& OnBegin() override { return events; }

  static constexpr const char* kEndpoint = "https://tpu.example.com/";
  EventLog events;
};

TEST_F(SavedPlanSession, IsAppliedAsItWasMade) {
  Pods(Harness::Pod("a"));
  Save();
  Pods(Harness::Pod("a") + Harness::Pod("b"));  // edited since
  ApplyIt();
  EXPECT_EQ(cloud.NodeCount(), 1U);
  EXPECT_THAT(reported, ElementsAre("the spec was edited after the plan was created"));
}

// Nobody has sealed a plan that was made without a state, and a lineage says whose nodes are whose.
TEST_F(SavedPlanSession, TheStateThatItMakesHasALineageOfItsOwn) {
  Pods(Harness::Pod("a"));
  Save();
  ApplyIt();
  EXPECT_FALSE(Stored().lineage.empty());
  EXPECT_NE(Stored().lineage, ReadPlanFile(kFile, files, AllKinds())->plan.lineage);
  EXPECT_EQ(LineageOf(*cloud.Node(Harness::Name("a"))), Stored().lineage);
}

TEST_F(SavedPlanSession, WhatAKilledRunLeftIsCleanedUpByTheNext) {
  Pods(Harness::Pod("a"));
  const auto left = [this] {
    std::vector<std::string> found;
    for (const std::string& path : files.AllFiles()) {
      if (path.find(".podctl-tmp") != std::string::npos) found.push_back(path);
    }
    return found;
  };
  std::vector<std::string> names;
  for (const bool with_state : {false, true}) {
    if (with_state) {
      Save();
      ApplyIt();
      Pods(Harness::Pod("a") + Harness::Pod("b"));
    }
    const PlanRun run = Planned(Request());
    const PlanRequest request = Request();
    const auto save = [&] {
      return SavePlan(run, kFile, {request.load, request.state, kEndpoint, "0.1"}, files, clock,
                      random);
    };
    ASSERT_TRUE(save());
    ASSERT_THAT(left(), ::testing::IsEmpty());
    std::string name;
    // Every name that a save writes is seen between two of its calls.
    for (int call = 1; name.empty() && call < 40; ++call) {
      files.Interleave(call, [&] {
        if (!left().empty()) name = left().front();
      });
      ASSERT_TRUE(save());
    }
    ASSERT_NE(name, "");
    // Older than this process, so of one that had its number before; and those of before there was
    // a state.
    names.push_back(name);
    for (const std::string& each : names) files.SetFile(each, "half a pl");
    ASSERT_TRUE(save());
    EXPECT_THAT(left(), ::testing::IsEmpty());
    // What only looks like one is nobody's that podctl knows.
    const std::string pid = std::to_string(ProcessId());
    std::string other = name;
    other.replace(other.find(pid), pid.size(), "4194305");
    files.SetFile(other, "of nobody's making");
    ASSERT_TRUE(save());
    EXPECT_THAT(left(), ElementsAre(other));
    ASSERT_TRUE(files.Remove(other));
    // Of a run that lives, it may still be written.
    testing::FakeClock later;
    later.Advance(std::chrono::hours(24 * 365 * 20));
    files.StampWith(later);
    files.SetFile(name, "half a pl");
    files.StampWith(clock);
    ASSERT_TRUE(save());
    EXPECT_THAT(left(), ElementsAre(name));
    ASSERT_TRUE(files.Remove(name));
  }
}

// What a job runs stands in the spec alone.
TEST_F(SavedPlanSession, StartsNoJobThatWasNotReviewed) {
  const auto job = [](const std::string& words) {
    return Harness::Pod("a") +
           "jobs:\n  train:\n    pod: a\n    launcher: shell\n    command: [echo, " + words +
           "]\n    autostart: true\n";
  };
  Pods(job("reviewed"));
  Save();
  EXPECT_EQ(Take(PrepareIt(ToApplyIt())).spec.jobs.size(), 1U);
  Pods(job("edited"));
  EXPECT_TRUE(Take(PrepareIt(ToApplyIt())).spec.jobs.empty());
  Pods(Harness::Pod("a"));
  Save();
  Pods(job("added"));
  EXPECT_TRUE(Take(PrepareIt(ToApplyIt())).spec.jobs.empty());
}

TEST_F(SavedPlanSession, IsStaleOnceAnotherRunChangedTheState) {
  Pods(Harness::Pod("a"));
  Save();
  ApplyIt();
  const NoPlan none = Refusal();
  EXPECT_EQ(none.summary, "Saved plan is stale");
  EXPECT_EQ(none.error->code, ErrorCode::kStalePlan);
  EXPECT_THAT(none.error->message, HasSubstr("There was no state when it was created"));
}

TEST_F(SavedPlanSession, IsStaleOnceWhatItActsOnIsAnother) {
  Pods(Harness::Pod("a"));
  Save();
  ApplyIt();
  Pods(Harness::Pod("a", "    labels: {team: x}\n"));
  ASSERT_TRUE(files.Remove(kFile));
  Save();
  cloud.EditNode(Harness::Name("a"), [](Value& node) { node.SetPath("labels.team", Value("y")); });
  const NoPlan none = Refusal();
  EXPECT_EQ(none.error->code, ErrorCode::kStalePlan);
  EXPECT_THAT(none.error->message, HasSubstr("pod.a"));
}

TEST_F(SavedPlanSession, BearsTheSealOfItsState) {
  Pods(Harness::Pod("a"));
  Save();
  const auto seal = [this] {
    const auto store = Opener()(kStatePath);
    return CheckSeal(*ReadPlanFile(kFile, files, AllKinds()), *store);
  };
  EXPECT_EQ(*seal(), Seal::kNone);
  ApplyIt();
  Pods(Harness::Pod("a", "    labels: {team: x}\n"));
  ASSERT_TRUE(files.Remove(kFile));
  Save();
  EXPECT_EQ(*seal(), Seal::kSound);
  const std::string state = *files.FileText(kStatePath);
  ASSERT_TRUE(files.Remove(kStatePath));
  EXPECT_EQ(*seal(), Seal::kNotLookedAt);
  State other = *StateFromJson(state, kStatePath, RememberedKinds());
  other.digest_key = std::string(64, '0');
  files.SetFile(kStatePath, StateToJson(other));
  ASSERT_FALSE(seal());
  EXPECT_EQ(seal().error().code, ErrorCode::kStalePlan);
  EXPECT_EQ(Refusal().summary, "Saved plan was altered");
}

// What is hidden now was not when it was applied: the state says it in the clear, and a plan that
// goes through other hands does not.
TEST_F(SavedPlanSession, HidesWhatBecomesSensitive) {
  const auto pod = [](const std::string& token, const std::string& more) {
    return Harness::Pod("a", "    metadata: {token: {value: " + token + more);
  };
  for (const std::string after : {"old-token", "new-token"}) {
    SCOPED_TRACE(after);
    Pods(pod("old-token", "}}\n"));
    Applied();
    EXPECT_THAT(*files.FileText(kStatePath), HasSubstr("old-token"));
    // Somebody changes it, and so it stands among the drift, too.
    cloud.EditNode(Harness::Name("a"),
                   [](Value& node) { node.SetPath("metadata.token", "odd-token"); });
    Pods(pod(after, ", sensitive: true}}\n"));
    Save();
    EXPECT_THAT(*files.FileText(kFile), Not(HasSubstr("-token")));
    ApplyIt();
    EXPECT_THAT(*files.FileText(kStatePath), Not(HasSubstr("-token")));
    EXPECT_TRUE(Planned(Request()).plan.Empty());
    ASSERT_TRUE(files.Remove(kFile));
  }
}

// Nothing is to be done on the node, and yet the file shows the state before.
TEST_F(SavedPlanSession, HidesItWhereNothingElseChanges) {
  const std::string single = "  a:\n    acceleratorType: v3-8\n    runtimeVersion: r\n";
  Pods(single + "    runtimeEnv: {KEY: env-token}\n    metadata: {token: meta-token}\n");
  Applied();
  EXPECT_THAT(*files.FileText(kStatePath), HasSubstr("\"KEY\": \"env-token\""));
  Spec(
      "project: p\nzone: europe-west4-a\nvariables: {key: {default: env-token, sensitive: true}}\n"
      "pods:\n" +
      single +
      "    runtimeEnv: {KEY: \"${var.key}\"}\n"
      "    metadata: {token: {value: meta-token, sensitive: true}}\n");
  Save();
  EXPECT_THAT(*files.FileText(kFile), Not(HasSubstr("-token")));
  ApplyIt();
  EXPECT_THAT(*files.FileText(kStatePath), Not(HasSubstr("-token")));
  EXPECT_TRUE(Planned(Request()).plan.Empty());
}

TEST_F(SavedPlanSession, NothingOnTheCommandLineChangesWhatItSays) {
  Pods(Harness::Pod("a"));
  Save();
  SavedPlanRequest request = ToApplyIt();
  request.foreign_flag = "--target";
  EXPECT_EQ(Why(PrepareIt(request)).summary, "Can't use --target when applying a saved plan");
  request = ToApplyIt();
  request.plan.load.vars = {{"team", "x"}};
  EXPECT_EQ(Why(PrepareIt(request)).summary, "Can't set variables when applying a saved plan");
  request = ToApplyIt();
  request.endpoint = "https://elsewhere.example.com/";
  EXPECT_EQ(Why(PrepareIt(request)).summary, "Saved plan is for another API");
  EXPECT_EQ(cloud.MutatingCalls(), 0);
}

TEST_F(SavedPlanSession, SecretsComeFromTheSpecAgain) {
  const auto spec = [](const std::string& variable) {
    return "    metadata: {token: {env: " + variable + ", sensitive: true}}\n";
  };
  Pods(Harness::Pod("a", spec("TOKEN")));
  Save();
  EXPECT_THAT(*files.FileText(kFile), ::testing::Not(HasSubstr("the-secret")));
  Pods(Harness::Pod("a", spec("OTHER")));
  EXPECT_EQ(Refusal().why, NoPlan::Why::kElse);
  Pods(Harness::Pod("a", spec("TOKEN")));
  ApplyIt();
  EXPECT_EQ((*cloud.Node(Harness::Name("a")))["metadata"]["token"].AsString(), "the-secret");
}

TEST_F(SavedPlanSession, IsNeverWrittenOverSomethingElse) {
  Pods(Harness::Pod("a"));
  const PlanRun run = Planned(Request());
  const auto saved = SavePlan(run, kSpecPath, {}, files, clock, random);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, ErrorCode::kAlreadyExists);
}

TEST_F(SavedPlanSession, TheLockComesFirst) {
  Pods(Harness::Pod("a"));
  Save();
  Lock();
  EXPECT_EQ(Refusal().why, NoPlan::Why::kLock);
}

}  // namespace
}  // namespace podctl
