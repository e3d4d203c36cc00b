// How VertexJobs looks for a job, over a scripted transport.
#include "providers/gcp/vertex_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/providers/gcp/fake_gcloud.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_transport.h"

namespace podctl::gcp {
namespace {

using testing::FakeClock;
using testing::FakeGcloud;
using testing::FakeRandom;
using testing::FakeTransport;
using ::testing::HasSubstr;

class VertexJobsTest : public ::testing::Test {
 protected:
  Result<Value> Find() { return jobs_.Find("p", "us-central1", "podctl-request", "x", {}); }

  FixedEnvironment environment_{{{"NO_GCE_CHECK", "true"}}};
  RealFileSystem files_;
  FakeGcloud gcloud_;
  FakeTransport transport_;
  FakeClock clock_;
  FakeRandom random_;
  Credentials credentials_{{environment_, files_, gcloud_, transport_, clock_, random_}};
  VertexJobs jobs_{*ParseEndpoint("http://127.0.0.1:8470"), transport_, credentials_, clock_,
                   random_};
};

TEST_F(VertexJobsTest, LooksAtEveryPage) {
  transport_.Then(200, R"({"nextPageToken":"t"})");
  transport_.Then(200, R"({"customJobs":[{"name":"j","labels":{"podctl-request":"x"}}]})");
  EXPECT_EQ((*Find())["name"].AsString(), "j");
}

// A job that is not found is submitted once more.
TEST_F(VertexJobsTest, AListThatNeverEndsIsNoList) {
  int page = 0;
  transport_.Then([&](const http::Request&) -> Result<http::Response> {
    return http::Response{200, {}, R"({"nextPageToken":")" + std::to_string(++page) + "\"}"};
  });
  const auto found = Find();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kInternal);
  EXPECT_THAT(found.error().message, HasSubstr("has more than 100 pages"));
  EXPECT_EQ(page, 100);
}

}  // namespace
}  // namespace podctl::gcp
