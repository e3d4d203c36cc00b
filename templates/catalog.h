// The starter specs that are built into the binary: templates/*.yaml.tmpl, as they stand there.
//
// Knows nobody: plain text with a name and a sentence. The installed program needs no files.
#pragma once

#include <span>
#include <string_view>

namespace podctl {

struct Template {
  std::string_view name;         // "minimal"
  std::string_view description;  // one line: the template's own first line
  std::string_view text;         // a podctl.yaml
};

// By name.
std::span<const Template> Templates();
// nullptr when there is none.
const Template* FindTemplate(std::string_view name);

}  // namespace podctl
