// Puts one YAML map under another: `defaults` under a pod, one file's `defaults` beside another's.
#pragma once

#include "plans/spec/problems.h"
#include "plans/spec/yaml_tree.h"

namespace podctl {

// What `over` says wins; maps are merged deep, everything else is taken whole. A metadata entry is
// taken whole too ({file: …} of the pod is not mixed with {env: …} of the defaults), and of two
// keys that exclude each other the pod's alone is kept.
YamlNodePtr MergeUnder(const YamlNodePtr& under, const YamlNodePtr& over);

// Two maps of equal rank: the same key in both with another value is an error with both places.
YamlNodePtr MergeEqual(const YamlNodePtr& first, const YamlNodePtr& second,
                       const std::string& context, Problems& problems);

}  // namespace podctl
