// The door to a forge (GitHub, GitLab, Gitea): comments of a pull request, and issues.
//
// It knows nothing of plans. What is read there was written by anybody. Thread safe where an
// implementation says so; podctl asks one thing after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "providers/base/error.h"

namespace podctl {

struct ForgeComment {
  std::string id;    // by which it is edited
  std::string node;  // GitHub: by which it is hidden
  std::string text;
  std::string url;   // for people; may be empty
  bool own = false;  // written by whose token this run has
};

struct ForgeIssue {
  std::int64_t number = 0;
  std::string title;
  std::string text;
  std::string url;  // for people; may be empty
  bool own = false;
};

// What came to a branch after a commit.
struct BranchChanges {
  bool any = false;
  bool all_paths = true;           // false: there are more than `paths`, or nobody knows which
  std::vector<std::string> paths;  // within the repository
};

// Errors: kUnauthenticated and kPermissionDenied (the token), kNotFound, kInvalidArgument (the
// forge refuses what it was sent), kUnavailable, kReplyLost (it may have been done), kDataLoss (the
// answer is none of such a forge), kCancelled. Messages name the server and the variable that the
// token came from, never the token.
class Forge {
 public:
  virtual ~Forge() = default;

  virtual std::string Name() const = 0;  // "GitHub"
  // How long a comment or an issue may be, in bytes.
  virtual std::size_t MostBytes() const = 0;
  // "#12" or "!12", as the forge itself calls a pull request.
  virtual std::string PullName(std::int64_t pull) const = 0;

  // The oldest first. All of them, up to a sensible limit.
  virtual Result<std::vector<ForgeComment>> Comments(std::int64_t pull, std::stop_token stop) = 0;
  virtual Result<ForgeComment> AddComment(std::int64_t pull, const std::string& text,
                                          std::stop_token stop) = 0;
  virtual Result<void> EditComment(std::int64_t pull, const ForgeComment& comment,
                                   const std::string& text, std::stop_token stop) = 0;
  // An older one: out of the way, with `whole` as its text, where the forge can do that; else it
  // is cut to `line`.
  virtual Result<void> HideComment(std::int64_t pull, const ForgeComment& comment,
                                   const std::string& whole, const std::string& line,
                                   std::stop_token stop) = 0;

  // The pull request by which `commit` came to its branch; nullopt: by none.
  virtual Result<std::optional<std::int64_t>> PullOf(const std::string& commit,
                                                     std::stop_token stop) = 0;

  // `commit`: one of `branch`, or one that it has lost.
  virtual Result<BranchChanges> ChangesSince(const std::string& commit, const std::string& branch,
                                             std::stop_token stop) = 0;

  // Open ones that whose token this is has opened, the oldest first.
  virtual Result<std::vector<ForgeIssue>> OpenIssues(std::stop_token stop) = 0;
  virtual Result<ForgeIssue> OpenIssue(const std::string& title, const std::string& text,
                                       std::stop_token stop) = 0;
  virtual Result<void> EditIssue(std::int64_t issue, const std::string& title,
                                 const std::string& text, std::stop_token stop) = 0;
  virtual Result<void> CloseIssue(std::int64_t issue, std::stop_token stop) = 0;
};

}  // namespace podctl
