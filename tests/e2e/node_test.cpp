// What a zone offers, and nodes that are stopped and started.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Arguments kHere = {"--project", "my-project", "--zone", "europe-west4-a"};

Arguments With(Arguments words, const Arguments& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(CatalogueTest, TheServiceSaysWhatAZoneCatalogue) {
  Sandbox box;
  box.StartEmulator("none");
  const RunResult types = box.Run(With({"types"}, kHere));
  EXPECT_EQ(types.code, 0) << types;
  EXPECT_EQ(types.err, "");
  EXPECT_THAT(types.out, ::testing::MatchesRegex("TYPE +CHIPS  HOSTS  TOPOLOGY\n(.*\n)*v3-32 +16 "
                                                 "+4  4x4\n(.*\n)*"));
  EXPECT_THAT(types.out, Not(HasSubstr("v4-8")));  // which that zone has not
  const RunResult json = box.Run(With({"types", "--json"}, kHere));
  const auto document = ParseJson(json.out);
  ASSERT_TRUE(document.has_value()) << json;
  EXPECT_EQ((*document)["source"].AsString(), "service");
  EXPECT_EQ((*document)["types"].AsList().at(0)["type"].AsString(), "v2-8");

  const RunResult versions = box.Run(With({"versions"}, kHere));
  EXPECT_EQ(versions.code, 0) << versions;
  EXPECT_THAT(versions.out, HasSubstr("tpu-ubuntu2204-base\n"));
  const auto list = ParseJson(box.Run(With({"versions", "--json"}, kHere)).out);
  ASSERT_TRUE(list.has_value());
  EXPECT_GT((*list)["versions"].AsList().size(), 3U);
}

TEST(CatalogueTest, TheServicesOwnWordIsAnError) {
  Sandbox box;
  box.StartEmulator("none");
  for (const char* command : {"types", "versions"}) {
    const RunResult run = box.Run({command, "--project", "my-project", "--zone", "mars-north1-a"});
    EXPECT_EQ(run.code, 1) << run;
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, HasSubstr("of mars-north1-a in project my-project"));
  }
}

TEST(CatalogueTest, OfflineTheCatalogueAnswersAndSaysSo) {
  Sandbox box;
  box.SetVariable("PODCTL_ENDPOINT", "http://127.0.0.1:1/");  // nobody is there
  const RunResult types = box.Run(With({"types"}, kHere));
  EXPECT_EQ(types.code, 0) << types;
  EXPECT_THAT(types.err, HasSubstr("Warning: the service was not asked: "));
  EXPECT_THAT(types.err, HasSubstr("documented for europe-west4-a"));
  EXPECT_THAT(types.out, HasSubstr("\nv3-2048 "));
  EXPECT_THAT(types.out, Not(HasSubstr("\nv4-8 ")));
  EXPECT_EQ(box.Run(With({"versions"}, kHere)).code, 1);
}

TEST(CatalogueTest, WithoutAZoneTheWholeCatalogueIsShown) {
  Sandbox box;
  const RunResult types = box.Run({"types"});
  EXPECT_EQ(types.code, 0) << types;
  EXPECT_THAT(types.out, HasSubstr("\nv4-8 "));
  EXPECT_THAT(types.out, HasSubstr("us-central2-b"));
  EXPECT_THAT(types.err, HasSubstr("`--zone ZONE` asks a zone"));
  const RunResult versions = box.Run({"versions"});
  EXPECT_EQ(versions.code, 1);
  EXPECT_THAT(versions.err, HasSubstr("no zone is set"));
}

class StopTest : public ::testing::Test {
 protected:
  void SetUp() override {
    box_.StartEmulator();
    Write("");
    box_.Apply();
  }
  void Write(const std::string& keys) {
    box_.WriteSpec(
        "  single:\n    acceleratorType: v3-8\n    runtimeVersion: tpu-ubuntu2204-base\n" + keys);
  }
  std::string NodeState() { return box_.GetNode("single").body["state"].AsString(); }

  static constexpr const char* kStopped = "    desiredState: STOPPED\n";
  static constexpr const char* kReady =
      "    desiredState: READY\n    bootstrap: [{name: hello, run: echo hello}]\n";
  Sandbox box_;
};

TEST_F(StopTest, APodIsStoppedAndStartedAndThenBootstrapped) {
  Write(kStopped);
  const RunResult plan = box_.Run({"plan"});
  EXPECT_THAT(plan.out, HasSubstr("# pod.single will be stopped"));
  EXPECT_THAT(plan.out, HasSubstr("~ state = \"READY\" -> \"STOPPED\""));
  EXPECT_THAT(box_.Apply().err, HasSubstr("pod.single: Stopped after "));
  EXPECT_EQ(NodeState(), "STOPPED");
  EXPECT_THAT(box_.Run({"plan"}).out, HasSubstr("No changes."));
  const RunResult refused = box_.Run({"exec", "single", "--", "hostname"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("pod `single` is STOPPED"));

  Write(kReady);
  const RunResult started = box_.Apply();
  EXPECT_THAT(started.err, HasSubstr("pod.single: Started after "));
  EXPECT_THAT(started.err, HasSubstr("bootstrap.single.hello"));
  EXPECT_EQ(NodeState(), "READY");
  EXPECT_EQ(box_.Run({"exec", "single", "--", "true"}).code, 0);
  EXPECT_EQ(box_.Calls("nodes.stop"), 1);
  EXPECT_EQ(box_.Calls("nodes.start"), 1);
}

TEST_F(StopTest, AStopThatWasInterruptedIsTakenUp) {
  Write(kStopped);
  box_.StopEmulator();
  box_.StartEmulator("sshd", "3s");
  auto run = box_.Start({"apply", "--auto-approve"});
  ASSERT_TRUE(Eventually([&] { return NodeState() == "STOPPING"; }));
  run->Signal(SIGKILL);
  run->Wait();
  box_.Apply();
  EXPECT_EQ(NodeState(), "STOPPED");
  EXPECT_EQ(box_.Calls("nodes.stop"), 1);
  EXPECT_THAT(box_.Run({"plan"}).out, HasSubstr("No changes."));
}

TEST(StopPodTest, APodOfSeveralHostsIsRefusedBeforeAnythingIsSent) {
  Sandbox box;
  box.StartEmulator("none");
  box.WriteSpec(
      "  pod: {acceleratorType: v3-32, runtimeVersion: tpu-vm-tf-2.11.0-pod, desiredState: "
      "STOPPED}\n");
  const RunResult plan = box.Run({"plan"});
  EXPECT_EQ(plan.code, 1);
  EXPECT_THAT(plan.err, HasSubstr("a pod of 4 hosts cannot be stopped"));
  EXPECT_EQ(box.Calls("nodes.list"), 0);
}

}  // namespace
}  // namespace podctl::testing
