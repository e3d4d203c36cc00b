#include "tests/support/forge_server.h"

#include <algorithm>
#include <cstdlib>

#include "providers/base/json.h"
#include "providers/base/text.h"

namespace podctl::testing {
namespace {

using Query = std::map<std::string, std::string>;

http::Response Said(int status, const Value& body) {
  return {status, {{"content-type", "application/json"}}, ToJson(body)};
}
http::Response NotThere() {
  return Said(404, Value::Map{{"message", "Not Found"}});
}

// Of the plain values that podctl sends.
Query QueryOf(std::string_view text) {
  Query query;
  for (const std::string_view part : Split(text, "&")) {
    const auto equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    query[std::string(part.substr(0, equals))] = std::string(part.substr(equals + 1));
  }
  return query;
}

std::string Of(const Query& query, const std::string& name) {
  const auto found = query.find(name);
  return found == query.end() ? std::string() : found->second;
}

}  // namespace

std::string ForgeServer::Base() const {
  return kind_ == Kind::kGitHub ? "" : kind_ == Kind::kGitea ? "/api/v1" : "/api/v4";
}

std::map<std::string, std::string> ForgeServer::Variables(const std::string& url) const {
  if (kind_ == Kind::kGitLab) {
    return {{"GITLAB_CI", "true"},
            {"CI_API_V4_URL", url + Base()},
            {"CI_PROJECT_ID", "7"},
            {"CI_JOB_ID", "31"},
            {"CI_JOB_URL", "https://git.example.com/team/pods/-/jobs/31"},
            {"GITLAB_TOKEN", kToken}};
  }
  std::map<std::string, std::string> variables = {{"GITHUB_ACTIONS", "true"},
                                                  {"GITHUB_API_URL", url + Base()},
                                                  {"GITHUB_SERVER_URL", "https://git.example.com"},
                                                  {"GITHUB_REPOSITORY", kRepository},
                                                  {"GITHUB_RUN_ID", "31"},
                                                  {"GITHUB_RUN_NUMBER", "31"},
                                                  {"GITHUB_TOKEN", kToken}};
  if (kind_ == Kind::kGitea) variables["GITEA_ACTIONS"] = "true";
  return variables;
}

std::map<std::string, std::string> ForgeServer::PullVariables(std::int64_t pull) const {
  if (kind_ == Kind::kGitLab) return {{"CI_MERGE_REQUEST_IID", std::to_string(pull)}};
  const char* const end = kind_ == Kind::kGitea ? "/head" : "/merge";
  return {{"GITHUB_REF", "refs/pull/" + std::to_string(pull) + end}};
}

void ForgeServer::AddComment(std::int64_t pull, const std::string& text, const std::string& by) {
  const std::lock_guard lock(mutex_);
  comments_[pull].push_back({next_++, text, by, false});
}
void ForgeServer::AddIssue(const std::string& title, const std::string& text,
                           const std::string& by) {
  const std::lock_guard lock(mutex_);
  issues_.push_back({next_++, title, text, by, true});
}
void ForgeServer::Merge(std::int64_t pull, const std::string& commit, const std::string& into) {
  const std::lock_guard lock(mutex_);
  merged_[commit] = pull;
  merged_into_ = into;
}
void ForgeServer::MoveOn(const std::string& commit, const std::string& path) {
  const std::lock_guard lock(mutex_);
  since_[commit].push_back(path);
}
void ForgeServer::FailNextWrite(int status, const std::string& body) {
  const std::lock_guard lock(mutex_);
  fail_ = http::Response{status, {}, body};
}

std::vector<ForgeServer::Comment> ForgeServer::Comments(std::int64_t pull) const {
  const std::lock_guard lock(mutex_);
  const auto found = comments_.find(pull);
  return found == comments_.end() ? std::vector<Comment>() : found->second;
}
std::vector<ForgeServer::Issue> ForgeServer::Issues() const {
  const std::lock_guard lock(mutex_);
  return issues_;
}
std::vector<std::string> ForgeServer::Asked() const {
  const std::lock_guard lock(mutex_);
  return asked_;
}
std::vector<std::string> ForgeServer::Commands() const {
  const std::lock_guard lock(mutex_);
  return commands_;
}

Value ForgeServer::UserJson(const std::string& name) const {
  if (kind_ == Kind::kGitLab) return Value::Map{{"id", name == kMe ? 5 : 6}, {"username", name}};
  // An app's name has "[bot]" behind it where GitHub tells of what it did.
  const bool app = kind_ == Kind::kGitHub && name == kMe;
  const std::int64_t id = kind_ == Kind::kGitea && job_token_ && name == kMe ? -2 : 5;
  return Value::Map{
      {"id", id}, {"login", app ? name + "[bot]" : name}, {"type", app ? "Bot" : "User"}};
}

Value ForgeServer::CommentJson(const Comment& comment) const {
  if (kind_ == Kind::kGitLab) {
    return Value::Map{{"id", comment.id},
                      {"body", comment.text},
                      {"system", false},
                      {"author", UserJson(comment.by)}};
  }
  return Value::Map{{"id", comment.id},
                    {"node_id", "IC_" + std::to_string(comment.id)},
                    {"body", comment.text},
                    {"user", UserJson(comment.by)},
                    {"html_url", "https://git.example.com/c/" + std::to_string(comment.id)}};
}

Value ForgeServer::IssueJson(const Issue& issue) const {
  const std::string url = "https://git.example.com/i/" + std::to_string(issue.number);
  if (kind_ == Kind::kGitLab) {
    return Value::Map{{"id", issue.number + 9000},    {"iid", issue.number},
                      {"title", issue.title},         {"description", issue.text},
                      {"author", UserJson(issue.by)}, {"web_url", url}};
  }
  return Value::Map{{"id", issue.number + 9000},  {"number", issue.number},
                    {"title", issue.title},       {"body", issue.text},
                    {"user", UserJson(issue.by)}, {"html_url", url}};
}

http::Response ForgeServer::Page(const Value::List& all, const Query& query, bool paged) const {
  if (!paged) return Said(200, Value(all));
  const int most = kind_ == Kind::kGitea ? 50 : 100;
  const std::string said = Of(query, kind_ == Kind::kGitea ? "limit" : "per_page");
  const int size = said.empty() ? 30 : std::min(most, std::atoi(said.c_str()));
  const int page = Of(query, "page").empty() ? 1 : std::atoi(Of(query, "page").c_str());
  const auto begin = std::min(all.size(), static_cast<std::size_t>((page - 1) * size));
  const auto end = std::min(all.size(), begin + static_cast<std::size_t>(size));
  return Said(200, Value(Value::List(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                     all.begin() + static_cast<std::ptrdiff_t>(end))));
}

void ForgeServer::NoteCommands(const std::string& text) {
  if (kind_ != Kind::kGitLab) return;
  for (const std::string& line : SplitLines(text)) {
    if (TrimBlanks(line).starts_with('/')) commands_.push_back(line);
  }
}

http::Response ForgeServer::AnswerComments(const std::string& method, std::int64_t pull,
                                           const std::string& id, const Query& query,
                                           const Value& body) {
  std::vector<Comment>& comments = comments_[pull];
  if (method == "GET") {
    Value::List all;
    for (const Comment& comment : comments) all.push_back(CommentJson(comment));
    return Page(all, query, kind_ != Kind::kGitea);  // Gitea gives all of them, whatever is asked
  }
  const std::string& text = body["body"].AsString();
  if (text.empty()) return Said(422, Value::Map{{"message", "body is empty"}});
  if (kind_ == Kind::kGitHub && text.size() > 65'536) {
    return Said(422, Value::Map{{"message", "body is too long (maximum is 65536 characters)"}});
  }
  NoteCommands(text);
  if (method == "POST" && id.empty()) {
    comments.push_back({next_++, text, kMe, false});
    return Said(201, CommentJson(comments.back()));
  }
  if (method != (kind_ == Kind::kGitLab ? "PUT" : "PATCH")) return NotThere();
  for (auto& [of, each] : comments_) {
    for (Comment& comment : each) {
      if (std::to_string(comment.id) != id) continue;
      comment.text = text;
      return Said(200, CommentJson(comment));
    }
  }
  return NotThere();
}

http::Response ForgeServer::AnswerIssues(const std::string& method, const std::string& number,
                                         const Query& query, const Value& body) {
  const bool gitlab = kind_ == Kind::kGitLab;
  if (method == "GET") {
    Value::List all;
    std::string by = Of(query, kind_ == Kind::kGitea ? "created_by" : "creator");
    if (gitlab) by = Of(query, "scope") == "created_by_me" ? kMe : "";
    if (kind_ == Kind::kGitea && job_token_ && by == kMe) return NotThere();
    if (ignores_whose_) by.clear();
    for (const Issue& issue : issues_) {
      if (issue.open && (by.empty() || issue.by == by)) all.push_back(IssueJson(issue));
    }
    return Page(all, query, true);
  }
  const std::string& text = body[gitlab ? "description" : "body"].AsString();
  NoteCommands(text);
  if (method == "POST") {
    issues_.push_back({next_++, body["title"].AsString(), text, kMe, true});
    return Said(201, IssueJson(issues_.back()));
  }
  for (Issue& issue : issues_) {
    if (std::to_string(issue.number) != number) continue;
    if (!body["title"].is_null()) issue.title = body["title"].AsString();
    if (!text.empty()) issue.text = text;
    if (body["state"].AsString() == "closed" || body["state_event"].AsString() == "close") {
      issue.open = false;
    }
    return Said(200, IssueJson(issue));
  }
  return NotThere();
}

http::Response ForgeServer::AnswerPulls(const std::string& commit) {
  const auto found = merged_.find(commit);
  if (found == merged_.end()) {
    return kind_ == Kind::kGitea ? NotThere() : Said(200, Value::EmptyList());
  }
  const Value base =
      Value::Map{{"ref", merged_into_}, {"repo", Value::Map{{"full_name", kRepository}}}};
  const Value pull = Value::Map{{"number", found->second},
                                {"iid", found->second},
                                {"id", 77},
                                {"state", kind_ == Kind::kGitLab ? "merged" : "closed"},
                                {"merged_at", "2026-11-20T14:29:43Z"},
                                {"merge_commit_sha", commit},
                                {"target_branch", merged_into_},
                                {"base", base}};
  return Said(200, kind_ == Kind::kGitea ? pull : Value(Value::List{pull}));
}

http::Response ForgeServer::AnswerCompare(const std::string& from) const {
  const auto found = since_.find(from);
  const auto paths = found == since_.end() ? std::vector<std::string>() : found->second;
  Value::List files;
  Value::List commits;
  Value::List diffs;
  for (const std::string& path : paths) {
    const Value file = Value::Map{{"filename", path}, {"status", "modified"}};
    files.push_back(file);
    commits.emplace_back(Value::Map{{"sha", "c"}, {"files", Value::List{file}}});
    diffs.emplace_back(Value::Map{{"old_path", path}, {"new_path", path}});
  }
  const auto count = static_cast<std::int64_t>(paths.size());
  if (kind_ == Kind::kGitLab) {
    return Said(200, Value::Map{{"commits", std::move(commits)},
                                {"diffs", std::move(diffs)},
                                {"compare_timeout", false}});
  }
  if (kind_ == Kind::kGitea) {
    return Said(200, Value::Map{{"total_commits", count}, {"commits", std::move(commits)}});
  }
  return Said(200, Value::Map{{"status", paths.empty() ? "identical" : "ahead"},
                              {"ahead_by", count},
                              {"total_commits", count},
                              {"files", std::move(files)}});
}

http::Response ForgeServer::AnswerGraph(const Value& body) {
  const std::string& question = body["query"].AsString();
  if (question.find("viewer") != std::string::npos) {
    Value data;
    data.SetPath("data.viewer.login", kMe);
    return Said(200, data);
  }
  if (question.find("minimizeComment") == std::string::npos) return NotThere();
  for (auto& [pull, comments] : comments_) {
    for (Comment& comment : comments) {
      if ("IC_" + std::to_string(comment.id) == body["variables"]["id"].AsString()) {
        comment.hidden = true;
      }
    }
  }
  Value data;
  data.SetPath("data.minimizeComment.minimizedComment.isMinimized", true);
  return Said(200, data);
}

http::Response ForgeServer::AnswerPath(const std::string& method, const std::string& path,
                                       const Query& query, const Value& body) {
  if (path == "/graphql" && kind_ == Kind::kGitHub) return AnswerGraph(body);
  if (path == "/user" && kind_ != Kind::kGitHub) return Said(200, UserJson(kMe));
  const std::string project =
      kind_ == Kind::kGitLab ? "/projects/7" : std::string("/repos/") + kRepository;
  if (!path.starts_with(project + "/")) return NotThere();
  const std::string rest = path.substr(project.size() + 1);
  const auto parts = Split(rest, "/");
  const auto part = [&](std::size_t i) {
    return i < parts.size() ? std::string(parts[i]) : std::string();
  };
  if (kind_ == Kind::kGitLab) {
    if (part(0) == "merge_requests" && part(2) == "notes") {
      return AnswerComments(method, std::atoll(part(1).c_str()), part(3), query, body);
    }
    if (part(0) == "repository" && part(3) == "merge_requests") return AnswerPulls(part(2));
    if (part(0) == "repository" && part(1) == "compare") {
      return Of(query, "to") == "main" ? AnswerCompare(Of(query, "from")) : NotThere();
    }
    if (part(0) == "issues") return AnswerIssues(method, part(1), query, body);
    return NotThere();
  }
  if (part(0) == "issues" && part(1) == "comments") {
    return AnswerComments(method, 0, part(2), query, body);
  }
  if (part(0) == "issues" && part(2) == "comments") {
    return AnswerComments(method, std::atoll(part(1).c_str()), "", query, body);
  }
  if (part(0) == "compare") {
    const auto dots = part(1).find("...");
    if (dots == std::string::npos || part(1).substr(dots + 3) != "main") return NotThere();
    return AnswerCompare(part(1).substr(0, dots));
  }
  if (part(0) == "commits" && part(2) == (kind_ == Kind::kGitea ? "pull" : "pulls")) {
    return AnswerPulls(part(1));
  }
  return part(0) == "issues" ? AnswerIssues(method, part(1), query, body) : NotThere();
}

http::Response ForgeServer::Answer(const std::string& method, const std::string& target,
                                   const std::map<std::string, std::string>& headers,
                                   const std::string& body) {
  const std::lock_guard lock(mutex_);
  const auto mark = std::min(target.find('?'), target.size());
  std::string path = target.substr(0, mark);
  asked_.push_back(method + " " + path);
  const std::string name = kind_ == Kind::kGitLab ? "private-token" : "authorization";
  const std::string token = kind_ == Kind::kGitLab  ? kToken
                            : kind_ == Kind::kGitea ? std::string("token ") + kToken
                                                    : std::string("Bearer ") + kToken;
  const auto given = headers.find(name);
  if (given == headers.end() || given->second != token) {
    // A server may repeat what it was sent.
    return Said(401, Value::Map{{"message",
                                 "bad credentials: " + (given == headers.end() ? std::string("none")
                                                                               : given->second)}});
  }
  if (!path.starts_with(Base())) return NotThere();
  path = path.substr(Base().size());
  if (method != "GET" && path != "/graphql" && fail_) return *std::exchange(fail_, std::nullopt);
  const auto read = body.empty() ? Result<Value>(Value()) : ParseJson(body);
  if (!read) return Said(400, Value::Map{{"message", "this is not JSON"}});
  const std::string query = mark < target.size() ? target.substr(mark + 1) : std::string();
  return AnswerPath(method, path, QueryOf(query), *read);
}

Result<http::Response> ForgeServer::Send(const http::Request& request, std::stop_token stop) {
  if (stop.stop_requested()) return MakeError(ErrorCode::kCancelled, "stopped");
  std::map<std::string, std::string> headers;
  for (const auto& [name, value] : request.headers) headers[LowerCase(name)] = value;
  const auto slash = request.url.find('/', request.url.find("://") + 3);
  return Answer(request.method, request.url.substr(slash), headers, request.body);
}

}  // namespace podctl::testing
