// Where a long spec can be cut in two, so that both halves are read at once. Knows text, no YAML:
// whoever cuts must make sure that both halves are what the whole is.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace podctl {

// The offset of a line behind the middle of `text` that looks like the key of a pod: below a
// `pods:` that stands at the beginning of a line, and indented as the first pod is. nullopt: there
// is none.
std::optional<std::size_t> FindPodsCut(std::string_view text);

}  // namespace podctl
