#include "plans/session/catalogue.h"

#include <algorithm>

namespace podctl {
namespace {

// Whether nobody answered, or nobody was asked who we are; what the service itself says counts.
bool IsOutOfReach(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kReplyLost ||
         error.code == ErrorCode::kDeadlineExceeded || error.code == ErrorCode::kUnauthenticated;
}

}  // namespace

Result<TypeCatalogue> AvailableTypes(const Result<ZoneCatalogue*>& door,
                                     const CataloguePlace& place, const std::stop_token& stop) {
  TypeCatalogue known{gcp::BuiltInTypes(place.zone)};
  if (place.zone.empty()) return known;
  if (place.project.empty()) {
    known.unasked = MakeError(ErrorCode::kInvalidArgument, "no project is set (--project)");
    return known;
  }
  if (!door) return door.error();
  auto listed = (*door)->ListAcceleratorTypes(place.project, place.zone, stop);
  if (listed) return TypeCatalogue{gcp::JoinTypes(*listed), true};
  if (!IsOutOfReach(listed.error())) return listed.error();
  known.unasked = listed.error();
  return known;
}

Result<std::vector<std::string>> AvailableVersions(ZoneCatalogue& catalogue,
                                                   const CataloguePlace& place,
                                                   const std::stop_token& stop) {
  auto listed = catalogue.ListRuntimeVersions(place.project, place.zone, stop);
  if (!listed) return listed.error();
  std::vector<std::string> versions;
  for (const Value& each : *listed) {
    const std::string& version = each["version"].AsString();
    const std::string& name = each["name"].AsString();
    versions.push_back(version.empty() ? name.substr(name.rfind('/') + 1) : version);
  }
  std::sort(versions.begin(), versions.end(), gcp::NaturallyBefore);
  return versions;
}

}  // namespace podctl
