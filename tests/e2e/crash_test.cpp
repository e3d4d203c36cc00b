// A run that dies in the middle of a create, and a create whose answer is lost: afterwards there is
// one node, it was asked for once, and the next run just goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"
#include "tests/support/folders.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPod =
    "  research: {acceleratorType: v3-32, runtimeVersion: tpu-vm-tf-2.11.0-pod}\n";

class CrashTest : public ::testing::Test {
 protected:
  void Begin(const std::string& delay) {
    box_.StartEmulator("none", delay);
    box_.WriteSpec(kPod);
  }
  // The operation that the state says is under way; "" when none.
  std::string PendingOperation() const {
    return UnderWay(box_.State(), "pod.research")["operation"].AsString();
  }
  void ExpectOneNodeAndNothingToDo() {
    EXPECT_EQ(box_.Calls("nodes.create"), 1) << ToJson(box_.Requests());
    EXPECT_EQ(box_.Http("GET", kNodes).body["nodes"].AsList().size(), 1U);
    EXPECT_EQ(box_.GetNode("research").body["state"].AsString(), "READY");
    EXPECT_TRUE(UnderWay(box_.State(), "pod.research").is_null());
    const RunResult plan = box_.Run({"plan", "--detailed-exitcode"});
    EXPECT_EQ(plan.code, 0) << plan;
  }

  Sandbox box_;
};

TEST_F(CrashTest, AKilledRunIsTakenUpWhileItsOperationRuns) {
  Begin("4s");
  auto killed = box_.Start({"apply", "--auto-approve"});
  ASSERT_TRUE(Eventually([&] { return !PendingOperation().empty(); })) << killed->err();
  killed->Signal(SIGKILL);
  EXPECT_EQ(killed->Wait(), 128 + SIGKILL);
  EXPECT_EQ(box_.GetNode("research").body["state"].AsString(), "CREATING");

  const RunResult next = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(next.code, 0) << next;
  EXPECT_THAT(next.err, Not(HasSubstr("Error"))) << next;
  ExpectOneNodeAndNothingToDo();
}

TEST_F(CrashTest, AKilledRunIsTakenUpAfterItsOperationEnded) {
  Begin("1s");
  auto killed = box_.Start({"apply", "--auto-approve"});
  ASSERT_TRUE(Eventually([&] { return !PendingOperation().empty(); })) << killed->err();
  killed->Signal(SIGKILL);
  EXPECT_EQ(killed->Wait(), 128 + SIGKILL);
  ASSERT_TRUE(Eventually([&] { return box_.GetNode("research").body["state"] == "READY"; }));

  const RunResult plan = box_.Run({"plan"});
  EXPECT_EQ(plan.code, 0) << plan;
  EXPECT_THAT(plan.out, Not(HasSubstr("1 to add"))) << plan;
  const RunResult next = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(next.code, 0) << next;
  ExpectOneNodeAndNothingToDo();
}

// The request is out, the answer is not in: the state holds the intent and no operation.
TEST_F(CrashTest, ARunKilledBeforeTheAnswerCameIsTakenUp) {
  Begin("0.3s");
  box_.OrderFault(R"({"method": "POST", "path": "/nodes", "delayMs": 30000})");
  auto killed = box_.Start({"apply", "--auto-approve"});
  ASSERT_TRUE(Eventually([&] { return box_.GetNode("research").status == 200; })) << killed->err();
  EXPECT_EQ(UnderWay(box_.State(), "pod.research")["life"].AsString(), "creating");
  EXPECT_EQ(PendingOperation(), "");
  killed->Signal(SIGKILL);
  EXPECT_EQ(killed->Wait(), 128 + SIGKILL);

  const RunResult next = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(next.code, 0) << next;
  ExpectOneNodeAndNothingToDo();
}

// The request never arrived: the intent is dropped and the create sent, once.
TEST_F(CrashTest, ARunKilledBeforeTheRequestArrivedBeginsAnew) {
  Begin("0.3s");
  auto killed = box_.Start({"apply", "--auto-approve"});
  ASSERT_TRUE(Eventually([&] { return !PendingOperation().empty(); })) << killed->err();
  killed->Signal(SIGKILL);
  EXPECT_EQ(killed->Wait(), 128 + SIGKILL);
  ASSERT_TRUE(Eventually([&] { return box_.GetNode("research").body["state"] == "READY"; }));
  box_.Change("DELETE", std::string(kNodes) + "/research");
  box_.CountAnew();

  const RunResult next = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(next.code, 0) << next;
  ExpectOneNodeAndNothingToDo();
}

TEST_F(CrashTest, ALostAnswerIsSettledByReadingNotBySendingTwice) {
  Begin("0.3s");
  box_.OrderFault(R"({"method": "POST", "path": "/nodes", "drop": "after"})");
  const RunResult run = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_THAT(run.out, HasSubstr("1 added")) << run;
  ExpectOneNodeAndNothingToDo();
}

