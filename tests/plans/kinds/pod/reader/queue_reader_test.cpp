// What a pod may say of waiting: `queuedResource`, `slices` and `timeouts`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "cmd/views/snippet.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/loader.h"
#include "providers/base/json.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::HasSubstr;

class QueueReaderTest : public ::testing::Test {
 protected:
  PodSpec Load(const std::string& keys) {
    files_.SetFile("podctl.yaml",
                   "project: p\nzone: us-central2-b\npods:\n  a:\n    acceleratorType: v4-16\n"
                   "    runtimeVersion: tpu-ubuntu2204-base\n" +
                       keys);
    Diagnostics diagnostics;
    Spec spec = LoadSpec(testing::WithKinds(), files_, FixedEnvironment({}), diagnostics);
    report_ = FormatDiagnostics(diagnostics, {});
    return testing::PodsOf(spec).empty() ? PodSpec{} : testing::PodsOf(spec)[0];
  }
  std::string TermsOf(const std::string& queued) {
    const PodSpec pod = Load("    queuedResource: " + queued + "\n");
    EXPECT_EQ(report_, "");
    return pod.queued ? ToJson(pod.queued->terms) : "none";
  }

  testing::FakeFileSystem files_;
  std::string report_;
};

TEST_F(QueueReaderTest, TermsHaveTheNamesOfTheApiAndDurationsOfTheWire) {
  EXPECT_EQ(TermsOf("{}"), "{}");
  EXPECT_EQ(TermsOf("{spot: true, queueingPolicy: {validUntilDuration: 6h}}"),
            R"({"queueingPolicy":{"validUntilDuration":"21600s"},"spot":true})");
  EXPECT_EQ(TermsOf("{spot: false}"), "{}");
  EXPECT_EQ(TermsOf("{guaranteed: {minDuration: 0.5s}}"),
            R"({"guaranteed":{"minDuration":"0.500s"}})");
  EXPECT_EQ(TermsOf("{guaranteed: true}"), R"({"guaranteed":true})");
  EXPECT_EQ(TermsOf("{reservationName: projects/p/locations/z/reservations/r}"),
            R"({"reservationName":"projects/p/locations/z/reservations/r"})");
}

TEST_F(QueueReaderTest, TermsOfV2Alpha1) {
  const PodSpec pod = Load(
      "    apiVersion: v2alpha1\n    slices: 2\n    queuedResource:\n"
      "      guaranteed: {reserved: true}\n      provisioningModel: FLEX_START\n"
      "      runDuration: {maxRunDuration: 10h}\n      workloadType: AVAILABILITY_OPTIMIZED\n");
  EXPECT_EQ(report_, "");
  EXPECT_EQ(ToJson(pod.queued->terms),
            R"({"guaranteed":{"reserved":true},"provisioningModel":"FLEX_START",)"
            R"("runDuration":{"maxRunDuration":"36000s"},)"
            R"("workloadType":"AVAILABILITY_OPTIMIZED"})");
}

TEST_F(QueueReaderTest, WhatOnlyV2Alpha1HasNeedsIt) {
  Load("    queuedResource: {bestEffort: true, runDuration: {maxRunDuration: 10h}}\n");
  EXPECT_THAT(report_, HasSubstr("only v2alpha1 has `bestEffort`"));
  EXPECT_THAT(report_, HasSubstr("only v2alpha1 has `runDuration`"));
  EXPECT_THAT(report_, HasSubstr("set `apiVersion: v2alpha1` for this pod"));
  Load("    queuedResource: {guaranteed: {reserved: true}}\n");
  EXPECT_THAT(report_, HasSubstr("only v2alpha1 has `reserved`"));
}

TEST_F(QueueReaderTest, ExclusiveTiersAndWordsOfV2Alpha1AreChecked) {
  const std::string alpha = "    apiVersion: v2alpha1\n    queuedResource: ";
  Load(alpha + "{bestEffort: true, spot: true}\n");
  EXPECT_THAT(report_, HasSubstr("`bestEffort` and `spot` exclude each other"));
  Load(alpha + "{provisioningModel: SPOTT}\n");
  EXPECT_THAT(report_, HasSubstr("did you mean `SPOT`?"));
  Load(alpha + "{workloadType: AVAILABILITY_OPTIMIZED}\n");
  EXPECT_THAT(report_, HasSubstr("`workloadType` is about several slices"));
}

TEST_F(QueueReaderTest, SlicesAndTimeouts) {
  const PodSpec pod = Load(
      "    queuedResource: {id: wanted}\n    slices: 4\n"
      "    timeouts: {queue: 6h, create: 30m, boot: 15m}\n");
  EXPECT_EQ(report_, "");
  ASSERT_TRUE(pod.queued);
  EXPECT_EQ(pod.queued->id, "wanted");
  EXPECT_EQ(pod.queued->slices, 4);
  EXPECT_EQ(pod.queue_timeout, hours(6));
  EXPECT_EQ(pod.create_timeout, minutes(30));
  EXPECT_EQ(pod.boot_timeout, minutes(15));
  EXPECT_FALSE(Load("").queued);
}

TEST_F(QueueReaderTest, WhatDoesNotGoTogetherIsRefused) {
  Load("    queuedResource: {spot: true, guaranteed: {minDuration: 1h}}\n");
  EXPECT_THAT(report_, HasSubstr("`spot` and `guaranteed` exclude each other"));
  Load("    queuedResource: {queueingPolicy: {validUntilDuration: 6h, validAfterDuration: 1h}}\n");
  EXPECT_THAT(report_,
              HasSubstr("`validUntilDuration` and `validAfterDuration` exclude each other"));
  Load("    slices: 2\n");
  EXPECT_THAT(report_, HasSubstr("`slices` needs a queued resource"));
  Load("    queuedResource: {}\n    schedulingConfig: {spot: true}\n");
  EXPECT_THAT(report_,
              HasSubstr("`schedulingConfig.spot` and `queuedResource` exclude each other"));
  Load("    queuedResource: {}\n    lifecycle: {createBeforeDestroy: true}\n");
  EXPECT_THAT(report_, HasSubstr("does not go together with a queued resource"));
}

TEST_F(QueueReaderTest, SlipsAreTold) {
  Load("    queuedResource: {queueingPolicy: {validUntilDurration: 6h}}\n");
  EXPECT_THAT(report_, HasSubstr("did you mean `validUntilDuration`?"));
  Load("    queuedResource: {queueingPolicy: {validUntilTime: tomorrow}}\n");
  EXPECT_THAT(report_, HasSubstr("`tomorrow` is no moment"));
  Load("    timeouts: {queue: 0s}\n");
  EXPECT_THAT(report_, HasSubstr("`queue` cannot be zero"));
  Load("    timeouts: {qeue: 1h}\n");
  EXPECT_THAT(report_, HasSubstr("did you mean `queue`?"));
}

}  // namespace
}  // namespace podctl
