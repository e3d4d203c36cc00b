// `${pod.NAME.PATH}` in template text: finding and rendering.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/value.h"

namespace podctl {

struct PodReference {
  std::string pod;   // "other"
  std::string path;  // "networkEndpoints[0].ipAddress", relative to the Node resource
};

// References in the order they stand. `$${` is skipped.
std::vector<PodReference> FindReferences(std::string_view template_text);

// A literal text as template text: "${" becomes "$${".
std::string EscapeTemplate(std::string_view literal);

// The node of a pod, or nullptr while it is not known.
using NodeLookup = std::function<const Value*(const std::string& pod)>;

// Plain text, or nullopt when a referenced pod or path is not known yet.
std::optional<std::string> RenderText(std::string_view template_text, const NodeLookup& lookup);

// Renders every string in `value`. Paths that cannot be rendered yet are left out of the result and
// listed in `unknown` (dotted, e.g. "labels.peer").
Value RenderValue(const Value& value, const NodeLookup& lookup, std::vector<std::string>* unknown);

// "networkEndpoints[0].ipAddress" within a node; nullptr when absent.
const Value* FindNodePath(const Value& node, std::string_view path);

}  // namespace podctl
