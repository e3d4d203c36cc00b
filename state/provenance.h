// Where a generation of the state comes from: the run that made it. A plain value; the caller that
// knows the spec's repository and the CI's variables fills it in. Holds no secret.
#pragma once

#include <cstddef>
#include <string>

namespace podctl {

struct Provenance {
  std::string who;        // "alice@host"
  std::string operation;  // "apply"
  std::string command;    // the command line
  std::string podctl;     // the version
  std::string commit;     // of the spec's repository; empty: it is in none
  bool dirty = false;     // the spec was changed since that commit
  std::string ci;         // "github", "gitlab", …; empty: no CI
  std::string run_url;    // of the CI's run
  std::string run_id;
  std::string attempt;

  friend bool operator==(const Provenance&, const Provenance&) = default;
};

// As `git describe --dirty` has it: "3f2a91c…", "3f2a91c…-dirty". Of `digits` hex digits at most.
inline std::string CommitText(const Provenance& run, std::size_t digits = std::string::npos) {
  const std::string text = run.commit.substr(0, digits);
  return text.empty() || !run.dirty ? text : text + "-dirty";
}

}  // namespace podctl
