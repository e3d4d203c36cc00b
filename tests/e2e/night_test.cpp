// A night in some minutes: pods that are taken back, maintained and broken, zones that fill up, and
// podctls that are killed, all at once and at moments that nobody has chosen. In the morning each
// job has come to its end, nothing of any lives on any worker, nothing is left with the service,
// and the bill adds up. For `./dev test --all`; PODCTL_NIGHT_SECONDS makes it longer.
//
// And one whose hours pass: the service's clock is moved on, and that of podctl with it, for what
// takes hours by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
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

STEPS = int(os.environ.get("STEPS", "150"))
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

// ---- Hours.

constexpr std::chrono::minutes kThird{20};  // of an hour

// One pod works, is taken back twice, and is under repair for an hour; one ends by its ttl; one is
// lost at dusk, and waits in the queue until the morning. The state is in a bucket of the
// emulator's: a local file would be as old as the machine's clock says.
class HoursTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("PODCTL_TEST_ALL") == nullptr) {
      GTEST_SKIP() << "it takes minutes: only with ./dev test --all";
    }
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer does not let podctl's clock be another (LD_PRELOAD)";
#endif
    box_.StartEmulator("light", "0.5s");
    SetClock(std::chrono::minutes(0));
    box_.SetVariable("STORAGE_EMULATOR_HOST", box_.url());
    box_.SetVariable("MOVED_CLOCK", box_.Path("clock"));
    box_.SetVariable("LD_PRELOAD", PODCTL_MOVED_CLOCK);
    box_.WriteFile("src/checkpoint.py", kCheckpointProgram);
    box_.WriteFile("src/night.py", kTraining);
    box_.WriteFile("prices.yaml",
                   "asOf: 2026-11-01\ncurrency: USD\nitems:\n"
                   "  - {type: v3, region: europe-west4, tier: spot, perChipHour: 1.00}\n"
                   "  - {type: v3, region: europe-west4, tier: on-demand, perChipHour: 2.00}\n"
                   "  - {type: v2, region: europe-west4, tier: spot, perChipHour: 0.50}\n");
    box_.WriteSpec(
        Pod("works", "v3-8", "schedulingConfig: {spot: true}\n    onPreemption: recreate") +
        Pod("ends", "v3-8", "ttl: 3h") +
        Pod("waits", "v2-8", "queuedResource: {spot: true}\n    onPreemption: recreate") +
        "jobs:\n  work:\n    pod: works\n    command: [python3, code/night.py]\n"
        "    env: {STEPS: \"400\", STORAGE_EMULATOR_HOST: \"" +
        box_.url() +
        "\"}\n    resume: gs://hours/work\n    terminationGracePeriod: 1s\n"
        "    sync: [{source: ./src, destination: ~/code}]\n"
        "    restart: {attempts: 100, on: [preemption, maintenance], backoff: 0s}\n"
        "prices: ./prices.yaml\nstate: gs://hours/state\n");
    const RunResult made = box_.Run({"state", "init"});
    ASSERT_EQ(made.code, 0) << made;
    box_.Apply();
    const RunResult run = box_.Run({"run", "work", "--detach"});
    ASSERT_EQ(run.code, 0) << run;
    watch_ = box_.Start({"watch", "--interval", "1s", "--state-history", "1000"});
  }
  static std::string Pod(const std::string& name, const std::string& type,
                         const std::string& keys) {
    return "  " + name + ":\n    acceleratorType: " + type +
           "\n    runtimeVersion: tpu-vm-tf-2.11.0\n    " + keys + "\n";
  }
  void SetClock(std::chrono::minutes moved) const {
    const std::int64_t nanoseconds = std::chrono::nanoseconds(moved).count();
    std::fstream file(box_.Path("clock"), std::ios::binary | std::ios::in | std::ios::out);
    if (!file) file.open(box_.Path("clock"), std::ios::binary | std::ios::out);
    file.write(reinterpret_cast<const char*>(&nanoseconds), sizeof nanoseconds);
  }
  void PassAThird() {
    passed_ += kThird;
    ASSERT_EQ(box_.Http("POST", "/emulator/clock", R"({"advance": "20m"})").status, 200);
    SetClock(passed_);
  }
  void Order(const std::string& node, const std::string& incident) {
    ASSERT_EQ(box_.Http("POST", "/emulator/nodes/" + node + ":" + incident).status, 200);
  }
  // The watch has said so, as often as that by now.
  bool Says(const std::string& text, int times = 1) const {
    return Eventually(
        [&] {
          const std::string out = watch_->out();
          int found = 0;
          for (auto at = out.find(text); at != std::string::npos; at = out.find(text, at + 1)) {
            ++found;
          }
          return found >= times;
        },
        std::chrono::minutes(3));
  }
  std::string All() const {
    return watch_->out() + watch_->err();
  }

  Sandbox box_;
  std::unique_ptr<Process> watch_;
  std::chrono::minutes passed_{0};
};

