// The paths of the Cloud TPU API v2 and what is asked under them.
//
// Turns a request into one call of the service and its answer into JSON: routing, query parameters,
// the reading of bodies, and the faults that tests ordered. Also answers the one Compute Engine
// request that `gcloud compute tpus tpu-vm ssh` makes. Knows no sockets. Thread safe.
#pragma once

#include <string>
#include <vector>

#include "providers/base/value.h"
#include "providers/emulator/admin.h"
#include "providers/emulator/api_error.h"
#include "providers/emulator/exchange.h"
#include "providers/emulator/service.h"

namespace podctl::emulator {

class Api {
 public:
  // Both are lent and outlive the api.
  Api(Service* service, Admin* admin) : service_(service), admin_(admin) {}

  HttpReply Handle(const HttpRequest& request);

 private:
  struct Call;  // a request that has been understood

  TextAnswer Dispatch(const HttpRequest& request, const Call& call, const Value& failure);
  TextAnswer Nodes(const HttpRequest& request, const Call& call, const Value& failure);
  TextAnswer Operations(const HttpRequest& request, const Call& call);
  TextAnswer Catalogue(const HttpRequest& request, const Call& call);

  Service* const service_;
  Admin* const admin_;
};

}  // namespace podctl::emulator
