// The events of --json, as tools read them.
#include "cmd/views/json_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "providers/base/json.h"
#include "tests/plans/harness.h"
#include "tests/support/golden.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using testing::ChangeOf;
using testing::ExpectGolden;
using testing::Harness;
using ::testing::HasSubstr;
using testing::KindNamed;
using ::testing::Not;

class JsonEventsTest : public ::testing::Test {
 protected:
  // The version of podctl changes; the golden files do not.
  std::string Text() {
    std::string text = out_.str();
    const std::string version = PODCTL_VERSION;
    for (auto at = text.find(version); at != std::string::npos; at = text.find(version, at)) {
      text.replace(at, version.size(), "VERSION");
    }
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_TRUE(ParseJson(line).has_value()) << line;
    }
    return text;
  }

  Harness harness_;
  std::ostringstream out_;
  std::ostringstream err_;
  Streams streams_{out_, err_};
};

TEST_F(JsonEventsTest, APlanAndItsApply) {
  harness_.environment["TOKEN"] = "the-secret";
  const auto pods = [](const std::string& flag) {
    return Harness::Pod("a", "    libtpuFlags: {f: " + flag +
                                 "}\n    metadata: {token: {env: TOKEN, sensitive: true}}\n");
  };
  harness_.Pods(pods("1") + Harness::Pod("b"));
  harness_.ApplyAll();
  harness_.environment["TOKEN"] = "the-next-secret";
  harness_.Edit("b", [](Value& node) { node.Set("state", "PREEMPTED"); });
  harness_.Pods(pods("2") + Harness::Pod("b"));
  const Plan plan = harness_.MakePlan();
  JsonEvents events(streams_, harness_.clock);
  events.ShowVersion();
  events.ShowPlan(plan, harness_.Stored(), false);
  const Change& pod = ChangeOf(plan, "pod.a");
  const Change& restart = ChangeOf(plan, "bootstrap.a.tpu-runtime");
  events.OnStart(pod);
  harness_.clock.Advance(std::chrono::seconds(12));
  events.OnProgress(pod, std::chrono::seconds(10), {});
  events.OnComplete(pod, std::chrono::seconds(12), "projects/p/locations/z/nodes/a");
  events.OnNote(Addr("pod.a"), "a remark");
  events.OnStart(restart);
  events.OnStepLine(restart, 3, "a/3", "caf\xC3\xA9 \x1b[31m\xff");
  events.OnProgress(restart, std::chrono::seconds(0), {4, 0, 0, 0, {}});  // is not told
  events.OnProgress(restart, std::chrono::seconds(3), {4, 2, 1, 1, {}, "connection refused"});
  events.OnError(restart, std::chrono::seconds(4),
                 MakeError(ErrorCode::kAborted, "failed on 1 of 4 workers", "Try again."));
  events.OnSkip(ChangeOf(plan, "pod.b"), Addr("pod.a"));
  events.OnSkip(ChangeOf(plan, "pod.b"), {});
  ExecuteResult result;
  result.changed = 1;
  result.failures.push_back({restart, MakeError(ErrorCode::kAborted, "x"), {}});
  events.ShowSummary(result, "apply");
  ExpectGolden("cmd/events/apply.jsonl", Text());
  EXPECT_THAT(Text(), Not(HasSubstr("secret\"")));
  EXPECT_EQ(err_.str(), "");
}

TEST_F(JsonEventsTest, NothingToDo) {
  harness_.Pods(Harness::Pod("a"));
  harness_.ApplyAll();
  JsonEvents events(streams_, harness_.clock);
  events.ShowVersion();
  events.ShowPlan(harness_.MakePlan(), harness_.Stored(), false);
  events.ShowSummary({}, "destroy");
  ExpectGolden("cmd/events/nothing.jsonl", Text());
}

TEST_F(JsonEventsTest, UnderAnErrorNothingToDoIsNotSaid) {
  JsonEvents(streams_, harness_.clock).ShowPlan({}, {}, true);
  EXPECT_EQ(Text(), "");
}

TEST_F(JsonEventsTest, NothingToDestroyIsSaidAsInTheText) {
  Plan plan;
  plan.mode = PlanMode::kDestroy;
  JsonEvents(streams_, harness_.clock).ShowPlan(plan, {}, false);
  EXPECT_THAT(Text(), HasSubstr("\"No changes. No objects need to be destroyed.\""));
}

