// Which method of the API a request means: its path, its verb, its version. Pure; thread safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/emulator/api_error.h"
#include "providers/emulator/api_version.h"
#include "providers/emulator/exchange.h"
#include "providers/emulator/node_rules.h"

namespace podctl::emulator {

// A request that has been understood as far as its address goes.
struct Call {
  std::string name = "unknown";  // as in the discovery document, without "projects.locations."
  ApiVersion version = ApiVersion::kV2;
  Place place;
  std::string id;                            // of the resource, where one is named
  std::vector<std::string_view> parameters;  // of the query, beside the standard ones

  // "nodes" of "nodes.get".
  std::string_view collection() const { return std::string_view(name).substr(0, name.find('.')); }
};

Call FindCall(const HttpRequest& request);
// Whether requests may be known by this name.
bool IsCallName(std::string_view name);

// Refuses parameters of the query that the method does not have. Both name styles are taken.
Refusal CheckParameters(const HttpRequest& request, const Call& call);
// In either name style; "" when absent.
std::string_view Parameter(const HttpRequest& request, std::string_view camel);
// "True", "true", "1" (gcloud writes Python's); nullopt: something else than a bool.
std::optional<bool> BoolParameter(const HttpRequest& request, std::string_view camel);

}  // namespace podctl::emulator
