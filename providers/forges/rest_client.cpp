#include "providers/forges/rest_client.h"

#include <fmt/format.h>

#include <set>
#include <string_view>

#include "providers/base/json.h"
#include "providers/base/redactor.h"
#include "providers/base/text.h"
#include "providers/http/url.h"

namespace podctl {
namespace {

constexpr int kMostPages = 50;
constexpr std::size_t kLongestWords = 300;

ErrorCode CodeOfStatus(int status) {
  switch (status) {
    case 401:
      return ErrorCode::kUnauthenticated;
    case 403:
      return ErrorCode::kPermissionDenied;
    case 404:
    case 410:
      return ErrorCode::kNotFound;
    case 400:
    case 409:
    case 413:
    case 422:
      return ErrorCode::kInvalidArgument;
    default:
      return status >= 500 || status == 408 || status == 429 ? ErrorCode::kUnavailable
                                                             : ErrorCode::kUnknown;
  }
}

// The forge's own words, of which each has its member.
std::string WordsOfForge(const std::string& body) {
  const auto json = ParseJson(body);
  if (!json) return {};
  for (const char* name : {"message", "error_description", "error"}) {
    const Value& words = (*json)[name];
    if (words.is_string()) return words.AsString();
    if (words.is_map() || words.is_list()) return ToJson(words);  // GitLab, of what it refuses
  }
  return {};
}

}  // namespace

ForgeClient::ForgeClient(const ForgePlace& place, std::string name,
                         std::vector<std::pair<std::string, std::string>> headers,
                         const ForgeDoors& doors)
    : name_(std::move(name)),
      api_(place.api),
      graphql_(place.graphql),
      token_(place.token),
      token_from_(place.token_from),
      headers_(std::move(headers)),
      doors_(doors) {
  HideInErrors(token_);
  const auto url = http::ParseUrl(api_);
  server_ = url ? url->Server() : name_;
}

Error ForgeClient::ErrorOf(int status, const std::string& body) const {
  std::string words = VisibleControls(Join(SplitLines(WordsOfForge(RedactedError(body))), " "));
  if (!token_.empty() && words.find(token_) != std::string::npos) words.clear();
  if (words.size() > kLongestWords) words = words.substr(0, kLongestWords) + "…";
  Error error = MakeError(CodeOfStatus(status),
                          fmt::format("{} ({}) answered with HTTP status {}{}", name_, server_,
                                      status, words.empty() ? "" : ": " + words));
  if (status == 401 || status == 403 || status == 404) {
    error.hint = token_from_.empty()
                     ? "no token was given to podctl; docs/ci.md says which variable holds it"
                     : fmt::format(
                           "the token came from {}; docs/ci.md says what it must be "
                           "allowed to do",
                           token_from_);
  }
  return error;
}

Result<Value> ForgeClient::Ask(const std::string& method, const std::string& url, const Value* body,
                               const std::stop_token& stop) {
  http::Request request;
  request.method = method;
  request.url = url;
  request.headers = headers_;
  request.headers.emplace_back("Accept", "application/json");
  if (body != nullptr) {
    request.headers.emplace_back("Content-Type", "application/json");
    request.body = ToJson(*body);
  }
  // A comment that is sent twice is there twice.
  const bool again = method != "POST";
  request.once = !again;
  const auto answer = http::SendWithRetry(
      doors_.transport, request,
      again ? http::Idempotency::kIdempotent : http::Idempotency::kNonIdempotent, doors_.policy,
      doors_.clock, doors_.random, stop);
  if (!answer) {
    Error error = answer.error();
    error.message = fmt::format("{} ({}): {}", name_, server_, error.message);
    return error;
  }
  if (answer->status < 200 || answer->status > 299) return ErrorOf(answer->status, answer->body);
  if (TrimBlanks(answer->body).empty()) return Value();
  auto value = ParseJson(answer->body, answer->body.capacity());
  if (value) return value;
  return MakeError(ErrorCode::kDataLoss,
                   fmt::format("the answer of {} ({}) is not JSON", name_, server_),
                   "is that really the address of its API?");
}

Result<Value> ForgeClient::Get(const std::string& path, const Query& query,
                               const std::stop_token& stop) {
  return Ask("GET", api_ + path + http::QueryString(query), nullptr, stop);
}

Result<Value> ForgeClient::Send(const std::string& method, const std::string& path,
                                const Value& body, const std::stop_token& stop) {
  return Ask(method, api_ + path, &body, stop);
}

Result<Value> ForgeClient::AskGraph(const std::string& question, const Value& variables,
                                    const std::stop_token& stop) {
  const Value body = Value::Map{{"query", question}, {"variables", variables}};
  auto answer = Ask("POST", graphql_, &body, stop);
  if (!answer) return answer;
  const auto& errors = (*answer)["errors"].AsList();
  if (errors.empty()) return (*answer)["data"];
  const std::string words = errors.front()["message"].AsString().substr(0, kLongestWords);
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("{} ({}) refuses: {}", name_, server_, VisibleControls(words)));
}

Result<Value::List> ForgeClient::Pages(const std::string& path, Query query, const char* size_name,
                                       int size, const std::stop_token& stop) {
  Value::List all;
  std::set<std::int64_t> seen;
  query.emplace_back(size_name, std::to_string(size));
  query.emplace_back("page", "1");
  for (int page = 1; page <= kMostPages; ++page) {
    query.back().second = std::to_string(page);
    const auto answer = Get(path, query, stop);
    if (!answer) return answer.error();
    if (!answer->is_list()) {
      return MakeError(ErrorCode::kDataLoss,
                       fmt::format("the answer of {} ({}) is no list", name_, server_),
                       "is that really the address of its API?");
    }
    bool any_new = false;
    for (const Value& item : answer->AsList()) {
      // A forge that knows no pages here gives all of them each time.
      if (!item.is_map() || !seen.insert(item["id"].AsInt()).second) continue;
      any_new = true;
      all.push_back(item);
    }
    if (!any_new || answer->AsList().size() < static_cast<std::size_t>(size)) return all;
  }
  return all;
}

}  // namespace podctl
