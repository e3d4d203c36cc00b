#include "providers/etcd/client.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "providers/base/encoding.h"
#include "providers/base/json.h"
#include "providers/base/redactor.h"
#include "providers/base/text.h"
#include "providers/http/url.h"

namespace podctl::etcd {
namespace {

constexpr std::size_t kQuoted = 200;  // of what a server says
// Of one request to one endpoint. etcd itself gives up after 7 s.
constexpr std::chrono::milliseconds kPatience{15'000};

// A revision, or another number of 64 bits, as protobuf's JSON has it; -1: none.
std::int64_t RevisionOf(const Value& value) {
  return value.AsInt(-1);
}

std::string SaidIn(const std::string& body) {
  const Result<Value> json = ParseJson(body);
  std::string said;
  if (json && json->is_map()) {
    said = (*json)["error"].AsString();  // of 3.4; newer ones have the other
    if (said.empty()) said = (*json)["message"].AsString();
  }
  if (said.empty()) said = body;
  return VisibleControls(std::string(TrimBlanks(std::string_view(said).substr(0, kQuoted))));
}

std::string SaidBy(const http::Response& response) {
  return SaidIn(response.body);
}

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Whether a token is wanted, and none or an old one was sent. Nothing was done.
bool WantsToken(int status, std::string_view said) {
  return status == 401 || Has(said, "invalid auth token") || Has(said, "user name is empty") ||
         Has(said, "revision of auth store is old");
}

Error ErrorOf(const http::Response& response, const std::string& server, bool writes) {
  const int status = response.status;
  const std::string said = SaidBy(response);
  const std::string shown = SaidIn(RedactedError(response.body));
  const auto error = [&](ErrorCode code, std::string hint = "") {
    return MakeError(code,
                     fmt::format("etcd at {} answered with HTTP status {}{}{}", server, status,
                                 shown.empty() ? "" : ": ", shown),
                     std::move(hint));
  };
  if (WantsToken(status, said)) {
    return error(ErrorCode::kUnauthenticated, "name a user in ETCDCTL_USER, as NAME:PASSWORD");
  }
  if (status == 403 || Has(said, "permission denied")) {
    return error(ErrorCode::kPermissionDenied,
                 "the user's role needs readwrite on all keys of the prefix, or read where it only "
                 "plans: `etcdctl role grant-permission ROLE --prefix=true readwrite PREFIX/`");
  }
  if (Has(said, "database space exceeded")) {
    // etcd carries out the one that goes over the limit, and answers it so all the same.
    return error(writes ? ErrorCode::kReplyLost : ErrorCode::kUnavailable,
                 "the database of etcd is full: compact and defragment it, then `etcdctl alarm "
                 "disarm`");
  }
  if (Has(said, "revision has been compacted") || Has(said, "is a future revision")) {
    return error(ErrorCode::kOutOfRange);
  }
  if (Has(said, "request is too large") || Has(said, "larger than max") ||
      Has(said, "too many operations")) {
    return error(ErrorCode::kInvalidArgument,
                 "podctl sends no more than 1 MiB at once: is etcd's --max-request-bytes smaller?");
  }
  if (status == 404) {
    return error(ErrorCode::kUnimplemented,
                 "etcd 3.4 or newer is needed, with its JSON gateway (--enable-grpc-gateway)");
  }
  if (status == 429) return error(ErrorCode::kUnavailable);  // refused before it was proposed
  if (status >= 500 || status == 408) {
    return error(writes ? ErrorCode::kReplyLost : ErrorCode::kUnavailable);
  }
  const bool plain = Has(said, "HTTP request to an HTTPS server");
  return error(ErrorCode::kInvalidArgument,
               plain ? "write etcds:// in place of etcd://" : "is the address that of etcd?");
}

// An error of the transport, in which these two codes have another meaning.
Error ErrorOf(Error error, const Place& place, bool writes) {
  // One that wants TLS hangs up on whoever does not begin it.
  if (error.code == ErrorCode::kReplyLost && place.endpoints.front().starts_with("http://")) {
    error.hint = "where etcd wants TLS, write etcds:// in place of etcd://";
  }
  if (error.code == ErrorCode::kFailedPrecondition) error.code = ErrorCode::kInvalidArgument;
  if (error.code == ErrorCode::kReplyLost && !writes) error.code = ErrorCode::kUnavailable;
  // It may have been on its way.
  if (error.code == ErrorCode::kCancelled && writes) error.code = ErrorCode::kReplyLost;
  return error;
}

// Whether the numbers of an answer to a range fit what it holds: one that speaks of keys which it
// does not hold would else be taken for there being none. protobuf's JSON leaves out what is zero.
bool FitsItsCount(const Value& answer, const Found& found, int limit) {
  const Value& kvs = answer["kvs"];
  const Value& more = answer["more"];
  const Value& count = answer["count"];
  if (!kvs.is_null() && !kvs.is_list()) return false;
  if (!more.is_null() && !more.is_bool()) return false;
  const std::int64_t held = static_cast<std::int64_t>(found.keys.size());
  const std::int64_t reported = count.is_null() ? (found.more ? -1 : held) : count.AsInt(-1);
  if (!found.more) return reported == held;
  // What lies behind a limit comes after as many as it allows.
  return limit != 0 && held == limit && (reported == -1 ? count.is_null() : reported > held);
}

Error OddAnswer(const std::string& what, bool writes) {
  return MakeError(writes ? ErrorCode::kReplyLost : ErrorCode::kDataLoss, "etcd's answer " + what,
                   "is the address that of etcd?");
}

Value::Map RangeMessage(const KeyRange& range) {
  Value::Map message{{"key", Base64Encode(range.key)}};
  if (!range.end.empty()) message["range_end"] = Base64Encode(range.end);
  return message;
}

Result<Found> FoundIn(const Value& answer, const KeyRange& range, int limit) {
  Found found;
  found.revision = RevisionOf(answer["header"]["revision"]);
  found.more = answer["more"].AsBool();
  if (found.revision < 1) return OddAnswer("names no revision", false);
  for (const Value& item : answer["kvs"].AsList()) {
    auto key = Base64Decode(item["key"].AsString());
    auto value = Base64Decode(item["value"].AsString());
    const std::int64_t revision = RevisionOf(item["mod_revision"]);
    const bool fits = key && value && revision > 0 && *key >= range.key &&
                      (range.end.empty() ? *key == range.key : *key < range.end) &&
                      (found.keys.empty() || found.keys.back().key < *key);
    if (!fits) return OddAnswer("is not one of what was asked for, in order", false);
    found.keys.push_back({*std::move(key), *std::move(value), revision, item["lease"].AsInt(0)});
  }
  if (!FitsItsCount(answer, found, limit)) {
    return OddAnswer("speaks of other keys than it holds", false);
  }
  return found;
}

}  // namespace

KeyRange BelowPrefix(const std::string& prefix) {
  PODCTL_CHECK(!prefix.empty() && prefix.back() != '\xFF');
  KeyRange range{prefix, prefix};
  range.end.back() = static_cast<char>(static_cast<unsigned char>(range.end.back()) + 1);
  return range;
}

Client::Client(Place place, Settings settings, http::Transport& transport)
    : place_(std::move(place)), settings_(std::move(settings)), transport_(transport) {
  PODCTL_CHECK(!place_.endpoints.empty());
}

// To one endpoint after the other, until one answers. `server`: who did, or did not.
Result<http::Response> Client::Send(const char* path, const std::string& body,
                                    const std::string& token, bool writes,
                                    const std::stop_token& stop, std::string* server) {
  http::Request request;
  request.method = "POST";
  request.headers = {{"Content-Type", "application/json"}};
  if (!token.empty()) request.headers.emplace_back("Authorization", token);
  request.body = body;
  request.timeout = kPatience;
  request.repeatable = !writes;  // a token is as good as the one before it
  request.settled = writes;
  const std::size_t count = place_.endpoints.size();
  const std::size_t first = first_.load();
  for (std::size_t i = 0;; ++i) {
    const std::string& endpoint = place_.endpoints[(first + i) % count];
    *server = endpoint.substr(endpoint.find("://") + 3);
    request.url = endpoint + path;
    Result<http::Response> response = transport_.Send(request, stop);
    const bool answered = response && response->status < 500;
    const bool not_sent = !response && response.error().code == ErrorCode::kUnavailable;
    const bool passes =
        not_sent || (!writes && (response ? response->status >= 500
                                          : response.error().code == ErrorCode::kReplyLost));
    // Who did not answer well is not the first to be asked the next time.
    first_.store((first + i + (answered ? 0 : 1)) % count);
    if (!passes || i + 1 == count || stop.stop_requested()) return response;
  }
}

Result<std::string> Client::Token(const std::stop_token& stop) {
  if (settings_.user.empty()) return std::string();
  std::lock_guard lock(mutex_);
  if (logged_in_) return token_;
  const std::string body =
      ToJson(Value::Map{{"name", settings_.user}, {"password", settings_.password}});
  std::string server;
  auto response = Send("/v3/auth/authenticate", body, "", false, stop, &server);
  if (!response) return ErrorOf(response.error(), place_, false);
  const std::string said = SaidBy(*response);
  if (response->status == 200) {
    const Result<Value> answer = ParseJson(response->body);
    token_ = answer ? (*answer)["token"].AsString() : "";
    if (token_.empty()) return OddAnswer("to a user's name and password holds no token", false);
  } else if (Has(said, "authentication is not enabled")) {
    token_.clear();  // everybody may do everything there
  } else if (Has(said, "authentication failed")) {
    return MakeError(
        ErrorCode::kUnauthenticated,
        fmt::format("etcd at {} does not know the user, or not by this password", server),
        "check ETCDCTL_USER (NAME:PASSWORD) or ETCDCTL_PASSWORD");
  } else {
    // Whatever it says may quote what it was asked.
    http::Response unquoted = *response;
    if (unquoted.status < 500) unquoted.body.clear();
    return ErrorOf(unquoted, server, false);
  }
  logged_in_ = true;
  return token_;
}

void Client::Forget(const std::string& token) {
  std::lock_guard lock(mutex_);
  if (token_ == token) logged_in_ = false;
}

Result<Value> Client::Ask(const char* path, const Value& message, bool writes,
                          const std::stop_token& stop) {
  if (stop.stop_requested()) return MakeError(ErrorCode::kCancelled, "stopped before sending");
  const std::string body = ToJson(message);
  for (bool again = false;; again = true) {
    Result<std::string> token = Token(stop);
    if (!token) return token.error();
    std::string server;
    auto response = Send(path, body, *token, writes, stop, &server);
    if (!response) return ErrorOf(response.error(), place_, writes);
    if (response->status == 200) {
      Result<Value> answer = ParseJson(response->body, response->body.capacity());
      if (answer && answer->is_map()) return answer;
      return OddAnswer("is not a JSON object", writes);
    }
    // Tokens end after some minutes without use, and when etcd is started anew.
    if (again || settings_.user.empty() || !WantsToken(response->status, SaidBy(*response))) {
      return ErrorOf(*response, server, writes);
    }
    Forget(*token);
  }
}

Result<Found> Client::Read(const KeyRange& range, const ReadOptions& options,
                           const std::stop_token& stop) {
  Value::Map message = RangeMessage(range);
  if (options.revision != 0) message["revision"] = std::to_string(options.revision);
  if (options.limit != 0) message["limit"] = std::to_string(options.limit);
  if (options.keys_only) message["keys_only"] = true;
  Result<Value> answer = Ask("/v3/kv/range", Value(std::move(message)), false, stop);
  if (!answer) return answer.error();
  Result<Found> found = FoundIn(*answer, range, options.limit);
  if (found) return found;
  // What is to be read there may be a state, which must not be taken for none: which one.
  Error error = found.error();
  error.message = fmt::format("cannot read {} at {}: {}", VisibleControls(range.key), place_.url,
                              error.message);
  return error;
}

Result<std::int64_t> Client::Commit(const Transaction& transaction, const std::stop_token& stop) {
  Value::List compare;
  for (const Condition& condition : transaction.conditions) {
    compare.push_back(Value::Map{{"key", Base64Encode(condition.key)},
                                 {"target", "MOD"},
                                 {"result", "EQUAL"},
                                 {"mod_revision", std::to_string(condition.revision)}});
  }
  Value::List success;
  for (const KeyRange& range : transaction.deletes) {
    success.push_back(Value::Map{{"request_delete_range", RangeMessage(range)}});
  }
  for (const Put& put : transaction.puts) {
    Value::Map one{{"key", Base64Encode(put.key)}, {"value", Base64Encode(put.value)}};
    if (put.lease != 0) one["lease"] = std::to_string(put.lease);
    success.push_back(Value::Map{{"request_put", std::move(one)}});
  }
  const Value message =
      Value::Map{{"compare", std::move(compare)}, {"success", std::move(success)}};
  Result<Value> answer = Ask("/v3/kv/txn", message, true, stop);
  if (!answer) return answer.error();
  const std::int64_t revision = RevisionOf((*answer)["header"]["revision"]);
  if (revision < 1) return OddAnswer("names no revision", true);
  if (!(*answer)["succeeded"].AsBool()) {
    return MakeError(ErrorCode::kFailedPrecondition,
                     "etcd holds another revision than the one that was to be replaced");
  }
  return revision;
}

Result<std::int64_t> Client::Grant(std::chrono::seconds life, const std::stop_token& stop) {
  const Value message = Value::Map{{"TTL", std::to_string(life.count())}};
  Result<Value> answer = Ask("/v3/lease/grant", message, true, stop);
  if (!answer) return answer.error();
  const std::int64_t lease = (*answer)["ID"].AsInt(0);
  if (lease == 0) return OddAnswer("names no lease", true);
  return lease;
}

Result<void> Client::Revoke(std::int64_t lease, const std::stop_token& stop) {
  const Value message = Value::Map{{"ID", std::to_string(lease)}};
  Result<Value> answer = Ask("/v3/lease/revoke", message, true, stop);
  if (answer) return {};
  return answer.error();
}

Result<std::chrono::seconds> Client::AgeOf(std::int64_t lease, const std::stop_token& stop) {
  const Value message = Value::Map{{"ID", std::to_string(lease)}};
  Result<Value> answer = Ask("/v3/lease/timetolive", message, false, stop);
  if (!answer) return answer.error();
  const std::int64_t granted = RevisionOf((*answer)["grantedTTL"]);
  const std::int64_t left = RevisionOf((*answer)["TTL"]);
  if (granted < 0 || left < 0 || left > granted) {
    return MakeError(ErrorCode::kNotFound, "etcd knows no such lease");
  }
  return std::chrono::seconds(granted - left);
}

}  // namespace podctl::etcd
