// The rules of a node that are not about one value's type: limits of labels and names, fields that
// exclude each other, what has to be there. What the service checks better is left to it.
//
// Sources: docs of the Node message (description, cidrBlock, networkConfig(s)), the label rules
// that gcloud applies, the node id's documented pattern.
#pragma once

#include <string>
#include <string_view>

#include "plans/spec/value_reader.h"
#include "providers/base/api_version.h"
#include "providers/base/value.h"

namespace podctl {

// `pod` is the YAML map of the pod, defaults merged, `node` what was read of it, and `version` the
// API's that it is for.
void CheckNodeRules(ValueReader& reader, const YamlNode& key, const YamlNode& pod,
                    const std::string& context, const Value& node, ApiVersion version);

// An error outside of the documented pattern, a warning outside of what Compute Engine takes.
bool CheckNodeId(ValueReader& reader, const YamlNode& at, const Slot& slot,
                 std::string_view node_id);

}  // namespace podctl
