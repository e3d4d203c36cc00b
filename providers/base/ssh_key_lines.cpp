#include "providers/base/ssh_key_lines.h"

#include <algorithm>

#include "providers/base/text.h"

namespace podctl {
namespace {

bool IsSameKey(const SshKeyLine& a, const SshKeyLine& b) {
  return a.user == b.user && a.type == b.type && a.blob == b.blob;
}

// Whether `line` of an entry is the lasting grant that `wanted` asks for.
bool Grants(std::string_view line, const SshKeyLine& wanted) {
  const auto parsed = ParseSshKeyLine(line);
  return parsed && IsSameKey(*parsed, wanted) && !parsed->Expires();
}

// The first word of `rest`, which loses it.
std::string TakeWord(std::string_view* rest) {
  *rest = TrimBlanks(*rest);
  const auto end = std::min(rest->find_first_of(" \t"), rest->size());
  std::string word(rest->substr(0, end));
  rest->remove_prefix(end);
  return word;
}

}  // namespace

bool SshKeyLine::Expires() const {
  return comment.starts_with("google-ssh") && comment.find("expireOn") != std::string::npos;
}

std::optional<SshKeyLine> ParseSshKeyLine(std::string_view line) {
  std::string_view rest = TrimBlanks(line);
  const auto colon = rest.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  SshKeyLine parsed;
  parsed.user = rest.substr(0, colon);
  if (parsed.user.find_first_of(" \t") != std::string::npos) return std::nullopt;
  rest.remove_prefix(colon + 1);
  parsed.type = TakeWord(&rest);
  parsed.blob = TakeWord(&rest);
  parsed.comment = TrimBlanks(rest);
  if (parsed.type.empty() || parsed.blob.empty()) return std::nullopt;
  return parsed;
}

std::vector<std::string> SplitSshKeyLines(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view line : Split(text, "\n")) {
    if (!TrimBlanks(line).empty()) lines.emplace_back(line);
  }
  return lines;
}

bool HoldsSshKey(std::string_view text, std::string_view line) {
  const auto wanted = ParseSshKeyLine(line);
  const auto lines = SplitSshKeyLines(text);
  return wanted && std::any_of(lines.begin(), lines.end(),
                               [&](const std::string& each) { return Grants(each, *wanted); });
}

std::string WithSshKey(std::string text, std::string_view line) {
  if (HoldsSshKey(text, line)) return text;
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  return text.append(line);
}

std::string WithoutSshKey(std::string_view text, std::string_view line) {
  const auto wanted = ParseSshKeyLine(line);
  if (!wanted) return std::string(text);
  std::string kept;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const bool is_last = end == text.size();
    if (!Grants(text.substr(0, end), *wanted)) {
      kept.append(text.substr(0, std::min(end + 1, text.size())));
    } else if (is_last && kept.ends_with('\n')) {
      kept.pop_back();  // the line end before it came with it
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return kept;
}

std::string SharedSshKeys(std::string_view text, const std::vector<std::string>& others) {
  std::string shared;
  for (const std::string& line : SplitSshKeyLines(text)) {
    const bool everywhere =
        std::all_of(others.begin(), others.end(),
                    [&](const std::string& other) { return HoldsSshKey(other, line); });
    if (everywhere) shared = WithSshKey(std::move(shared), line);
  }
  return shared;
}

}  // namespace podctl
