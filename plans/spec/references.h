// `${KIND.NAME.PATH}` in template text: finding and rendering.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/value.h"
#include "state/address.h"

namespace podctl {

struct Reference {
  Address of;        // `pod.other`
  std::string path;  // "networkEndpoints[0].ipAddress"; of a pod relative to the Node resource
};

// References in the order they stand. `$${` is skipped.
std::vector<Reference> FindReferences(std::string_view template_text);

// A literal text as template text: "${" becomes "$${".
std::string EscapeTemplate(std::string_view literal);

// What references to a thing are read from (of a pod its node), or nullptr while it is not known.
using ReferenceLookup = std::function<const Value*(const Address& of)>;

// Plain text, or nullopt when a referenced thing or path is not known yet.
std::optional<std::string> RenderText(std::string_view template_text,
                                      const ReferenceLookup& lookup);

// The first reference to a thing that is known, and has no such path: `${pod.a.labels.x}`; "":
// there is none.
std::string FindDangling(std::string_view template_text, const ReferenceLookup& lookup);

// Renders every string in `value`. Paths that cannot be rendered yet are left out of the result and
// listed in `unknown` (dotted, e.g. "labels.peer").
Value RenderValue(const Value& value, const ReferenceLookup& lookup,
                  std::vector<std::string>* unknown);

// "networkEndpoints[0].ipAddress" within a node; nullptr when absent.
const Value* FindNodePath(const Value& node, std::string_view path);

}  // namespace podctl
