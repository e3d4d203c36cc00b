// The metadata entry `ssh-keys` of a node: lines "USER:TYPE BLOB COMMENT", each of them whoever's
// put it there. Lines are added and taken away one by one; all others stay as they are, byte for
// byte. Knows text only: no keys, no base64.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace podctl {

inline constexpr const char* kSshKeys = "ssh-keys";

struct SshKeyLine {
  std::string user;
  std::string type;  // "ssh-ed25519"
  std::string blob;  // base64
  std::string comment;

  // Its end is written in it (gcloud's "google-ssh {…"expireOn":…}"): it is of no use to build on.
  bool Expires() const;
};

// nullopt: the guest agent would make nothing of it either.
std::optional<SshKeyLine> ParseSshKeyLine(std::string_view line);
std::vector<std::string> SplitSshKeyLines(std::string_view text);

// Whether `text` lets the key of `line` in as its user, for good; the comment does not matter.
bool HoldsSshKey(std::string_view text, std::string_view line);
// `text` with `line` at its end, unless it holds the key.
std::string WithSshKey(std::string text, std::string_view line);
// `text` without the lines that let the key of `line` in for good.
std::string WithoutSshKey(std::string_view text, std::string_view line);
// The lines of `text` whose keys each of `others` holds too.
std::string SharedSshKeys(std::string_view text, const std::vector<std::string>& others);

}  // namespace podctl
