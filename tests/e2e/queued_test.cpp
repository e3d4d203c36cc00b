// A pod that is asked for through a queued resource: whatever ends podctl while the request waits,
// is fulfilled or goes, the next run goes on from there, and never asks a second time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kQueue = "/v2/projects/my-project/locations/europe-west4-a/queuedResources";

class QueuedTest : public ::testing::Test {
 protected:
  void Begin(const std::string& delay) {
    box_.StartEmulator("none", delay);
    Capacity(0);
    box_.WriteSpec(
        "  research:\n"
        "    acceleratorType: v3-32\n"
        "    runtimeVersion: tpu-vm-tf-2.11.0-pod\n"
        "    queuedResource: {spot: true, queueingPolicy: {validUntilDuration: 6h}}\n");
  }
  void Capacity(int nodes) {
    box_.Http("POST", "/emulator/capacity", R"({"v3-32": )" + std::to_string(nodes) + "}");
  }
  std::string RequestState() {
    return box_.Http("GET", std::string(kQueue) + "/research").body["state"]["state"].AsString();
  }
  void ExpectReadyFromOneRequest() {
    EXPECT_EQ(box_.Calls("queuedResources.create"), 1) << ToJson(box_.Requests());
    EXPECT_EQ(box_.GetNode("research").body["state"].AsString(), "READY");
    EXPECT_EQ(RequestState(), "ACTIVE");
    const RunResult plan = box_.Run({"plan", "--detailed-exitcode"});
    EXPECT_EQ(plan.code, 0) << plan;
  }

  Sandbox box_;
};

// The signal that ends podctl: twice for SIGINT, as somebody in a hurry presses Ctrl-C.
class EndedQueuedTest : public QueuedTest, public ::testing::WithParamInterface<int> {
 protected:
  static void End(Process& run) {
    run.Signal(GetParam());
    if (GetParam() == SIGINT) {
      EXPECT_TRUE(run.WaitForErr("Interrupted"));
      run.Signal(SIGINT);
    }
    EXPECT_EQ(run.Wait(), GetParam() == SIGINT ? 130 : 128 + GetParam()) << run.err();
  }
};

TEST_P(EndedQueuedTest, AWaitingRequestIsWaitedForAgain) {
  Begin("0.3s");
  auto run = box_.Start({"apply", "--auto-approve"});
  ASSERT_TRUE(run->WaitForErr("is WAITING_FOR_RESOURCES")) << run->err();
  End(*run);
  EXPECT_THAT(box_.Run({"plan"}).out,
              HasSubstr("# (because its queued resource research is WAITING_FOR_RESOURCES)"));
  Capacity(1);
  const RunResult next = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(next.code, 0) << next;
  ExpectReadyFromOneRequest();
}

TEST_P(EndedQueuedTest, ARequestThatIsBeingFulfilledIsTakenUp) {
  Begin("3s");
  Capacity(1);
  auto run = box_.Start({"apply", "--auto-approve"});
  ASSERT_TRUE(run->WaitForErr("is PROVISIONING")) << run->err();
  End(*run);
  const RunResult next = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(next.code, 0) << next;
  ExpectReadyFromOneRequest();
}

TEST_P(EndedQueuedTest, ADeathWhileTheRequestIsDeletedLeavesNothing) {
  Begin("2s");
  Capacity(1);
  box_.Apply();
  auto run = box_.Start({"destroy", "--auto-approve"});
  ASSERT_TRUE(Eventually([&] { return RequestState() == "DELETING"; })) << run->err();
  End(*run);
  const RunResult next = box_.Run({"destroy", "--auto-approve"});
  EXPECT_EQ(next.code, 0) << next;
  EXPECT_EQ(box_.Http("GET", std::string(kQueue) + "/research").status, 404);
  EXPECT_EQ(box_.GetNode("research").status, 404);
  EXPECT_TRUE(box_.State()["resources"].AsMap().empty()) << ToJson(box_.State());
}

INSTANTIATE_TEST_SUITE_P(Ends, EndedQueuedTest, ::testing::Values(SIGKILL, SIGINT),
                         [](const auto& each) { return each.param == SIGKILL ? "Kill" : "Int"; });

TEST_F(QueuedTest, ARequestIsDeletedWhileItWaits) {
  Begin("0.3s");
  const RunResult asked = box_.Run({"apply", "--auto-approve", "--no-wait"});
  EXPECT_EQ(asked.code, 0) << asked;
  EXPECT_THAT(asked.err + asked.out, HasSubstr("left in the queue: pod.research"));
  const RunResult gone = box_.Run({"destroy", "--auto-approve"});
  EXPECT_EQ(gone.code, 0) << gone;
  EXPECT_EQ(box_.Http("GET", std::string(kQueue) + "/research").status, 404);
}

