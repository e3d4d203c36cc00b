#include "providers/emulator/service/api_error.h"

#include <fmt/format.h>

#include <array>
#include <random>
#include <utility>

namespace podctl::emulator {
namespace {

struct Code {
  std::string_view name;
  int number;
  int http;
};

// google/rpc/code.proto, with the HTTP statuses given there.
constexpr std::array<Code, 17> kCodes = {{{"OK", 0, 200},
                                          {"CANCELLED", 1, 499},
                                          {"UNKNOWN", 2, 500},
                                          {"INVALID_ARGUMENT", 3, 400},
                                          {"DEADLINE_EXCEEDED", 4, 504},
                                          {"NOT_FOUND", 5, 404},
                                          {"ALREADY_EXISTS", 6, 409},
                                          {"PERMISSION_DENIED", 7, 403},
                                          {"RESOURCE_EXHAUSTED", 8, 429},
                                          {"FAILED_PRECONDITION", 9, 400},
                                          {"ABORTED", 10, 409},
                                          {"OUT_OF_RANGE", 11, 400},
                                          {"UNIMPLEMENTED", 12, 501},
                                          {"INTERNAL", 13, 500},
                                          {"UNAVAILABLE", 14, 503},
                                          {"DATA_LOSS", 15, 500},
                                          {"UNAUTHENTICATED", 16, 401}}};

const Code& Lookup(std::string_view name) {
  for (const Code& code : kCodes) {
    if (code.name == name) return code;
  }
  return kCodes[2];
}

ApiError OfResource(std::string_view status, std::string_view resource, std::string_view what) {
  return {.status = std::string(status),
          .message = fmt::format("Resource '{}' {}", resource, what),
          .details = {Value::Map{{"@type", "type.googleapis.com/google.rpc.ResourceInfo"},
                                 {"resourceName", resource}}}};
}

// The service ends many messages with an identifier for its support, e.g. [EID:
// 0x1994f24467802754].
std::string EventId() {
  static thread_local std::mt19937_64 engine{std::random_device{}()};
  return fmt::format("[EID: {:#x}]", engine());
}

}  // namespace

int ApiError::HttpStatus() const {
  return http != 0 ? http : Lookup(status).http;
}

Value ApiError::HttpBody() const {
  if (!errors.empty()) {
    return Value::Map{
        {"error", Value::Map{{"code", HttpStatus()}, {"message", message}, {"errors", errors}}}};
  }
  Value error = Value::Map{{"code", HttpStatus()}, {"message", message}, {"status", status}};
  if (!details.empty()) error.Set("details", details);
  return Value::Map{{"error", std::move(error)}};
}

Value ApiError::RpcStatus() const {
  Value error = Value::Map{{"code", Lookup(status).number}, {"message", message}};
  if (!details.empty()) error.Set("details", details);
  return error;
}

std::string_view StatusOfHttp(int http) {
  if (http == 409) return "ABORTED";  // a conflict, unless the caller knows better
  for (const Code& known : kCodes) {
    if (known.http == http) return known.name;
  }
  return http >= 500 ? "INTERNAL" : "INVALID_ARGUMENT";
}

ApiError MakeStatus(std::string_view status, std::string message) {
  return {.status = std::string(status), .message = std::move(message), .details = {}};
}

ApiError InvalidArgument(std::string message) {
  return MakeStatus("INVALID_ARGUMENT", std::move(message));
}

ApiError Unavailable(std::string message) {
  return MakeStatus("UNAVAILABLE", std::move(message));
}

ApiError FailedPrecondition(std::string message) {
  return MakeStatus("FAILED_PRECONDITION", std::move(message));
}

ApiError BadRequest(std::string_view reason) {
  return InvalidArgument(fmt::format("Cloud TPU received a bad request. {} {}", reason, EventId()));
}

ApiError FieldViolation(std::string_view field, std::string message) {
  Value violation = Value::Map{{"field", field}, {"description", message}};
  ApiError error = InvalidArgument(std::move(message));
  error.details = {Value::Map{{"@type", "type.googleapis.com/google.rpc.BadRequest"},
                              {"fieldViolations", Value::List{std::move(violation)}}}};
  return error;
}

ApiError NotFound(std::string_view resource) {
  return OfResource("NOT_FOUND", resource, "was not found");
}

ApiError AlreadyExists(std::string_view resource) {
  return OfResource("ALREADY_EXISTS", resource, "already exists");
}

ApiError LocationDenied(std::string_view zone) {
  return MakeStatus(
      "PERMISSION_DENIED",
      fmt::format("Permission denied on 'locations/{}' (or it may not exist).", zone));
}

ApiError UnableToComplete() {
  return InvalidArgument(
      fmt::format("Cloud TPU was unable to complete the operation. Please try again, or contact "
                  "support if the problem persists. {}",
                  EventId()));
}

ApiError NoCapacity(std::string_view zone) {
  return MakeStatus(
      "RESOURCE_EXHAUSTED",
      fmt::format("There is no more capacity in the zone \"{}\"; you can try in another zone where "
                  "Cloud TPU Nodes are offered (see https://cloud.google.com/tpu/docs/regions) {}",
                  zone, EventId()));
}

ApiError NoReservedCapacity() {
  return MakeStatus("RESOURCE_EXHAUSTED",
                    fmt::format("Insufficient reserved capacity. Contact customer support to "
                                "increase your reservation. {}",
                                EventId()));
}

// Of this text only "reservation for request queue" is known.
ApiError NoSuchReservation(std::string_view name) {
  return InvalidArgument(fmt::format(
      "There is no reservation for request queue: '{}' was not found. {}", name, EventId()));
}

ApiError QuotaExceeded(std::string_view metric, int limit, std::string_view region,
                       std::string_view project) {
  Value violation = Value::Map{
      {"subject", fmt::format("project:{}", project)},
      {"description",
       fmt::format("Quota '{}' exhausted. Limit {} in region {}", metric, limit, region)}};
  return {.status = "RESOURCE_EXHAUSTED",
          .message = fmt::format("Quota limit '{}' has been exceeded. Limit: {} in region {}.",
                                 metric, limit, region),
          .details = {Value::Map{{"@type", "type.googleapis.com/google.rpc.QuotaFailure"},
                                 {"violations", Value::List{std::move(violation)}}}}};
}

ApiError RateExceeded(int limit, std::string_view project_number) {
  Value facts = Value::Map{{"service", "tpu.googleapis.com"},
                           {"consumer", fmt::format("projects/{}", project_number)},
                           {"quota_metric", "tpu.googleapis.com/qps/create"},
                           {"quota_limit_value", std::to_string(limit)}};
  return {
      .status = "RESOURCE_EXHAUSTED",
      .message = fmt::format("Quota exceeded for quota metric '{0}' and limit '{0} per "
                             "project' of service 'tpu.googleapis.com' for consumer "
                             "'project_number:{1}'.",
                             "Maximum number of CreateNode requests per minute", project_number),
      .details = {Value::Map{{"@type", "type.googleapis.com/google.rpc.ErrorInfo"},
                             {"reason", "RATE_LIMIT_EXCEEDED"},
                             {"domain", "googleapis.com"},
                             {"metadata", std::move(facts)}}}};
}

}  // namespace podctl::emulator
