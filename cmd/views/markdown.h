// A plan as a comment for a pull request: GitHub Flavored Markdown, as GitLab reads it too.
//
// What a reviewer decides by stands above the fold: the counts, what is destroyed or replaced, and
// each change with its reason; long lists end with how many more there are.
//
// Whatever stands in names, values and the service's sentences is shown as text: it cannot end a
// fence, add markup or mention somebody. Stays below GitHub's limit of 65,536 characters.
#pragma once

#include <string>
#include <vector>

#include "plans/engine/change.h"
#include "providers/base/diagnostic.h"

namespace podctl {

// `plan`: nullptr when none could be made; `diagnostics` say why then, and hold warnings otherwise.
std::string MarkdownOf(const Plan* plan, const Diagnostics& diagnostics,
                       const std::vector<std::string>& notes);

}  // namespace podctl
