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

// Whether `node`, found under the name of one that the state of `lineage` knows by `uid` (empty: it
// has never heard it), is another one, which podctl made from another state. A node of the known
// uid is the known one, whatever its label says: one that was imported keeps the label it had.
bool IsOfAnotherState(const Value& node, const std::string& uid, const std::string& lineage);

// Of nodes with their uids; of a multislice ("1+2") one slice is enough, since others may be
// missing.
bool IsSameUid(std::string_view known, std::string_view seen);
// Whether one node stands in both, be it as a slice.
bool SharesUid(std::string_view a, std::string_view b);

}  // namespace podctl
