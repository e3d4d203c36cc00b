// The bodies are literal where public reports hold them, see the names of the tests.
#include "providers/gcp/api_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "providers/base/json.h"
#include "providers/gcp/refusal.h"

namespace podctl::gcp {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Error FromAnswer(int status, const std::string& body) {
  return ErrorFromAnswer(status, body, "tpu.googleapis.com");
}

TEST(ApiError, TheCanonicalStatusDecidesAndNotTheNumber) {
  const auto code = [](int http, const std::string& status) {
    return FromAnswer(http, R"({"error":{"code":)" + std::to_string(http) +
                                R"(,"message":"m","status":")" + status + "\"}}")
        .code;
  };
  EXPECT_EQ(code(409, "ALREADY_EXISTS"), ErrorCode::kAlreadyExists);
  EXPECT_EQ(code(409, "ABORTED"), ErrorCode::kAborted);
  EXPECT_EQ(code(400, "FAILED_PRECONDITION"), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(code(400, "INVALID_ARGUMENT"), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(500, "DATA_LOSS"), ErrorCode::kDataLoss);
  EXPECT_EQ(code(400, "SOMETHING_NEW"), ErrorCode::kInvalidArgument);
}

TEST(ApiError, TheNumberDecidesWhereNothingElseIsSaid) {
  EXPECT_EQ(FromAnswer(403, "{}").code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(FromAnswer(502, "<html>Bad Gateway</html>").code, ErrorCode::kUnavailable);
  EXPECT_EQ(FromAnswer(504, "[]").code, ErrorCode::kDeadlineExceeded);
  EXPECT_EQ(FromAnswer(418, "").code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(FromAnswer(599, "").code, ErrorCode::kInternal);
  EXPECT_EQ(FromAnswer(302, "").code, ErrorCode::kUnknown);
  EXPECT_EQ(FromAnswer(502, "<html>Bad Gateway</html>").message,
            "tpu.googleapis.com answered with HTTP status 502");
}

// Else a wrong path would say that a node is gone.
TEST(ApiError, ANotFoundThatIsNotOfAResourceSaysNothingOfOne) {
  for (const char* body :
       {"", "<html>Not Found</html>", "{}", R"({"error":"x"})", R"({"error":{"code":404}})",
        R"({"error":{"code":404,"message":"Method not found.","status":"NOT_FOUND"}})"}) {
    const Error error = FromAnswer(404, body);
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument) << body;
    EXPECT_EQ(error.hint, "is the endpoint really one of the Cloud TPU API?") << body;
  }
}

TEST(ApiError, NodeNotFound) {
  const Error error = FromAnswer(404, R"({"error":{"code":404,"status":"NOT_FOUND",
    "message":"Resource 'projects/p/locations/europe-west4-a/nodes/n' was not found",
    "details":[{"@type":"type.googleapis.com/google.rpc.ResourceInfo",
                "resourceName":"projects/p/locations/europe-west4-a/nodes/n"}]}})");
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_EQ(error.message, "Resource 'projects/p/locations/europe-west4-a/nodes/n' was not found");
  EXPECT_EQ(error.hint, "");
}

TEST(ApiError, QuotaLimitWithItsDetails) {
  const std::string body = R"({"error":{"code":429,"status":"RESOURCE_EXHAUSTED",
    "message":"Quota limit 'TPUV6EPreemptiblePerProjectPerRegionForTPUAPI' has been exceeded. Limit: 0 in region us-east5.",
    "details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[
      {"description":"Quota 'TPUV4sPreemptiblePodPerProjectPerRegionForTPUAPI' exhausted. Limit 20800 in region us-central2"}]}]}})";
  const Error error = FromAnswer(429, body);
  EXPECT_EQ(error.code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(error.message, HasSubstr("Limit: 0 in region us-east5. Quota 'TPUV4s"));
  EXPECT_THAT(error.hint, HasSubstr("ask for more quota"));
  EXPECT_FALSE(IsRateLimit(body));
}

TEST(ApiError, RateLimit) {
  const std::string body = R"({"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":
    "Quota exceeded for quota metric 'Maximum number of CreateNode requests per minute' and limit 'x' of service 'tpu.googleapis.com'",
    "details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED"}]}})";
  EXPECT_THAT(FromAnswer(429, body).hint, HasSubstr("--parallelism"));
  EXPECT_TRUE(IsRateLimit(body));
  EXPECT_TRUE(IsRateLimit(""));  // says nothing: as a 429 was meant
  EXPECT_TRUE(IsRateLimit("<html>slow down</html>"));
}

TEST(ApiError, ApiNotEnabled) {
  const Error error = FromAnswer(403, R"({"error":{"code":403,"status":"PERMISSION_DENIED",
    "message":"Cloud TPU API has not been used in project 123 before or it is disabled.",
    "details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"SERVICE_DISABLED",
      "domain":"googleapis.com","metadata":{"consumer":"projects/123","service":"tpu.googleapis.com"}}]}})");
  EXPECT_EQ(error.code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(error.hint,
            "enable the API: `gcloud services enable tpu.googleapis.com --project 123`");
}

TEST(ApiError, Permission) {
  const Error error = FromAnswer(403, R"({"error":{"code":403,"status":"PERMISSION_DENIED",
    "message":"Permission 'tpu.nodes.get' denied on 'projects/p'"}})");
  EXPECT_EQ(error.message, "Permission 'tpu.nodes.get' denied on 'projects/p'");
  EXPECT_THAT(error.hint, HasSubstr("roles/tpu.admin"));
}

