// The flags of `podctl watch`: which pods, how long it waits for the lock, and events for programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class WatchOptionsTest : public ::testing::Test {
 protected:
  void Begin() {
    box_.StartEmulator("none", "0.1s");
    box_.WriteSpec(Pod("one") + Pod("two"));
    box_.Apply();
  }
  static std::string Pod(const std::string& name) {
    return "  " + name +
           ":\n    acceleratorType: v3-8\n    runtimeVersion: tpu-vm-tf-2.11.0\n"
           "    schedulingConfig: {spot: true}\n    onPreemption: recreate\n";
  }
  void Preempt(const std::string& node) {
    ASSERT_EQ(box_.Http("POST", "/emulator/nodes/" + node + ":preempt").status, 200);
  }
  std::string StateOf(const std::string& node) {
    return box_.GetNode(node).body["state"].AsString();
  }
  static std::vector<std::string> Types(const std::vector<Value>& events) {
    std::vector<std::string> types;
    for (const Value& event : events) types.push_back(event["type"].AsString());
    return types;
  }

  Sandbox box_;
};

TEST_F(WatchOptionsTest, TargetsAreMadeAnewAndNobodyElse) {
  Begin();
  Preempt("one");
  Preempt("two");
  const RunResult once = box_.Run({"watch", "--once", "--target", "pod.one"});
  EXPECT_EQ(once.code, 0) << once;
  EXPECT_THAT(once.out,
              AllOf(HasSubstr("pod.one: Replacement complete"), Not(HasSubstr("pod.two: Repl"))));
  EXPECT_EQ(StateOf("one"), "READY");
  EXPECT_EQ(StateOf("two"), "PREEMPTED");
  EXPECT_EQ(box_.Run({"watch", "--once"}).code, 0);
  EXPECT_EQ(StateOf("two"), "READY");
}

TEST_F(WatchOptionsTest, ALockIsWaitedForAsLongAsItSays) {
  Begin();
  Preempt("one");
  auto apply = box_.RunInPty({"apply"});  // holds the lock while it asks
  ASSERT_TRUE(apply->WaitForText("Enter a value"));
  const RunResult refused = box_.Run({"watch", "--once"});
  EXPECT_EQ(refused.code, 3) << refused;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("the state lock"), HasSubstr("apply")));
  auto waits = box_.Start({"watch", "--once", "--lock-timeout", "5m"});
  ASSERT_FALSE(waits->Wait(std::chrono::seconds(1))) << waits->err();
  EXPECT_EQ(StateOf("one"), "PREEMPTED");
  apply->SendKeys("no\n");
  const RunResult done = waits->Result();
  EXPECT_EQ(done.code, 0) << done;
  EXPECT_EQ(StateOf("one"), "READY");
}

// Whatever the pod's `capacity` says: the next look tries again, and the lock is free meanwhile.
TEST_F(WatchOptionsTest, AZoneThatIsSoldOutIsNotWaitedFor) {
  Begin();
  box_.WriteSpec(Pod("one") + "    capacity: {retry: 2h}\n" + Pod("two"));
  box_.Http("POST", "/emulator/capacity", R"({"v3-8": 1})");
  Preempt("one");
  const RunResult sold_out = box_.Run({"watch", "--once"});
  EXPECT_EQ(sold_out.code, 1) << sold_out;
  EXPECT_THAT(sold_out.err, HasSubstr("pod.one: no capacity for v3-8 in europe-west4-a"));
  box_.Http("POST", "/emulator/capacity", R"({"v3-8": 2})");
  const RunResult found = box_.Run({"watch", "--once"});
  EXPECT_EQ(found.code, 0) << found;
  EXPECT_EQ(StateOf("one"), "READY");
}

TEST_F(WatchOptionsTest, JsonIsOneEventALine) {
  Begin();
  auto watch = box_.Start({"watch", "--json", "--interval", "1s"});
  ASSERT_TRUE(watch->WaitForOut("made anew when preempted")) << watch->err();
  Preempt("one");
  ASSERT_TRUE(watch->WaitForOut("done: 1 pod made anew")) << watch->out();
  watch->Signal(SIGTERM);
  EXPECT_EQ(watch->Wait(), 130);
  EXPECT_EQ(watch->err(), "");
  const std::vector<Value> events = JsonLines(watch->out());
  const std::vector<std::string> types = Types(events);
  EXPECT_EQ(types.front(), "version");
  for (const char* type : {"apply_start", "apply_complete", "change_summary"}) {
    EXPECT_EQ(std::count(types.begin(), types.end(), type), 1) << type << "\n" << watch->out();
  }
  for (const Value& event : events) {
    if (event["type"] != Value("apply_complete")) continue;
    EXPECT_EQ(event["hook"]["resource"]["addr"], Value("pod.one"));
    EXPECT_EQ(event["hook"]["action"], Value("replace"));
  }
  EXPECT_EQ(events.back()["@message"], Value("interrupted: the state is saved"));
}

TEST_F(WatchOptionsTest, JsonTellsProblemsToo) {
  Begin();
  box_.WriteSpec(Pod("one") + "    runtimeVerson: x\n");
  const RunResult broken = box_.Run({"watch", "--json", "--once"});
  EXPECT_EQ(broken.code, 1);
  EXPECT_EQ(broken.err, "");
  EXPECT_THAT(Types(JsonLines(broken.out)), Contains("diagnostic")) << broken;
}

}  // namespace
}  // namespace podctl::testing
