#include "plans/kinds/pod/reader/type_zones.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "providers/base/text.h"
#include "providers/gcp/available_types.h"

namespace podctl {

std::optional<Diagnostic> UndocumentedType(const PodSpec& pod) {
  const std::string& type = pod.node["acceleratorType"].AsString();
  const std::vector<std::string> zones = gcp::ZonesOf(type);
  const std::vector<std::string> known = gcp::KnownZones();
  const bool is_there = std::find(zones.begin(), zones.end(), pod.zone) != zones.end();
  const bool is_known = std::find(known.begin(), known.end(), pod.zone) != known.end();
  // Of a zone that is not known it was said already, and with `capacity` there are others.
  if (zones.empty() || is_there || !is_known || pod.capacity) return std::nullopt;
  Diagnostic diagnostic;
  diagnostic.severity = Severity::kWarning;
  diagnostic.summary = fmt::format("as far as podctl knows, {} has no {}", pod.zone, type);
  diagnostic.place = pod.type_place.line > 0 ? pod.type_place : pod.place;
  diagnostic.context = fmt::format("pods.{}", pod.name);
  diagnostic.detail = fmt::format("It is in {}. `podctl types --zone {}` asks the service.",
                                  Join(zones, ", "), pod.zone);
  return diagnostic;
}

}  // namespace podctl
