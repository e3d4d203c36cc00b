// What is asked under the paths of the Cloud TPU API (v2, v2alpha1, and v1 for locations), for the
// custom jobs of Vertex AI (v1), and of Secret Manager (v1). Those of Cloud Storage, which is an
// older kind of API, are read by storage_api.h.
//
// Routes say under which paths methods are asked for, what they take, and which call of the service
// they are. Turns a request into one call of the service and its answer into JSON, and heeds the
// faults that were ordered. Also answers what gcloud asks of other services about a project. Knows
// no sockets. Thread safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "providers/base/value.h"
#include "providers/emulator/api/admin.h"
#include "providers/emulator/api/faults.h"
#include "providers/emulator/api/http_server.h"
#include "providers/emulator/api/messages.h"
#include "providers/emulator/api/storage_api.h"
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

// The same of Secret Manager, whose secrets need no location; `place.zone` "": there is none.
struct SecretRoute {
  std::string_view name;  // of the call, with the service's
  std::string_view method;
  std::size_t words;      // of the path from "secrets" on
  std::string_view verb;  // after a colon
  Answer (*handle)(Service&, const Call&);
};
const SecretRoute* FindSecretRoute(const HttpRequest& request, Call* call);
Refusal ReadSecretRequest(const HttpRequest& request, Call* call);

class Api {
 public:
  // All are lent and outlive the api.
  Api(Service* service, Admin* admin, FaultList* faults)
      : service_(service), admin_(admin), faults_(faults), storage_(service) {}

  HttpReply Handle(const HttpRequest& request);

 private:
  Answer Dispatch(const HttpRequest& request, const Route& route, Call call);
  HttpReply StorageReply(const HttpRequest& request);
  Answer SecretAnswer(const HttpRequest& request, const SecretRoute& route, Call call);
  std::optional<Answer> ProjectAnswer(const HttpRequest& request, Call* call);
  std::optional<Answer> LoginAnswer(const HttpRequest& request, Call* call);

  Service* const service_;
  Admin* const admin_;
  FaultList* const faults_;
  StorageApi storage_;
};

}  // namespace podctl::emulator
