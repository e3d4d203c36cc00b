// A night in some minutes: pods that are taken back, maintained and broken, zones that fill up, and
// podctls that are killed, all at once and at moments that nobody has chosen. In the morning each
// job has come to its end, nothing of any lives on any worker, nothing is left with the service,
// and the bill adds up. For `./dev test --all`; PODCTL_NIGHT_SECONDS makes it longer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>

#include "providers/base/json.h"
#include "tests/e2e/checkpoint_program.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kPods = 10;
constexpr int kLargePods = 2;  // of them, the last ones: of four workers each
constexpr int kSteps = 150;

// A step of all workers, a checkpoint by the first; what is through ends at once.
constexpr const char* kTraining = R"py(
import os
import time

from checkpoint import load, save

STEPS = 150
checkpoint = load({"step": 0, "sum": 0})
step, total = checkpoint["step"], checkpoint["sum"]
print("attempt", os.environ["PODCTL_ATTEMPT"], "from step", step, flush=True)
saved = time.monotonic()
while step < STEPS:
    step += 1
    total += step * step
    if os.environ["PODCTL_WORKER"] == "0" and (time.monotonic() - saved > 1.5 or step == STEPS):
        save({"step": step, "sum": total})
        saved = time.monotonic()
    time.sleep(0.1)
print("sum", total, flush=True)
)py";

std::string PodName(int i) {
  return "p" + std::to_string(i);
}
int ChipsOf(int i) {
  return i < kPods - kLargePods ? 4 : 16;  // v3-8, v3-32
}

class NightTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("PODCTL_TEST_ALL") == nullptr) {
      GTEST_SKIP() << "it takes minutes: only with ./dev test --all";
    }
    box_.StartEmulator("light", "0.5s");
    box_.WriteFile("src/checkpoint.py", kCheckpointProgram);
    box_.WriteFile("src/night.py", kTraining);
    box_.WriteFile("prices.yaml",
                   "asOf: 2026-11-01\ncurrency: USD\nitems:\n"
                   "  - {type: v3, region: europe-west4, tier: spot, perChipHour: 1.00}\n");
    std::string pods;
    std::string jobs;
    for (int i = 0; i < kPods; ++i) {
      const bool large = ChipsOf(i) > 4;
      pods += "  " + PodName(i) + ":\n    acceleratorType: " + (large ? "v3-32" : "v3-8") +
              "\n    runtimeVersion: tpu-vm-tf-2.11.0" + (large ? "-pod" : "") +
              "\n    schedulingConfig: {spot: true}\n    onPreemption: recreate\n"
              "    bootstrap: [{name: mark, run: 'echo marked >~/mark'}]\n";
      jobs += "  j" + std::to_string(i) + ":\n    pod: " + PodName(i) +
              "\n    command: [python3, code/night.py]\n"
              "    terminationGracePeriod: 1s\n    env: {STORAGE_EMULATOR_HOST: \"" +
              box_.url() + "\"}\n    resume: gs://night/j" + std::to_string(i) +
              "\n    sync: [{source: ./src, destination: ~/code}]\n    restart: {attempts: 1000, "
              "on: [preemption, maintenance, connection, killed, failure], backoff: 0s}\n";
    }
    box_.WriteSpec(pods + "jobs:\n" + jobs + "prices: ./prices.yaml\n");
    ASSERT_EQ(box_.Http("POST", "/storage/v1/b?project=my-project", R"({"name": "night"})").status,
              200);
    box_.Apply();
    for (int i = 0; i < kPods; ++i) {
      const RunResult run = box_.Run({"run", "j" + std::to_string(i), "--detach"});
      ASSERT_EQ(run.code, 0) << run;
    }
    for (auto& watch : watches_) watch = Watch();
  }
  std::unique_ptr<Process> Watch() {
    return box_.Start({"watch", "--interval", "1s", "--state-history", "1000"});
  }
  int Any(int below) { return std::uniform_int_distribution<int>(0, below - 1)(chance_); }
  void Order(const std::string& node, const std::string& incident) {
    box_.Http("POST", "/emulator/nodes/" + node + ":" + incident);  // it may be away just now
  }
  void KillOne(const std::string& words) {
    const std::vector<pid_t> pids = box_.OnWorkers(words);
    if (!pids.empty())
      kill(pids[static_cast<std::size_t>(Any(static_cast<int>(pids.size())))], SIGKILL);
  }
  // All that is to be done when the night is over.
  void Morning() {
    box_.Http("POST", "/emulator/capacity", R"({"v3-8": 100, "v3-32": 100})");
    for (int i = 0; i < kPods; ++i) Order(PodName(i), "heal");
  }
  void Strike() {
    const std::string pod = PodName(Any(kPods));
    const int chance = Any(100);
    if (chance < 30) return Order(pod, "preempt");
    if (chance < 40) return Order(pod, "repair");
    if (chance < 60) {
      for (int i = 0; i < kPods; ++i) Order(PodName(i), "heal");
      return;
    }
    if (chance < 70) {
      auto& watch = watches_[static_cast<std::size_t>(Any(2))];
      watch->Signal(SIGKILL);
      watch->Wait();
      watch = Watch();
      return;
    }
    if (chance < 80) return KillOne("code/night.py");
    if (chance < 88) return KillOne("gang.py");
    if (chance < 94) {
      box_.Http("POST", "/emulator/capacity", R"({"v3-8": 0})");
      return;
    }
    box_.Http("POST", "/emulator/capacity", R"({"v3-8": 100})");
  }
  Value Wanted(int i) const {
    return box_.State()["resources"]["pod." + PodName(i)]["payload"]["jobs"];
  }
  bool AllAreThrough() const {
    for (int i = 0; i < kPods; ++i) {
      if (!Wanted(i).AsMap().empty()) return false;
    }
    return true;
  }
  // Chips of the nodes that the service has now.
  double ChipsNow() {
    double chips = 0;
    const Reply nodes = box_.Http("GET", kNodes);
    for (const Value& node : nodes.body["nodes"].AsList()) {
      if (node["state"] == Value("PREEMPTED")) continue;
      chips += node["acceleratorType"] == Value("v3-32") ? 16 : 4;
    }
    return chips;
  }

  void LookFor(std::chrono::milliseconds time) {
    const double chips = ChipsNow();
    std::this_thread::sleep_for(time);
    const auto now = std::chrono::steady_clock::now();
    seen_chip_hours_ += chips * std::chrono::duration<double>(now - looked_).count() / 3600;
    looked_ = now;
  }

  std::mt19937 chance_{20261127};
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
  double seen_chip_hours_ = 0;
  Sandbox box_;
  std::unique_ptr<Process> watches_[2];  // as where two people each run one
};

