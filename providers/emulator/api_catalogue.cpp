// The second part of api.h: what zones offer, and who the service is.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "providers/base/json.h"
#include "providers/emulator/api.h"
#include "providers/emulator/catalogue.h"

namespace podctl::emulator {
namespace {

// One page of a list that is made for the occasion; `items` are (key, resource), sorted by key.
Value MakePage(std::string_view field, const std::vector<std::pair<std::string, Value>>& items,
               const PageRequest& page) {
  Value::List listed;
  std::string last;
  Value answer = Value::EmptyMap();
  for (const auto& [key, resource] : items) {
    if (!page.after.empty() && key <= page.after) continue;
    if (static_cast<int>(listed.size()) == PageLimit(page)) {
      answer.Set("nextPageToken", MakePageToken(last));
      break;
    }
    listed.push_back(resource);
    last = key;
  }
  if (!listed.empty()) answer.Set(field, std::move(listed));
  return answer;
}

Value LocationOf(const std::string& project, const std::string& zone) {
  Value location;
  location.Set("name", fmt::format("projects/{}/locations/{}", project, zone));
  location.Set("locationId", zone);
  Value labels;
  labels.Set("cloud.googleapis.com/region", RegionOf(zone));
  location.Set("labels", std::move(labels));
  return location;
}

Value AcceleratorTypeOf(const Place& place, const Accelerator& accelerator) {
  Value config;
  config.Set("type", accelerator.api_type);
  config.Set("topology", accelerator.topology);
  Value type;
  type.Set("name", fmt::format("{}/acceleratorTypes/{}", place.Parent(), accelerator.type));
  type.Set("type", accelerator.type);
  type.Set("acceleratorConfigs", Value::List{std::move(config)});
  return type;
}

Value RuntimeVersionOf(const Place& place, const std::string& version) {
  Value runtime;
  runtime.Set("name", fmt::format("{}/runtimeVersions/{}", place.Parent(), version));
  runtime.Set("version", version);
  return runtime;
}

}  // namespace

TextAnswer Api::Catalogue(const HttpRequest& request, const Call& call) {
  const Place& place = call.place;
  const std::string resource =
      fmt::format("{}/{}/{}", place.Parent(),
                  std::string_view(call.name).substr(0, call.name.find('.')), call.id);
  if (call.name == "locations.get") return ToText(LocationOf(place.project, place.zone));
  if (call.name == "generateServiceIdentity") {
    Value answer;
    answer.SetPath("identity.email",
                   fmt::format("service-{}@cloud-tpu.iam.gserviceaccount.com", place.project));
    return ToText(std::move(answer));
  }
  if (call.name == "acceleratorTypes.get") {
    const auto found = FindAccelerator(call.id);
    if (!found || !Offers(place.zone, *found)) return NotFound(resource);
    return ToText(AcceleratorTypeOf(place, *found));
  }
  if (call.name == "runtimeVersions.get") {
    if (!IsRuntimeVersion(call.id)) return NotFound(resource);
    return ToText(RuntimeVersionOf(place, call.id));
  }
  PageAnswer page = ReadPageRequest(request);
  if (auto* refusal = std::get_if<ApiError>(&page)) return std::move(*refusal);
  if (call.name == "reservations.list") {
    return ToText(service_->ListReservations(place, std::get<PageRequest>(page)));
  }
  std::vector<std::pair<std::string, Value>> items;
  std::string_view field = "locations";
  if (call.name == "acceleratorTypes.list") {
    field = "acceleratorTypes";
    for (const Accelerator& accelerator : AcceleratorsOf(place.zone)) {
      items.emplace_back(accelerator.type, AcceleratorTypeOf(place, accelerator));
    }
  } else if (call.name == "runtimeVersions.list") {
    field = "runtimeVersions";
    for (const std::string& version : RuntimeVersions()) {
      items.emplace_back(version, RuntimeVersionOf(place, version));
    }
  } else {
    for (const std::string& zone : Zones())
      items.emplace_back(zone, LocationOf(place.project, zone));
  }
  std::sort(items.begin(), items.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return ToText(MakePage(field, items, std::get<PageRequest>(page)));
}

}  // namespace podctl::emulator
