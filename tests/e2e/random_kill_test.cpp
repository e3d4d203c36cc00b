// kill -9 at any moment of an apply of a hundred nodes: terraform loses its state in 43 % of such
// kills. By default a few, with `./dev test --all` two hundred.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <iostream>
#include <random>
#include <string>
#include <thread>

#include "tests/e2e/struck_run.h"

namespace podctl::testing {
namespace {

constexpr int kNodes = 100;

Scenario Hundred() {
  Scenario scenario;
  scenario.name = "hundred";
  for (int i = 0; i < kNodes; ++i) {
    scenario.after += "  pod-" + std::to_string(i) +
                      ": {acceleratorType: v2-8, runtimeVersion: tpu-vm-tf-2.11.0}\n";
  }
  scenario.nodes = scenario.creates = kNodes;
  return scenario;
}

TEST(RandomKill, LosesNothingOfAHundredNodes) {
  Sandbox world;
  world.StartEmulator("none", "0s");
  const Scenario hundred = Hundred();
  std::chrono::milliseconds whole{0};
  {
    StruckRun run(hundred, world);
    const auto begin = std::chrono::steady_clock::now();
    const RunResult result = run.RunUnder({"env"});
    ASSERT_EQ(result.code, 0) << result;
    whole = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                                  begin);
  }
  const int kills = WholeEnumeration() ? 200 : 4;
  std::mt19937 chance(4711);  // NOLINT(cert-msc51-cpp): the same moments each time
  int struck = 0;
  for (int i = 0; i < kills && !::testing::Test::HasFailure(); ++i) {
    StruckRun run(hundred, world);
    auto apply = run.box().Start(hundred.run);
    const auto moment = whole * static_cast<int>(chance() % 1000) / 1000;
    SCOPED_TRACE("killed after " + std::to_string(moment.count()) + " ms");
    const auto code = apply->Wait(std::chrono::duration_cast<std::chrono::seconds>(moment));
    if (!code) {
      std::this_thread::sleep_for(moment % std::chrono::seconds(1));
      apply->Signal(SIGKILL);
      struck += apply->Wait() == 128 + SIGKILL ? 1 : 0;
    }
    run.ExpectStateTellsOfEveryNode();
    run.ExpectRecovery();
  }
  std::cout << "killed " << struck << " of " << kills << " applies of " << kNodes << " nodes\n";
}

}  // namespace
}  // namespace podctl::testing
