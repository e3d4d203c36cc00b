#include "providers/emulator/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "providers/emulator/request_schema.h"

namespace podctl::emulator {
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
  std::vector<std::string_view> alpha_parameters = {};
  bool alpha_only = false;
  bool vertex = false;  // of aiplatform.googleapis.com, which is another service
};

const std::vector<Route>& Routes() {
  static const std::vector<Route> routes = {
      {"GET", "nodes", false, "", "nodes.list", {"pageSize", "pageToken"}},
      {"POST", "nodes", false, "", "nodes.create", {"nodeId"}, {"requestId"}},
      {"GET", "nodes", true, "", "nodes.get", {}},
      {"PATCH", "nodes", true, "", "nodes.patch", {"updateMask"}},
      {"DELETE", "nodes", true, "", "nodes.delete", {}, {"requestId"}},
      {"POST", "nodes", true, "start", "nodes.start", {}},
      {"POST", "nodes", true, "stop", "nodes.stop", {}},
      {"POST", "nodes", true, "getGuestAttributes", "nodes.getGuestAttributes", {}},
      {"POST",
       "nodes",
       true,
       "simulateMaintenanceEvent",
       "nodes.simulateMaintenanceEvent",
       {},
       {},
       true},
      {"POST", "nodes", true, "performMaintenance", "nodes.performMaintenance", {}, {}, true},
      {"GET", "queuedResources", false, "", "queuedResources.list", {"pageSize", "pageToken"}},
      {"POST",
       "queuedResources",
       false,
       "",
       "queuedResources.create",
       {"queuedResourceId", "requestId"}},
      {"GET", "queuedResources", true, "", "queuedResources.get", {}},
      {"DELETE", "queuedResources", true, "", "queuedResources.delete", {"force", "requestId"}},
      {"POST", "queuedResources", true, "reset", "queuedResources.reset", {}},
      {"POST",
       "queuedResources",
       true,
       "performMaintenanceQueuedResource",
       "queuedResources.performMaintenanceQueuedResource",
       {},
       {},
       true},
      {"GET",
       "queuedResources",
       true,
       "getMaintenanceInfo",
       "queuedResources.getMaintenanceInfo",
       {},
       {},
       true},
      {"GET",
       "customJobs",
       false,
       "",
       "customJobs.list",
       {"filter", "pageSize", "pageToken", "readMask"},
       {},
       false,
       true},
      {"POST", "customJobs", false, "", "customJobs.create", {}, {}, false, true},
      {"GET", "customJobs", true, "", "customJobs.get", {}, {}, false, true},
      {"DELETE", "customJobs", true, "", "customJobs.delete", {}, {}, false, true},
      {"POST", "customJobs", true, "cancel", "customJobs.cancel", {}, {}, false, true},
      {"GET", "reservations", false, "", "reservations.list", {"pageSize", "pageToken"}, {}, true},
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

}  // namespace

bool IsCallName(std::string_view name) {
  // Of Google's other services, whose requests api.cpp names.
  for (const std::string_view other :
       {"compute.projects.get", "cloudresourcemanager.projects.get",
        "oslogin.users.importSshPublicKey", "oslogin.users.getLoginProfile"}) {
    if (name == other) return true;
  }
  const std::vector<Route>& routes = Routes();
  return std::any_of(routes.begin(), routes.end(),
                     [&](const Route& route) { return route.name == name; });
}

Call FindCall(const HttpRequest& request) {
  Call call;
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
    return call;
  }
  call.version = VersionOf(version);
  call.place.project = parts[2];
  if (parts.size() > 4) call.place.zone = parts[4];
  if (parts.size() > 6) call.id = parts[6];
  const std::string_view collection = parts.size() > 5 ? std::string_view(parts[5]) : "";
  const bool has_id = parts.size() == 7 || parts.size() == 5;
  for (const Route& route : Routes()) {
    if (route.method != request.method || route.collection != collection ||
        route.has_id != has_id || route.verb != verb || (route.alpha_only && !alpha) ||
        route.vertex != vertex) {
      continue;
    }
    call.name = route.name;
    call.parameters = route.parameters;
    if (alpha) {
      call.parameters.insert(call.parameters.end(), route.alpha_parameters.begin(),
                             route.alpha_parameters.end());
    }
  }
  return call;
}

Refusal CheckParameters(const HttpRequest& request, const Call& call) {
  const std::vector<std::string_view>& own = call.parameters;
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

std::string_view Parameter(const HttpRequest& request, std::string_view camel) {
  for (const auto& [name, value] : request.query) {
    if (CamelCase(name) == camel) return value;
  }
  return {};
}

std::optional<bool> BoolParameter(const HttpRequest& request, std::string_view camel) {
  std::string text(Parameter(request, camel));
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (text == "true" || text == "1") return true;
  if (text.empty() || text == "false" || text == "0") return false;
  return std::nullopt;
}

}  // namespace podctl::emulator
