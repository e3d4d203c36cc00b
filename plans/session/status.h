// What has become of the things that a state remembers. Saves nothing.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "plans/engine/kind.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/spec.h"
#include "providers/base/error.h"
#include "providers/provider.h"
#include "state/state.h"
#include "state/store.h"

namespace podctl {

struct Status {
  State settled;  // brought up to what the API says
  Observation observation;
};

// `provider`: an error where the endpoint is none; told once the state is read. `flags`: by which
// another command finds the same state. Up to `parallelism` calls at once.
Result<Status> GatherStatus(StateStore& store, const Result<Provider*>& provider, Kinds kinds,
                            const std::string& flags, int parallelism, const std::stop_token& stop);

// Pods of the spec that the state knows nothing of, also under no name that they had before.
std::vector<PodSpec> PodsNotMade(const Spec& spec, const State& state);

}  // namespace podctl
