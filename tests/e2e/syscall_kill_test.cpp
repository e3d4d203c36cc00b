// The real binary killed at its system calls, one by one: nothing is lost, nothing made twice, and
// the next run makes it good.
//
// By default at every call that can change the world (write, fsync, rename, connect, send ...), or
// every so manieth of a long run; between two of these a killed process leaves the same world
// behind. With `./dev test --all` at every single call from the exec on.
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <map>
#include <vector>

#include "tests/e2e/struck_run.h"

namespace podctl::testing {
namespace {

// Threads do not make their calls in the same order each time, and not the same number of them.
constexpr long kSpare = 3;

std::string Wish(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

class SyscallKillTest : public ::testing::Test {
 protected:
  struct Trial {
    Scenario scenario;
    long call = 0;
  };

  void SetUp() override {
    cloud_.StartEmulator("none", "0s");
    cloud_with_workers_.StartEmulator("sshd", "0s");
  }

  const Sandbox& World(const Scenario& scenario) const {
    return scenario.workers ? cloud_with_workers_ : cloud_;
  }

  // How many calls a run has that nobody disturbs.
  long Count(const Scenario& scenario) {
    StruckRun whole(scenario, World(scenario));
    const RunResult run = whole.Run({.acting = acting_});
    EXPECT_EQ(run.code, 0) << run;
    EXPECT_GT(whole.counted(), acting_ ? 10 : 300);
    return whole.counted();
  }

  std::vector<Trial> Enumerate() {
    std::vector<Scenario> scenarios = Scenarios();
    std::erase_if(scenarios, [&](const Scenario& scenario) {
      return !only_scenario_.empty() && scenario.name != only_scenario_;
    });
    std::vector<Trial> trials;
    if (!only_call_.empty()) {
      for (const Scenario& one : scenarios) trials.push_back({one, std::atol(only_call_.c_str())});
      return trials;
    }
    std::vector<long> calls(scenarios.size());
    InLanes(static_cast<int>(scenarios.size()), [&](int i) {
      const auto at = static_cast<std::size_t>(i);
      calls[at] = Count(scenarios[at]);
    });
    for (std::size_t i = 0; i < scenarios.size(); ++i) {
      std::cout << scenarios[i].name << ": " << calls[i] << " system calls\n";
      const int stride = acting_ ? scenarios[i].stride * kThinning : 1;
      for (long k = 1; k <= calls[i] + kSpare; k += stride) trials.push_back({scenarios[i], k});
    }
    return trials;
  }

  void Kill(const Scenario& scenario, long k) {
    StruckRun trial(scenario, World(scenario));
    const RunResult run = trial.Run({.at = k, .acting = acting_});
    SCOPED_TRACE(scenario.name + ", killed at call " + std::to_string(k) + ": " + trial.struck() +
                 "\nTo repeat: " + (acting_ ? "" : "PODCTL_TEST_ALL=1 ") +
                 "PODCTL_TEST_SCENARIO=" + scenario.name +
                 " PODCTL_TEST_CALL=" + std::to_string(k) + " e2e_syscall_kill_test");
    EXPECT_EQ(run.code, trial.struck().empty() ? 0 : 128 + SIGKILL) << run;
    killed_ += trial.struck().empty() ? 0 : 1;
    trial.ExpectStateTellsOfEveryNode();
    trial.ExpectRecovery();
  }

  Sandbox cloud_;
  Sandbox cloud_with_workers_;
  const bool acting_ = !WholeEnumeration();
  const std::string only_scenario_ = Wish("PODCTL_TEST_SCENARIO");
  const std::string only_call_ = Wish("PODCTL_TEST_CALL");
  std::atomic<int> killed_ = 0;
};

TEST_F(SyscallKillTest, TheNextRunMakesItGood) {
  const std::vector<Trial> trials = Enumerate();
  if (HasFailure()) return;
  InLanes(static_cast<int>(trials.size()), [&](int i) {
    const Trial& trial = trials[static_cast<std::size_t>(i)];
    Kill(trial.scenario, trial.call);
  });
  std::cout << "killed at " << killed_ << " system calls\n";
}

}  // namespace
}  // namespace podctl::testing
