// Puts pods into the text of a spec file that people wrote: comments, order and layout of all that
// is there stay byte by byte.
#pragma once

#include <string>
#include <vector>

#include "plans/spec/spec_writer.h"
#include "providers/base/error.h"

namespace podctl {

// The text with `drafts` as the last pods below `pods:`. kFailedPrecondition, saying why, where
// that cannot be done safely: the pods stand in braces or behind an alias, or the text is no spec.
// What comes back has been parsed, and holds what was there and the new pods, and nothing else.
Result<std::string> AppendPods(const std::string& file, const std::string& text,
                               const std::vector<PodDraft>& drafts);

}  // namespace podctl
