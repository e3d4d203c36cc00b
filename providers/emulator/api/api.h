// What is asked under the paths of the Cloud TPU API (v2, v2alpha1, and v1 for locations), and for
// the custom jobs of Vertex AI (v1).
//
// Turns a request into one call of the service and its answer into JSON, and heeds the faults that
// were ordered. Also answers what gcloud asks of other services about a project. Knows no sockets.
// Thread safe.
#pragma once

#include <optional>

#include "providers/base/value.h"
#include "providers/emulator/api/admin.h"
#include "providers/emulator/api/faults.h"
#include "providers/emulator/api/http_server.h"
#include "providers/emulator/api/routes.h"
#include "providers/emulator/service/api_error.h"
#include "providers/emulator/service/service.h"

namespace podctl::emulator {

class Api {
 public:
  // All are lent and outlive the api.
  Api(Service* service, Admin* admin, FaultList* faults)
      : service_(service), admin_(admin), faults_(faults) {}

  HttpReply Handle(const HttpRequest& request);

 private:
  Answer Dispatch(const HttpRequest& request, const Route& route, Call call);
  std::optional<Answer> ProjectAnswer(const HttpRequest& request, Call* call);
  std::optional<Answer> LoginAnswer(const HttpRequest& request, Call* call);

  Service* const service_;
  Admin* const admin_;
  FaultList* const faults_;
};

}  // namespace podctl::emulator
