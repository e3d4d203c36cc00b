// Thousands of lives of podctl, each told by a seed: random specs and edits, faults of the API, of
// workers and of the disk, deaths and power cuts at any point, and what must hold through all of
// it.
//
// By default a few hundred seeds, with `./dev test --all` thousands. A seed that fails is printed
// with its whole story; add it to kept_seeds.txt together with the mend.
//   PODCTL_TEST_SEED=4711 simulation_test      tells one seed's story
//   PODCTL_TEST_SEEDS=50000 simulation_test    plays that many
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/simulation/scenario.h"
#include "tests/support/folders.h"

namespace podctl::simulation {
namespace {

constexpr std::uint64_t kSeeds = 300;
constexpr std::uint64_t kAllSeeds = 5000;
constexpr int kMostFailures = 3;

std::string Wish(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

// "4711  # why it is kept", a line each.
std::vector<std::uint64_t> KeptSeeds() {
  std::ifstream file(podctl::testing::SourceFolder() + "/tests/simulation/kept_seeds.txt");
  std::vector<std::uint64_t> seeds;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::uint64_t seed = 0;
    if (words >> seed) seeds.push_back(seed);
  }
  return seeds;
}

class SimulationTest : public ::testing::Test {
 protected:
  void Play(std::uint64_t seed) {
    Scenario scenario(seed);
    const auto broken = scenario.Play();
    const bool failed = broken || HasFailure() != had_failure_;  // expectations of the harness
    had_failure_ = had_failure_ || failed;
    total_.runs += scenario.tally().runs;
    total_.faults += scenario.tally().faults;
    total_.deaths += scenario.tally().deaths;
    total_.power_cuts += scenario.tally().power_cuts;
    total_.disk_faults += scenario.tally().disk_faults;
    const bool tell = !Wish("PODCTL_TEST_SEED").empty();
    if (!failed && !tell) return;
    for (const std::string& line : scenario.story()) std::cout << line << "\n";
    if (!failed) return;
    ++failures_;
    ADD_FAILURE() << "seed " << seed << ": " << broken.value_or("see above")
                  << "\nTo repeat: PODCTL_TEST_SEED=" << seed << " simulation_test";
  }

  void PlayAll(const std::vector<std::uint64_t>& seeds) {
    for (std::uint64_t seed : seeds) {
      Play(seed);
      if (failures_ >= kMostFailures) break;
    }
    std::cout << seeds.size() << " seeds: " << total_.runs << " runs, " << total_.faults
              << " faults of the API, of workers and by interrupts, " << total_.disk_faults
              << " of the disk, " << total_.deaths << " deaths, " << total_.power_cuts
              << " of them power cuts\n";
  }

  Tally total_;
  int failures_ = 0;
  bool had_failure_ = false;
};

TEST_F(SimulationTest, KeptSeeds) {
  PlayAll(KeptSeeds());
}

TEST_F(SimulationTest, RandomSeeds) {
  std::vector<std::uint64_t> seeds;
  if (const std::string one = Wish("PODCTL_TEST_SEED"); !one.empty()) {
    seeds.push_back(std::stoull(one));
  } else {
    const std::string wanted = Wish("PODCTL_TEST_SEEDS");
    const std::uint64_t count = !wanted.empty()                    ? std::stoull(wanted)
                                : !Wish("PODCTL_TEST_ALL").empty() ? kAllSeeds
                                                                   : kSeeds;
    for (std::uint64_t seed = 1; seed <= count; ++seed) seeds.push_back(seed);
  }
  PlayAll(seeds);
}

}  // namespace
}  // namespace podctl::simulation
