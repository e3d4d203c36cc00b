#include "tests/support/state_server.h"

#include <fmt/format.h>

#include "providers/base/digest.h"
#include "providers/base/encoding.h"
#include "providers/base/json.h"

namespace podctl::testing {
namespace {

constexpr const char* kGitLabPath = "/api/v4/projects/7/terraform/state/pods";
constexpr const char* kGiteaPath = "/api/packages/team/terraform/state/pods";

http::Response Status(int status, const std::string& body = "") {
  return {status, {}, body};
}

http::Response Said(int status, const std::string& message) {
  return Status(status, ToJson(Value(Value::Map{{"message", message}})));
}

}  // namespace

struct StateServer::Ask {
  std::string method;
  std::string path;
  std::optional<std::string> id;  // of the query
  std::string body;
  Value json;  // null: it is none
};

std::string StateServer::path() const {
  switch (kind_) {
    case Kind::kGitLab:
      return kGitLabPath;
    case Kind::kGitea:
      return kGiteaPath;
    case Kind::kPlain:
      break;
  }
  return "/states/pods";
}

http::Response StateServer::Answer(const std::string& method, const std::string& target,
                                   const std::map<std::string, std::string>& headers,
                                   const std::string& body) {
  const std::lock_guard guard(mutex_);
  if (away_) return Status(503);
  const auto header = [&](const char* name) {
    const auto it = headers.find(name);
    return it == headers.end() ? "" : it->second;
  };
  if (header("authorization") != "Basic " + Base64Encode(std::string(kUser) + ":" + kPassword)) {
    return Said(401, "401 Unauthorized");
  }
  const std::string sum = header("content-md5");
  if (!sum.empty() && sum != Base64Encode(Md5Bytes(body))) return Said(400, "Content-MD5");
  Ask ask{method, target.substr(0, target.find('?')), std::nullopt, body, Value()};
  const auto query = target.find("?ID=");
  if (query != std::string::npos) ask.id = target.substr(query + 4);
  if (auto json = ParseJson(body)) ask.json = *std::move(json);
  if (method != "GET" && header("content-type") != "application/json") {
    return Said(415, "The provided content-type is not supported.");
  }
  if (ask.path == path() && method == "GET") return Read(ask);
  if (ask.path == path() && method == "POST") return Save(ask);
  if (kind_ == Kind::kPlain) {
    if (ask.path == path() && method == "LOCK") return Lock(ask);
    if (ask.path == path() && method == "UNLOCK") return Unlock(ask);
    return Status(405);
  }
  if (ask.path == path() + "/lock" && method == "POST") return Lock(ask);
  if (ask.path == path() + "/lock" && method == "DELETE") return Unlock(ask);
  if (ask.path.starts_with(path() + "/versions/") && method == "GET") return Read(ask);
  return Said(404, "404 Not Found");
}

http::Response StateServer::Read(const Ask& ask) {
  const std::string versions = path() + "/versions/";
  if (ask.path.starts_with(versions)) {
    const auto it = versions_.find(std::stoull(ask.path.substr(versions.size())));
    return it == versions_.end() ? Said(404, "404 Not Found") : Status(200, it->second);
  }
  if (stored_) {
    return {200, {{"content-md5", Base64Encode(Md5Bytes(*stored_))}}, *stored_};
  }
  return known_ && kind_ == Kind::kGitLab ? Status(204) : Said(404, "404 Not found");
}

http::Response StateServer::Save(const Ask& ask) {
  if (!moved_to_.empty()) return {307, {{"location", moved_to_}}, ""};
  if (kind_ == Kind::kGitLab) {
    if (ask.body.empty()) return Status(204);
    if (!ask.json["serial"].is_int()) return Said(422, "No serial in payload");
    // Nobody there turns this refusal into words.
    if (lock_id_ != ask.id.value_or("")) return Said(500, "500 Internal Server Error");
  } else if (!lock_id_.empty() && lock_id_ != ask.id.value_or("")) {
    return LockHeld(ask);
  }
  const auto serial = static_cast<std::uint64_t>(ask.json["serial"].AsInt());
  if (kind_ == Kind::kGitea && (serial == 0 || ask.json["lineage"].AsString().empty())) {
    return Status(400, "state serial is missing");
  }
  if (kind_ != Kind::kPlain && !versions_.emplace(serial, ask.body).second) {
    return kind_ == Kind::kGitLab
               ? Said(422, "PG::UniqueViolation: duplicate key value violates unique constraint")
               : Status(409, "package file already exists");
  }
  known_ = true;
  stored_ = ask.body;
  return Status(kind_ == Kind::kGitea ? 201 : 200);
}

// GitLab knows the holder's ID and user, and sends the asker's own words back for the rest.
http::Response StateServer::LockHeld(const Ask& ask) const {
  if (kind_ != Kind::kGitLab) return Status(423, lock_text_);
  Value told = ask.json;
  told.Set("ID", lock_id_);
  told.Set("Who", "gitlab-user");
  told.Set("Created", "2026-11-20T14:29:00.123Z");
  return Status(409, ToJson(told));
}

http::Response StateServer::Lock(const Ask& ask) {
  for (const char* const member :
       {"ID", "Operation", "Info", "Who", "Version", "Created", "Path"}) {
    if (!ask.json[member].is_string()) return Said(400, fmt::format("{} is missing", member));
  }
  const std::string id = ask.json["ID"].AsString();
  if (id.empty() || id.size() > 255) return Said(400, "ID is too long (maximum is 255)");
  known_ = true;
  if (!lock_id_.empty()) return LockHeld(ask);
  lock_id_ = id;
  lock_text_ = ask.body;
  if (kind_ == Kind::kGitea) {
    Value kept = Value::EmptyMap();
    for (const char* const member :
         {"ID", "Operation", "Info", "Who", "Version", "Created", "Path"}) {
      kept.Set(member, ask.json[member]);
    }
    lock_text_ = ToJson(kept);
  }
  return Status(200);
}

http::Response StateServer::Unlock(const Ask& ask) {
  const std::string id = ask.id.value_or(ask.json["ID"].AsString());
  if (kind_ == Kind::kGitLab) {
    if (!id.empty() && id != lock_id_) return Status(409);
    lock_id_.clear();
    return Status(200);
  }
  if (id.empty()) return Status(400, "terraform lock is missing an ID");
  if (lock_id_.empty()) return Status(200);
  if (id != lock_id_)
    return kind_ == Kind::kGitea ? Status(423, "lock ID mismatch") : Status(409, lock_text_);
  lock_id_.clear();
  return Status(200);
}

std::optional<std::string> StateServer::Stored() {
  const std::lock_guard guard(mutex_);
  return stored_;
}

void StateServer::Overwrite(const std::string& bytes) {
  const std::lock_guard guard(mutex_);
  known_ = true;
  stored_ = bytes;
}

void StateServer::Remove() {
  const std::lock_guard guard(mutex_);
  known_ = false;
  stored_.reset();
  versions_.clear();
  lock_id_.clear();
}

std::string StateServer::LockId() {
  const std::lock_guard guard(mutex_);
  return lock_id_;
}

void StateServer::GoAway(bool away) {
  const std::lock_guard guard(mutex_);
  away_ = away;
}

void StateServer::MoveAway(const std::string& to) {
  const std::lock_guard guard(mutex_);
  moved_to_ = to;
}

void StateServer::BreakLock() {
  const std::lock_guard guard(mutex_);
  lock_id_.clear();
}

std::size_t StateServer::Versions() {
  const std::lock_guard guard(mutex_);
  return versions_.size();
}

void StateServerTransport::FailAt(int k, Fault fault, int status, int times) {
  sent_ = 0;
  fail_from_ = k;
  fail_times_ = times;
  fault_ = fault;
  status_ = status;
}

Result<http::Response> StateServerTransport::Send(const http::Request& request,
                                                  std::stop_token stop) {
  if (stop.stop_requested()) return MakeError(ErrorCode::kCancelled, "stopped");
  const auto slash = request.url.find('/', request.url.find("://") + 3);
  const std::string target = request.url.substr(slash);
  asked_.push_back(request.method + " " + target);
  const int k = sent_++;
  const bool fails = k >= fail_from_ && k < fail_from_ + fail_times_ && fail_from_ >= 0;
  const Fault fault = fails ? fault_ : Fault::kNone;
  if (fault == Fault::kNoConnection) return MakeError(ErrorCode::kUnavailable, "no connection");
  if (fault == Fault::kLostBefore) return MakeError(ErrorCode::kReplyLost, "cut");
  if (fault == Fault::kStatus) return Status(status_, "<html>trouble</html>");
  if (fault == Fault::kLate) {
    late_ = request;
    return MakeError(ErrorCode::kReplyLost, "cut");
  }
  auto response = Carry(request);
  if (late_) Carry(*std::exchange(late_, std::nullopt));
  if (fault == Fault::kLostAfter) return MakeError(ErrorCode::kReplyLost, "cut");
  return response;
}

http::Response StateServerTransport::Carry(const http::Request& request) {
  const auto slash = request.url.find('/', request.url.find("://") + 3);
  std::map<std::string, std::string> headers;
  for (const auto& [name, value] : request.headers) {
    std::string lower = name;
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    headers[lower] = value;
  }
  return server_.Answer(request.method, request.url.substr(slash), headers, request.body);
}

}  // namespace podctl::testing