TEST_F(QueuedTest, ARequestThatExpiredIsReplaced) {
  Begin("0.3s");
  EXPECT_EQ(box_.Run({"apply", "--auto-approve", "--no-wait"}).code, 0);
  ASSERT_TRUE(Eventually([&] { return RequestState() == "WAITING_FOR_RESOURCES"; }));
  box_.Http("POST", "/emulator/clock", R"({"advance": "7h"})");
  ASSERT_TRUE(Eventually([&] { return RequestState() == "FAILED"; }));
  const RunResult plan = box_.Run({"plan"});
  EXPECT_THAT(plan.out,
              AllOf(HasSubstr("queued resource research is FAILED"), HasSubstr("must be replaced")))
      << plan;
  Capacity(1);
  const RunResult next = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(next.code, 0) << next;
  EXPECT_EQ(box_.Calls("queuedResources.create"), 2);
  EXPECT_EQ(box_.GetNode("research").body["state"].AsString(), "READY");
}

TEST_F(QueuedTest, APreemptedPodComesBackFromANewRequest) {
  Begin("0.3s");
  Capacity(1);
  box_.Apply();
  const std::string uid = box_.GetNode("research").body["id"].AsString();
  EXPECT_EQ(box_.Http("POST", "/emulator/nodes/research:preempt").status, 200);
  ASSERT_TRUE(Eventually([&] { return RequestState() == "SUSPENDED"; }));
  EXPECT_THAT(box_.Run({"plan"}).out, HasSubstr("must be replaced"));
  const RunResult next = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(next.code, 0) << next;
  EXPECT_EQ(box_.GetNode("research").body["state"].AsString(), "READY");
  EXPECT_NE(box_.GetNode("research").body["id"].AsString(), uid);
  EXPECT_EQ(box_.Run({"plan", "--detailed-exitcode"}).code, 0);
}

TEST_F(QueuedTest, OfASuspendedPodEveryCommandTellsTheSame) {
  Begin("0.3s");
  Capacity(1);
  box_.Apply();
  EXPECT_EQ(box_.Http("POST", "/emulator/queuedResources/research:suspend").status, 200);
  ASSERT_TRUE(Eventually([&] { return RequestState() == "SUSPENDED"; }));
  const std::string words = "its queued resource research is SUSPENDED by the service";
  EXPECT_THAT(box_.Run({"plan"}).out, HasSubstr(words));
  const RunResult doctor = box_.Run({"doctor", "research"});
  EXPECT_THAT(doctor.out, AllOf(HasSubstr("research: node SUSPENDED\n"), HasSubstr(words + "\n")))
      << doctor;
  EXPECT_THAT(box_.Run({"status"}).out, HasSubstr("SUSPENDED by the service"));
  const RunResult exec = box_.Run({"exec", "research", "--", "true"});
  EXPECT_THAT(exec.err, HasSubstr("pod `research` has no workers: " + words)) << exec;
}

TEST_F(QueuedTest, AMultisliceOfTheAlphaVersionLivesAsLongAsItAskedFor) {
  box_.StartEmulator("none", "0.1s");
  box_.WriteSpec(
      "  research:\n    zone: us-central2-b\n    apiVersion: v2alpha1\n"
      "    acceleratorType: v4-16\n    runtimeVersion: tpu-ubuntu2204-base\n"
      "    autocheckpointEnabled: true\n    slices: 2\n"
      "    queuedResource: {provisioningModel: SPOT, runDuration: {maxRunDuration: 4h}}\n");
  box_.Apply();
  const std::string parent = "/v2alpha1/projects/my-project/locations/us-central2-b";
  const Value queued = box_.Http("GET", parent + "/queuedResources/research").body;
  EXPECT_EQ(queued["runDuration"]["maxRunDuration"], Value("14400s"));
  EXPECT_EQ(queued["tpu"]["nodeSpec"].AsList().size(), 2U) << ToJson(queued);
  const Value slice = box_.Http("GET", parent + "/nodes/research-1").body;
  EXPECT_EQ(slice["autocheckpointEnabled"], Value(true)) << ToJson(slice);
  EXPECT_EQ(box_.Run({"plan", "--detailed-exitcode"}).code, 0);
  box_.Http("POST", "/emulator/clock", R"({"advance": "5h"})");
  ASSERT_TRUE(Eventually([&] {
    return box_.Run({"plan"}).out.find("its queued resource research is SUSPENDED") !=
           std::string::npos;
  }));
}

