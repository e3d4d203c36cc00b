// One comment a project under a pull request: written, edited in place, and read again by the apply
// that follows the merge. Texts come from the caller; knows no plan.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "plans/ci/mark.h"
#include "providers/base/error.h"
#include "providers/forges/forge.h"

namespace podctl {

struct CommentRequest {
  std::int64_t pull = 0;
  std::string text;
  CommentMark mark;
  bool anew = false;       // a new one, since something else is to be read; the old ones are hidden
  bool only_edit = false;  // nothing is written where there is none yet
  std::string outdated;    // the line that stays of an older one where none can be hidden
};

// Returns its address, which may be empty; nullopt: nothing was written, as `only_edit` has it.
// Older ones of the project are hidden; that this fails is no error, since the new one is there.
Result<std::optional<std::string>> PutComment(Forge& forge, const CommentRequest& request,
                                              const std::stop_token& stop);

// ---- What was reviewed.

struct Review {
  std::int64_t pull = 0;
  std::optional<CommentMark> mark;  // of the newest comment; nullopt: there is none
};

// `pull`: nullopt: the one by which `commit` came. nullopt: it came by none.
Result<std::optional<Review>> FindReview(Forge& forge, std::optional<std::int64_t> pull,
                                         const std::string& commit, const std::string& project,
                                         const std::stop_token& stop);

// Why `commit` is not to be applied any more: `branch` has moved on, and something in one of
// `folders` (within the repository; ".": anywhere) with it, other than pages (*.md) and what begins
// with a dot, such as pipelines. What was taken back since would come
// again. Empty: it may be.
Result<std::string> WhyLate(Forge& forge, const std::string& commit, const std::string& branch,
                            const std::vector<std::string>& folders, const std::stop_token& stop);

// The digest that may be applied; empty: none was reviewed, or it is applied already.
std::string ReviewedDigest(const CommentMark& mark);

// ---- The one issue that tells of drift.

struct DriftRequest {
  std::string project;
  bool drifted = false;
  std::string title;
  std::string text;
};
struct DriftEnd {
  enum class Did { kNothing, kOpened, kRefreshed, kClosed };
  Did did = Did::kNothing;
  std::int64_t issue = 0;
  std::string url;  // may be empty
};

// Opens, refreshes or closes it. Where there are several, as of two jobs at once, the oldest stays.
Result<DriftEnd> KeepDriftIssue(Forge& forge, const DriftRequest& request,
                                const std::stop_token& stop);

}  // namespace podctl
