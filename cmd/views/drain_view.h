// What `podctl drain` found and ended, as text and as a document. Knows nothing of how it was
// found.
#pragma once

#include <string>
#include <vector>

#include "plans/fleet/drain.h"
#include "providers/base/value.h"

namespace podctl {

// A line for each process and lock file.
std::string LeftoversText(const std::vector<Leftover>& leftovers);
// "3 processes to end, 1 lock file to remove on 2 workers".
std::string LeftoversWords(const std::vector<Leftover>& leftovers);
// What became of them, a line each.
std::string DrainedText(const std::vector<Leftover>& leftovers, const DrainOutcome& outcome);

// `outcome`: nullptr before they are ended; then of the workers that answered.
Value DrainDocument(const std::string& pod, const std::vector<Leftover>& leftovers,
                    const DrainOutcome* outcome, bool dry_run);

}  // namespace podctl
