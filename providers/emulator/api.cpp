#include "providers/emulator/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "providers/base/json.h"
#include "providers/emulator/catalogue.h"
#include "providers/emulator/lenient_json.h"
#include "providers/emulator/page.h"
#include "providers/emulator/request_schema.h"

namespace podctl::emulator {

struct Api::Call {
  std::string name = "unknown";  // as in the discovery document, without "projects.locations."
  Place place;
  std::string id;                            // of the resource, where one is named
  std::vector<std::string_view> parameters;  // of the query, beside the standard ones
};

namespace {

// Parameters that every Google API takes (discovery document, "parameters").
constexpr std::array<std::string_view, 12> kStandardParameters = {
    "alt",         "fields",   "key",        "prettyPrint",     "quotaUser", "access_token",
    "oauth_token", "callback", "uploadType", "upload_protocol", "$.xgafv",   "$alt"};

std::vector<std::string> SplitPath(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::size_t slash = path.find('/');
    parts.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) break;
    path = path.substr(slash);
  }
  return parts;
}

struct Route {
  std::string_view method;
  std::string_view collection;  // "" for the locations themselves
  bool has_id;
  std::string_view verb;  // the custom one after a colon
  std::string_view name;
  std::vector<std::string_view> parameters;
};

const std::vector<Route>& Routes() {
  static const std::vector<Route> routes = {
      {"GET", "nodes", false, "", "nodes.list", {"pageSize", "pageToken"}},
      {"POST", "nodes", false, "", "nodes.create", {"nodeId"}},
      {"GET", "nodes", true, "", "nodes.get", {}},
      {"PATCH", "nodes", true, "", "nodes.patch", {"updateMask"}},
      {"DELETE", "nodes", true, "", "nodes.delete", {}},
      {"POST", "nodes", true, "start", "nodes.start", {}},
      {"POST", "nodes", true, "stop", "nodes.stop", {}},
      {"POST", "nodes", true, "getGuestAttributes", "nodes.getGuestAttributes", {}},
      {"GET", "operations", false, "", "operations.list", {"filter", "pageSize", "pageToken"}},
      {"GET", "operations", true, "", "operations.get", {}},
      {"DELETE", "operations", true, "", "operations.delete", {}},
      {"POST", "operations", true, "cancel", "operations.cancel", {}},
      {"GET",
       "acceleratorTypes",
       false,
       "",
       "acceleratorTypes.list",
       {"filter", "orderBy", "pageSize", "pageToken"}},
      {"GET", "acceleratorTypes", true, "", "acceleratorTypes.get", {}},
      {"GET",
       "runtimeVersions",
       false,
       "",
       "runtimeVersions.list",
       {"filter", "orderBy", "pageSize", "pageToken"}},
      {"GET", "runtimeVersions", true, "", "runtimeVersions.get", {}},
      {"GET",
       "",
       false,
       "",
       "locations.list",
       {"extraLocationTypes", "filter", "pageSize", "pageToken"}},
      {"GET", "", true, "", "locations.get", {}},
      {"POST", "", true, "generateServiceIdentity", "generateServiceIdentity", {}}};
  return routes;
}

ApiError NoSuchMethod(const HttpRequest& request) {
  return {.status = "NOT_FOUND",
          .message = fmt::format("Method not found: {} {}", request.method, request.path),
          .details = {}};
}

Refusal CheckParameters(const HttpRequest& request, const std::vector<std::string_view>& own) {
  for (const auto& entry : request.query) {
    const std::string& name = entry.first;
    const std::string camel = CamelCase(name);
    const auto is_it = [&](std::string_view known) { return known == name || known == camel; };
    if (std::any_of(own.begin(), own.end(), is_it)) continue;
    if (std::any_of(kStandardParameters.begin(), kStandardParameters.end(), is_it)) continue;
    return FieldViolation(
        "", fmt::format("Invalid JSON payload received. Unknown name \"{0}\": Cannot bind query "
                        "parameter. Field '{0}' could not be found in request message.",
                        name));
  }
  return std::nullopt;
}

// In either name style.
std::string_view Parameter(const HttpRequest& request, std::string_view camel) {
  for (const auto& [name, value] : request.query) {
    if (CamelCase(name) == camel) return value;
  }
  return {};
}

using PageAnswer = std::variant<PageRequest, ApiError>;

PageAnswer ReadPage(const HttpRequest& request) {
  PageRequest page;
  const std::string_view size = Parameter(request, "pageSize");
  const auto [end, problem] = std::from_chars(size.data(), size.data() + size.size(), page.size);
  if (!size.empty() && (problem != std::errc{} || end != size.data() + size.size())) {
    return FieldViolation("page_size",
                          fmt::format("Invalid value at 'page_size' (TYPE_INT32), \"{}\"", size));
  }
  if (page.size < 0) return InvalidArgument("The page size must not be negative.");
  const std::string_view token = Parameter(request, "pageToken");
  if (token.empty()) return page;
  auto after = ReadPageToken(token);
  if (!after) return InvalidArgument("The page token is invalid.");
  page.after = *std::move(after);
  return page;
}

TextAnswer ToText(Answer answer) {
  if (auto* refusal = std::get_if<ApiError>(&answer)) return std::move(*refusal);
  return ToJson(std::get<Value>(answer));
}

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