TEST_F(JsonEventsTest, AnInterruptTellsWhatIsUnderWayAndIsNoError) {
  ExecuteResult result;
  result.interrupted = true;
  result.unfinished = {Addr("pod.a"), Addr("pod.b")};
  JsonEvents(streams_, harness_.clock).ShowSummary(result, "apply");
  EXPECT_THAT(Text(), HasSubstr("Interrupted. Under way, and written down in the state: pod.a, "
                                "pod.b. The next `podctl apply` takes it up."));
  EXPECT_THAT(Text(), HasSubstr("Apply incomplete. Resources: 0 added"));
  JsonEvents(streams_, harness_.clock).ShowSummary(result, "destroy");
  EXPECT_THAT(Text(), HasSubstr("pod.b. The next `podctl destroy` takes it up."));
}

// As on a full disk, where not even the intent could be written down.
TEST_F(JsonEventsTest, WhatCouldNotBeSavedIsNotCalledWrittenDown) {
  ExecuteResult result;
  result.save_error = MakeError(ErrorCode::kIo, "No space left on device");
  result.unsaved = true;
  result.unfinished = {Addr("pod.a")};
  JsonEvents(streams_, harness_.clock).ShowSummary(result, "apply");
  EXPECT_THAT(Text(), HasSubstr("Not done: pod.a. Nothing was sent that the state, as it was last "
                                "saved, does not tell of."));
  result.unfinished.clear();
  result.interrupted = true;
  JsonEvents(streams_, harness_.clock).ShowSummary(result, "apply");
  EXPECT_THAT(Text(), HasSubstr("Interrupted."));
  EXPECT_THAT(Text(), Not(::testing::AnyOf(HasSubstr("written down in the state"),
                                           HasSubstr("The state is saved"))));
}

// The unit came with the node: who counts what is created counts no restart.
TEST_F(JsonEventsTest, TheFirstRestartOfARuntimeCreatesNothing) {
  harness_.Pods(Harness::Pod("a"));
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("a", "    libtpuFlags: {f: 1, g: 2}\n"));
  const Plan plan = harness_.MakePlan();
  JsonEvents(streams_, harness_.clock).ShowPlan(plan, harness_.Stored(), false);
  EXPECT_THAT(Text(), HasSubstr("bootstrap.a.tpu-runtime: Plan to update"));
  EXPECT_THAT(Text(), HasSubstr(R"("changed_flags":["libtpuFlags.f","libtpuFlags.g"])"));
  EXPECT_THAT(Text(), Not(HasSubstr(R"("action":"create")")));
  const auto sides =
      KindNamed("bootstrap")->SidesOf(ChangeOf(plan, "bootstrap.a.tpu-runtime"), harness_.Stored());
  EXPECT_EQ(sides.before.values["workers"], Value(Value::List{})) << "it has run nowhere";
}

TEST_F(JsonEventsTest, OfAHiddenValueItsOriginIsTold) {
  harness_.Pods(Harness::Pod("a"));
  Plan plan = harness_.MakePlan();
  AttributeChange token{.path = "metadata.hf-token", .sensitive = true};
  token.origin = "version 1 -> 2";
  plan.changes.front().attributes = {token};
  JsonEvents(streams_, harness_.clock).ShowPlan(plan, harness_.Stored(), false);
  EXPECT_THAT(Text(), HasSubstr(R"("value_origins":[{"origin":"version 1 -> 2",)"
                                R"("path":"metadata.hf-token"}])"));
}

TEST_F(JsonEventsTest, AProblemInTheSpec) {
  JsonEvents events(streams_, harness_.clock);
  events.ShowVersion();
  Diagnostic diagnostic;
  diagnostic.summary = "unknown key `runtimeVerson`";
  diagnostic.place = {"podctl.yaml", 7, 5, 13, 90};
  diagnostic.context = "pods.research";
  diagnostic.source_line = "    runtimeVerson: tpu-vm-tf-2.11.0-pod";
  diagnostic.suggestion = "did you mean `runtimeVersion`?";
  events.ShowDiagnostic(diagnostic);
  events.Log("the lock was taken over", "warn");
  ExpectGolden("cmd/events/diagnostic.jsonl", Text());
}

}  // namespace
}  // namespace podctl
