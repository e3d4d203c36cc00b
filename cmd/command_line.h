// What the flags of every command said (a command's own options stand with it), and the command
// line as others may read it: in the lock of the state, which names what a run is busy with, and in
// the lines that podctl suggests. Knows the few flags whose values may be secret.
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
  std::string command_line;        // by CommandLineForOthers
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
  bool lock = true;       // --lock=false: take no lock of the state
  std::chrono::milliseconds lock_timeout{0};
  bool json = false;
  bool no_color = false;
  bool input = true;  // --input=false: never ask
};

// "podctl apply --var token=… -f 'my spec.yaml'": quoted as a shell wants it, without the values of
// variables and without a command for workers (what follows `--`), and cut to a sensible length.
std::string CommandLineForOthers(const std::vector<std::string>& words);

// The flags by which another command finds the same spec and state, for a shell:
// " -f 'my spec.yaml' --state s.json"; empty where it needs none.
std::string PlaceFlags(const GlobalOptions& options);

}  // namespace podctl