TextAnswer Api::Nodes(const HttpRequest& request, const Call& call, const Value& failure) {
  if (call.name == "nodes.list") {
    PageAnswer page = ReadPage(request);
    if (auto* refusal = std::get_if<ApiError>(&page)) return std::move(*refusal);
    return service_->ListNodes(call.place, std::get<PageRequest>(page));
  }
  if (call.name == "nodes.get") return service_->GetNode(call.place, call.id);
  if (call.name == "nodes.delete") {
    return ToText(service_->DeleteNode(call.place, call.id, failure));
  }
  const Result<Value> json = ParseLenientJson(request.body);
  if (!json) {
    return FieldViolation("",
                          fmt::format("Invalid JSON payload received. {}", json.error().message));
  }
  const bool whole_node = call.name == "nodes.create" || call.name == "nodes.patch";
  Answer body =
      ReadBody(whole_node                                ? Message::kNode
               : call.name == "nodes.getGuestAttributes" ? Message::kGetGuestAttributesRequest
                                                         : Message::kEmpty,
               *json, whole_node ? "node" : "");
  if (auto* refusal = std::get_if<ApiError>(&body)) return std::move(*refusal);
  const Value& read = std::get<Value>(body);
  if (call.name == "nodes.create") {
    const std::string id(Parameter(request, "nodeId"));
    return ToText(service_->CreateNode(call.place, id, read, failure));
  }
  if (call.name == "nodes.patch") {
    return ToText(
        service_->PatchNode(call.place, call.id, Parameter(request, "updateMask"), read, failure));
  }
  if (call.name == "nodes.start") {
    return ToText(service_->StartNode(call.place, call.id, failure));
  }
  if (call.name == "nodes.stop") return ToText(service_->StopNode(call.place, call.id, failure));
  return ToText(service_->GuestAttributes(call.place, call.id, read));
}

TextAnswer Api::Operations(const HttpRequest& request, const Call& call) {
  const std::string name = fmt::format("{}/operations/{}", call.place.Parent(), call.id);
  if (call.name == "operations.get") return ToText(service_->GetOperation(name));
  if (call.name == "operations.delete") return ToText(service_->DeleteOperation(name));
  if (call.name == "operations.cancel") return ToText(service_->CancelOperation(name));
  PageAnswer page = ReadPage(request);
  if (auto* refusal = std::get_if<ApiError>(&page)) return std::move(*refusal);
  return ToText(service_->ListOperations(call.place, std::get<PageRequest>(page)));
}

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
  PageAnswer page = ReadPage(request);
  if (auto* refusal = std::get_if<ApiError>(&page)) return std::move(*refusal);
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

TextAnswer Api::Dispatch(const HttpRequest& request, const Call& call, const Value& failure) {
  if (auto refusal = CheckParameters(request, call.parameters)) return *std::move(refusal);
  const std::string_view collection = std::string_view(call.name).substr(0, call.name.find('.'));
  const bool any_zone = call.name == "nodes.list" && call.place.zone == "-";
  // A create says more exactly what it dislikes about a zone.
  if (call.name != "locations.list" && call.name != "nodes.create" && !any_zone &&
      !IsZone(call.place.zone)) {
    return LocationDenied(call.place.zone);
  }
  if (collection == "nodes") return Nodes(request, call, failure);
  if (collection == "operations") return Operations(request, call);
  return Catalogue(request, call);
}

HttpReply Api::Handle(const HttpRequest& request) {
  if (request.path.rfind("/emulator/", 0) == 0) return admin_->Handle(request);

  Call call;
  std::vector<std::string> parts = SplitPath(request.path);
  std::string verb;
  if (!parts.empty()) {
    if (const std::size_t colon = parts.back().find(':'); colon != std::string::npos) {
      verb = parts.back().substr(colon + 1);
      parts.back().resize(colon);
    }
  }
  const bool v2 = !parts.empty() && parts[0] == "v2";
  // gcloud asks the v1 API for locations even where it otherwise speaks v2.
  const bool v1 = !parts.empty() && parts[0] == "v1" && parts.size() <= 5;
  const bool placed = (v2 || v1) && parts.size() >= 4 && parts[1] == "projects" &&
                      parts[3] == "locations" && parts.size() <= 7;
  if (placed) {
    call.place.project = parts[2];
    if (parts.size() > 4) call.place.zone = parts[4];
    if (parts.size() > 6) call.id = parts[6];
    const std::string_view collection = parts.size() > 5 ? std::string_view(parts[5]) : "";
    const bool has_id = parts.size() == 7 || parts.size() == 5;
    for (const Route& route : Routes()) {
      if (route.method == request.method && route.collection == collection &&
          route.has_id == has_id && route.verb == verb) {
        call.name = route.name;
        call.parameters = route.parameters;
      }
    }
  }

  const std::optional<Fault> fault = admin_->Take(request);
  HttpReply reply;
  TextAnswer answer = NoSuchMethod(request);
  if (fault && fault->status != 0) {
    answer =
        ApiError{.status = std::string(StatusOfHttp(fault->status)),
                 .message = fault->message.empty() ? "a fault ordered by a test" : fault->message,
                 .details = {},
                 .http = fault->status};
  } else if (fault && fault->drop == "before") {
    reply.drop = true;
  } else if (call.name != "unknown") {
    answer = Dispatch(request, call, fault ? fault->operation_error : Value());
  } else if (request.method == "GET" && parts.size() == 4 && parts[0] == "compute" &&
             parts[1] == "v1" && parts[2] == "projects") {
    call.name = "compute.projects.get";
    answer = fmt::format(
        R"({{"kind":"compute#project","name":"{}","commonInstanceMetadata":{{}}}})", parts[3]);
  }
  if (fault && fault->drop == "after") reply.drop = true;
  if (fault) reply.delay = std::chrono::milliseconds(fault->delay_ms);
  if (const auto* refusal = std::get_if<ApiError>(&answer)) {
    reply.status = refusal->HttpStatus();
    reply.body = ToJson(refusal->HttpBody());
  } else {
    reply.body = std::get<std::string>(std::move(answer));
  }
  admin_->Count(request, call.name, reply.drop ? 0 : reply.status);
  return reply;
}

}  // namespace podctl::emulator
