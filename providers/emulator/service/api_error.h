// How the Cloud TPU API says no: google.rpc.Status over HTTP.
//
// Knows the canonical codes (google/rpc/code.proto), their HTTP statuses, and the sentences that
// the real service is known to use. Knows nothing of nodes, sockets or the client.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "providers/base/value.h"

namespace podctl::emulator {

struct ApiError {
  std::string status = "UNKNOWN";  // canonical name, e.g. "NOT_FOUND"
  std::string message;
  Value::List details;  // google.rpc.* messages with "@type"
  int http = 0;         // 0: the usual one for `status`
  // Of an older API (Cloud Storage): {"domain","reason","message"}, in place of status and details.
  Value::List errors = {};

  int HttpStatus() const;
  // {"error":{"code":404,"message":…,"status":…,"details":[…]}}; of an older API
  // {"error":{"code":404,"message":…,"errors":[…]}}
  Value HttpBody() const;
  // google.rpc.Status as an operation's `error`: {"code":5,"message":…,"details":[…]}
  Value RpcStatus() const;
};

// An answer as JSON already: a thousand nodes are not worth building a thousand trees for each
// request.
struct JsonText {
  std::string text;
};

// A JSON answer or a refusal.
using Answer = std::variant<Value, ApiError, JsonText>;
using Refusal = std::optional<ApiError>;

// The canonical code that googleapis sends with an HTTP status (409 -> "ABORTED").
std::string_view StatusOfHttp(int http);

// With a canonical name and nothing but a message.
ApiError MakeStatus(std::string_view status, std::string message);
ApiError InvalidArgument(std::string message);
ApiError Unavailable(std::string message);
// "Cloud TPU received a bad request. … [EID: 0x…]"
ApiError BadRequest(std::string_view reason);
// A request that does not fit its proto message: google.rpc.BadRequest names the field.
ApiError FieldViolation(std::string_view field, std::string message);
ApiError NotFound(std::string_view resource);
ApiError AlreadyExists(std::string_view resource);
ApiError LocationDenied(std::string_view zone);
ApiError FailedPrecondition(std::string message);
// All that the service says of some requests, a multislice of v2 or v3 for one.
ApiError UnableToComplete();
// Of an operation: a stock-out; nothing left in the reservation.
ApiError NoCapacity(std::string_view zone);
ApiError NoReservedCapacity();
ApiError NoSuchReservation(std::string_view name);
// Of a request, at once: a limit on what a project may hold; a limit on its requests a minute.
ApiError QuotaExceeded(std::string_view metric, int limit, std::string_view region,
                       std::string_view project);
ApiError RateExceeded(int limit, std::string_view project_number);

}  // namespace podctl::emulator
