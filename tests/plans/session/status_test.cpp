// What a look at the things of a state finds.
#include "plans/session/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plans/kinds/file/record.h"
#include "plans/session/pod_ends.h"
#include "tests/plans/session/session_harness.h"

namespace podctl {
namespace {

using testing::Harness;
using testing::SessionHarness;

class StatusTest : public ::testing::Test, protected SessionHarness {
 protected:
  Result<Status> Look() {
    const auto store = Opener()(kStatePath);
    return GatherStatus(*store, provider, kinds_.known().all, "", 10, drain.get_token());
  }

  BuiltInKinds kinds_{{files}};
};

TEST_F(StatusTest, IsWhatTheApiSaysAndIsNotSaved) {
  Pods(Harness::Pod("research"));
  Applied();
  const std::string before = files.FileText(kStatePath).value_or("");
  const NodeName node{"p", "europe-west4-a", "research"};
  cloud.EditNode(node, [](Value& value) { value.Set("health", "UNHEALTHY_TPU"); });
  auto status = Look();
  ASSERT_TRUE(status) << status.error().message;
  const auto observed = [&] {
    return podctl::Pods(status->settled).Get(Addr("pod.research"))->observed;
  };
  EXPECT_EQ(observed()["health"].AsString(), "UNHEALTHY_TPU");
  cloud.RemoveNode(node);
  status = Look();
  ASSERT_TRUE(status);
  EXPECT_TRUE(observed().is_null());
  EXPECT_EQ(files.FileText(kStatePath), before);
}

// By its digest, of which the content cannot be read back.
TEST_F(StatusTest, ASensitiveFileThatSomebodyChangedIsToldSo) {
  Spec(
      "project: p\nvariables: {t: {sensitive: true, default: s3cret}}\n"
      "files:\n  auth: {path: auth, content: \"${var.t}\"}\n");
  Applied();
  const AnyRecord record = Stored().records.at(Addr("file.auth"));
  const auto state = [&](const std::string& content) {
    files.SetFile(record.As<FileRecord>().current.locator, content, 0600);
    const auto status = Look();
    const Value* seen = status->observation.Seen(Addr("file.auth"));
    return record.codec().StatusRow("auth", record, seen)[1];
  };
  EXPECT_EQ(state("s3cret"), "WRITTEN");
  EXPECT_EQ(state("0ther"), "CHANGED");
}

TEST_F(StatusTest, PodsThatAreWantedAndNotMadeAreKnown) {
  Pods(Harness::Pod("research"));
  const PlanRun run = Applied();
  Pods(Harness::Pod("research") + Harness::Pod("next"));
  const auto names = [&](const std::string& more) {
    Spec(*files.FileText(kSpecPath) + more);
    Diagnostics problems;
    LoadOptions load = Request().load;
    const auto spec = LoadSpec(load, files, environment, problems);
    EXPECT_FALSE(problems.has_errors());
    std::vector<std::string> found;
    for (const PodSpec& pod : PodsNotMade(spec, Stored())) found.push_back(pod.name);
    return found;
  };
  EXPECT_THAT(names(""), ::testing::ElementsAre("next"));
  Pods(Harness::Pod("lab") + Harness::Pod("next"));
  EXPECT_THAT(names("moved: [{from: pod.research, to: pod.lab}]\n"), ::testing::ElementsAre("next"))
      << "what has another name by now is there";
}

TEST_F(StatusTest, WhenAPodEndsByItselfIsKnown) {
  const std::string pods =
      Harness::Pod("a", "    ttl: 2h\n    idle: {after: 30m, then: delete}\n") +
      Harness::Pod("b", "    ttl: 2h\n    lifecycle: {preventDestroy: true}\n") +
      Harness::Pod("c", "    idle: {after: 1h}\n") + Harness::Pod("d");
  Pods(pods);
  Applied();
  Pods(pods + Harness::Pod("e", "    ttl: 2h\n"));
  Diagnostics problems;
  const auto spec = LoadSpec(Request().load, files, environment, problems);
  ASSERT_FALSE(problems.has_errors());
  const auto ends = PlannedEnds(spec, Stored());
  ASSERT_EQ(ends.size(), 2U) << "of those that are there, and that nothing protects";
  EXPECT_EQ(ends[0].pod, "a");
  EXPECT_EQ(ends[0].at, "2026-11-20T16:30:00Z");
  EXPECT_EQ(ends[0].sentence,
            "`podctl watch` deletes pod.a at 2026-11-20T16:30:00Z, when its ttl of 2h is over, and "
            "deletes it after 30m in which nobody uses it.");
  EXPECT_EQ(ends[1].at, "");
  EXPECT_EQ(ends[1].sentence, "`podctl watch` reports pod.c after 1h in which nobody uses it.");
}

TEST_F(StatusTest, NoStateIsAnEmptyOne) {
  const auto status = Look();
  ASSERT_TRUE(status);
  EXPECT_TRUE(status->settled.records.empty());
}

TEST_F(StatusTest, WhatCannotBeReadOrAskedIsAnError) {
  Pods(Harness::Pod("research"));
  Applied();
  cloud.FailNext("", MakeError(ErrorCode::kUnavailable, "down"));
  EXPECT_EQ(Look().error().code, ErrorCode::kUnavailable);
  provider = MakeError(ErrorCode::kInvalidArgument, "no endpoint");
  EXPECT_EQ(Look().error().message, "no endpoint");
  files.SetFile(kStatePath, "{");
  EXPECT_EQ(Look().error().code, ErrorCode::kDataLoss);
}

}  // namespace
}  // namespace podctl
