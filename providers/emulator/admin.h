// What tests and demonstrations may ask and do beside the Cloud TPU API, under /emulator/.
//
//   GET    /emulator/requests   {"total": 7, "mutating": 1, "byMethod": {"nodes.list": 2, …},
//                               "recent": [{"method","path","query","call","status"}, …]}
//   DELETE /emulator/requests   begins to count anew
//   POST   /emulator/faults     {"method": "POST", "path": "/nodes", "times": 1, …} and one of
//                                 "status": 503 (with "message")   refuse, do nothing
//                                 "drop": "before" | "after"       close the connection unanswered,
//                                                                  having done nothing | the work
//                                 "delayMs": 500                   do the work, answer late
//                                 "operationError": {"code": 8, "message": "…"}
//                                                                  accept, fail the operation
//                               method and path (a part of the path) may be left out; the first
//                               fault that fits is used, `times` times
//   GET    /emulator/faults     those not used up yet;   DELETE forgets them
//   POST   /emulator/workers    {"node": "projects/…/nodes/N", "worker": 0, "action": "stop" |
//                                "start" | "new-host-keys" | "break-runtime" | "mend-runtime"}
//   POST   /emulator/nodes      {"node": "projects/…/nodes/N", "state": "PREEMPTED",
//                                "health": "UNHEALTHY_MAINTENANCE"}
//
// These requests are not counted and meet no faults. Knows the API only by names of calls.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "providers/base/value.h"
#include "providers/emulator/api_error.h"
#include "providers/emulator/exchange.h"
#include "providers/emulator/service.h"

namespace podctl::emulator {

struct Fault {
  std::string method;  // "" for any
  std::string path;    // a part of it; "" for any
  int times = 1;
  int status = 0;
  std::string message;
  std::string drop;  // "", "before", "after"
  int delay_ms = 0;
  Value operation_error;

  Value ToValue() const;
};

// Thread safe.
class Admin {
 public:
  static constexpr std::size_t kRecent = 1000;
  static constexpr std::size_t kMaxFaults = 1000;
  static constexpr int kMaxDelayMs = 60'000;

  explicit Admin(Service* service) : service_(service) {}

  void Count(const HttpRequest& request, const std::string& call, int status);
  // The fault that this request meets, used up by one.
  std::optional<Fault> Take(const HttpRequest& request);
  HttpReply Handle(const HttpRequest& request);

 private:
  Answer Requests(const HttpRequest& request);
  Answer Faults(const HttpRequest& request, const Value& body);

  Service* const service_;
  std::mutex mutex_;
  std::int64_t total_ = 0;
  std::int64_t mutating_ = 0;
  std::map<std::string, std::int64_t> by_call_;
  std::deque<Value> recent_;
  std::deque<Fault> faults_;
};

}  // namespace podctl::emulator
