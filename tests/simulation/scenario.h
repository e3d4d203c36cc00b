// One seed's story: somebody writes specs and applies them, again and again, while everything goes
// wrong that can; after each run what must never be broken is looked at, and once the sky is clear
// the next run must bring the world to what the spec says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plans/kinds/pod/record.h"
#include "tests/plans/harness.h"
#include "tests/simulation/dice.h"
#include "tests/simulation/fault_injector.h"
#include "tests/simulation/random_spec.h"

namespace podctl::simulation {

struct Tally {
  int runs = 0;
  int faults = 0;
  int deaths = 0;
  int power_cuts = 0;
  int disk_faults = 0;
};

class Scenario {
 public:
  explicit Scenario(std::uint64_t seed);

  // What was broken, in a sentence; nullopt when all is well.
  std::optional<std::string> Play();
  // What happened, line by line, the specs included.
  const std::vector<std::string>& story() const { return faults_.record().lines; }
  const Tally& tally() const { return tally_; }

 private:
  using Verdict = std::optional<std::string>;

  void Note(std::string line) { faults_.record().lines.push_back(std::move(line)); }
  Verdict Era();
  Verdict BadRun();
  Verdict ClearUp();
  Verdict Destroy();
  void BreakDisk();
  void Revive();
  testing::Harness::Attempt Run(bool destroy);

  Verdict JudgeDisk();   // the state parses, and goes on from the one before
  Verdict JudgeKnown();  // every live node is in the state
  Verdict JudgeSecrets(const testing::Harness::Attempt& attempt);
  Verdict JudgeWorld();  // the world is as the spec says
  Verdict JudgePod(const RandomPod& pod, const PodRecord& record);
  Verdict JudgeOutputs(const RandomPod& pod, const Value& node) const;
  Verdict JudgeWorkers(const RandomPod& pod, const Value& node);
  Verdict JudgeCreates();  // nothing was made twice, or anew without a reason

  Dice dice_;
  DiceRandom random_;
  testing::Harness harness_;
  FaultInjector faults_;
  RandomSpec spec_;
  Tally tally_;
  State last_;  // as last seen on the disk
  bool state_seen_ = false;
  bool disk_was_bad_ = false;                        // since the state was last surely on the disk
  std::map<std::string, std::string> uids_;          // node id -> uid, before the last edit
  std::map<std::string, std::string> accelerators_;  // pod -> what it was before
};

}  // namespace podctl::simulation
