// Trouble on order: which requests meet it, and what happens to them.
//
// Rules come from a file (docs/emulator.md describes it) or over the admin's requests; both are the
// same. Knows requests by their method, path and the name of the call, and nothing of the service.
// Thread safe.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "providers/base/error.h"
#include "providers/base/value.h"
#include "providers/emulator/api/http_server.h"

namespace podctl::emulator {

struct Fault {
  // Which requests. Empty: any.
  std::string call;    // "nodes.create"
  std::string method;  // "POST"
  std::string path;    // a part of the path; with * or ?, a pattern of the whole path
  // Which of those. `times` counts what it strikes, the others what they see.
  int times = 0;         // the next so many
  std::vector<int> nth;  // the first is 1
  int every = 0;         // each so-manieth
  // What happens. A delay goes with any, or alone.
  int status = 0;         // refused with it, nothing is done
  std::string message;    // of the refusal
  Value::List details;    // of the refusal
  std::string drop;       // the connection is closed unanswered, "before" the act or "after" it
  int cut_after = -1;     // so many bytes of the body are sent, then the connection is closed
  int delay_ms = 0;       // before the answer
  Value operation_error;  // accepted, but the operation ends with this google.rpc.Status

  int seen = 0;
  int struck = 0;

  Value ToValue() const;
};

// What is wrong with a rule, and at which of its keys; "" for the rule as a whole.
struct FaultProblem {
  std::string key;
  std::string message;
};

std::variant<Fault, FaultProblem> ReadFault(const Value& rule);

class FaultList {
 public:
  static constexpr std::size_t kMaxFaults = 1000;
  static constexpr int kMaxDelayMs = 600'000;
  static constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;

  // Adds the rules of a file: {"faults": […]}. kNotFound, kIo; kInvalidArgument with file, line and
  // column. Adds all of them or none.
  Result<void> Load(const std::string& path);
  // False: there are too many.
  bool Add(Fault fault);
  void Clear();
  // The fault that this request meets.
  std::optional<Fault> Take(const HttpRequest& request, std::string_view call);
  // Those that are not used up.
  Value::List ToValues();

 private:
  std::mutex mutex_;
  std::deque<Fault> faults_;
};

// Does the whole text match the pattern, in which * is any text and ? any character?
bool MatchesPattern(std::string_view text, std::string_view pattern);

}  // namespace podctl::emulator
