// What this binary was built from and how. The values stand in a file that each build looks after
// (cmd/build_facts.cmake): a new commit compiles that file again and no other.
#pragma once

#include <string_view>

namespace podctl {

struct BuildFacts {
  std::string_view commit;    // its 40 digits; empty: it was not built in a checkout of git
  bool modified;              // files of that commit were changed
  std::string_view type;      // CMake's: "Release"
  std::string_view compiler;  // "GNU 12.2.0"
  std::string_view yaml_cpp;  // which does not say itself what it is: as CMake found it
};
extern const BuildFacts kBuildFacts;

}  // namespace podctl
