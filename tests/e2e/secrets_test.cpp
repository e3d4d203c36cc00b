// Metadata from Secret Manager with the built binary: a new version is a change, and the value
// stands nowhere but in memory and on the node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "providers/base/encoding.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kAccess = "secretmanager.versions.access";
const std::string kSecrets = "/v1/projects/my-project/secrets";
const std::string kPod =
    "    acceleratorType: v3-8\n"
    "    runtimeVersion: tpu-vm-tf-2.11.0\n"
    "    metadata: {hf-token: {secret: projects/my-project/secrets/hf-token}}\n";

class SecretsE2eTest : public ::testing::Test {
 protected:
  void SetUp() override {
    box_.StartEmulator("none");
    box_.WriteSpec("  research:\n" + kPod + "  other:\n" + kPod);
    const std::string body = R"({"replication": {"automatic": {}}})";
    ASSERT_EQ(box_.Http("POST", kSecrets + "?secretId=hf-token", body).status, 200);
    AddVersion(kFirst);
  }
  // What was printed, and all files of the user's: nothing of what was secret may stand there. The
  // emulator's own folder is the cloud.
  void TearDown() override {
    said_ +=
        box_.Run({"show"}).out + box_.Run({"show", "--json"}).out + box_.Run({"state", "pull"}).out;
    for (const std::string value : {kFirst, kSecond}) {
      for (const std::string& each :
           {value, Base64Encode(value), Base64Encode("x" + value).substr(4),
            Base64Encode("xx" + value).substr(4)}) {
        const std::string part = each.substr(0, 12);
        EXPECT_THAT(said_, Not(HasSubstr(part)));
        for (const auto& file : std::filesystem::recursive_directory_iterator(box_.Path(""))) {
          const bool cloud = file.path().string().find("/emulator") != std::string::npos;
          if (cloud || !file.is_regular_file()) continue;
          EXPECT_THAT(TextOf(file.path()), Not(HasSubstr(part))) << file.path();
        }
      }
    }
  }
  static std::string TextOf(const std::filesystem::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void AddVersion(const std::string& value) {
    const Reply added = box_.Http("POST", kSecrets + "/hf-token:addVersion",
                                  R"({"payload": {"data": ")" + Base64Encode(value) + "\"}}");
    ASSERT_EQ(added.status, 200);
  }
  void Do(const std::string& version, const std::string& verb) {
    ASSERT_EQ(
        box_.Http("POST", kSecrets + "/hf-token/versions/" + version + ":" + verb, "{}").status,
        200);
  }
  RunResult Run(const Arguments& words) {
    RunResult run = box_.Run(words);
    said_ += run.out + run.err;
    return run;
  }
  void Apply() {
    const RunResult applied = Run({"apply", "--auto-approve"});
    ASSERT_EQ(applied.code, 0) << applied;
  }
  std::string OnNode() { return box_.GetNode("research").body["metadata"]["hf-token"].AsString(); }

  static constexpr const char* kFirst = "hf_first_0123456789abcdef";
  static constexpr const char* kSecond = "hf_second_fedcba9876543210";
  Sandbox box_;
  std::string said_;
};

TEST_F(SecretsE2eTest, ANewVersionIsAChangeThatApplyMakes) {
  EXPECT_EQ(Run({"validate"}).code, 0);
  EXPECT_EQ(box_.Calls(kAccess), 0) << "validate contacts nobody";
  Apply();
  EXPECT_EQ(OnNode(), kFirst);
  EXPECT_EQ(Run({"plan", "--detailed-exitcode"}).code, 0);
  AddVersion(kSecond);
  box_.CountAnew();
  const RunResult plan = Run({"plan", "--detailed-exitcode"});
  EXPECT_EQ(plan.code, 2);
  EXPECT_EQ(box_.Calls(kAccess), 1) << "two pods, one secret";
  EXPECT_THAT(plan.out, HasSubstr("~ metadata.hf-token = (sensitive value) -> (sensitive value) "
                                  "# version 1 -> 2\n"));
  EXPECT_EQ(Run({"plan", "--json"}).code, 0);
  EXPECT_THAT(Run({"plan", "--markdown"}).out, HasSubstr("# version 1 -> 2"));
  Apply();
  EXPECT_EQ(OnNode(), kSecond);
  EXPECT_EQ(Run({"plan", "--detailed-exitcode"}).code, 0);
}

