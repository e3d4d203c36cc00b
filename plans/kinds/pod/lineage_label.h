// The label of the nodes that podctl makes: the lineage of the state that they were made from. By
// it those are found that no state knows any more, with gcloud or in the bill. It is nobody's
// attribute: a plan does not compare it.
#pragma once

#include <string>
#include <string_view>

#include "providers/base/value.h"

namespace podctl {

inline constexpr std::string_view kLineageLabel = "podctl-lineage";
inline constexpr std::size_t kMostLabels = 64;  // of a node (Labels, REST reference of the TPU API)

// `node`, the body of a create, with the label; as it was where it has as many as there may be.
Value WithLineage(Value node, const std::string& lineage);

// Such a node as it is but for the label.
Value WithoutLineage(Value node);

// What the label of `node` says; empty: it has none.
const std::string& LineageOf(const Value& node);

}  // namespace podctl
