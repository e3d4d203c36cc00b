#include <gtest/gtest.h>

#include "providers/base/json.h"
#include "providers/gcp/tpu_provider.h"

namespace podctl::gcp {
namespace {

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

TEST(ParseOperation, AnOddErrorIsAFailureAllTheSame) {
  for (const char* error : {R"("no")", "[]", "[1]", "5", "true", "{}", R"({"code":0})",
                            R"({"code":0,"message":"no"})", R"({"x":1})"}) {
    const auto failed = ParseOperation(
        *ParseJson(std::string(R"({"name":"o","done":true,"error":)") + error + "}"));
    ASSERT_EQ(failed.error.size(), 1U) << error;
    EXPECT_EQ(failed.error[0].code, ErrorCode::kUnknown) << error;
    EXPECT_FALSE(failed.error[0].message.empty()) << error;
  }
  EXPECT_TRUE(ParseOperation(*ParseJson(R"({"name":"o","error":null})")).error.empty());
}

}  // namespace
}  // namespace podctl::gcp
