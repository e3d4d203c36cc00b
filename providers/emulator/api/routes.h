// The methods of the API: under which paths they are asked for, what they take, and which call of
// the service they are. Pure; thread safe.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "providers/emulator/api/http_server.h"
#include "providers/emulator/api/messages.h"
#include "providers/emulator/service/api_error.h"
#include "providers/emulator/service/service.h"

namespace podctl::emulator {

struct Route {
  enum class Of { kTpu, kTpuAlpha, kVertex };

  std::string_view name;  // as in the discovery document, without "projects.locations."
  Answer (*handle)(Service&, const Call&);
  std::vector<std::string_view> parameters = {};  // of the query, beside the standard ones
  std::vector<std::string_view> alpha_parameters = {};
  std::optional<Message> body = {};  // nullopt: none is read
  std::string_view root = {};        // what the body is called in errors
  Of of = Of::kTpu;
};

// The route that a request means, and the name, place, id and version of its call; nullptr: none.
const Route* FindRoute(const HttpRequest& request, Call* call);
// Whether requests may be known by this name.
bool IsCallName(std::string_view name);

// What the request brings beside its address, into the call. Both name styles are taken; parameters
// that the method does not have are refused, and so is a body that does not fit.
Refusal CheckParameters(const HttpRequest& request, const Route& route, ApiVersion version);
Refusal ReadRequest(const HttpRequest& request, const Route& route, Call* call);

}  // namespace podctl::emulator