TEST_F(HoursTest, PassForTtlsRepairsWaitsAndPrices) {
  if (IsSkipped()) return;
  ASSERT_EQ(box_.Http("POST", "/emulator/capacity", R"({"v2-8": 0})").status, 200);
  ASSERT_NO_FATAL_FAILURE(Order("waits", "preempt"));
  ASSERT_TRUE(Says("pod.waits waits in the queue")) << All();
  const std::string back = "job work runs again on pod.works";
  int times = 0;
  for (int third = 1; third <= 12; ++third) {
    SCOPED_TRACE(third);
    if (third == 2 || third == 11) {
      ASSERT_NO_FATAL_FAILURE(Order("works", "preempt"));
      ASSERT_TRUE(Says(back, ++times)) << All();
    }
    if (third == 4) {
      ASSERT_NO_FATAL_FAILURE(Order("works", "repair"));
    }
    if (third == 7) {
      ASSERT_NO_FATAL_FAILURE(Order("works", "heal"));
      ASSERT_TRUE(Says(back, ++times)) << All();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // a look of the watch
    ASSERT_NO_FATAL_FAILURE(PassAThird());
    if (third < 9) {
      EXPECT_EQ(box_.GetNode("ends").status, 200) << "its hours are not over";
    } else {
      ASSERT_TRUE(Says("pod.ends is deleted: its ttl of 3h is over")) << All();
      EXPECT_TRUE(Eventually([&] { return box_.GetNode("ends").status == 404; }));
    }
  }
  ASSERT_EQ(box_.Http("POST", "/emulator/capacity", R"({"v2-8": 1})").status, 200);
  EXPECT_TRUE(Eventually([&] { return box_.GetNode("waits").body["state"] == Value("READY"); }))
      << All();
  EXPECT_TRUE(Says("job work on pod.works has ended well")) << All();
  watch_->Signal(SIGINT);
  EXPECT_EQ(watch_->Wait(), 130) << All();
  const Reply checkpoint = box_.Http("GET", "/storage/v1/b/hours/o/work%2Fcheckpoint?alt=media");
  constexpr int kLast = 400;
  EXPECT_EQ(checkpoint.body["sum"], Value(kLast * (kLast + 1) * (2 * kLast + 1) / 6));
  // Four hours, and what the test took; four chips each.
  const RunResult cost = box_.Run({"cost", "--json"});
  const auto bill = ParseJson(cost.out);
  ASSERT_TRUE(bill) << cost;
  std::map<std::string, double> hours;
  for (const Value& line : (*bill)["pods"].AsList()) {
    hours[line["pod"].AsString()] += line["chip_hours"].AsDouble();
  }
  EXPECT_NEAR(hours["works"], 4 * 4, 1.5) << cost;
  EXPECT_NEAR(hours["ends"], 4 * 3, 1) << cost;
  EXPECT_LT(hours["waits"], 1) << "what is not there costs nothing: " << cost;
  EXPECT_NEAR((*bill)["total"]["cost"].AsDouble(),
              1.0 * hours["works"] + 2.0 * hours["ends"] + 0.5 * hours["waits"], 0.05)
      << cost;
  const RunResult plan = box_.Run({"plan", "--detailed-exitcode"});
  EXPECT_EQ(plan.code, 2) << "what has ended by its ttl is made anew by an apply: " << plan;
  EXPECT_EQ(box_.Run({"destroy", "--auto-approve"}).code, 0);
  EXPECT_THAT(box_.Http("GET", kNodes).body["nodes"].AsList(), IsEmpty());
}

}  // namespace
}  // namespace podctl::testing
