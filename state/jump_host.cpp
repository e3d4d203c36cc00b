#include "state/jump_host.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace podctl {
namespace {

// Nothing that a shell, or ssh for an option, could take for something else.
bool IsPlain(std::string_view word, std::string_view also) {
  return !word.empty() && word.front() != '-' &&
         std::all_of(word.begin(), word.end(), [also](unsigned char c) {
           return std::isalnum(c) != 0 || also.find(static_cast<char>(c)) != std::string_view::npos;
         });
}

}  // namespace

bool IsPlainName(std::string_view name) {
  return IsPlain(name, "-_.");
}

std::optional<JumpHost> ParseJumpHost(std::string_view text) {
  constexpr int kLargestPort = 65535;
  JumpHost jump;
  const auto at = text.find('@');
  if (at != std::string_view::npos) {
    if (!IsPlain(text.substr(0, at), "-_.")) return std::nullopt;
    jump.target = text.substr(0, at + 1);
    text.remove_prefix(at + 1);
  }
  std::string_view host = text.substr(0, text.find(':'));
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    host = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    if (!IsPlain(host, ":.%")) return std::nullopt;
  } else {
    text.remove_prefix(host.size());
    if (!IsPlain(host, "-_.")) return std::nullopt;
  }
  jump.target += host;
  if (text.empty()) return jump;
  if (text.front() != ':') return std::nullopt;
  const char* end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data() + 1, end, jump.port);
  if (problem != std::errc() || rest != end || jump.port < 1 || jump.port > kLargestPort) {
    return std::nullopt;
  }
  return jump;
}

}  // namespace podctl
