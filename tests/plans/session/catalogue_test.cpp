// What a zone offers, and what is said of it where nobody can be asked.
#include "plans/session/offer.h"

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

class FakeOffer final : public ZoneOffer {
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

class OfferTest : public ::testing::Test {
 protected:
  Result<TypesOffer> Types(const OfferPlace& place) { return OfferedTypes(&offer_, place, {}); }
  FakeOffer offer_;
};

TEST_F(OfferTest, TheServiceComesFirst) {
  const auto types = Types({"p", "z"});
  ASSERT_TRUE(types);
  EXPECT_TRUE(types->from_service);
  ASSERT_EQ(types->types.size(), 1U);
  EXPECT_EQ(types->types.front().type, "v3-32");
}

TEST_F(OfferTest, WhoAsksAboutNoZoneAsksNobody) {
  const auto types = Types({"p", ""});
  ASSERT_TRUE(types);
  EXPECT_FALSE(types->from_service || types->unasked);
  EXPECT_GT(types->types.size(), 1U);
  EXPECT_EQ(offer_.questions, 0);
}

TEST_F(OfferTest, AServiceThatDoesNotAnswerIsToldOf) {
  for (const ErrorCode code : {ErrorCode::kUnavailable, ErrorCode::kReplyLost,
                               ErrorCode::kDeadlineExceeded, ErrorCode::kUnauthenticated}) {
    offer_.error = MakeError(code, "nobody");
    const auto types = Types({"p", "europe-west4-a"});
    ASSERT_TRUE(types) << ErrorCodeName(code);
    EXPECT_EQ(types->unasked->message, "nobody");
    EXPECT_FALSE(types->from_service || types->types.empty());
  }
  EXPECT_EQ(Types({"", "europe-west4-a"})->unasked->message, "no project is set (--project)");
}

TEST_F(OfferTest, WhatTheServiceRefusesIsNotMadeUp) {
  offer_.error = MakeError(ErrorCode::kPermissionDenied, "not you");
  EXPECT_EQ(Types({"p", "z"}).error().message, "not you");
  EXPECT_EQ(OfferedVersions(offer_, {"p", "z"}, {}).error().message, "not you");
}

TEST_F(OfferTest, AnEndpointThatIsNoneIsAnError) {
  const Result<ZoneOffer*> none = MakeError(ErrorCode::kInvalidArgument, "no endpoint");
  EXPECT_EQ(OfferedTypes(none, {"p", "z"}, {}).error().message, "no endpoint");
  EXPECT_TRUE(OfferedTypes(none, {"p", ""}, {}));
}

TEST_F(OfferTest, VersionsStandInTheirOrder) {
  EXPECT_THAT(*OfferedVersions(offer_, {"p", "z"}, {}),
              ElementsAre("tpu-vm-base", "tpu-vm-tf-2.9.1", "tpu-vm-tf-2.11.0"));
}

}  // namespace
}  // namespace podctl
