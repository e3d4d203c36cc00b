// The second part of api.h: which request means which call.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "providers/emulator/api/api.h"
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

Answer ServiceIdentity(const Call& call) {
  return Value::Map{
      {"identity", Value::Map{{"email", fmt::format("service-{}@cloud-tpu.iam.gserviceaccount.com",
                                                    call.place.project)}}}};
}

// The call of a collection of the service, as a function.
template <auto Member, auto Method>
Answer Do(Service& service, const Call& call) {
  return ((service.*Member).*Method)(call);
}
template <auto Method>
constexpr auto OfNodes = Do<&Service::nodes, Method>;
template <auto Method>
constexpr auto OfQueue = Do<&Service::queued_resources, Method>;
template <auto Method>
constexpr auto OfJobs = Do<&Service::custom_jobs, Method>;
template <auto Method>
constexpr auto OfSecrets = Do<&Service::secrets, Method>;
template <auto Method>
Answer OfOperations(Service& service, const Call& call) {
  return (service.core.operations.*Method)(call);
}
Answer Reservations(Service& service, const Call& call) {
  return service.core.capacity.ListReservations(call.place, call.page);
}
template <auto Function>
Answer Look(Service&, const Call& call) {
  return Function(call);
}

// A row of the table below in the making.
struct Row : Route {
  Row(std::string_view its_name, Answer (*its_handle)(Service&, const Call&),
      Of its_of = Of::kTpu) {
    name = its_name;
    handle = its_handle;
    of = its_of;
  }
  Row& Takes(std::vector<std::string_view> names) {
    parameters = std::move(names);
    return *this;
  }
  Row& AlphaTakes(std::vector<std::string_view> names) {
    alpha_parameters = std::move(names);
    return *this;
  }
  Row& Reads(Message message, std::string_view its_root = "") {
    body = message;
    root = its_root;
    return *this;
  }
};

