// What pods take from Secret Manager: read for a plan, pinned by a saved one, and kept nowhere.
#include "plans/session/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plans/session/saved_plan.h"
#include "providers/base/redactor.h"
#include "tests/plans/session/session_harness.h"

namespace podctl {
namespace {

using testing::AllKinds;
using ::testing::ElementsAre;
using testing::EventLog;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::SessionHarness;

constexpr const char* kPlanWithSecrets = "/project/x.plan";
const std::string kVersionsOfHf = "projects/p/secrets/hf/versions/";

class SecretsSession : public ::testing::Test, protected SessionHarness, protected ApplyListener {
 protected:
  // The latest, and the one of that number.
  void Version(int number, const std::string& bytes) {
    const SecretValue value{kVersionsOfHf + std::to_string(number), bytes};
    secrets.values.insert_or_assign(kVersionsOfHf + "latest", value);
    secrets.values.insert_or_assign(value.name, value);
  }
  void Break(const std::string& version, ErrorCode code) {
    secrets.values.insert_or_assign(kVersionsOfHf + version, MakeError(code, "broken", "mend it"));
  }
  static std::string Pod(const std::string& name, const std::string& more = "") {
    return Harness::Pod(name, "    metadata: {hf-token: {secret: projects/p/secrets/hf}}\n" + more);
  }
  // Where the values that change come from.
  static std::vector<std::string> Origins(const std::vector<AttributeChange>& attributes) {
    std::vector<std::string> origins;
    for (const AttributeChange& each : attributes) {
      if (each.path != "metadata.hf-token") continue;
      EXPECT_TRUE(each.sensitive);
      origins.push_back(each.origin.value_or("nowhere"));
    }
    return origins;
  }
  std::vector<std::string> Changes(const PlanRequest& request) {
    return Origins(Planned(request).plan.changes.front().attributes);
  }
  std::string OnNode(const std::string& key = "hf-token") {
    return (*cloud.Node(Harness::Name("a")))["metadata"][key].AsString();
  }
  // The values of these tests end so.
  void ExpectNothingKept() {
    for (const std::string& path : files.AllFiles()) {
      EXPECT_THAT(*files.FileText(path), Not(HasSubstr("-value"))) << path;
    }
  }

  void Save() {
    static_cast<void>(files.Remove(kPlanWithSecrets));
    const PlanRun run = Planned(Request());
    const PlanRequest request = Request();
    const auto saved =
        SavePlan(run, kPlanWithSecrets, {request.load, request.state, kEndpoint, "0.1"}, files,
                 clock, random);
    ASSERT_TRUE(saved) << saved.error().message;
    secrets.asked.clear();
  }
  std::variant<PlanRun, NoPlan> PrepareIt() {
    PlanRequest plan = Request(true);
    plan.state.given = true;
    return PrepareSavedPlan(ToPlan(), {kPlanWithSecrets, "", kEndpoint, plan}, *this);
  }
  bool Approve(const PlanRun&) override { return true; }
  void OnNoLogin(const Error&) override {}
  EventSink& OnBegin() override { return events; }

