// How often in a row a worker's probe has failed, by what was seen from here: a machine that is
// found ill again and again is to be made anew. A hint, kept as KeptFile keeps it, of the pods of
// one state.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "plans/fleet/doctor.h"
#include "plans/fleet/kept_file.h"

namespace podctl {

// So often in a row, and a replacement is proposed.
inline constexpr int kFailuresToReplace = 3;

// Of one pod.
class FailedProbes {
 public:
  explicit FailedProbes(KeptFile file) : file_(std::move(file)) {}

  // Counts one more probe of the node with that `uid`: of each worker that took part, whether it
  // has failed. What another node's workers did is forgotten. How often each has failed now.
  std::map<int, int> Count(const std::string& uid, const std::map<int, bool>& failed);

 private:
  KeptFile file_;
};

// Counts what `report` has found in its probe, and proposes to replace the pod for workers that
// have failed too often. Nothing where there was none.
void CountFailures(FailedProbes probes, const std::string& uid, DoctorReport* report);

}  // namespace podctl
