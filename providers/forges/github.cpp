// GitHub and Gitea, whose paths are the same.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "providers/base/text.h"
#include "providers/forges/rooms.h"
#include "providers/http/url.h"

namespace podctl {
namespace {

class GitHubForge final : public Forge {
 public:
  GitHubForge(const ForgePlace& place, const ForgeDoors& doors)
      : gitea_(place.kind == ForgeKind::kGitea),
        full_name_(LowerCase(place.repository)),
        repository_("/repos/" + place.repository),
        branch_(place.branch),
        client_(place, gitea_ ? "Gitea" : "GitHub", HeadersOf(place), doors) {}

  std::string Name() const override { return client_.name(); }
  // GitHub's limit is 65,536 characters; bytes are never fewer.
  std::size_t MostBytes() const override { return 65'000; }
  std::string PullName(std::int64_t pull) const override { return fmt::format("#{}", pull); }

  Result<std::vector<ForgeComment>> Comments(std::int64_t pull, std::stop_token stop) override {
    if (auto me = FindMe(stop); !me) return me.error();
    const auto items = Pages(CommentsPath(pull), {}, stop);
    if (!items) return items.error();
    std::vector<ForgeComment> comments;
    for (const Value& item : *items) comments.push_back(CommentOf(item));
    return comments;
  }
  Result<ForgeComment> AddComment(std::int64_t pull, const std::string& text,
                                  std::stop_token stop) override {
    const auto made = client_.Send("POST", CommentsPath(pull), Value::Map{{"body", text}}, stop);
    if (!made) return made.error();
    ForgeComment comment = CommentOf(*made);
    comment.own = true;
    return comment;
  }
  Result<void> EditComment(std::int64_t, const ForgeComment& comment, const std::string& text,
                           std::stop_token stop) override {
    const auto done = client_.Send("PATCH", repository_ + "/issues/comments/" + comment.id,
                                   Value::Map{{"body", text}}, stop);
    return done ? Result<void>() : done.error();
  }
  Result<void> HideComment(std::int64_t pull, const ForgeComment& comment, const std::string& whole,
                           const std::string& line, std::stop_token stop) override {
    if (gitea_ || comment.node.empty()) return EditComment(pull, comment, line, stop);
    const auto done = client_.AskGraph(
        "mutation($id: ID!) {minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) "
        "{minimizedComment {isMinimized}}}",
        Value::Map{{"id", comment.node}}, stop);
    if (!done) return done.error();
    return EditComment(pull, comment, whole, stop);
  }

  Result<std::optional<std::int64_t>> PullOf(const std::string& commit,
                                             std::stop_token stop) override {
    const std::string path = repository_ + "/commits/" + http::PercentEncode(commit);
    const auto found = client_.Get(path + (gitea_ ? "/pull" : "/pulls"), {}, stop);
    if (!found && found.error().code == ErrorCode::kNotFound && gitea_) {
      return std::optional<std::int64_t>();  // it says so where there is none
    }
    if (!found) return found.error();
    Value::List pulls = found->AsList();
    if (found->is_map()) pulls.push_back(*found);
    // What was reviewed for another branch, or in a fork, was not reviewed for this one.
    std::erase_if(pulls, [&](const Value& pull) {
      const Value& base = pull["base"];
      return (!branch_.empty() && base["ref"].AsString() != branch_) ||
             LowerCase(base["repo"]["full_name"].AsString()) != full_name_;
    });
    const auto merged = std::find_if(pulls.begin(), pulls.end(), [&](const Value& pull) {
      return pull["merge_commit_sha"].AsString() == commit && !pull["merged_at"].is_null();
    });
    if (merged != pulls.end()) return std::optional((*merged)["number"].AsInt());
    // Rebased ones have several commits, of which only the last is told.
    const auto other = std::find_if(pulls.begin(), pulls.end(),
                                    [](const Value& pull) { return !pull["merged_at"].is_null(); });
    if (other == pulls.end()) return std::optional<std::int64_t>();
    return std::optional((*other)["number"].AsInt());
  }

  Result<BranchChanges> ChangesSince(const std::string& commit, const std::string& branch,
                                     std::stop_token stop) override {
    constexpr std::size_t kMostFiles = 300;  // as many GitHub tells
    const auto found =
        client_.Get(fmt::format("{}/compare/{}...{}", repository_, http::PercentEncode(commit),
                                http::PercentEncode(branch)),
                    {}, stop);
    if (!found) return found.error();
    BranchChanges changes;
    const auto add = [&](const Value& files) {
      for (const Value& file : files.AsList()) {
        for (const char* key : {"filename", "previous_filename"}) {
          if (!file[key].is_null()) changes.paths.push_back(file[key].AsString());
        }
      }
    };
    if (gitea_) {
      const auto& commits = (*found)["commits"].AsList();
      changes.any = (*found)["total_commits"].AsInt() > 0;
      changes.all_paths =
          static_cast<std::int64_t>(commits.size()) == (*found)["total_commits"].AsInt();
      for (const Value& each : commits) {
        add(each["files"]);
        changes.all_paths = changes.all_paths && each["files"].is_list();
      }
      return changes;
    }
    const std::string& status = (*found)["status"].AsString();
    changes.any = status != "identical";
    add((*found)["files"]);
    changes.all_paths = status == "ahead" && (*found)["files"].AsList().size() < kMostFiles;
    return changes;
  }

  Result<std::vector<ForgeIssue>> OpenIssues(std::stop_token stop) override {
    if (auto me = FindMe(stop); !me) return me.error();
    ForgeClient::Query query = {{"state", "open"}};
    // Who asks for them looks whose each is: what is named here only makes fewer of them.
    if (!gitea_) query.emplace_back("creator", me_);
    if (gitea_ && me_is_account_) query.emplace_back("created_by", me_);
    if (gitea_) query.emplace_back("type", "issues");
    if (!gitea_) query.emplace_back("direction", "asc");
    const auto items = Pages(repository_ + "/issues", std::move(query), stop);
    if (!items) return items.error();
    std::vector<ForgeIssue> issues;
    for (const Value& item : *items) {
      if (!item["pull_request"].is_null()) continue;
      issues.push_back(IssueOf(item));
    }
    std::sort(issues.begin(), issues.end(),
              [](const ForgeIssue& a, const ForgeIssue& b) { return a.number < b.number; });
    return issues;
  }
  Result<ForgeIssue> OpenIssue(const std::string& title, const std::string& text,
                               std::stop_token stop) override {
    const auto made = client_.Send("POST", repository_ + "/issues",
                                   Value::Map{{"title", title}, {"body", text}}, stop);
    if (!made) return made.error();
    return IssueOf(*made);
  }
  Result<void> EditIssue(std::int64_t issue, const std::string& title, const std::string& text,
                         std::stop_token stop) override {
    return Change(issue, Value::Map{{"title", title}, {"body", text}}, stop);
  }
  Result<void> CloseIssue(std::int64_t issue, std::stop_token stop) override {
    return Change(issue, Value::Map{{"state", "closed"}}, stop);
  }

 private:
  static std::vector<std::pair<std::string, std::string>> HeadersOf(const ForgePlace& place) {
    if (place.kind == ForgeKind::kGitea) return {{"Authorization", "token " + place.token}};
    return {{"Authorization", "Bearer " + place.token}, {"X-GitHub-Api-Version", "2022-11-28"}};
  }

  // Gitea gives 50 at most unless its administrator says otherwise.
  Result<Value::List> Pages(const std::string& path, ForgeClient::Query query,
                            const std::stop_token& stop) {
    return client_.Pages(path, std::move(query), gitea_ ? "limit" : "per_page", gitea_ ? 50 : 100,
                         stop);
  }

  // Whose token this is. That of an action may not ask who it is by GitHub's REST API, but by
  // GraphQL.
  Result<void> FindMe(const std::stop_token& stop) {
    if (!me_.empty()) return {};
    if (gitea_) {
      const auto user = client_.Get("/user", {}, stop);
      if (!user) return user.error();
      me_ = (*user)["login"].AsString();
      // A job's own token is that of a user below zero, who writes, and whom Gitea knows by no
      // name: to ask for what is his is "not found" (routers/api/v1/repo/issue.go,
      // getUserIDForFilter).
      me_is_account_ = (*user)["id"].AsInt() > 0;
    } else {
      const auto answer = client_.AskGraph("query {viewer {login}}", Value::EmptyMap(), stop);
      if (!answer) return answer.error();
      const Value* login = answer->FindPath("viewer.login");
      if (login != nullptr) me_ = login->AsString();
    }
    if (!me_.empty()) return {};
    return MakeError(ErrorCode::kDataLoss,
                     fmt::format("{} does not say whose token this is", Name()));
  }

  // GitHub's apps have "[bot]" behind their names, here and there.
  bool IsMe(const Value& user) const {
    const std::string& login = user["login"].AsString();
    if (me_.empty() || login.empty()) return false;
    if (login == me_) return true;
    return !gitea_ && user["type"].AsString() == "Bot" && login == me_ + "[bot]";
  }
  ForgeComment CommentOf(const Value& item) const {
    return {std::to_string(item["id"].AsInt()), item["node_id"].AsString(), item["body"].AsString(),
            item["html_url"].AsString(), IsMe(item["user"])};
  }
  ForgeIssue IssueOf(const Value& item) const {
    return {item["number"].AsInt(), item["title"].AsString(), item["body"].AsString(),
            item["html_url"].AsString(), IsMe(item["user"])};
  }
  std::string CommentsPath(std::int64_t pull) const {
    return fmt::format("{}/issues/{}/comments", repository_, pull);
  }
  Result<void> Change(std::int64_t issue, const Value& body, const std::stop_token& stop) {
    const auto done =
        client_.Send("PATCH", fmt::format("{}/issues/{}", repository_, issue), body, stop);
    return done ? Result<void>() : done.error();
  }

  const bool gitea_;
  const std::string full_name_;  // as the forge tells it, in lower case
  const std::string repository_;
  const std::string branch_;
  ForgeClient client_;
  std::string me_;
  bool me_is_account_ = true;
};

}  // namespace

std::unique_ptr<Forge> MakeGitHub(const ForgePlace& place, const ForgeDoors& doors) {
  return std::make_unique<GitHubForge>(place, doors);
}

}  // namespace podctl
