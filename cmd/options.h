// What the flags of every command said. A command's own options stand with it.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace podctl {

inline constexpr std::string_view kVersion = PODCTL_VERSION;

struct GlobalOptions {
  std::string command_line;        // as others may read it (command_line.h)
  std::vector<std::string> files;  // -f; empty: podctl.yaml
  bool recursive = false;          // -R: folders of `files` with all below them
  std::string state;               // --state; empty: what the spec says
  std::optional<std::string> project;
  std::optional<std::string> zone;
  std::optional<std::string> endpoint;
  std::map<std::string, std::string> vars;
  std::vector<std::string> var_files;
  int parallelism = 10;
  int state_history = 5;  // generations of the state that are kept
  std::chrono::milliseconds lock_timeout{0};
  bool json = false;
  bool no_color = false;
  bool input = true;  // --input=false: never ask
};

}  // namespace podctl
