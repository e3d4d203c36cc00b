// A plan as a comment for a pull request: GitHub Flavored Markdown, as GitLab reads it too.
//
// What a reviewer decides by stands above the fold: the counts, what is destroyed or replaced, and
// each change with its reason; long lists end with how many more there are.
//
// Whatever stands in names, values and the service's sentences is shown as text: it cannot end a
// fence, add markup or mention somebody. Stays below GitHub's limit of 65,536 characters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plans/engine/change.h"
#include "providers/base/diagnostic.h"

namespace podctl {

// What stands around the plan.
struct CommentForm {
  std::string headline = {};   // in place of what the plan's own counts say; no markup of others
  std::string paragraph = {};  // below it
  bool acts_are_past = false;  // the plan was carried out: what it would lose is no news
  std::string last_line = "<!-- podctl plan -->";  // empty: none
};

// `plan`: nullptr when none could be made; `diagnostics` say why then, and hold warnings otherwise.
std::string MarkdownOf(const Plan* plan, const Diagnostics& diagnostics,
                       const std::vector<std::string>& notes, const CommentForm& form = {});

// "1 to add, 0 to change, 0 to destroy", "no changes", "failed": what a comment's title says.
std::string PlanTitle(const Plan* plan, bool failed);

// Foreign text as a code span, in which nothing is markup or a mention; in one line, and cut where
// it is long.
std::string MarkdownCode(std::string_view text);

}  // namespace podctl
