// Vertex AI's custom jobs as they are checked on the wire.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/providers/emulator/emulator_fixture.h"

namespace podctl::emulator {
namespace {

using ::testing::HasSubstr;
using testing::Reply;

const std::string kJobs = "/v1/projects/demo/locations/us-central1/customJobs";

class CustomJobsTest : public testing::EmulatorFixture {
 protected:
  // `machine` and `pool`: further fields, each with its comma in front.
  Reply Submit(const std::string& machine, const std::string& pool) {
    return Send("POST", kJobs,
                "{displayName:'j',jobSpec:{workerPoolSpecs:[{machineSpec:{machineType:"
                "'n1-standard-4'" +
                    machine + "},replicaCount:'1',containerSpec:{imageUri:'gcr.io/p/i'}" + pool +
                    "}]}}");
  }
};

TEST_F(CustomJobsTest, FieldsOfTheLatestRevisionAreTaken) {
  const Reply made = Submit(
      ",gpuPartitionSize:'1g.10gb'",
      ",lustreMounts:[{instanceIp:'10.0.0.2',volumeHandle:'v',filesystem:'f',mountPoint:'/mnt'}]");
  ASSERT_EQ(made.status, 200) << made.text;
  const Value pool = made.body["jobSpec"]["workerPoolSpecs"].AsList()[0];
  EXPECT_EQ(pool["machineSpec"]["gpuPartitionSize"], Value("1g.10gb"));
  EXPECT_EQ(pool["lustreMounts"].AsList()[0]["mountPoint"], Value("/mnt"));
}

TEST_F(CustomJobsTest, AMountNeedsEachOfItsFields) {
  const Reply refused =
      Submit("", ",lustreMounts:[{instanceIp:'10.0.0.2',volumeHandle:'v',filesystem:'f'}]");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.text, HasSubstr("Required field mountPoint is not set."));
  const Reply unknown = Submit("", ",lustreMounts:[{path:'/mnt'}]");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_THAT(unknown.text, HasSubstr("Unknown name \\\"path\\\""));
}

}  // namespace
}  // namespace podctl::emulator
