// GitLab, in whose notes a line that begins with a slash is a command ("/close").
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "providers/base/text.h"
#include "providers/forges/rooms.h"
#include "providers/http/url.h"

namespace podctl {
namespace {

// The same text, in which no line is a command. Within a fence it would be none, but what a fence
// is has more than one opinion.
std::string WithoutCommands(const std::string& text) {
  std::string safe;
  safe.reserve(text.size());
  bool begins = true;
  for (const char c : text) {
    if (begins && c == '/') {
      safe += "&#47;";
    } else {
      safe += c;
    }
    begins = c == '\n' || (begins && (c == ' ' || c == '\t' || c == '\r'));
  }
  return safe;
}

class GitLabForge final : public Forge {
 public:
  GitLabForge(const ForgePlace& place, const ForgeDoors& doors)
      : project_("/projects/" + place.repository),
        branch_(place.branch),
        client_(place, "GitLab", {{"PRIVATE-TOKEN", place.token}}, doors) {}

  std::string Name() const override { return client_.name(); }
  // Its limit is 1,000,000 characters; nobody reads as many.
  std::size_t MostBytes() const override { return 65'000; }
  std::string PullName(std::int64_t pull) const override { return fmt::format("!{}", pull); }

  Result<std::vector<ForgeComment>> Comments(std::int64_t pull, std::stop_token stop) override {
    if (auto me = FindMe(stop); !me) return me.error();
    const auto items = Pages(NotesPath(pull), {{"sort", "asc"}, {"order_by", "created_at"}}, stop);
    if (!items) return items.error();
    std::vector<ForgeComment> comments;
    for (const Value& item : *items) {
      if (!item["system"].AsBool()) comments.push_back(CommentOf(item));
    }
    return comments;
  }
  Result<ForgeComment> AddComment(std::int64_t pull, const std::string& text,
                                  std::stop_token stop) override {
    const auto made =
        client_.Send("POST", NotesPath(pull), Value::Map{{"body", WithoutCommands(text)}}, stop);
    if (!made) return made.error();
    ForgeComment comment = CommentOf(*made);
    comment.own = true;
    return comment;
  }
  Result<void> EditComment(std::int64_t pull, const ForgeComment& comment, const std::string& text,
                           std::stop_token stop) override {
    const auto done = client_.Send("PUT", NotesPath(pull) + "/" + comment.id,
                                   Value::Map{{"body", WithoutCommands(text)}}, stop);
    return done ? Result<void>() : done.error();
  }
  Result<void> HideComment(std::int64_t pull, const ForgeComment& comment, const std::string&,
                           const std::string& line, std::stop_token stop) override {
    return EditComment(pull, comment, line, stop);
  }

  Result<std::optional<std::int64_t>> PullOf(const std::string& commit,
                                             std::stop_token stop) override {
    const auto found = client_.Get(fmt::format("{}/repository/commits/{}/merge_requests", project_,
                                               http::PercentEncode(commit)),
                                   {{"state", "merged"}}, stop);
    if (!found) return found.error();
    const auto& all = found->AsList();
    // What was reviewed for another branch was not reviewed for this one.
    const auto merged = [&](const Value& pull) {
      return pull["state"].AsString() == "merged" &&
             (branch_.empty() || pull["target_branch"].AsString() == branch_);
    };
    auto one = std::find_if(all.begin(), all.end(), [&](const Value& pull) {
      return merged(pull) && (pull["merge_commit_sha"].AsString() == commit ||
                              pull["squash_commit_sha"].AsString() == commit);
    });
    if (one == all.end()) one = std::find_if(all.begin(), all.end(), merged);
    if (one == all.end()) return std::optional<std::int64_t>();
    return std::optional((*one)["iid"].AsInt());
  }

  Result<BranchChanges> ChangesSince(const std::string& commit, const std::string& branch,
                                     std::stop_token stop) override {
    constexpr std::size_t kMostDiffs = 100;  // more it may leave out
    const auto found =
        client_.Get(project_ + "/repository/compare", {{"from", commit}, {"to", branch}}, stop);
    if (!found) return found.error();
    BranchChanges changes;
    changes.any = !(*found)["commits"].AsList().empty();
    const auto& diffs = (*found)["diffs"].AsList();
    changes.all_paths = !(*found)["compare_timeout"].AsBool() && diffs.size() < kMostDiffs;
    for (const Value& diff : diffs) {
      changes.paths.push_back(diff["new_path"].AsString());
      changes.paths.push_back(diff["old_path"].AsString());
    }
    return changes;
  }

  Result<std::vector<ForgeIssue>> OpenIssues(std::stop_token stop) override {
    if (auto me = FindMe(stop); !me) return me.error();
    const auto items =
        Pages(project_ + "/issues",
              {{"state", "opened"}, {"scope", "created_by_me"}, {"sort", "asc"}}, stop);
    if (!items) return items.error();
    std::vector<ForgeIssue> issues;
    for (const Value& item : *items) issues.push_back(IssueOf(item));
    std::sort(issues.begin(), issues.end(),
              [](const ForgeIssue& a, const ForgeIssue& b) { return a.number < b.number; });
    return issues;
  }
  Result<ForgeIssue> OpenIssue(const std::string& title, const std::string& text,
                               std::stop_token stop) override {
    const auto made =
        client_.Send("POST", project_ + "/issues",
                     Value::Map{{"title", title}, {"description", WithoutCommands(text)}}, stop);
    if (!made) return made.error();
    return IssueOf(*made);
  }
  Result<void> EditIssue(std::int64_t issue, const std::string& title, const std::string& text,
                         std::stop_token stop) override {
    return Change(issue, Value::Map{{"title", title}, {"description", WithoutCommands(text)}},
                  stop);
  }
  Result<void> CloseIssue(std::int64_t issue, std::stop_token stop) override {
    return Change(issue, Value::Map{{"state_event", "close"}}, stop);
  }

 private:
  Result<Value::List> Pages(const std::string& path, ForgeClient::Query query,
                            const std::stop_token& stop) {
    return client_.Pages(path, std::move(query), "per_page", 100, stop);
  }
  Result<void> FindMe(const std::stop_token& stop) {
    if (me_ != 0) return {};
    const auto user = client_.Get("/user", {}, stop);
    if (!user) return user.error();
    me_ = (*user)["id"].AsInt();
    if (me_ != 0) return {};
    return MakeError(ErrorCode::kDataLoss, "GitLab does not say whose token this is");
  }
  ForgeComment CommentOf(const Value& item) const {
    return {std::to_string(item["id"].AsInt()), "", item["body"].AsString(), "",
            me_ != 0 && item["author"]["id"].AsInt() == me_};
  }
  ForgeIssue IssueOf(const Value& item) const {
    return {item["iid"].AsInt(), item["title"].AsString(), item["description"].AsString(),
            item["web_url"].AsString(), me_ != 0 && item["author"]["id"].AsInt() == me_};
  }
  std::string NotesPath(std::int64_t pull) const {
    return fmt::format("{}/merge_requests/{}/notes", project_, pull);
  }
  Result<void> Change(std::int64_t issue, const Value& body, const std::stop_token& stop) {
    const auto done = client_.Send("PUT", fmt::format("{}/issues/{}", project_, issue), body, stop);
    return done ? Result<void>() : done.error();
  }

  const std::string project_;
  const std::string branch_;
  ForgeClient client_;
  std::int64_t me_ = 0;
};

}  // namespace

std::unique_ptr<Forge> MakeGitLab(const ForgePlace& place, const ForgeDoors& doors) {
  return std::make_unique<GitLabForge>(place, doors);
}

}  // namespace podctl