  static constexpr const char* kEndpoint = "https://tpu.example.com/";
  EventLog events;
};

// The API may repeat it; that such a value is taken out, tests of TpuProvider show.
TEST_F(SecretsSession, WhatIsSensitiveIsHiddenInErrorsFromThePlanOn) {
  Version(1, "hidden-value\n");
  files.SetFile(
      "/project/podctl.yaml",
      "project: p\nzone: europe-west4-a\nvariables: {v: {sensitive: true, default: var-value}}\n"
      "pods:\n" +
          Harness::Pod("a",
                       "    metadata: {hf-token: {secret: projects/p/secrets/hf},"
                       " k: {value: key-value, sensitive: true}, plain: plain-words,"
                       " v: \"x${var.v}\"}\n"));
  Planned(Request());
  Value answer;
  answer.SetPath("error.message", "hidden-value key-value var-value plain-words");
  RedactErrors(&answer);
  EXPECT_EQ(answer["error"]["message"].AsString(),
            "(sensitive value) (sensitive value) (sensitive value) plain-words");
}

TEST_F(SecretsSession, ANewVersionIsAChange) {
  Version(3, "old-value");
  Pods(Pod("a"));
  EXPECT_THAT(Changes(Request()), ElementsAre("version 3"));
  Applied();
  EXPECT_EQ(OnNode(), "old-value");
  EXPECT_EQ(podctl::Pods(Stored()).at(PodAddress("a")).secrets,
            (std::map<std::string, std::string>{{"hf-token", kVersionsOfHf + "3"}}));
  EXPECT_TRUE(Planned(Request()).plan.Empty());
  Version(4, "new-value");
  EXPECT_THAT(Changes(Request()), ElementsAre("version 3 -> 4"));
  Applied();
  EXPECT_EQ(OnNode(), "new-value");
  EXPECT_TRUE(Planned(Request()).plan.Empty());
  ExpectNothingKept();
}

// What counts is the value; which version it is now is noted.
TEST_F(SecretsSession, AVersionOfTheSameValueIsNone) {
  Version(3, "the-value");
  Pods(Pod("a"));
  Applied();
  Version(4, "the-value");
  EXPECT_TRUE(Planned(Request()).plan.Empty());
  Applied();
  EXPECT_EQ(podctl::Pods(Stored()).at(PodAddress("a")).secrets.at("hf-token"), kVersionsOfHf + "4");
}

TEST_F(SecretsSession, WhatWasChangedByHandIsPutBack) {
  Version(3, "the-value");
  Pods(Pod("a"));
  Applied();
  cloud.EditNode(Harness::Name("a"),
                 [](Value& node) { node.SetPath("metadata.hf-token", "odd-value"); });
  const Plan plan = Planned(Request()).plan;
  EXPECT_THAT(Origins(plan.changes.front().attributes), ElementsAre("version 3"));
  ASSERT_EQ(plan.drift.size(), 1U);
  EXPECT_THAT(Origins(plan.drift.front().attributes), ElementsAre("nowhere"));
  Applied();
  EXPECT_EQ(OnNode(), "the-value");
  ExpectNothingKept();
}

// Expressions in it are text, and it may hold anything that is text.
TEST_F(SecretsSession, IsTakenAsItIs) {
  Version(1, "${var.x} $${env.Y}\n\"ü-value\"\n");
  Pods(Pod("a"));
  Applied();
  EXPECT_EQ(OnNode(), "${var.x} $${env.Y}\n\"ü-value\"\n");
  EXPECT_TRUE(Planned(Request()).plan.Empty());
}

TEST_F(SecretsSession, OfManyPodsEachIsAskedForOnce) {
  Version(3, "the-value");
  secrets.values.insert_or_assign("projects/p/secrets/wb/versions/latest",
                                  SecretValue{"projects/p/secrets/wb/versions/1", "wb-value"});
  Spec(
      "project: p\nzone: europe-west4-a\n"
      "defaults: {metadata: {hf-token: {secret: projects/p/secrets/hf}}}\npods:\n" +
      Harness::Pod("a") + Harness::Pod("b") +
      Harness::Pod("c", "    metadata: {wb: {secret: projects/p/secrets/wb}}\n"));
  Planned(Request());
  EXPECT_THAT(secrets.asked,
              ::testing::UnorderedElementsAre(kVersionsOfHf + "latest",
                                              "projects/p/secrets/wb/versions/latest"));
}

TEST_F(SecretsSession, WhoDestroysOrOnlyRefreshesAsksForNone) {
  Version(3, "the-value");
  Pods(Pod("a"));
  Applied();
  secrets.asked.clear();
  secrets.values.clear();
  PlanRequest request = Request();
  request.plan.mode = PlanMode::kRefreshOnly;
  EXPECT_TRUE(Planned(request).plan.Empty());
  request.plan.mode = PlanMode::kDestroy;
  EXPECT_EQ(Planned(request).plan.Counts().destroy, 1U);
  EXPECT_THAT(secrets.asked, IsEmpty());
}

TEST_F(SecretsSession, WithoutARefreshItSaysThatItAsked) {
  Version(3, "the-value");
  Pods(Pod("a"));
  Applied();
  PlanRequest request = Request();
  request.plan.refresh = false;
  const PlanRun run = Planned(request);
  EXPECT_TRUE(run.plan.Empty()) << "the digest tells that the value is the same";
  EXPECT_THAT(run.notes, ElementsAre(HasSubstr("Secret Manager was asked for 1 secret")));
  Version(4, "new-value");
  EXPECT_THAT(Changes(request), ElementsAre("version 3 -> 4"));
}

TEST_F(SecretsSession, WhatCannotBeReadIsToldOnceAtItsPlace) {
  Pods(Pod("a") + Pod("b"));
  const NoPlan none = Refused(Request());
  EXPECT_EQ(none.why, NoPlan::Why::kElse) << "it may come right by itself";
  ASSERT_EQ(none.problems.items().size(), 1U) << "one secret, however many pods";
  const Diagnostic& problem = none.problems.items().front();
  EXPECT_EQ(problem.summary,
            "the secret projects/p/secrets/hf/versions/latest cannot be read: there is none");
  EXPECT_EQ(problem.context, "pods.a.metadata.hf-token");
  EXPECT_EQ(problem.detail, "make it");
  EXPECT_EQ(problem.source_line.substr(static_cast<std::size_t>(problem.place.column) - 1),
            "projects/p/secrets/hf}}");
  EXPECT_EQ(cloud.MutatingCalls(), 0);
  Version(1, std::string("a\0b", 3));
  EXPECT_THAT(Refused(Request()).problems.items().front().summary, HasSubstr("no UTF-8 text"));
  Version(1, "\xff-value");
  const std::string summary = Refused(Request()).problems.items().front().summary;
  EXPECT_THAT(summary, AllOf(HasSubstr("no UTF-8 text"), Not(HasSubstr("-value"))));
}

TEST_F(SecretsSession, ASavedPlanTakesTheVersionThatWasReviewed) {
  Version(3, "old-value");
  Pods(Pod("a"));
  Save();
  ExpectNothingKept();
  Version(4, "new-value");
  PlanRun run = Take(PrepareIt());
  EXPECT_THAT(secrets.asked, ElementsAre(kVersionsOfHf + "3"));
  ASSERT_TRUE(Apply(ToApply(), {}, *this, &run).result.ok());
  run.lock.reset();
  EXPECT_EQ(OnNode(), "old-value");
  Save();
  EXPECT_THAT(*files.FileText(kPlanWithSecrets), HasSubstr("version 3 -> 4"));
  ExpectNothingKept();
}

TEST_F(SecretsSession, ASavedPlanIsStaleWithoutItsVersion) {
  Version(3, "old-value");
  Pods(Pod("a"));
  Save();
  for (const ErrorCode code : {ErrorCode::kFailedPrecondition, ErrorCode::kNotFound}) {
    Break("3", code);
    const NoPlan none = Why(PrepareIt());
    EXPECT_EQ(none.error->code, ErrorCode::kStalePlan);
    EXPECT_THAT(none.error->message, HasSubstr("the secret " + kVersionsOfHf + "3 cannot be read"));
  }
  Break("3", ErrorCode::kPermissionDenied);
  EXPECT_EQ(Why(PrepareIt()).error->code, ErrorCode::kPermissionDenied) << "it may come right";
  // The secret was deleted and made anew.
  Version(3, "another-value");
  const NoPlan none = Why(PrepareIt());
  EXPECT_EQ(none.error->code, ErrorCode::kStalePlan);
  EXPECT_THAT(none.error->message, HasSubstr("has another value by now"));
  EXPECT_EQ(cloud.MutatingCalls(), 0);
}

// A plan goes through other hands: what it says of secrets opens none but those of the spec.
TEST_F(SecretsSession, ASavedPlanReadsNoSecretThatTheSpecDoesNotName) {
  Version(3, "old-value");
  Pods(Pod("a"));
  Save();
  Pods(Harness::Pod("a", "    metadata: {hf-token: {secret: projects/p/secrets/other}}\n"));
  EXPECT_TRUE(Why(PrepareIt()).error);
  EXPECT_THAT(secrets.asked, IsEmpty());
}

TEST_F(SecretsSession, WhoTakesItFromElsewhereForgetsTheVersion) {
  Version(3, "the-value");
  Pods(Pod("a"));
  Applied();
  Pods(Harness::Pod("a", "    metadata: {hf-token: {env: TOKEN, sensitive: true}}\n"));
  Applied();
  EXPECT_THAT(podctl::Pods(Stored()).at(PodAddress("a")).secrets, IsEmpty());
}

// The node has it already; what a restart is proved by is taken from the secret again.
TEST_F(SecretsSession, ASavedPlanOfARestartAloneTakesItToo) {
  const std::string pod =
      Harness::Pod("a", "    metadata: {tensorflow-env-vars: {secret: projects/p/secrets/hf}}\n");
  Version(3, "-e A=old-value");
  Pods(pod);
  Applied();
  Version(4, "-e A=new-value");
  workers.Fail(2, "no");
  PlanRun failed = Planned(Request(true));
  ASSERT_FALSE(Apply(ToApply(), {}, *this, &failed).result.ok());
  failed.lock.reset();
  Save();
  ExpectNothingKept();
  PlanRun run = Take(PrepareIt());
  EXPECT_THAT(secrets.asked, ElementsAre(kVersionsOfHf + "4"));
  EXPECT_TRUE(Apply(ToApply(), {}, *this, &run).result.ok());
  run.lock.reset();
  EXPECT_TRUE(Planned(Request()).plan.Empty());
}

}  // namespace
}  // namespace podctl
