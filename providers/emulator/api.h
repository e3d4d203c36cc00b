// What is asked under the paths of the Cloud TPU API (v2, v2alpha1, and v1 for locations), and for
// the custom jobs of Vertex AI (v1).
//
// Turns a request into one call of the service and its answer into JSON: query parameters, the
// reading of bodies, and the faults that were ordered. Also answers what gcloud asks of other
// services about a project. Knows no sockets. Thread safe.
#pragma once

#include <variant>

#include "providers/base/value.h"
#include "providers/emulator/admin.h"
#include "providers/emulator/api_error.h"
#include "providers/emulator/exchange.h"
#include "providers/emulator/faults.h"
#include "providers/emulator/page.h"
#include "providers/emulator/routes.h"
#include "providers/emulator/service.h"

namespace podctl::emulator {

class Api {
 public:
  // All are lent and outlive the api.
  Api(Service* service, Admin* admin, FaultList* faults)
      : service_(service), admin_(admin), faults_(faults) {}

  HttpReply Handle(const HttpRequest& request);

 private:
  TextAnswer Dispatch(const HttpRequest& request, const Call& call, const Value& failure);
  TextAnswer Nodes(const HttpRequest& request, const Call& call, const CallContext& context);
  TextAnswer Queue(const HttpRequest& request, const Call& call, const CallContext& context);
  TextAnswer CustomJobs(const HttpRequest& request, const Call& call);
  TextAnswer Operations(const HttpRequest& request, const Call& call);
  TextAnswer Catalogue(const HttpRequest& request, const Call& call);

  Service* const service_;
  Admin* const admin_;
  FaultList* const faults_;
};

using PageAnswer = std::variant<PageRequest, ApiError>;
PageAnswer ReadPageRequest(const HttpRequest& request);
TextAnswer ToText(Answer answer);

}  // namespace podctl::emulator
