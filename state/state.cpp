#include "state/state.h"

#include "providers/os/clock.h"
#include "state/digest.h"

namespace podctl {

std::string PodAddress(const std::string& pod) {
  return "pod." + pod;
}

std::string StepAddress(const std::string& pod, const std::string& step) {
  return "bootstrap." + pod + "." + step;
}

State NewState(Random& random) {
  State state;
  state.lineage = random.Uuid();
  state.digest_key = NewDigestKey(random);
  return state;
}

}  // namespace podctl