TEST(ApiError, CapacityOfAnOperation) {
  const auto status = ParseJson(R"({"code":8,"message":
    "There is no more capacity in the zone \"us-central1-c\"; you can try in another zone where Cloud TPU Nodes are offered (see https://cloud.google.com/tpu/docs/regions) [EID: 0x9f48947a7d57c8d]"})");
  const Error error = ErrorFromStatus(*status);
  EXPECT_EQ(error.code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(error.message, HasSubstr("no more capacity in the zone \"us-central1-c\""));
  EXPECT_THAT(error.hint, HasSubstr("another zone"));
}

TEST(ApiError, ReservedCapacityUnderAnotherCode) {
  const auto status = ParseJson(
      R"({"code":9,"message":"Insufficient reserved capacity. Contact customer support to increase your reservation."})");
  EXPECT_EQ(ErrorFromStatus(*status).code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(ErrorFromStatus(*status).hint, HasSubstr("reservation is full"));
}

Refusal OfAnswer(const std::string& message, const std::string& details = "") {
  return RefusalOf(
      FromAnswer(429, R"({"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":")" +
                          message + R"(","details":[)" + details + "]}}"),
      RefusedBy::kAnswer);
}

Refusal OfOperation(int code, const std::string& message) {
  Value status;
  status.Set("code", code);
  status.Set("message", message);
  return RefusalOf(ErrorFromStatus(status), RefusedBy::kOperation);
}

TEST(ApiError, RefusalsAreToldApartByTheirWords) {
  EXPECT_EQ(OfOperation(8, "There is no more capacity in the zone \"us-central1-c\"; you can try"),
            Refusal::kNoCapacity);
  EXPECT_EQ(OfOperation(8, "Insufficient reserved capacity. Contact customer support"),
            Refusal::kReservation);
  EXPECT_EQ(OfOperation(9, "Insufficient reserved capacity. Contact customer support"),
            Refusal::kReservation);
  EXPECT_EQ(OfAnswer("Quota limit 'TPUV6EPreemptiblePerProjectPerRegionForTPUAPI' has been "
                     "exceeded. Limit: 0 in region us-east5."),
            Refusal::kQuota);
  EXPECT_EQ(OfAnswer("Quota exceeded for quota metric 'Maximum number of CreateNode requests per "
                     "minute' and limit 'x' of service 'tpu.googleapis.com'"),
            Refusal::kRate);
  EXPECT_EQ(OfAnswer("Quota 'tpu.googleapis.com/qps/create' exhausted."), Refusal::kRate);
  EXPECT_EQ(OfAnswer("Quota exceeded for quota group 'default', limit 'Calls per minute'"),
            Refusal::kRate);
  EXPECT_EQ(OfOperation(3, "the accelerator v4-128 was not found in zone us-central2-b"),
            Refusal::kNone);
}

TEST(ApiError, TheDetailsTellWhatTheWordsDoNot) {
  EXPECT_EQ(OfAnswer("No.", R"({"@type":"type.googleapis.com/google.rpc.QuotaFailure",
                               "violations":[{"subject":"project:p"}]})"),
            Refusal::kQuota);
  EXPECT_EQ(OfAnswer("No.", R"({"@type":"type.googleapis.com/google.rpc.ErrorInfo",
                               "reason":"RATE_LIMIT_EXCEEDED"})"),
            Refusal::kRate);
}

TEST(ApiError, WhereNothingIsToldAnAnswerMeansHasteAndAnOperationCapacity) {
  EXPECT_EQ(OfAnswer("Resource has been exhausted (e.g. check quota)."), Refusal::kRate);
  EXPECT_EQ(OfOperation(8, "Resource exhausted."), Refusal::kNoCapacity);
}

TEST(ApiError, NumbersOfAnOperationAreCanonicalOnes) {
  const auto code = [](int number) {
    Value status;
    status.Set("code", number);
    return ErrorFromStatus(status).code;
  };
  EXPECT_EQ(code(1), ErrorCode::kCancelled);
  EXPECT_EQ(code(3), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(5), ErrorCode::kNotFound);
  EXPECT_EQ(code(14), ErrorCode::kUnavailable);
  EXPECT_EQ(code(16), ErrorCode::kUnauthenticated);
  for (int strange : {0, 17, -1, 404}) EXPECT_EQ(code(strange), ErrorCode::kUnknown);
}

TEST(ApiError, FieldViolationsAreFoldedInOnce) {
  const Error error = FromAnswer(400, R"({"error":{"code":400,"status":"INVALID_ARGUMENT",
    "message":"Request contains an invalid argument.","details":[
    {"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[
      {"field":"node.labels","description":"too many"}]},
    {"@type":"type.googleapis.com/google.rpc.LocalizedMessage","locale":"en","message":"too many"}]}})");
  EXPECT_EQ(error.message, "Request contains an invalid argument. node.labels: too many");
}

TEST(ApiError, IsOneShortLineWhateverTheServiceSends) {
  Value status;
  status.Set("code", 3);
  status.Set("message", "first\n\n  second \x1b[31m" + std::string(100'000, 'x'));
  const Error error = ErrorFromStatus(status);
  EXPECT_THAT(error.message, ::testing::StartsWith("first   second \\x1b[31mxxx"));
  EXPECT_LT(error.message.size(), 2'100U);
  EXPECT_THAT(error.message, Not(HasSubstr("\n")));
  EXPECT_THAT(error.message, ::testing::EndsWith("…"));
}

TEST(ApiError, SurvivesStrangeShapes) {
  for (const char* body : {"null", "[]", "7", R"({"error":"invalid_grant"})", R"({"error":[1]})",
                           R"({"error":{"message":7,"status":[],"details":{"a":1}}})",
                           R"({"error":{"details":[null,1,{"@type":7}]}})"}) {
    const Error error = FromAnswer(400, body);
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument) << body;
    EXPECT_FALSE(error.message.empty()) << body;
  }
}

}  // namespace
}  // namespace podctl::gcp
