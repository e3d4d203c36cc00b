// The part of GitHub's, Gitea's or GitLab's REST API that podctl speaks to, as strict as the real
// ones: without the token nothing, pages of their sizes, and in GitLab a line that begins with a
// slash is a command. As an http::Transport, and on a port of this machine.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "providers/base/value.h"
#include "providers/http/transport.h"

namespace podctl::testing {

class ForgeServer final : public http::Transport {
 public:
  enum class Kind { kGitHub, kGitea, kGitLab };
  static constexpr const char* kToken = "the-token-of-the-run";
  static constexpr const char* kRepository = "team/pods";
  static constexpr const char* kMe = "podctl-bot";

  struct Comment {
    std::int64_t id = 0;
    std::string text;
    std::string by = kMe;
    bool hidden = false;
  };
  struct Issue {
    std::int64_t number = 0;
    std::string title;
    std::string text;
    std::string by = kMe;
    bool open = true;
  };

  explicit ForgeServer(Kind kind) : kind_(kind) {}

  Kind kind() const { return kind_; }
  // What the API's paths begin with, below the server's address.
  std::string Base() const;
  // The variables of a run's environment; `url`: of the server.
  std::map<std::string, std::string> Variables(const std::string& url) const;
  std::map<std::string, std::string> PullVariables(std::int64_t pull) const;

  // What people do.
  void AddComment(std::int64_t pull, const std::string& text, const std::string& by);
  void AddIssue(const std::string& title, const std::string& text, const std::string& by);
  void Merge(std::int64_t pull, const std::string& commit, const std::string& into = "main");
  // Something is pushed after `commit`, by which `path` changes.
  void MoveOn(const std::string& commit, const std::string& path);
  // It lists issues of everybody, whosever are asked for.
  void IgnoreWhose() { ignores_whose_ = true; }
  // The token is a job's own, and its user, in Gitea, no account that can be asked for.
  void UseJobToken() { job_token_ = true; }
  // The next request that writes is answered so.
  void FailNextWrite(int status, const std::string& body);

  std::vector<Comment> Comments(std::int64_t pull) const;
  std::vector<Issue> Issues() const;
  std::vector<std::string> Asked() const;     // "POST /repos/…"
  std::vector<std::string> Commands() const;  // that GitLab would have carried out

  http::Response Answer(const std::string& method, const std::string& target,
                        const std::map<std::string, std::string>& headers, const std::string& body);
  Result<http::Response> Send(const http::Request& request, std::stop_token stop) override;

 private:
  http::Response AnswerPath(const std::string& method, const std::string& path,
                            const std::map<std::string, std::string>& query, const Value& body);
  http::Response AnswerGraph(const Value& body);
  http::Response AnswerComments(const std::string& method, std::int64_t pull, const std::string& id,
                                const std::map<std::string, std::string>& query, const Value& body);
  http::Response AnswerIssues(const std::string& method, const std::string& number,
                              const std::map<std::string, std::string>& query, const Value& body);
  http::Response AnswerPulls(const std::string& commit);
  http::Response AnswerCompare(const std::string& from) const;
  Value CommentJson(const Comment& comment) const;
  Value IssueJson(const Issue& issue) const;
  Value UserJson(const std::string& name) const;
  http::Response Page(const Value::List& all, const std::map<std::string, std::string>& query,
                      bool paged) const;
  void NoteCommands(const std::string& text);

  const Kind kind_;
  mutable std::mutex mutex_;
  std::map<std::int64_t, std::vector<Comment>> comments_;  // by pull request
  std::map<std::string, std::int64_t> merged_;             // commit -> pull request
  std::map<std::string, std::vector<std::string>> since_;  // commit -> paths, a commit each
  std::string merged_into_ = "main";                       // the branch, of all of them
  std::vector<Issue> issues_;
  std::vector<std::string> asked_;
  std::vector<std::string> commands_;
  std::optional<http::Response> fail_;
  std::int64_t next_ = 100;
  bool ignores_whose_ = false;
  bool job_token_ = false;
};

class ForgeServerOnPort {
 public:
  explicit ForgeServerOnPort(ForgeServer& server);
  ~ForgeServerOnPort();
  std::string url() const { return url_; }  // without a slash at its end

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  std::string url_;
};

}  // namespace podctl::testing
