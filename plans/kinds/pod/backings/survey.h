// What the surveys of backings have in common.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <stop_token>
#include <string>

#include "plans/engine/kind.h"
#include "plans/engine/observe.h"
#include "plans/kinds/pod/backing.h"
#include "plans/kinds/pod/refresh.h"
#include "providers/provider.h"

namespace podctl {

// A query that makes `call`, and has what comes of it taken by `take`.
template <typename Call, typename Take>
Query MakeQuery(Call call, Take take) {
  return [call, take](Provider& provider, std::stop_token stop) -> ObservationUpdate {
    // Shared, since a std::function is copied.
    auto answer = std::make_shared<decltype(call(provider, stop))>(call(provider, stop));
    return [take, answer](Observation* observation) -> Result<void> {
      return take(*answer, &PodsIn(observation));
    };
  };
}

// Every zone that `pods` name. A list in v2alpha1 shows all that one in v2 does, so one pod that
// needs it is enough.
inline std::map<ZoneName, ApiVersion> ZonesOf(const BackedPods& pods) {
  std::map<ZoneName, ApiVersion> zones;
  const auto add = [&](const std::string& project, const std::string& zone, ApiVersion version) {
    ApiVersion& known = zones.emplace(ZoneName(project, zone), version).first->second;
    known = std::max(known, version);
  };
  for (const PodSpec* pod : pods.wanted) {
    add(pod->project, pod->zone, pod->api_version.value_or(ApiVersion::kV2));
  }
  for (const PodRecord* record : pods.known) {
    add(record->project, record->zone, record->api_version);
  }
  return zones;
}

}  // namespace podctl