TEST_F(NightTest, InTheMorningEachJobIsDoneAndNothingIsLeft) {
  if (IsSkipped()) return;
  const char* const wished = std::getenv("PODCTL_NIGHT_SECONDS");
  const std::chrono::seconds night(wished == nullptr ? 180 : std::atoi(wished));
  const auto dusk = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - dusk < night) {
    Strike();
    LookFor(std::chrono::milliseconds(200 + Any(2000)));
  }
  Morning();
  const auto dawn = std::chrono::steady_clock::now();
  bool through = false;
  while (!through && std::chrono::steady_clock::now() - dawn < std::chrono::minutes(8)) {
    LookFor(std::chrono::seconds(1));
    through = AllAreThrough();
  }
  for (auto& watch : watches_) watch->Signal(SIGINT);
  for (auto& watch : watches_) EXPECT_EQ(watch->Wait(), 130) << watch->out() << watch->err();
  ASSERT_TRUE(through) << box_.Run({"status"}) << watches_[0]->out() << watches_[1]->out();
  constexpr int kSum = kSteps * (kSteps + 1) * (2 * kSteps + 1) / 6;
  for (int i = 0; i < kPods; ++i) {
    const Reply checkpoint =
        box_.Http("GET", "/storage/v1/b/night/o/j" + std::to_string(i) + "%2Fcheckpoint?alt=media");
    EXPECT_EQ(checkpoint.body["sum"], Value(kSum)) << i << ": " << ToJson(checkpoint.body);
  }
  EXPECT_THAT(box_.OnWorkers("code/night.py"), IsEmpty());
  EXPECT_TRUE(Eventually([this] { return box_.OnWorkers("gang.py").empty(); }));
  EXPECT_EQ(box_.Run({"plan", "--detailed-exitcode"}).code, 0);
  EXPECT_THAT(box_.Http("GET", kNodes).body["nodes"].AsList(), SizeIs(kPods));
  // What the pods' sums make is the whole; and an hour of what is there now costs what its chips
  // do.
  const RunResult cost = box_.Run({"cost", "--json"});
  const auto bill = ParseJson(cost.out);
  ASSERT_TRUE(bill) << cost;
  EXPECT_EQ((*bill)["total"]["per_hour"].AsDouble(), ChipsNow()) << cost;
  double of_pods = 0;
  for (const Value& pod : (*bill)["pods"].AsList()) of_pods += pod["chip_hours"].AsDouble();
  const double all = (*bill)["total"]["chip_hours"].AsDouble();
  EXPECT_NEAR(of_pods, all, 0.05) << cost;
  // As somebody saw it who looked at the service every second or two. A node that was taken back
  // counts until a podctl has noticed that.
  EXPECT_NEAR(all / seen_chip_hours_, 1, 0.3) << cost;
  EXPECT_EQ(box_.Run({"destroy", "--auto-approve"}).code, 0);
  EXPECT_THAT(box_.Http("GET", kNodes).body["nodes"].AsList(), IsEmpty());
  EXPECT_THAT(box_.State()["resources"].AsMap(), IsEmpty());
}

}  // namespace
}  // namespace podctl::testing