TEST_F(CrashTest, AKilledDestroyIsTakenUp) {
  Begin("0.3s");
  box_.Apply();
  box_.StopEmulator();
  Begin("3s");
  auto killed = box_.Start({"destroy", "--auto-approve"});
  ASSERT_TRUE(Eventually([&] { return !PendingOperation().empty(); })) << killed->err();
  killed->Signal(SIGKILL);
  EXPECT_EQ(killed->Wait(), 128 + SIGKILL);

  const RunResult next = box_.Run({"destroy", "--auto-approve"});
  EXPECT_EQ(next.code, 0) << next;
  // A delete may be asked for again: a 404 is what proves that it is done.
  int accepted = 0;
  const Value requests = box_.Requests();
  for (const Value& request : requests["recent"].AsList()) {
    if (request["call"] == "nodes.delete" && request["status"].AsInt() == 200) ++accepted;
  }
  EXPECT_EQ(accepted, 1) << ToJson(box_.Requests());
  EXPECT_EQ(box_.GetNode("research").status, 404);
  EXPECT_TRUE(box_.State()["resources"].AsMap().empty()) << ToJson(box_.State());
}

// The service refuses, then works: what fails is told in its words, what passes is repeated.
TEST_F(CrashTest, TroubleThatPassesIsOutlastedAndTroubleThatStaysIsTold) {
  Begin("0.3s");
  box_.OrderFault(R"({"method": "GET", "path": "/nodes", "status": 503, "times": 2})");
  EXPECT_EQ(box_.Run({"plan"}).code, 0);

  box_.OrderFault(R"({"method": "POST", "path": "/nodes", "operationError": {"code": 8,
      "message": "There is no more capacity in the zone \"europe-west4-a\""}})");
  const RunResult refused = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(refused.code, 1) << refused;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("no more capacity in the zone"),
                                 HasSubstr("podctl.yaml:"), HasSubstr("research")))
      << refused;
  box_.CountAnew();
  box_.Apply();
  ExpectOneNodeAndNothingToDo();
}

// Killed at its calls that write under its folder, each in turn: the state names the nodes that
// were taken so far, each with all that is known of it, and the spec is as it was or whole. Another
// import goes on from there.
TEST_F(CrashTest, AKilledImportOfAllIsGoneOnWith) {
  box_.StartEmulator("none", "0s");
  for (const char* id : {"a", "b"}) {
    box_.Change("POST", std::string(kNodes) + "?nodeId=" + id,
                R"({"acceleratorType": "v3-8", "runtimeVersion": "tpu-ubuntu2204-base"})");
  }
  const std::string spec = "project: my-project\nzone: europe-west4-a\npods: {}\n";
  const Arguments import = {"import",      "--all",  "--auto-approve", "--write-spec",
                            "podctl.yaml", "--zone", "europe-west4-a"};
  const std::string inside = box_.Path("x");
  const std::string folder = inside.substr(0, inside.size() - 2);
  const std::string list = "pod.a\npod.b\n";
  constexpr int kStride = 3;  // neither number divides a save's calls
  int kills = 0;
  for (int at = 1;; at += kStride) {
    box_.RunProgram({"sh", "-c", "rm -rf podctl.state.json* .podctl*"});
    box_.WriteFile("podctl.yaml", spec);
    Arguments words = {BinaryFolder() + "/syscall_fault",
                       "--acting",
                       "--under",
                       folder,
                       "--at",
                       std::to_string(at),
                       "--",
                       BinaryFolder() + "/podctl"};
    words.insert(words.end(), import.begin(), import.end());
    const RunResult killed = box_.RunProgram(words);
    if (killed.code != 128 + SIGKILL) {
      EXPECT_EQ(killed.code, 0) << killed;
      break;
    }
    ++kills;
    const RunResult left = box_.Run({"state", "list"});
    EXPECT_EQ(left.code, 0) << at << left;
    EXPECT_TRUE(list.starts_with(left.out)) << at << left;
    const std::string written = box_.ReadFile("podctl.yaml");
    const bool whole =
        written.find("  a:") != std::string::npos && written.find("  b:") != std::string::npos;
    EXPECT_TRUE(written == spec || whole) << at << written;
    const RunResult again = box_.Run(import);
    EXPECT_EQ(again.code, 0) << at << again;
    EXPECT_EQ(box_.Run({"state", "list"}).out, list) << at;
    EXPECT_EQ(box_.Run({"plan", "--detailed-exitcode"}).code, 0) << at;
  }
  EXPECT_GT(kills, 3);
}

}  // namespace
}  // namespace podctl::testing
