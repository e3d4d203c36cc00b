// The power is cut at every step of a whole run (create, patch, replace, delete and steps), and the
// disk keeps any subset of the names and any part of the bytes that were not synced: the state can
// be read, tells of every node, and the next run makes all good.
//
// By default at every so manieth step, with `./dev test --all` at each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <set>
#include <string>

#include "plans/kinds/kinds.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "state/state_json.h"
#include "tests/plans/harness.h"
#include "tests/simulation/dice.h"

namespace podctl::simulation {
namespace {

using testing::FakeFileSystem;
using testing::Harness;

constexpr const char* kStatePath = "/project/podctl.state.json";
constexpr std::size_t kMostSubsetBits = 6;

class PowerCutTest : public ::testing::Test {
 protected:
  // A harness with three pods, and the wish for a patch, a replacement, a delete and a create.
  struct Story {
    Story() : dice(1), random(dice) {
      harness.options.parallelism = 0;
      harness.random_door = &random;
      harness.Pods(Harness::Pod("patched", "    libtpuFlags: {f: 1}\n") +
                   Harness::Pod("replaced", "    dependsOn: [pod.patched]\n") +
                   Harness::Pod("deleted"));
      harness.ApplyAll();
      harness.Pods(
          Harness::Pod("patched",
                       "    libtpuFlags: {f: 2}\n    bootstrap: [{name: x, run: echo}]\n") +
          Harness::Pod("replaced", "    dependsOn: [pod.patched]\n    cidrBlock: 10.1.0.0/29\n") +
          Harness::Pod("created", "    libtpuFlags: {f: 1}\n"));
      harness.cloud.ForgetCalls();
    }
    Dice dice;
    DiceRandom random;
    Harness harness;
  };

  static int StepsOfTheRun() {
    Story whole;
    const int before = whole.harness.files.Steps();
    whole.harness.ApplyAll();
    return whole.harness.files.Steps() - before;
  }

  static void ExpectEveryNodeIsKnown(Harness* harness) {
    const auto text = harness->files.FileText(kStatePath);
    ASSERT_TRUE(text.has_value()) << "the state is gone";
    const auto state = StateFromJson(*text, kStatePath, RememberedKinds());
    ASSERT_TRUE(state.has_value()) << state.error().message;
    std::set<std::string> known;
    for (const auto& [address, pod] : Pods(*state)) known.insert(pod.current.locator);
    for (const Value& node : harness->cloud.ListNodes("p", "europe-west4-a", {}).value_or({})) {
      EXPECT_TRUE(known.contains(NodeId(node))) << NodeId(node);
    }
  }

  // Returns how many names were not synced when the power went.
  static std::size_t Cut(int step, std::uint64_t kept, FakeFileSystem::TornBytes torn) {
    Story story;
    Harness& harness = story.harness;
    harness.files.StopAfter(step);
    static_cast<void>(harness.TryApply());
    const std::size_t unsynced = harness.files.UnsyncedNames();
    harness.files.CutPower(kept, torn);
    ExpectEveryNodeIsKnown(&harness);
    harness.ApplyAll();
    EXPECT_EQ(harness.cloud.NodeCount(), 3U);
    std::multiset<std::string> made;
    for (const std::string& request : harness.Requests()) made.insert(request);
    EXPECT_LE(made.count("create created"), 1U);
    EXPECT_LE(made.count("create replaced"), 1U);
    return unsynced;
  }
};

TEST_F(PowerCutTest, AtEveryStepWithEverySubsetOfWhatWasNotSynced) {
  using Torn = FakeFileSystem::TornBytes;
  const int steps = StepsOfTheRun();
  ASSERT_GT(steps, 40);
  const int stride = std::getenv("PODCTL_TEST_ALL") != nullptr ? 1 : 4;
  int cuts = 0;
  for (int step = 0; step < steps && !HasFailure(); step += stride) {
    std::uint64_t subsets = 1;
    for (std::uint64_t kept = 0; kept < subsets; ++kept) {
      for (const Torn torn : {Torn::kGone, Torn::kHalf, Torn::kZeroed, Torn::kWhole}) {
        SCOPED_TRACE("power cut after step " + std::to_string(step) + ", kept " +
                     std::to_string(kept) + ", torn " + std::to_string(static_cast<int>(torn)));
        const std::size_t unsynced = Cut(step, kept, torn);
        subsets = std::uint64_t{1} << std::min(unsynced, kMostSubsetBits);
        ++cuts;
      }
    }
  }
  std::cout << cuts << " cuts of power in " << steps << " steps\n";
}

}  // namespace
}  // namespace podctl::simulation
