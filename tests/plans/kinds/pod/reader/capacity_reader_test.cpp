// What a pod may say of capacity that is not there: `capacity` and `onPreemption`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cmd/views/snippet.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/loader.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using std::chrono::hours;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CapacityReaderTest : public ::testing::Test {
 protected:
  Spec LoadPods(const std::string& pods) {
    files_.SetFile("podctl.yaml", "project: p\nzone: us-central2-b\npods:\n" + pods);
    Diagnostics diagnostics;
    Spec spec = LoadSpec(testing::WithKinds(), files_, FixedEnvironment({}), diagnostics);
    report_ = FormatDiagnostics(diagnostics, {});
    return spec;
  }
  static std::string Pod(const std::string& name, const std::string& keys) {
    return "  " + name +
           ":\n    acceleratorType: v4-16\n    runtimeVersion: tpu-ubuntu2204-base\n" + keys;
  }
  PodSpec Load(const std::string& keys) {
    const Spec spec = LoadPods(Pod("a", keys));
    return testing::PodsOf(spec).empty() ? PodSpec{} : testing::PodsOf(spec)[0];
  }

  testing::FakeFileSystem files_;
  std::string report_;
};

TEST_F(CapacityReaderTest, ThePodsOwnZoneIsTheFirstAndEachIsThereOnce) {
  const PodSpec pod = Load(
      "    capacity: {retry: 2h, zones: [europe-west4-b, us-central2-b, us-east1-d]}\n"
      "    onPreemption: recreate\n");
  EXPECT_EQ(report_, "");
  ASSERT_TRUE(pod.capacity);
  EXPECT_EQ(pod.capacity->retry, hours(2));
  EXPECT_THAT(pod.capacity->zones, ElementsAre("us-central2-b", "europe-west4-b", "us-east1-d"));
  EXPECT_TRUE(pod.recreate_when_lost);
}

TEST_F(CapacityReaderTest, LeftOutMeansNothingIsTried) {
  const PodSpec pod = Load("");
  EXPECT_FALSE(pod.capacity);
  EXPECT_FALSE(pod.recreate_when_lost);
  EXPECT_FALSE(Load("    onPreemption: report\n").recreate_when_lost);
}

TEST_F(CapacityReaderTest, EachIsEnoughByItself) {
  EXPECT_THAT(Load("    capacity: {retry: 10m}\n").capacity->zones, ElementsAre("us-central2-b"));
  EXPECT_EQ(Load("    capacity: {zones: [us-east1-d]}\n").capacity->retry.count(), 0);
}

TEST_F(CapacityReaderTest, WhatIsWrongIsSaidWithItsPlace) {
  Load("    capacity: {}\n");
  EXPECT_THAT(report_, HasSubstr("`capacity` says nothing"));
  Load("    capacity: {retries: 2h}\n");
  EXPECT_THAT(report_, HasSubstr("known here: `retry`, `zones`"));
  Load("    capacity: {zones: [us-central2]}\n");
  EXPECT_THAT(report_, HasSubstr("`us-central2` is a region, not a zone"));
  Load("    capacity: {zones: [us-east1-d, us-east1-d]}\n");
  EXPECT_THAT(report_, HasSubstr("the zone `us-east1-d` is there twice"));
  Load("    capacity: {retry: 1000h}\n");
  EXPECT_THAT(report_, HasSubstr("longer than 720h"));
  Load("    onPreemption: recreat\n");
  EXPECT_THAT(report_, HasSubstr("did you mean `recreate`?"));
}

TEST_F(CapacityReaderTest, AQueuedResourceWaitsByItself) {
  Load("    queuedResource: {spot: true}\n    capacity: {retry: 2h}\n");
  EXPECT_THAT(report_, AllOf(HasSubstr("`capacity` and `queuedResource` exclude each other"),
                             HasSubstr("timeouts: {queue: 2h}")));
  Load("    lifecycle: {createBeforeDestroy: true}\n    capacity: {retry: 2h}\n");
  EXPECT_THAT(report_, HasSubstr("does not go together with `capacity`"));
}

TEST_F(CapacityReaderTest, TwoPodsMayNotMeetInAZone) {
  LoadPods(Pod("a", "    nodeId: x\n    capacity: {zones: [us-east1-d]}\n") +
           Pod("b", "    nodeId: x\n    zone: us-east1-d\n"));
  EXPECT_THAT(report_, HasSubstr("two pods may become the node `x` of p in us-east1-d"));
  LoadPods(Pod("a", "    capacity: {zones: [us-east1-d]}\n") +
           Pod("b", "    capacity: {zones: [us-east1-d]}\n"));
  EXPECT_EQ(report_, "");
}

// ---- How a pod ends by itself: `ttl` and `idle`.

TEST_F(CapacityReaderTest, EndsAreReadAndNoneIsThereUnlessItIsSaid) {
  PodSpec pod = Load("    ttl: 12h\n    idle: {after: 30m, then: delete}\n");
  EXPECT_EQ(report_, "");
  EXPECT_EQ(pod.ttl, hours(12));
  ASSERT_TRUE(pod.idle);
  EXPECT_EQ(pod.idle->after, std::chrono::minutes(30));
  EXPECT_EQ(pod.idle->then, IdleSpec::Then::kDelete);
  pod = Load("    idle: {after: 30m}\n");
  EXPECT_EQ(pod.idle->then, IdleSpec::Then::kReport);
  pod = Load("");
  EXPECT_FALSE(pod.ttl || pod.idle);
}

TEST_F(CapacityReaderTest, EndsThatCannotBeAreRefused) {
  const auto says = [&](const std::string& keys, const std::string& what) {
    Load(keys);
    EXPECT_THAT(report_, HasSubstr(what)) << keys;
  };
  says("    ttl: 30s\n", "`30s` is too short");
  says("    ttl: soon\n", "soon");
  says("    idle: {then: delete}\n", "`idle` has no `after`");
  says("    idle: {after: 1h, then: destroy}\n", "destroy");
  says("    idle: {after: 1h, when: now}\n", "unknown key `when`");
  says("    idle: 30m\n", "`idle` must be a map");
  says("    idle: {after: 1h, then: stop}\n", "only a node of one host can be stopped");
  LoadPods(
      "  a:\n    acceleratorType: v3-8\n    runtimeVersion: tpu-vm-base\n    zone: "
      "europe-west4-a\n    desiredState: STOPPED\n    idle: {after: 1h, then: stop}\n");
  EXPECT_THAT(report_, HasSubstr("does not go together with `desiredState: STOPPED`"));
}

}  // namespace
}  // namespace podctl
