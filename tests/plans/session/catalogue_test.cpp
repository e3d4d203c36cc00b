// What a zone offers, and what is said of it where nobody can be asked.
#include "plans/session/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace podctl {
namespace {

using ::testing::ElementsAre;

Value Map(const std::string& key, const std::string& text) {
  Value value = Value::EmptyMap();
  value.Set(key, text);
  return value;
}

class FakeCatalogue final : public ZoneCatalogue {
 public:
  Result<std::vector<Value>> ListAcceleratorTypes(const std::string&, const std::string&,
                                                  std::stop_token) override {
    ++questions;
    if (error) return *error;
    return std::vector<Value>{Map("type", "v3-32")};
  }
  Result<std::vector<Value>> ListRuntimeVersions(const std::string&, const std::string&,
                                                 std::stop_token) override {
    if (error) return *error;
    return std::vector<Value>{Map("version", "tpu-vm-tf-2.11.0"), Map("version", "tpu-vm-tf-2.9.1"),
                              Map("name", "projects/p/locations/z/runtimeVersions/tpu-vm-base")};
  }

  std::optional<Error> error;
  int questions = 0;
};

class CatalogueTest : public ::testing::Test {
 protected:
  Result<TypeCatalogue> Types(const CataloguePlace& place) {
    return AvailableTypes(&catalogue_, place, {});
  }
  FakeCatalogue catalogue_;
};

TEST_F(CatalogueTest, TheServiceComesFirst) {
  const auto types = Types({"p", "z"});
  ASSERT_TRUE(types);
  EXPECT_TRUE(types->from_service);
  ASSERT_EQ(types->types.size(), 1U);
  EXPECT_EQ(types->types.front().type, "v3-32");
}

TEST_F(CatalogueTest, WhoAsksAboutNoZoneAsksNobody) {
  const auto types = Types({"p", ""});
  ASSERT_TRUE(types);
  EXPECT_FALSE(types->from_service || types->unasked);
  EXPECT_GT(types->types.size(), 1U);
  EXPECT_EQ(catalogue_.questions, 0);
}

TEST_F(CatalogueTest, AServiceThatDoesNotAnswerIsToldOf) {
  for (const ErrorCode code : {ErrorCode::kUnavailable, ErrorCode::kReplyLost,
                               ErrorCode::kDeadlineExceeded, ErrorCode::kUnauthenticated}) {
    catalogue_.error = MakeError(code, "nobody");
    const auto types = Types({"p", "europe-west4-a"});
    ASSERT_TRUE(types) << ErrorCodeName(code);
    EXPECT_EQ(types->unasked->message, "nobody");
    EXPECT_FALSE(types->from_service || types->types.empty());
  }
  EXPECT_EQ(Types({"", "europe-west4-a"})->unasked->message, "no project is set (--project)");
}

TEST_F(CatalogueTest, WhatTheServiceRefusesIsNotMadeUp) {
  catalogue_.error = MakeError(ErrorCode::kPermissionDenied, "not you");
  EXPECT_EQ(Types({"p", "z"}).error().message, "not you");
  EXPECT_EQ(AvailableVersions(catalogue_, {"p", "z"}, {}).error().message, "not you");
}

TEST_F(CatalogueTest, AnEndpointThatIsNoneIsAnError) {
  const Result<ZoneCatalogue*> none = MakeError(ErrorCode::kInvalidArgument, "no endpoint");
  EXPECT_EQ(AvailableTypes(none, {"p", "z"}, {}).error().message, "no endpoint");
  EXPECT_TRUE(AvailableTypes(none, {"p", ""}, {}));
}

TEST_F(CatalogueTest, VersionsStandInTheirOrder) {
  EXPECT_THAT(*AvailableVersions(catalogue_, {"p", "z"}, {}),
              ElementsAre("tpu-vm-base", "tpu-vm-tf-2.9.1", "tpu-vm-tf-2.11.0"));
}

}  // namespace
}  // namespace podctl