// What somebody asked for with another tool, taken over and then deleted by podctl.
class ImportQueuedTest : public ::testing::Test {
 protected:
  void SetUp() override { box_.StartEmulator("none", "0.1s"); }
  void MakeByHand(const std::string& spec) {
    box_.Change("POST", kParent + "/queuedResources?queuedResourceId=asked",
                R"({"spot": {}, "tpu": {"nodeSpec": [{"parent": "projects/my-project/locations/)"
                R"(us-central2-b", "node": {"acceleratorType": "v4-16",)"
                R"("runtimeVersion": "tpu-ubuntu2204-base"}, )" +
                    spec + "}]}}");
    ASSERT_TRUE(Eventually([&] { return Asked().body["state"]["state"] == Value(becomes_); }));
  }
  Reply Asked() { return box_.Http("GET", kParent + "/queuedResources/asked"); }
  std::size_t Nodes() { return box_.Http("GET", kParent + "/nodes").body["nodes"].AsList().size(); }
  void Import(const std::string& node) {
    const RunResult import = box_.Run(
        {"import", "pod.research", node, "--project", "my-project", "--zone", "us-central2-b"});
    ASSERT_EQ(import.code, 0) << import;
    box_.WriteFile("podctl.yaml", import.out);
    box_.CountAnew();
    const RunResult plan = box_.Run({"plan", "--detailed-exitcode"});
    EXPECT_EQ(plan.code, 0) << import << plan;
  }
  void ExpectAllGoes() {
    const RunResult gone = box_.Run({"destroy", "--auto-approve"});
    EXPECT_EQ(gone.code, 0) << gone;
    EXPECT_EQ(Asked().status, 404);
    EXPECT_EQ(Nodes(), 0U);
    EXPECT_EQ(box_.Calls("nodes.delete"), 0) << "its nodes go with the request";
  }

  const std::string kParent = "/v2/projects/my-project/locations/us-central2-b";
  std::string becomes_ = "ACTIVE";
  Sandbox box_;
};

TEST_F(ImportQueuedTest, ANodeBringsItsRequestAlong) {
  MakeByHand(R"("nodeId": "made")");
  Import("made");
  EXPECT_THAT(box_.ReadFile("podctl.yaml"),
              AllOf(HasSubstr("nodeId: made"), HasSubstr("spot: true"), HasSubstr("id: asked")));
  ExpectAllGoes();
}

TEST_F(ImportQueuedTest, ARequestThatWaitsIsTakenOverAndWaitedFor) {
  box_.Http("POST", "/emulator/capacity", R"({"v4-16": 0})");
  becomes_ = "WAITING_FOR_RESOURCES";
  MakeByHand(R"("nodeId": "made")");
  const RunResult import = box_.Run(
      {"import", "pod.research", "asked", "--project", "my-project", "--zone", "us-central2-b"});
  ASSERT_EQ(import.code, 0) << import;
  EXPECT_THAT(import.err, HasSubstr("There is no node yet")) << import;
  box_.WriteFile("podctl.yaml", import.out + "    ssh: {check: false}\n");
  box_.CountAnew();
  const RunResult plan = box_.Run({"plan"});
  EXPECT_THAT(plan.out, HasSubstr("its queued resource asked is WAITING_FOR_RESOURCES")) << plan;
  const RunResult left = box_.Run({"apply", "--auto-approve", "--no-wait"});
  EXPECT_EQ(left.code, 0) << left;
  box_.Http("POST", "/emulator/capacity", R"({"v4-16": 1})");
  const RunResult applied = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(applied.code, 0) << applied;
  EXPECT_EQ(box_.Calls("queuedResources.create"), 0) << "it was asked for already";
  // Who asked for it by hand published no key of ours: the apply that waited for it does.
  const Value node = box_.Http("GET", kParent + "/nodes/made").body;
  EXPECT_THAT(node["metadata"]["ssh-keys"].AsString(), HasSubstr(":ssh-")) << ToJson(node);
  const RunResult again = box_.Run({"plan", "--detailed-exitcode"});
  EXPECT_EQ(again.code, 0) << again;
  ExpectAllGoes();
}

TEST_F(ImportQueuedTest, OneSliceBringsTheWholeMultislice) {
  MakeByHand(R"("multisliceParams": {"nodeCount": 2, "nodeIdPrefix": "made"})");
  Import("made-1");
  EXPECT_THAT(box_.ReadFile("podctl.yaml"),
              AllOf(HasSubstr("nodeId: made\n"), HasSubstr("slices: 2"), HasSubstr("id: asked")));
  EXPECT_EQ(Remembered(box_.State(), "pod.research")["queued"]["slices"], Value(2))
      << ToJson(box_.State());
  ExpectAllGoes();
}

}  // namespace
}  // namespace podctl::testing