const std::vector<Route>& Routes() {
  using enum Route::Of;
  const std::vector<std::string_view> paged = {"pageSize", "pageToken"};
  const std::vector<std::string_view> sorted = {"filter", "orderBy", "pageSize", "pageToken"};
  using N = Nodes;
  using Q = QueuedResources;
  using J = CustomJobs;
  using O = Operations;
  static const std::vector<Route> routes = {
      Row("nodes.list", OfNodes<&N::List>).Takes(paged),
      Row("nodes.create", OfNodes<&N::Create>)
          .Takes({"nodeId"})
          .AlphaTakes({"requestId"})
          .Reads(Message::kNode, "node"),
      Row("nodes.get", OfNodes<&N::Get>),
      Row("nodes.patch", OfNodes<&N::Patch>).Takes({"updateMask"}).Reads(Message::kNode, "node"),
      Row("nodes.delete", OfNodes<&N::Delete>).AlphaTakes({"requestId"}),
      Row("nodes.start", OfNodes<&N::Start>).Reads(Message::kEmpty),
      Row("nodes.stop", OfNodes<&N::Stop>).Reads(Message::kEmpty),
      Row("nodes.getGuestAttributes", OfNodes<&N::GuestAttributes>)
          .Reads(Message::kGetGuestAttributesRequest),
      Row("nodes.simulateMaintenanceEvent", OfNodes<&N::SimulateMaintenance>, kTpuAlpha)
          .Reads(Message::kSimulateMaintenanceRequest),
      Row("nodes.performMaintenance", OfNodes<&N::PerformMaintenance>, kTpuAlpha)
          .Reads(Message::kEmpty),
      Row("queuedResources.list", OfQueue<&Q::List>).Takes(paged),
      Row("queuedResources.create", OfQueue<&Q::Create>)
          .Takes({"queuedResourceId", "requestId"})
          .Reads(Message::kQueuedResource, "queued_resource"),
      Row("queuedResources.get", OfQueue<&Q::Get>),
      Row("queuedResources.delete", OfQueue<&Q::Delete>).Takes({"force", "requestId"}),
      Row("queuedResources.reset", OfQueue<&Q::Reset>).Reads(Message::kEmpty),
      Row("queuedResources.performMaintenanceQueuedResource", OfQueue<&Q::PerformMaintenance>,
          kTpuAlpha)
          .Reads(Message::kQueuedMaintenanceRequest),
      Row("queuedResources.getMaintenanceInfo", OfQueue<&Q::MaintenanceInfo>, kTpuAlpha),
      Row("customJobs.list", OfJobs<&J::List>, kVertex)
          .Takes({"filter", "pageSize", "pageToken", "readMask"}),
      Row("customJobs.create", OfJobs<&J::Create>, kVertex).Reads(Message::kAnything),
      Row("customJobs.get", OfJobs<&J::Get>, kVertex),
      Row("customJobs.delete", OfJobs<&J::Delete>, kVertex),
      Row("customJobs.cancel", OfJobs<&J::Cancel>, kVertex),
      Row("reservations.list", Reservations, kTpuAlpha).Takes(paged),
      Row("operations.list", OfOperations<&O::List>).Takes({"filter", "pageSize", "pageToken"}),
      Row("operations.get", OfOperations<&O::Get>),
      Row("operations.delete", OfOperations<&O::Delete>),
      Row("operations.cancel", OfOperations<&O::Cancel>),
      Row("acceleratorTypes.list", Look<ListAcceleratorTypes>).Takes(sorted),
      Row("acceleratorTypes.get", Look<GetAcceleratorType>),
      Row("runtimeVersions.list", Look<ListRuntimeVersions>).Takes(sorted),
      Row("runtimeVersions.get", Look<GetRuntimeVersion>),
      Row("locations.list", Look<ListLocations>)
          .Takes({"extraLocationTypes", "filter", "pageSize", "pageToken"}),
      Row("locations.get", Look<GetLocation>),
      Row("generateServiceIdentity", Look<ServiceIdentity>)};
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

// "access" of "latest:access", which becomes "latest".
std::string TakeVerb(std::string* last) {
  const std::size_t colon = last->find(':');
  if (colon == std::string::npos) return {};
  std::string verb = last->substr(colon + 1);
  last->resize(colon);
  return verb;
}

using S = SecretTable;
// Of IAM policies, and of what else there is, nothing is served.
constexpr std::array<SecretRoute, 12> kSecretRoutes = {
    {{"secretmanager.secrets.list", "GET", 1, "", OfSecrets<&S::List>},
     {"secretmanager.secrets.create", "POST", 1, "", OfSecrets<&S::Create>},
     {"secretmanager.secrets.get", "GET", 2, "", OfSecrets<&S::Get>},
     {"secretmanager.secrets.patch", "PATCH", 2, "", OfSecrets<&S::Patch>},
     {"secretmanager.secrets.delete", "DELETE", 2, "", OfSecrets<&S::Delete>},
     {"secretmanager.secrets.addVersion", "POST", 2, "addVersion", OfSecrets<&S::AddVersion>},
     {"secretmanager.versions.list", "GET", 3, "", OfSecrets<&S::ListVersions>},
     {"secretmanager.versions.get", "GET", 4, "", OfSecrets<&S::GetVersion>},
     {"secretmanager.versions.access", "GET", 4, "access", OfSecrets<&S::Access>},
     {"secretmanager.versions.enable", "POST", 4, "enable", OfSecrets<&S::Enable>},
     {"secretmanager.versions.disable", "POST", 4, "disable", OfSecrets<&S::Disable>},
     {"secretmanager.versions.destroy", "POST", 4, "destroy", OfSecrets<&S::Destroy>}}};

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

const SecretRoute* FindSecretRoute(const HttpRequest& request, Call* call) {
  std::vector<std::string> parts = SplitPath(request.path);
  const std::string verb = parts.empty() ? std::string() : TakeVerb(&parts.back());
  if (parts.size() < 4 || parts[0] != "v1" || parts[1] != "projects") return nullptr;
  call->place.project = parts[2];
  std::size_t at = 3;
  if (parts[3] == "locations" && parts.size() > 5) {
    call->place.zone = parts[4];
    at = 5;
  }
  const std::size_t words = parts.size() - at;
  if (parts[at] != "secrets" || (words > 2 && parts[at + 2] != "versions")) return nullptr;
  if (words > 1) call->id = parts[at + 1];
  if (words > 3) call->version_id = parts[at + 3];
  for (const SecretRoute& route : kSecretRoutes) {
    if (route.method == request.method && route.words == words && route.verb == verb) {
      call->name = route.name;
      return &route;
    }
  }
  return nullptr;
}

Refusal ReadSecretRequest(const HttpRequest& request, Call* call) {
  if (!call->place.zone.empty() && !IsRegion(call->place.zone)) {
    return LocationDenied(call->place.zone);
  }
  if (auto refusal = ReadPage(request, &call->page)) return refusal;
  if (!Parameter(request, "filter").empty()) {
    return MakeStatus("UNIMPLEMENTED", "The emulator cannot filter secrets.");
  }
  if (call->id.empty()) call->id = Parameter(request, "secretId");
  std::string_view mask = Parameter(request, "updateMask");
  while (!mask.empty()) {
    const std::size_t comma = std::min(mask.find(','), mask.size());
    call->fields.emplace_back(mask.substr(0, comma));
    mask.remove_prefix(std::min(comma + 1, mask.size()));
  }
  if (request.method != "POST" && request.method != "PATCH") return std::nullopt;
  Result<Value> json = ParseLenientJson(request.body);
  if (!json) {
    return FieldViolation("",
                          fmt::format("Invalid JSON payload received. {}", json.error().message));
  }
  call->body = *std::move(json);
  return std::nullopt;
}

bool IsCallName(std::string_view name) {
  const std::vector<Route>& routes = Routes();
  return IsStorageCallName(name) ||
         std::find(kOtherCalls.begin(), kOtherCalls.end(), name) != kOtherCalls.end() ||
         std::any_of(kSecretRoutes.begin(), kSecretRoutes.end(),
                     [&](const SecretRoute& route) { return route.name == name; }) ||
         std::any_of(routes.begin(), routes.end(),
                     [&](const Route& route) { return route.name == name; });
}

const Route* FindRoute(const HttpRequest& request, Call* call) {
  std::vector<std::string> parts = SplitPath(request.path);
  const std::string verb = parts.empty() ? std::string() : TakeVerb(&parts.back());
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
  if (!IsProjectId(call->place.project)) {
    return InvalidArgument(
        fmt::format("Invalid project resource name projects/{}", call->place.project));
  }
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
