#include "providers/emulator/api/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "providers/emulator/api/lenient_json.h"
#include "providers/emulator/api/schema.h"
#include "providers/emulator/service/catalogue.h"

namespace podctl::emulator {
namespace {

// Parameters that every Google API takes (discovery document, "parameters").
constexpr std::array<std::string_view, 12> kStandardParameters = {
    "alt",         "fields",   "key",        "prettyPrint",     "quotaUser", "access_token",
    "oauth_token", "callback", "uploadType", "upload_protocol", "$.xgafv",   "$alt"};

// Of Google's other services, whose requests api.cpp names.
constexpr std::array<std::string_view, 4> kOtherCalls = {
    "compute.projects.get", "cloudresourcemanager.projects.get", "oslogin.users.importSshPublicKey",
    "oslogin.users.getLoginProfile"};

Answer ServiceIdentity(Service&, const Call& call) {
  return Value::Map{
      {"identity", Value::Map{{"email", fmt::format("service-{}@cloud-tpu.iam.gserviceaccount.com",
                                                    call.place.project)}}}};
}

const std::vector<std::string_view> kPaged = {"pageSize", "pageToken"};
const std::vector<std::string_view> kSorted = {"filter", "orderBy", "pageSize", "pageToken"};

const std::vector<Route>& Routes() {
  using enum Route::Of;
  using S = Service&;
  using C = const Call&;
  static const std::vector<Route> routes = {
      {"nodes.list", [](S s, C c) { return s.nodes.List(c); }, kPaged},
      {"nodes.create",
       [](S s, C c) { return s.nodes.Create(c); },
       {"nodeId"},
       {"requestId"},
       Message::kNode,
       "node"},
      {"nodes.get", [](S s, C c) { return s.nodes.Get(c); }},
      {"nodes.patch",
       [](S s, C c) { return s.nodes.Patch(c); },
       {"updateMask"},
       {},
       Message::kNode,
       "node"},
      {"nodes.delete", [](S s, C c) { return s.nodes.Delete(c); }, {}, {"requestId"}},
      {"nodes.start", [](S s, C c) { return s.nodes.Start(c); }, {}, {}, Message::kEmpty},
      {"nodes.stop", [](S s, C c) { return s.nodes.Stop(c); }, {}, {}, Message::kEmpty},
      {"nodes.getGuestAttributes",
       [](S s, C c) { return s.nodes.GuestAttributes(c); },
       {},
       {},
       Message::kGetGuestAttributesRequest},
      {"nodes.simulateMaintenanceEvent",
       [](S s, C c) { return s.nodes.SimulateMaintenance(c); },
       {},
       {},
       Message::kSimulateMaintenanceRequest,
       "",
       kTpuAlpha},
      {"nodes.performMaintenance",
       [](S s, C c) { return s.nodes.PerformMaintenance(c); },
       {},
       {},
       Message::kEmpty,
       "",
       kTpuAlpha},
      {"queuedResources.list", [](S s, C c) { return s.queued_resources.List(c); }, kPaged},
      {"queuedResources.create",
       [](S s, C c) { return s.queued_resources.Create(c); },
       {"queuedResourceId", "requestId"},
       {},
       Message::kQueuedResource,
       "queued_resource"},
      {"queuedResources.get", [](S s, C c) { return s.queued_resources.Get(c); }},
      {"queuedResources.delete",
       [](S s, C c) { return s.queued_resources.Delete(c); },
       {"force", "requestId"}},
      {"queuedResources.reset",
       [](S s, C c) { return s.queued_resources.Reset(c); },
       {},
       {},
       Message::kEmpty},
      {"queuedResources.performMaintenanceQueuedResource",
       [](S s, C c) { return s.queued_resources.PerformMaintenance(c); },
       {},
       {},
       Message::kQueuedMaintenanceRequest,
       "",
       kTpuAlpha},
      {"queuedResources.getMaintenanceInfo",
       [](S s, C c) { return s.queued_resources.MaintenanceInfo(c); },
       {},
       {},
       {},
       "",
       kTpuAlpha},
      {"customJobs.list",
       [](S s, C c) { return s.custom_jobs.List(c); },
       {"filter", "pageSize", "pageToken", "readMask"},
       {},
       {},
       "",
       kVertex},
      {"customJobs.create",
       [](S s, C c) { return s.custom_jobs.Create(c); },
       {},
       {},
       Message::kAnything,
       "",
       kVertex},
      {"customJobs.get", [](S s, C c) { return s.custom_jobs.Get(c); }, {}, {}, {}, "", kVertex},
      {"customJobs.delete",
       [](S s, C c) { return s.custom_jobs.Delete(c); },
       {},
       {},
       {},
       "",
       kVertex},
      {"customJobs.cancel",
       [](S s, C c) { return s.custom_jobs.Cancel(c); },
       {},
       {},
       {},
       "",
       kVertex},
      {"reservations.list",
       [](S s, C c) { return s.core.capacity.ListReservations(c.place, c.page); },
       kPaged,
       {},
       {},
       "",
       kTpuAlpha},
      {"operations.list",
       [](S s, C c) { return s.core.operations.List(c); },
       {"filter", "pageSize", "pageToken"}},
      {"operations.get", [](S s, C c) { return s.core.operations.Get(c); }},
      {"operations.delete", [](S s, C c) { return s.core.operations.Delete(c); }},
      {"operations.cancel", [](S s, C c) { return s.core.operations.Cancel(c); }},
      {"acceleratorTypes.list", [](S, C c) { return ListAcceleratorTypes(c); }, kSorted},
      {"acceleratorTypes.get", [](S, C c) { return GetAcceleratorType(c); }},
      {"runtimeVersions.list", [](S, C c) { return ListRuntimeVersions(c); }, kSorted},
      {"runtimeVersions.get", [](S, C c) { return GetRuntimeVersion(c); }},
      {"locations.list",
       [](S, C c) { return ListLocations(c); },
       {"extraLocationTypes", "filter", "pageSize", "pageToken"}},
      {"locations.get", [](S, C c) { return GetLocation(c); }},
      {"generateServiceIdentity", ServiceIdentity}};
  return routes;
}

// How a method is asked for. Those of other names are verbs after a colon.
struct Asked {
  std::string_view action;
  std::string_view method;
  bool has_id;
  std::string_view verb;
};
constexpr std::array<Asked, 6> kAsked = {
    {{"list", "GET", false, ""},
     {"get", "GET", true, ""},
     {"create", "POST", false, ""},
     {"patch", "PATCH", true, ""},
     {"delete", "DELETE", true, ""},
     {"getMaintenanceInfo", "GET", true, "getMaintenanceInfo"}}};

Asked HowAsked(const Route& route) {
  const std::string_view action = route.name.substr(route.name.find('.') + 1);
  for (const Asked& asked : kAsked) {
    if (asked.action == action) return asked;
  }
  return {action, "POST", true, action};
}

std::string_view CollectionOfRoute(const Route& route) {
  const std::string_view collection = route.name.substr(0, route.name.find('.'));
  // The locations themselves.
  return collection == "locations" || collection == route.name ? "" : collection;
}

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

// In either name style; "" when absent.
std::string_view Parameter(const HttpRequest& request, std::string_view camel) {
  for (const auto& [name, value] : request.query) {
    if (CamelCase(name) == camel) return value;
  }
  return {};
}

Refusal ReadPage(const HttpRequest& request, PageRequest* page) {
  const std::string_view size = Parameter(request, "pageSize");
  if (!size.empty() && !ReadNumber(size, &page->size)) {
    return FieldViolation("page_size",
                          fmt::format("Invalid value at 'page_size' (TYPE_INT32), \"{}\"", size));
  }
  if (page->size < 0) return InvalidArgument("The page size must not be negative.");
  const std::string_view token = Parameter(request, "pageToken");
  if (token.empty()) return std::nullopt;
  auto after = ReadPageToken(token);
  if (!after) return InvalidArgument("The page token is invalid.");
  page->after = *std::move(after);
  return std::nullopt;
}

Refusal ReadForce(const HttpRequest& request, bool* force) {
  const std::string_view given = Parameter(request, "force");
  const std::string text = LowerCase(given);  // gcloud writes Python's True
  *force = text == "true" || text == "1";
  if (*force || text.empty() || text == "false" || text == "0") return std::nullopt;
  return FieldViolation("force",
                        fmt::format("Invalid value at 'force' (TYPE_BOOL), \"{}\"", given));
}

}  // namespace

bool IsCallName(std::string_view name) {
  const std::vector<Route>& routes = Routes();
  return std::find(kOtherCalls.begin(), kOtherCalls.end(), name) != kOtherCalls.end() ||
         std::any_of(routes.begin(), routes.end(),
                     [&](const Route& route) { return route.name == name; });
}

const Route* FindRoute(const HttpRequest& request, Call* call) {
  std::vector<std::string> parts = SplitPath(request.path);
  std::string verb;
  if (const std::size_t colon = parts.empty() ? std::string::npos : parts.back().find(':');
      colon != std::string::npos) {
    verb = parts.back().substr(colon + 1);
    parts.back().resize(colon);
  }
  const std::string_view version = parts.empty() ? std::string_view() : parts[0];
  const bool alpha = version == "v2alpha1";
  // gcloud asks the v1 API for locations even where it otherwise speaks v2.
  const bool vertex =
      (version == "v1" || version == "v1beta1") && parts.size() > 5 && parts[5] == "customJobs";
  const bool known = version == "v2" || alpha || vertex || (version == "v1" && parts.size() <= 5);
  if (!known || parts.size() < 4 || parts.size() > 7 || parts[1] != "projects" ||
      parts[3] != "locations") {
    return nullptr;
  }
  call->version = VersionOf(version);
  call->place.project = parts[2];
  if (parts.size() > 4) call->place.zone = parts[4];
  if (parts.size() > 6) call->id = parts[6];
  const std::string_view collection = parts.size() > 5 ? std::string_view(parts[5]) : "";
  const bool has_id = parts.size() == 7 || parts.size() == 5;
  for (const Route& route : Routes()) {
    const Asked asked = HowAsked(route);
    if (asked.method == request.method && CollectionOfRoute(route) == collection &&
        asked.has_id == has_id && asked.verb == verb &&
        (route.of != Route::Of::kTpuAlpha || alpha) && (route.of == Route::Of::kVertex) == vertex) {
      call->name = route.name;
      return &route;
    }
  }
  return nullptr;
}

Refusal CheckParameters(const HttpRequest& request, const Route& route, ApiVersion version) {
  for (const auto& entry : request.query) {
    const std::string& name = entry.first;
    const std::string camel = CamelCase(name);
    const auto has = [&](const auto& names) {
      return std::any_of(names.begin(), names.end(),
                         [&](std::string_view known) { return known == name || known == camel; });
    };
    if (has(route.parameters) || has(kStandardParameters) ||
        (version == ApiVersion::kV2Alpha1 && has(route.alpha_parameters))) {
      continue;
    }
    return FieldViolation(
        "", fmt::format("Invalid JSON payload received. Unknown name \"{0}\": Cannot bind query "
                        "parameter. Field '{0}' could not be found in request message.",
                        name));
  }
  return std::nullopt;
}

Refusal ReadRequest(const HttpRequest& request, const Route& route, Call* call) {
  const Asked asked = HowAsked(route);
  if (asked.action == "list") {
    if (auto refusal = ReadPage(request, &call->page)) return refusal;
  }
  if (auto refusal = ReadForce(request, &call->force)) return refusal;
  call->request_id = Parameter(request, "requestId");
  call->filter = Parameter(request, "filter");
  call->mask = ReadMask(Parameter(request, "updateMask"), call->version);
  if (asked.action == "create") {
    for (const char* id : {"nodeId", "queuedResourceId"}) {
      if (call->id.empty()) call->id = Parameter(request, id);
    }
  }
  if (!route.body) return std::nullopt;
  Result<Value> json = ParseLenientJson(request.body);
  if (!json) {
    return FieldViolation("",
                          fmt::format("Invalid JSON payload received. {}", json.error().message));
  }
  if (*route.body == Message::kAnything) {
    call->body = *std::move(json);
    return std::nullopt;
  }
  Answer body = ReadBody(*route.body, *json, route.root, call->version);
  if (auto* refusal = std::get_if<ApiError>(&body)) return std::move(*refusal);
  call->body = std::get<Value>(std::move(body));
  return std::nullopt;
}

}  // namespace podctl::emulator
