#include "providers/gcp/operation.h"

#include <gtest/gtest.h>

#include <vector>

#include "providers/base/json.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_provider.h"

namespace podctl::gcp {
namespace {

using std::chrono::milliseconds;
using testing::FakeClock;
using testing::FakeProvider;
using testing::FakeRandom;

const NodeName kNode{"p", "z", "n"};

class OperationTest : public ::testing::Test {
 protected:
  explicit OperationTest(int looks = 5) : provider_(FakeProvider::Options{.looks = looks}) {}
  std::string Create() { return provider_.CreateNode(kNode, Value::EmptyMap(), {})->name; }
  Result<Operation> Wait(const std::string& name) {
    return WaitOperation(provider_, name, options_, clock_, random_, stop_.get_token(),
                         [this](milliseconds elapsed) { waits_.push_back(elapsed); });
  }

  FakeProvider provider_;
  FakeClock clock_;
  FakeRandom random_;
  WaitOptions options_;
  std::stop_source stop_;
  std::vector<milliseconds> waits_;
};

TEST_F(OperationTest, WaitsLongerAndLonger) {
  const auto operation = Wait(Create());
  ASSERT_TRUE(operation.has_value());
  EXPECT_TRUE(operation->done);
  EXPECT_TRUE(operation->error.empty());
  EXPECT_EQ(operation->response["state"].AsString(), "READY");
  EXPECT_EQ(waits_, (std::vector<milliseconds>{milliseconds(0), milliseconds(1'000),
                                               milliseconds(2'400), milliseconds(4'360)}));
}

TEST_F(OperationTest, DoesNotWaitForWhatIsDone) {
  const std::string name = Create();
  provider_.FinishOperations();
  EXPECT_TRUE(Wait(name)->done);
  EXPECT_TRUE(waits_.empty());
}

TEST_F(OperationTest, NeverWaitsLongerThanItsCap) {
  FakeProvider slow(FakeProvider::Options{.looks = 30});
  const std::string name = slow.CreateNode(kNode, Value::EmptyMap(), {})->name;
  std::vector<milliseconds> waits;
  ASSERT_TRUE(WaitOperation(slow, name, options_, clock_, random_, {}, [&](milliseconds elapsed) {
                waits.push_back(elapsed);
              }).has_value());
  EXPECT_EQ(waits.back() - waits[waits.size() - 2], options_.longest_wait);
}

TEST_F(OperationTest, AFailedOperationIsAValue) {
  provider_.FailOperation("create", FakeProvider::NoCapacity());
  const auto operation = Wait(Create());
  ASSERT_TRUE(operation.has_value());
  ASSERT_EQ(operation->error.size(), 1U);
  EXPECT_EQ(operation->error[0].code, ErrorCode::kResourceExhausted);
}

TEST_F(OperationTest, OutlivesFailedPolls) {
  const std::string name = Create();
  provider_.FailNext("operation", MakeError(ErrorCode::kUnavailable, "down"), 10);
  EXPECT_TRUE(Wait(name)->done);
}

TEST_F(OperationTest, GivesUpWhenAllPollsFail) {
  const std::string name = Create();
  provider_.FailNext("operation", MakeError(ErrorCode::kReplyLost, "down"), 100);
  const auto operation = Wait(name);
  ASSERT_FALSE(operation.has_value());
  EXPECT_EQ(operation.error().message, "down");
  EXPECT_EQ(provider_.Calls("operation").size(), 11U);
}

TEST_F(OperationTest, SaysAtOnceWhatNoRepeatMends) {
  EXPECT_EQ(Wait("projects/p/locations/z/operations/forgotten").error().code, ErrorCode::kNotFound);
  provider_.FailNext("operation", MakeError(ErrorCode::kPermissionDenied, "no"));
  EXPECT_EQ(Wait(Create()).error().code, ErrorCode::kPermissionDenied);
  EXPECT_TRUE(waits_.empty());
}

TEST_F(OperationTest, HasADeadline) {
  options_.deadline = milliseconds(3'000);
  const std::string name = Create();
  const auto operation = Wait(name);
  ASSERT_FALSE(operation.has_value());
  EXPECT_EQ(operation.error().code, ErrorCode::kDeadlineExceeded);
  EXPECT_EQ(operation.error().message, name + " is not done after 3s");
  EXPECT_EQ(clock_.Elapsed(), milliseconds(3'000));
}

TEST_F(OperationTest, StopsEarly) {
  const std::string name = Create();
  provider_.Before("operation", [this](FakeProvider&) { stop_.request_stop(); });
  EXPECT_EQ(Wait(name).error().code, ErrorCode::kCancelled);
}

TEST(ParseOperation, ReadsBothForms) {
  const auto running = ParseOperation(*ParseJson(R"({"name":"projects/p/locations/z/operations/o",
      "metadata":{"verb":"create","futureField":1}})"));
  EXPECT_EQ(running.name, "projects/p/locations/z/operations/o");
  EXPECT_FALSE(running.done);  // left out while false
  const auto done =
      ParseOperation(*ParseJson(R"({"name":"o","done":true,"response":{"name":"n"}})"));
  EXPECT_TRUE(done.done);
  EXPECT_TRUE(done.error.empty());
  EXPECT_EQ(done.response["name"].AsString(), "n");
  const auto failed = ParseOperation(*ParseJson(R"({"name":"o","done":true,"error":{"code":8}})"));
  ASSERT_EQ(failed.error.size(), 1U);
  EXPECT_EQ(failed.error[0].code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace podctl::gcp
