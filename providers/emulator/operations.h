// Long-running operations (google.longrunning.Operation): their names, their life, their JSON.
//
// Knows nothing of what an operation does; service.h acts and then tells the outcome here. A table
// keeps at most kMaxKept finished operations. Not thread safe: service.h holds its lock around it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "providers/base/error.h"
#include "providers/base/value.h"
#include "providers/emulator/api_version.h"
#include "providers/emulator/journal.h"
#include "providers/emulator/node_rules.h"
#include "providers/emulator/page.h"
#include "providers/emulator/service_clock.h"

namespace podctl::emulator {

struct Operation {
  std::string name;    // full resource name
  std::string verb;    // create, update, delete, start, stop, reset, maintain
  std::string target;  // the resource name of a node or a queued resource
  ApiVersion version = ApiVersion::kV2;
  std::string request;  // method and requestId, when one was sent
  std::string create_time;
  std::string end_time;
  std::int64_t due_ms = 0;  // when it may settle; milliseconds since the epoch, survives a restart
  bool done = false;
  bool cancel_requested = false;
  Value payload;   // what it will do when it settles
  Value failure;   // google.rpc.Status: it was told to fail when it settles
  Value error;     // google.rpc.Status
  Value response;  // with "@type"

  Value ToWire() const;
  Value ToRecord() const;
  static Operation FromRecord(const Value& record);
};

class OperationTable {
 public:
  static constexpr std::size_t kMaxKept = 5'000;

  // Both are lent and outlive the table.
  OperationTable(Journal* journal, const ServiceClock* clock) : journal_(journal), clock_(clock) {}

  // From the journal; not written again.
  void Restore(Operation operation);

  Operation& Begin(const Place& place, std::string_view verb, const std::string& target,
                   std::int64_t due_ms, Value payload);
  // Remembers that this operation answers that request, until it is forgotten itself.
  void NameRequest(Operation* operation, const std::string& request);
  // The operation that a request with this id has begun; nullptr when none.
  Operation* FindRequest(const std::string& request);
  // Writes down a change that the caller made.
  Result<void> Save(const Operation& operation);
  void Succeed(Operation* operation, Value response);
  void Fail(Operation* operation, Value error);
  // Fails with the google.rpc.Status; succeeds when it is null, or has the code 0.
  void EndAs(Operation* operation, Value status, Value response);

  Operation* Find(const std::string& name);
  // The one that has not ended yet for this resource; nullptr when none.
  Operation* PendingFor(const std::string& target);
  std::map<std::string, Operation>& all() { return operations_; }
  // `name` may be a text inside the table itself.
  void Forget(const std::string& name);

  // {"operations": […], "nextPageToken": …}
  Value List(const Place& place, const PageRequest& page) const;

 private:
  void Finish(Operation* operation);

  Journal* journal_;
  const ServiceClock* clock_;
  std::map<std::string, Operation> operations_;  // by name
  std::map<std::string, std::string> requests_;  // Operation::request -> name
  std::map<std::string, std::string> pending_;   // target -> name
  std::map<std::string, std::string> finished_;  // end time and name -> name, oldest first
};

}  // namespace podctl::emulator
