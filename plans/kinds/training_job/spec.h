// A training job as the spec says it, in the words of Caliban: `tpuSpec: 8xV3`, `gpuSpec: 1xP100`.
// Plain data; what the words mean, and what is sent for them, is in requests.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "providers/base/diagnostic.h"
#include "state/address.h"

namespace podctl {

// "8xV3".
struct AcceleratorSpec {
  std::int64_t count = 0;
  std::string type;  // "V3", "P100"; empty: none

  bool given() const { return !type.empty(); }
  friend bool operator==(const AcceleratorSpec&, const AcceleratorSpec&) = default;
};

struct TrainingJobSpec {
  std::string name;  // its address is trainingJob.<name>
  std::string project;
  std::string region;
  AcceleratorSpec tpu;
  AcceleratorSpec gpu;       // of the master; as the rules fill it in
  std::string machine_type;  // of the master; likewise
  std::string image;
  std::vector<std::string> args;  // template texts (plans/spec/references.h)
  std::map<std::string, std::string> labels;
  std::vector<Address> depends_on = {};  // what its arguments refer to
  SourcePlace place;                     // of the job's key
};

}  // namespace podctl
