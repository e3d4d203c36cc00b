// What a node tells of a key that its workers refuse.
#include <gtest/gtest.h>

#include "plans/fleet/pod_target.h"
#include "tests/support/fake_provider.h"

namespace podctl {
namespace {

class RefusedKey : public ::testing::Test {
 protected:
  RefusedKey() {
    record_.project = "p";
    record_.zone = "z";
    record_.current.locator = "research";
    cloud_.PutNode({"p", "z", "research"}, Value::EmptyMap());
  }
  KeyStatus CurrentStatus() {
    return StatusOfKey(record_, {"a:ssh-rsa AAAA a", kOurs}, cloud_, {});
  }

  static constexpr const char* kOurs = "a:ssh-ed25519 BBBB a";
  testing::FakeProvider cloud_;
  PodRecord record_;
};

TEST_F(RefusedKey, IsThereAndNotTakenUpYet) {
  cloud_.EditNode({"p", "z", "research"}, [](Value& node) {
    node.SetPath("metadata.ssh-keys", Value("x:ssh-rsa CCCC x\n" + std::string(kOurs)));
  });
  EXPECT_EQ(CurrentStatus(), KeyStatus::kNotTakenUp);
}

TEST_F(RefusedKey, IsNotThere) {
  EXPECT_EQ(CurrentStatus(), KeyStatus::kUnpublished);
  record_.ssh.withhold_key = true;
  EXPECT_EQ(CurrentStatus(), KeyStatus::kWithheld);
  record_.metadata["ssh-keys"] = {};
  EXPECT_EQ(CurrentStatus(), KeyStatus::kNotInSpec);
}

TEST_F(RefusedKey, IsUnknownWhereNobodyAnswers) {
  cloud_.FailNext("get", MakeError(ErrorCode::kUnavailable, "down"));
  EXPECT_EQ(CurrentStatus(), KeyStatus::kUnknown);
}

}  // namespace
}  // namespace podctl
