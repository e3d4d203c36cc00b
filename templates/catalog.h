// The starter specs that are built into the binary, as they stand in templates/: NAME.yaml.tmpl, or
// a folder NAME with a podctl.yaml and the files that belong to it; pipelines/ has
// such folders, too.
//
// Knows nobody: plain text with a name and a sentence. The installed program needs no files.
#pragma once

#include <span>
#include <string_view>

namespace podctl {

struct TemplateFile {
  std::string_view path;  // below the folder that the template is written to
  std::string_view text;
};

struct Template {
  std::string_view name;                // "minimal"
  std::string_view description;         // one line: the first one of its podctl.yaml
  std::string_view text;                // its podctl.yaml
  std::span<const TemplateFile> files;  // what else belongs to it, by path
};

// By name.
std::span<const Template> Templates();
// The template `gitops` for one forge each, by the forge's name: "github".
std::span<const Template> Pipelines();
// nullptr when there is none.
const Template* FindTemplate(std::string_view name);
const Template* FindPipeline(std::string_view forge);

}  // namespace podctl
