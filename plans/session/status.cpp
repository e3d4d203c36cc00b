#include "plans/session/status.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "plans/engine/observe.h"
#include "plans/kinds/file/record.h"
#include "plans/spec/spec.h"

namespace podctl {

Result<Status> GatherStatus(StateStore& store, const Result<Provider*>& provider, Kinds kinds,
                            const std::string& flags, int parallelism,
                            const std::stop_token& stop) {
  auto stored = store.Load();
  if (!stored) return stored.error();
  if (!provider) return provider.error();
  State state = std::move(stored->state).value_or(State{});
  auto observation = Observe({Spec{}, state, true, flags}, kinds, **provider, parallelism, stop);
  if (!observation) return observation.error();
  std::vector<std::string> notes;  // are of who goes on from here
  State settled = Settle(std::move(state), *observation, kinds, &notes);
  WithKeyedDigests(settled, &observation->seen);
  return Status{std::move(settled), *std::move(observation)};
}

std::vector<PodSpec> PodsNotMade(const Spec& spec, const State& state) {
  std::vector<PodSpec> pods;
  for (const PodSpec* pod : DeclaredPods(spec)) {
    const Address address = PodAddress(pod->name);
    const bool moved =
        std::any_of(spec.moved.begin(), spec.moved.end(), [&](const MovedSpec& move) {
          return move.to == address && state.records.contains(move.from);
        });
    if (!moved && !state.records.contains(address)) pods.push_back(*pod);
  }
  return pods;
}

}  // namespace podctl
