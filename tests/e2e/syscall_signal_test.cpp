// The real binary interrupted at its system calls: in the lock, in the middle of a save, between a
// request and its answer. It ends as an interrupted run does, leaves no lock, and the next run goes
// on; and so it does when signals come at every call from there on.
//
// By default at some of the calls that can change the world; with `./dev test --all` at every one.
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "tests/e2e/struck_run.h"

namespace podctl::testing {
namespace {

struct Storm {
  std::string signal;
  int number;
  bool sticky;
  int stride;  // by default only at every so manieth call
};

const std::vector<Storm> kStorms = {{"INT", SIGINT, false, 5},
                                    {"TERM", SIGTERM, false, 13},
                                    {"HUP", SIGHUP, true, 11},
                                    {"PIPE", SIGPIPE, true, 17}};

TEST(SyscallSignal, TheRunEndsAndTheNextOneGoesOn) {
  Sandbox cloud;
  cloud.StartEmulator("none", "0s");
  struct Trial {
    const Scenario* scenario;
    const Storm* storm;
    long call;
  };
  std::vector<Trial> trials;
  for (const Scenario& scenario : Scenarios()) {
    if (scenario.workers) continue;
    StruckRun whole(scenario, cloud);
    const RunResult run = whole.Run({.acting = true});
    ASSERT_EQ(run.code, 0) << run;
    for (const Storm& storm : kStorms) {
      const int stride = WholeEnumeration() ? 1 : storm.stride * scenario.stride * kThinning;
      for (long k = 1; k <= whole.counted(); k += stride) trials.push_back({&scenario, &storm, k});
    }
  }
  std::atomic<int> struck = 0;
  InLanes(static_cast<int>(trials.size()), [&](int i) {
    const auto& [scenario, storm, call] = trials[static_cast<std::size_t>(i)];
    const std::string name = std::to_string(storm->number) + (storm->sticky ? "s-" : "-") +
                             scenario->name + "-" + std::to_string(call);
    StruckRun trial(*scenario, cloud);
    const RunResult run =
        trial.Run({.at = call, .what = storm->signal, .sticky = storm->sticky, .acting = true});
    SCOPED_TRACE(name + ": " + trial.struck());
    struck += trial.struck().empty() ? 0 : 1;
    // Before the handlers are there nothing is begun, after them all is done: there the signal may
    // end the process by itself. One that comes at the very end comes too late.
    const bool by_itself = run.code == 128 + storm->number;
    EXPECT_TRUE(run.code == 0 || run.code == 130 || by_itself) << run;
    EXPECT_EQ(run.err.find("Error"), std::string::npos) << run;
    // After a third signal the lock's file may be left, and is taken over.
    const bool lock_left = trial.box().Exists("state/podctl.state.json.lock");
    EXPECT_FALSE(lock_left && !storm->sticky) << run;
    trial.ExpectStateTellsOfEveryNode();
    trial.ExpectRecovery();
  });
  std::cout << "signals at " << struck << " system calls\n";
}

}  // namespace
}  // namespace podctl::testing