TEST_F(SecretsE2eTest, ItShowsInNoProcessList) {
  box_.OrderFault(R"({"call": "nodes.create", "times": 1, "delay": "1s"})");
  const auto applying = box_.Start({"apply", "--auto-approve"});
  ASSERT_TRUE(Eventually([&] { return box_.FaultsLeft() == 0; }));
  for (const pid_t pid : Descendants(applying->pid())) {
    EXPECT_THAT(TextOf("/proc/" + std::to_string(pid) + "/cmdline"), Not(HasSubstr("hf_first")));
  }
  const std::string own = "/proc/" + std::to_string(applying->pid());
  EXPECT_THAT(TextOf(own + "/cmdline"), AllOf(HasSubstr("apply"), Not(HasSubstr("hf_first"))));
  EXPECT_THAT(TextOf(own + "/environ"), Not(HasSubstr("hf_first")));
  EXPECT_EQ(applying->Result().code, 0);
}

TEST_F(SecretsE2eTest, ASavedPlanKeepsToItsVersion) {
  ASSERT_EQ(Run({"plan", "--out", "a.plan"}).code, 0);
  AddVersion(kSecond);
  EXPECT_THAT(Run({"show", "a.plan"}).out,
              AllOf(HasSubstr("# version 1\n"),
                    HasSubstr("projects/my-project/secrets/hf-token/versions/1")));
  const RunResult applied = Run({"apply", "a.plan"});
  EXPECT_EQ(applied.code, 0) << applied;
  EXPECT_EQ(OnNode(), kFirst);
  ASSERT_EQ(Run({"plan", "--out", "b.plan"}).code, 0);
  Do("2", "disable");
  const RunResult stale = Run({"apply", "b.plan"});
  EXPECT_EQ(stale.code, 4) << stale;
  EXPECT_THAT(stale.err, AllOf(HasSubstr("Error: Saved plan is stale\n"),
                               HasSubstr("/versions/2 cannot be read any more"),
                               HasSubstr("is in DISABLED state")));
  EXPECT_EQ(OnNode(), kFirst);
}

TEST_F(SecretsE2eTest, WhatCannotBeReadIsToldAtItsPlace) {
  const std::string at = "  podctl.yaml:";
  Do("1", "disable");
  RunResult plan = Run({"plan"});
  EXPECT_EQ(plan.code, 1);
  EXPECT_THAT(plan.err, AllOf(HasSubstr("Error: the secret projects/my-project/secrets/hf-token/"
                                        "versions/latest cannot be read: Secret Version ["),
                              HasSubstr("is in DISABLED state."), HasSubstr(at),
                              HasSubstr("gcloud secrets versions add hf-token")));
  EXPECT_EQ(CountLines(plan.err, "Error: "), 1) << "one secret, however many pods";
  box_.OrderFault(R"({"call": "secretmanager.versions.access", "times": 1, "status": 403,
      "message": "Permission 'secretmanager.versions.access' denied"})");
  plan = Run({"apply", "--auto-approve"});
  EXPECT_EQ(plan.code, 1);
  EXPECT_THAT(plan.err, AllOf(HasSubstr("Permission 'secretmanager.versions.access' denied"),
                              HasSubstr(at), HasSubstr("roles/secretmanager.secretAccessor")));
  box_.Http("DELETE", kSecrets + "/hf-token");
  EXPECT_THAT(Run({"plan"}).err, AllOf(HasSubstr("not found or has no versions."), HasSubstr(at)));
  EXPECT_EQ(box_.Calls("nodes.create"), 0);
  EXPECT_EQ(Run({"destroy", "--auto-approve"}).code, 0) << "which needs no secret";
}

TEST_F(SecretsE2eTest, ALostAnswerIsAskedForAgain) {
  box_.OrderFault(R"({"call": "secretmanager.versions.access", "times": 1, "drop": "after"})");
  box_.OrderFault(R"({"call": "secretmanager.versions.access", "times": 1, "cutAfter": 40})");
  Apply();
  EXPECT_EQ(box_.FaultsLeft(), 0);
  EXPECT_EQ(OnNode(), kFirst);
}

TEST_F(SecretsE2eTest, AQueuedPodOfSlicesGetsItToo) {
  box_.WriteSpec(
      "  big:\n    acceleratorType: v4-8\n    runtimeVersion: tpu-vm-tf-2.11.0\n"
      "    zone: us-central2-b\n    slices: 2\n    queuedResource: {}\n"
      "    metadata: {hf-token: {secret: projects/my-project/secrets/hf-token}}\n");
  Apply();
  const auto on = [&](const std::string& node) {
    return box_.Http("GET", "/v2/projects/my-project/locations/us-central2-b/nodes/" + node)
        .body["metadata"]["hf-token"]
        .AsString();
  };
  EXPECT_EQ(on("big-0") + on("big-1"), std::string(kFirst) + kFirst);
  AddVersion(kSecond);
  Apply();
  EXPECT_EQ(on("big-0") + on("big-1"), std::string(kSecond) + kSecond);
}

}  // namespace
}  // namespace podctl::testing
