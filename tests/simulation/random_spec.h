// Specs by chance: a model of what somebody wants, its YAML, and edits as people make them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/dice.h"

namespace podctl::simulation {

// What every sensitive value of a random spec begins with; it must not be seen anywhere else.
inline constexpr const char* kSecretMark = "s3cr3t";

struct RandomPod {
  std::string name;
  std::string accelerator;  // a change of it replaces the node
  std::string team;         // a label
  std::string description;  // "": none
  int flags = 0;            // libtpuFlags; 0: none
  int note = 0;             // a metadata entry; 0: none
  int secret = 0;           // a sensitive one
  std::string refers_to;    // a pod whose address stands in metadata
  std::vector<std::string> depends_on;
  std::vector<std::string> triggers;  // pods: when one changes, this one is replaced
  std::map<std::string, int> steps;   // name -> version of its script
  std::string node_id;                // "": not written
  bool ignore_team = false;
  bool waits = false;  // `capacity: {retry: 10m}`
  bool create_first = false;
  bool triggered = false;  // has or once had triggers: may be made anew without an edit of its own

  std::string SecretValue() const;
  std::string StepScript(const std::string& step) const;
};

struct RandomSpec {
  std::vector<RandomPod> pods;  // a pod depends on earlier ones only
  std::vector<std::pair<std::string, std::string>> moved;

  static RandomSpec Throw(Dice& dice);
  // Some edits: pods come, go and change.
  void Edit(Dice& dice);
  std::string Yaml() const;

 private:
  RandomPod NewPod(Dice& dice);
  void EditPod(Dice& dice, RandomPod* pod);
  void Drop(std::size_t at);
  void Rename(std::size_t at);

  int pods_ever_ = 0;
};

}  // namespace podctl::simulation
