// What tests and demonstrations may ask and do beside the Cloud TPU API, under /emulator/.
//
//   GET    /emulator/requests   {"total": 7, "mutating": 1, "byMethod": {"nodes.list": 2, …},
//                               "recent": [{"method","path","query","call","status"}, …]}
//   DELETE /emulator/requests   begins to count anew
//   POST   /emulator/faults     {"method": "POST", "path": "/nodes", "times": 1, "status": 503}
//                               a rule as in a file of --faults: docs/emulator.md
//   GET    /emulator/faults     those not used up yet;   DELETE forgets them
//   POST   /emulator/workers    {"node": "projects/…/nodes/N", "worker": 0, "action": "stop" |
//                                "start" | "new-host-keys" | "break-runtime" | "mend-runtime" |
//                                "hold-tpu"}
//   POST   /emulator/nodes      {"node": "projects/…/nodes/N", "state": "PREEMPTED",
//                                "health": "UNHEALTHY_MAINTENANCE"}
//   POST   /emulator/nodes/N:VERB            preempt (a spot node), terminate, break, maintain,
//                                            repair, heal
//   POST   /emulator/queuedResources/Q:VERB  suspend, fail
//            N and Q are ids, or full names where an id is not enough
//   GET    /emulator/capacity   the limits;  POST {"v3-32": 2, "us-central2-b/v4-8": 0} sets pools
//   POST   /emulator/projectMetadata         {"enable-oslogin": "TRUE"}, of all projects; GET
//   POST   /emulator/clock      {"advance": "6h"} moves the service's time on
//   GET    /emulator            all that there is, and these verbs, as a page for people
//
// These requests are not counted and meet no faults. Knows the API only by names of calls.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "providers/base/value.h"
#include "providers/emulator/api/faults.h"
#include "providers/emulator/api/http_server.h"
#include "providers/emulator/service/api_error.h"
#include "providers/emulator/service/service.h"

namespace podctl::emulator {

// Thread safe.
class Admin {
 public:
  static constexpr std::size_t kRecent = 1000;

  // Both are lent and outlive it.
  Admin(Service* service, FaultList* faults) : service_(service), faults_(faults) {}

  void Count(const HttpRequest& request, const std::string& call, int status);
  HttpReply Handle(const HttpRequest& request);

 private:
  Answer Requests(const HttpRequest& request);
  Answer Faults(const HttpRequest& request, const Value& body);
  Answer Incident(const std::string& path);
  Answer SetCapacity(const Value& body);
  Answer Route(const HttpRequest& request, const Value& body);

  Service* const service_;
  FaultList* const faults_;
  std::mutex mutex_;
  std::int64_t total_ = 0;
  std::int64_t mutating_ = 0;
  std::map<std::string, std::int64_t> by_call_;
  std::deque<Value> recent_;
};

}  // namespace podctl::emulator
