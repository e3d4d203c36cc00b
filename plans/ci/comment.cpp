#include "plans/ci/comment.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "providers/base/text.h"

namespace podctl {
namespace {

// Own ones of the project, the oldest first.
Result<std::vector<ForgeComment>> OwnComments(Forge& forge, std::int64_t pull,
                                              const std::string& project,
                                              const std::stop_token& stop) {
  auto all = forge.Comments(pull, stop);
  if (!all) return all;
  std::vector<ForgeComment> own;
  for (ForgeComment& comment : *all) {
    if (!comment.own) continue;
    const auto mark = FindMark(comment.text);
    if (mark && mark->project == project) own.push_back(std::move(comment));
  }
  return own;
}

}  // namespace

Result<std::optional<std::string>> PutComment(Forge& forge, const CommentRequest& request,
                                              const std::stop_token& stop) {
  auto own = OwnComments(forge, request.pull, request.mark.project, stop);
  if (!own) return own.error();
  const std::string text = MarkedText(request.text, MarkLine(request.mark), forge.MostBytes());
  std::string url;
  if (own->empty() && request.only_edit) return std::optional<std::string>();
  if (own->empty() || request.anew) {
    const auto made = forge.AddComment(request.pull, text, stop);
    if (!made) return made.error();
    url = made->url;
  } else {
    const ForgeComment newest = std::move(own->back());
    own->pop_back();
    if (auto done = forge.EditComment(request.pull, newest, text, stop); !done) return done.error();
    url = newest.url;
  }
  for (const ForgeComment& old : *own) {
    static_cast<void>(
        forge.HideComment(request.pull, old, WithoutMark(old.text), request.outdated, stop));
  }
  return std::make_optional(std::move(url));
}

Result<std::optional<Review>> FindReview(Forge& forge, std::optional<std::int64_t> pull,
                                         const std::string& commit, const std::string& project,
                                         const std::stop_token& stop) {
  if (!pull) {
    const auto found = forge.PullOf(commit, stop);
    if (!found) return found.error();
    pull = *found;
  }
  if (!pull) return std::optional<Review>();
  auto own = OwnComments(forge, *pull, project, stop);
  if (!own) return own.error();
  Review review{*pull, std::nullopt};
  if (!own->empty()) review.mark = FindMark(own->back().text);
  return std::make_optional(std::move(review));
}

Result<std::string> WhyLate(Forge& forge, const std::string& commit, const std::string& branch,
                            const std::vector<std::string>& folders, const std::stop_token& stop) {
  const auto changes = forge.ChangesSince(commit, branch, stop);
  if (!changes) return changes.error();
  if (!changes->any) return std::string();
  const auto is_within = [&](const std::string& path) {
    // Pipelines, and pages for people: nothing of them is made or taken back.
    if (path.starts_with('.') || path.ends_with(".md")) return false;
    return std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
      return folder == "." || path.starts_with(folder + "/");
    });
  };
  const bool touched =
      !changes->all_paths || std::any_of(changes->paths.begin(), changes->paths.end(), is_within);
  if (!touched) return std::string();
  return fmt::format(
      "{} has moved on past commit {}: what it is now is applied by the run of its newest commit",
      VisibleControls(branch), VisibleControls(commit.substr(0, 12)));
}

std::string ReviewedDigest(const CommentMark& mark) {
  const bool may = mark.state == CommentMark::State::kPlanned ||
                   mark.state == CommentMark::State::kRefused ||
                   mark.state == CommentMark::State::kApplyFailed;
  return may ? mark.digest : std::string();
}

Result<DriftEnd> KeepDriftIssue(Forge& forge, const DriftRequest& request,
                                const std::stop_token& stop) {
  const auto own = [&]() -> Result<std::vector<ForgeIssue>> {
    auto all = forge.OpenIssues(stop);
    if (!all) return all;
    std::erase_if(*all, [&](const ForgeIssue& issue) {
      return !issue.own || !HasDriftMark(issue.text, request.project);
    });
    return all;
  };
  auto open = own();
  if (!open) return open.error();
  const std::string text =
      MarkedText(request.text, DriftMarkLine(request.project), forge.MostBytes());
  DriftEnd end;
  if (open->empty() && request.drifted) {
    const auto made = forge.OpenIssue(request.title, text, stop);
    if (!made) return made.error();
    end = {DriftEnd::Did::kOpened, made->number, made->url};
    open = own();  // another job may have opened one, too
    if (!open) return open.error();
  } else if (!open->empty() && request.drifted) {
    const ForgeIssue& issue = open->front();
    const auto done = forge.EditIssue(issue.number, request.title, text, stop);
    if (!done) return done.error();
    end = {DriftEnd::Did::kRefreshed, issue.number, issue.url};
  } else if (!open->empty()) {
    end = {DriftEnd::Did::kClosed, open->front().number, open->front().url};
  }
  for (std::size_t i = request.drifted ? 1 : 0; i < open->size(); ++i) {
    if (auto done = forge.CloseIssue((*open)[i].number, stop); !done) return done.error();
  }
  if (request.drifted && !open->empty()) {
    end.issue = open->front().number;
    end.url = open->front().url;
  }
  return end;
}

}  // namespace podctl
