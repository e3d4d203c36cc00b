// A host to jump through as the spec and the state have it, the form of `ssh -J`. Knows nothing of
// how it is used.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace podctl {

struct JumpHost {
  std::string target;  // "[user@]host", as ssh takes it
  int port = 0;        // 0: as ~/.ssh/config says
};

// "[user@]host[:port]", an IPv6 address in brackets; nullopt: it is none, or more than one.
std::optional<JumpHost> ParseJumpHost(std::string_view text);

// Letters, digits and - _ . only, and no option.
bool IsPlainName(std::string_view name);

}  // namespace podctl
