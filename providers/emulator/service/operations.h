// Long-running operations (google.longrunning.Operation): their names, their life, their JSON.
//
// Knows nothing of what an operation does: the collection of its target settles it when it is due,
// and tells the outcome here. At most kMaxKept finished operations are remembered.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "providers/base/error.h"
#include "providers/base/value.h"
#include "providers/emulator/names.h"
#include "providers/emulator/service/api_error.h"
#include "providers/emulator/service/table.h"

namespace podctl::emulator {

struct Call;
struct Core;

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
  template <typename Archive>
  void Fields(Archive& archive) {
    archive("name", name);
    archive("verb", verb);
    archive("target", target);
    archive("version", version);
    archive("request", request);
    archive("createTime", create_time);
    archive("endTime", end_time);
    archive("dueMs", due_ms);
    archive("done", done);
    archive("cancelRequested", cancel_requested);
    archive("payload", payload);
    archive("failure", failure);
    archive("error", error);
    archive("response", response);
  }
};

class Operations {
 public:
  static constexpr std::size_t kMaxKept = 5'000;

  explicit Operations(Core* core);  // lent; it outlives them

  Answer List(const Call& call) const;
  Answer Get(const Call& call);
  Answer Delete(const Call& call);
  Answer Cancel(const Call& call);

  void Restore(const std::string& name, const Value& record);
  // Begins one for the call; answered with it. It comes due after the service's delay.
  Answer Begin(const Call& call, std::string_view verb, const std::string& target,
               Value payload = {});
  // Has this request been made before? Its operation, or why its id cannot be used.
  std::optional<Answer> Replay(const Call& call, const std::string& target);
  // The one that has not ended yet for this resource; nullptr when none.
  Operation* PendingFor(const std::string& target);
  // Whatever is under way for the resource ends ABORTED; a deletion only if `deletion_too`.
  void Abort(const std::string& target, std::string_view why, bool deletion_too);

  void Succeed(Operation* operation, Value response);
  void Fail(Operation* operation, Value error);
  // Fails with the google.rpc.Status; succeeds when it is null, or has the code 0.
  void EndAs(Operation* operation, Value status, Value response);

  // Settles what is due.
  void Run(std::int64_t now);
  std::int64_t NextDue() const;
  // The time was moved on. Machines boot as fast as before, so what waits for them has its whole
  // patience still.
  void Shift(std::int64_t before, std::int64_t by_ms);

 private:
  void Finish(Operation* operation);
  void Forget(const std::string& name);

  Core* const core_;
  Table<Operation> table_;
  std::map<std::string, std::string> requests_;      // Operation::request -> name
  std::map<std::string, std::string> pending_;       // target -> name
  std::map<std::string, std::string> finished_;      // end time and name -> name, oldest first
  std::multimap<std::int64_t, std::string> agenda_;  // due (ms since the epoch) -> name
};

// The answer to a delete: google.protobuf.Empty, whatever it is declared to be.
Value TypedEmpty();
// The resource as an operation's response: with its "@type", "Node".
Value Typed(Value view, std::string_view type, ApiVersion version);

}  // namespace podctl::emulator
