#include "providers/emulator/api_error.h"

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

Value ResourceInfo(std::string_view resource) {
  Value info;
  info.Set("@type", "type.googleapis.com/google.rpc.ResourceInfo");
  info.Set("resourceName", resource);
  return info;
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
  Value error;
  error.Set("code", HttpStatus());
  error.Set("message", message);
  error.Set("status", status);
  if (!details.empty()) error.Set("details", details);
  Value body;
  body.Set("error", std::move(error));
  return body;
}

Value ApiError::RpcStatus() const {
  Value error;
  error.Set("code", RpcCode(status));
  error.Set("message", message);
  if (!details.empty()) error.Set("details", details);
  return error;
}

int RpcCode(std::string_view status) {
  return Lookup(status).number;
}

std::string_view StatusOfHttp(int http) {
  if (http == 409) return "ABORTED";  // a conflict, unless the caller knows better
  for (const Code& known : kCodes) {
    if (known.http == http) return known.name;
  }
  return http >= 500 ? "INTERNAL" : "INVALID_ARGUMENT";
}

ApiError InvalidArgument(std::string message) {
  return {.status = "INVALID_ARGUMENT", .message = std::move(message), .details = {}};
}

ApiError BadRequest(std::string_view reason) {
  return InvalidArgument(fmt::format("Cloud TPU received a bad request. {} {}", reason, EventId()));
}

ApiError FieldViolation(std::string_view field, std::string message) {
  Value violation;
  violation.Set("field", field);
  violation.Set("description", message);
  Value detail;
  detail.Set("@type", "type.googleapis.com/google.rpc.BadRequest");
  detail.Set("fieldViolations", Value::List{std::move(violation)});
  return {
      .status = "INVALID_ARGUMENT", .message = std::move(message), .details = {std::move(detail)}};
}

ApiError NotFound(std::string_view resource) {
  return {.status = "NOT_FOUND",
          .message = fmt::format("Resource '{}' was not found", resource),
          .details = {ResourceInfo(resource)}};
}

ApiError AlreadyExists(std::string_view resource) {
  return {.status = "ALREADY_EXISTS",
          .message = fmt::format("Resource '{}' already exists", resource),
          .details = {ResourceInfo(resource)}};
}

ApiError LocationDenied(std::string_view zone) {
  return {
      .status = "PERMISSION_DENIED",
      .message = fmt::format("Permission denied on 'locations/{}' (or it may not exist).", zone),
      .details = {}};
}

ApiError FailedPrecondition(std::string message) {
  return {.status = "FAILED_PRECONDITION", .message = std::move(message), .details = {}};
}

ApiError UnableToComplete() {
  return InvalidArgument(
      fmt::format("Cloud TPU was unable to complete the operation. Please try again, or contact "
                  "support if the problem persists. {}",
                  EventId()));
}

ApiError NoCapacity(std::string_view zone) {
  return {.status = "RESOURCE_EXHAUSTED",
          .message = fmt::format(
              "There is no more capacity in the zone \"{}\"; you can try in another zone where "
              "Cloud TPU Nodes are offered (see https://cloud.google.com/tpu/docs/regions) {}",
              zone, EventId()),
          .details = {}};
}

ApiError NoReservedCapacity() {
  return {.status = "RESOURCE_EXHAUSTED",
          .message = fmt::format("Insufficient reserved capacity. Contact customer support to "
                                 "increase your reservation. {}",
                                 EventId()),
          .details = {}};
}

// Of this text only "reservation for request queue" is known.
ApiError NoSuchReservation(std::string_view name) {
  return InvalidArgument(fmt::format(
      "There is no reservation for request queue: '{}' was not found. {}", name, EventId()));
}

ApiError QuotaExceeded(std::string_view metric, int limit, std::string_view region,
                       std::string_view project) {
  Value violation;
  violation.Set("subject", fmt::format("project:{}", project));
  violation.Set("description",
                fmt::format("Quota '{}' exhausted. Limit {} in region {}", metric, limit, region));
  Value failure;
  failure.Set("@type", "type.googleapis.com/google.rpc.QuotaFailure");
  failure.Set("violations", Value::List{std::move(violation)});
  return {.status = "RESOURCE_EXHAUSTED",
          .message = fmt::format("Quota limit '{}' has been exceeded. Limit: {} in region {}.",
                                 metric, limit, region),
          .details = {std::move(failure)}};
}

ApiError RateExceeded(int limit, std::string_view project_number) {
  constexpr std::string_view kMetric = "Maximum number of CreateNode requests per minute";
  const std::string consumer = fmt::format("project_number:{}", project_number);
  Value facts;
  facts.Set("service", "tpu.googleapis.com");
  facts.Set("consumer", fmt::format("projects/{}", project_number));
  facts.Set("quota_metric", "tpu.googleapis.com/qps/create");
  facts.Set("quota_limit_value", std::to_string(limit));
  Value info;
  info.Set("@type", "type.googleapis.com/google.rpc.ErrorInfo");
  info.Set("reason", "RATE_LIMIT_EXCEEDED");
  info.Set("domain", "googleapis.com");
  info.Set("metadata", std::move(facts));
  return {.status = "RESOURCE_EXHAUSTED",
          .message = fmt::format("Quota exceeded for quota metric '{0}' and limit '{0} per "
                                 "project' of service 'tpu.googleapis.com' for consumer '{1}'.",
                                 kMetric, consumer),
          .details = {std::move(info)}};
}

}  // namespace podctl::emulator
