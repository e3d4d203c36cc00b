// Finds and reads the files of a spec: what `-f` names, folders included. Knows YAML trees, but not
// what stands in them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plans/spec/problems.h"
#include "plans/spec/yaml_tree.h"
#include "providers/os/file_system.h"

namespace podctl {

inline constexpr const char* kDefaultSpecFile = "podctl.yaml";

struct SpecDocument {
  std::unique_ptr<SourceFile> file;
  YamlNodePtr root;  // a map; nullptr when the file was not readable, which has been reported
};

struct SpecSearch {
  bool recursive = false;                   // folders below folders, too
  std::vector<std::string> var_files = {};  // are no spec, also where a folder holds them
};

// `paths` empty: podctl.yaml in the current folder. A file named twice is read once. Of a
// folder: *.yaml and *.yml by name, but no hidden ones, variable files or *.vars.yaml; links to
// folders and hidden folders are not gone down into. `texts`: files
// whose text is given, by path, and which are not read.
std::vector<SpecDocument> ReadSpecFiles(const std::vector<std::string>& paths,
                                        const SpecSearch& search, FileSystem& files,
                                        Problems& problems,
                                        const std::map<std::string, std::string>& texts = {});
// One more file that holds a map, for variables.
SpecDocument ReadYamlFile(const std::string& path, FileSystem& files, Problems& problems);

}  // namespace podctl
