#include "plans/engine/plan_file/staleness.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace podctl {
namespace {

Digester DigesterOf(const SecretKey& key) {
  return [&key](const std::string& text) { return key.Digest(text); };
}

}  // namespace

std::vector<Stake> TakeStakes(const Plan& plan, const State& state, const Observation& observation,
                              const SecretKey& key, Kinds kinds) {
  std::vector<Stake> all;
  if (!plan.refreshed) return all;
  const Digester digest = DigesterOf(key);
  for (const Kind* kind : kinds) {
    std::vector<Stake> own = kind->Stakes({plan, state, observation, digest});
    std::move(own.begin(), own.end(), std::back_inserter(all));
  }
  return all;
}

std::vector<std::string> FindOtherwise(const std::vector<Stake>& stakes,
                                       const Observation& observation, const SecretKey& key,
                                       Kinds kinds) {
  const Digester digest = DigesterOf(key);
  std::vector<std::string> all;
  for (const Kind* kind : kinds) {
    const auto first = static_cast<std::ptrdiff_t>(all.size());
    for (const Stake& stake : stakes) {
      if (stake.address.kind != kind->name()) continue;
      const std::string clause = kind->Otherwise(stake, observation, digest);
      if (!clause.empty()) all.push_back(fmt::format("{}: {}", stake.address, clause));
    }
    std::sort(all.begin() + first, all.end());
  }
  return all;
}

}  // namespace podctl
