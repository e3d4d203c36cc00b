// The line by which a pipeline finds its own comment, or its own issue, again: an HTML comment at
// the end of the text, which no reader sees.
//
// Only the last line of a text counts, and only of one that podctl's own token has written:
// whatever foreign text stands further up, such as a value in a plan that looks like a mark, is
// none. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace podctl {

struct CommentMark {
  enum class State {
    kPlanned,      // a plan, which can be applied as it was reviewed
    kPlanFailed,   // there was none
    kRefused,      // the plan was not the one that was reviewed, which may be again
    kApplied,      // what was reviewed was done
    kApplyFailed,  // not all of it
    kText,         // what somebody gave to `podctl ci comment`
  };
  std::string project;  // which of a repository's projects it is about
  State state = State::kPlanned;
  std::string digest;  // of the plan that was reviewed (plan_digest.h); empty: none was
  std::string commit;  // that it was made of; empty: not known
};

// A line of its own, without a newline.
std::string MarkLine(const CommentMark& mark);
// nullopt where the text does not end with one.
std::optional<CommentMark> FindMark(std::string_view text);
// The text without its last line, where that is a mark.
std::string WithoutMark(std::string_view text);

// Of an issue that tells of drift.
std::string DriftMarkLine(const std::string& project);
bool HasDriftMark(std::string_view text, const std::string& project);

// The text, with a mark behind it, in no more than `most` bytes: what is too long is cut at a line,
// with a note, and open fences and folds are closed.
std::string MarkedText(const std::string& text, const std::string& mark_line, std::size_t most);

}  // namespace podctl
