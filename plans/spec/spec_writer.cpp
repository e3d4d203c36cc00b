#include "plans/spec/spec_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <utility>

#include "plans/spec/references.h"
#include "plans/spec/yaml_strictness.h"
#include "providers/base/foreign_text.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/gcp/tpu_schema.h"

namespace podctl {
namespace {

// Words that some reader of YAML takes for a truth value or for nothing (yaml.org/type/bool,
// yaml.org/type/null).
bool IsReservedWord(std::string_view text) {
  constexpr std::array<std::string_view, 9> kWords = {"true", "false", "yes", "no", "on",
                                                      "off",  "null",  "y",   "n"};
  return std::find(kWords.begin(), kWords.end(), LowerCase(text)) != kWords.end();
}

// Conservative: begins with a letter, and nothing in it means anything to YAML. What begins with a
// digit may be a number, a date or a number to the base of 60.
bool IsPlainText(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  if (text.empty() || text.size() > kLongest || IsReservedWord(text)) return false;
  if (std::isalpha(static_cast<unsigned char>(text.front())) == 0) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_last = i + 1 == text.size();
    const bool is_safe = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                         std::string_view("_./@+-~=").find(c) != std::string_view::npos;
    const bool is_blank = c == ' ' && !is_last;
    const bool is_colon = c == ':' && !is_last && text[i + 1] != ' ';
    if (!is_safe && !is_blank && !is_colon) return false;
  }
  return true;
}

// What stands raw in JSON and is no printable character to YAML (1.2, 5.1), or ends a line in it
// (1.1, 4.1.4, as libyaml has it): DEL, the C1 controls, the line separators, two that are none.
// And what nobody sees who reviews a spec, or what shows it in another order than it is read: the
// format characters (Unicode, general category Cf).
bool IsOdd(char32_t code) {
  constexpr std::pair<char32_t, char32_t> kRanges[] = {
      {0x7F, 0x9F},     {0xAD, 0xAD},     {0x600, 0x605},     {0x61C, 0x61C},    {0x6DD, 0x6DD},
      {0x70F, 0x70F},   {0x180E, 0x180E}, {0x200B, 0x200F},   {0x2028, 0x202E},  {0x2060, 0x206F},
      {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFF}, {0x1D173, 0x1D17A}, {0xE0000, 0xE007F}};
  return std::any_of(std::begin(kRanges), std::end(kRanges), [code](const auto& range) {
    return code >= range.first && code <= range.second;
  });
}

// As YAML's double quotes have it.
std::string EscapedOdd(char32_t code) {
  constexpr char32_t kMostShort = 0xFFFF;
  return code > kMostShort ? fmt::format("\\U{:08x}", static_cast<unsigned>(code))
                           : fmt::format("\\u{:04x}", static_cast<unsigned>(code));
}

std::string WithoutOdd(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text, at);
    plain += character.valid && IsOdd(character.code)
                 ? EscapedOdd(character.code)
                 : std::string(text.substr(at, character.size));
    at += character.size;
  }
  return plain;
}

bool HoldsOdd(std::string_view text) {
  return WithoutOdd(text) != text;
}

// Whether the lines can stand as they are below a `|`: no control characters (a CR would become a
// newline), no line of blanks alone (its blanks would be lost), nothing that looks like
// indentation.
bool IsBlockText(std::string_view text) {
  if (text.find('\n') == std::string_view::npos || text.ends_with("\n\n")) return false;
  if (text.front() == ' ' || text.front() == '\t' || text.front() == '\n') return false;
  if (text.find('\r') != std::string_view::npos) return false;
  if (HoldsOdd(text)) return false;
  const std::vector<std::string> lines = SplitLines(text);
  return std::none_of(lines.begin(), lines.end(), [](const std::string& line) {
    return VisibleControls(line) != line || (!line.empty() && TrimBlanks(line).empty());
  });
}

std::string Block(std::string_view text, std::size_t indent) {
  const bool ends = text.ends_with('\n');
  std::string block = ends ? "|" : "|-";
  for (const std::string& line : SplitLines(ends ? text.substr(0, text.size() - 1) : text)) {
    block += "\n";
    if (!line.empty()) block += std::string(indent, ' ') + line;
  }
  return block;
}

// In double quotes: a JSON string is one (YAML 1.2, 1.3), but for what IsOdd names.
std::string Quoted(std::string_view text) {
  return WithoutOdd(ToJson(Value(text)));
}

bool IsEmpty(const Value& value) {
  return (value.is_map() && value.AsMap().empty()) || (value.is_list() && value.AsList().empty());
}

// What a person reads first comes first; the rest in the order of the API's documentation.
std::vector<std::string> KeysInOrder(const Value& node) {
  std::vector<std::string> keys = {"acceleratorType", "acceleratorConfig", "runtimeVersion"};
  for (const gcp::Field& field : gcp::NodeFields()) {
    const bool is_top = field.path.find_first_of(".[") == std::string_view::npos;
    if (is_top && std::find(keys.begin(), keys.end(), field.path) == keys.end()) {
      keys.emplace_back(field.path);
    }
  }
  keys.emplace_back("slices");
  std::erase_if(keys, [&](const std::string& key) { return node.Find(key) == nullptr; });
  return keys;
}

}  // namespace

std::string YamlScalar(std::string_view text, std::size_t indent) {
  if (IsPlainText(text)) return std::string(text);
  // Keys (indent 0) stand on one line.
  if (indent > 0 && !text.empty() && IsBlockText(text)) return Block(text, indent);
  return Quoted(text);
}

void YamlText::Line(const std::string& text) {
  out_ += std::string(indent_, ' ') + text + "\n";
}

void YamlText::Comment(std::string_view text) {
  for (const std::string& line : SplitLines(text)) Line("# " + WithoutOdd(VisibleControls(line)));
}

std::string YamlText::Scalar(const Value& value) const {
  if (value.is_string()) return YamlScalar(EscapeTemplate(value.AsString()), indent_ + kStep);
  if (IsEmpty(value)) return value.is_map() ? "{}" : "[]";
  return ToJson(value);  // numbers and truth values are JSON's
}

void YamlText::Member(std::string_view key, const Value& value) {
  const bool nests = (value.is_map() || value.is_list()) && !IsEmpty(value);
  if (!nests) return Line(YamlScalar(key, 0) + ": " + Scalar(value));
  Begin(key);
  for (const auto& [name, member] : value.AsMap()) Member(name, member);
  for (const Value& item : value.AsList()) Item(item);
  End();
}

void YamlText::Members(std::string_view key, const std::map<std::string, std::string>& texts) {
  Value map;
  for (const auto& [name, text] : texts) map.Set(name, text);
  if (!texts.empty()) Member(key, map);
}

void YamlText::Begin(std::string_view key) {
  Line(YamlScalar(key, 0) + ":");
  indent_ += kStep;
}

void YamlText::Item(const Value& item) {
  if (!item.is_map() || IsEmpty(item)) return Line("- " + Scalar(item));
  // The dash stands where the first member's indentation would.
  const std::size_t start = out_.size();
  indent_ += kStep;
  for (const auto& [name, member] : item.AsMap()) Member(name, member);
  indent_ -= kStep;
  out_[start + indent_] = '-';
}

std::string WritePod(const PodDraft& draft, std::size_t indent) {
  YamlText text(indent);
  text.Begin(draft.name);
  for (const std::string& comment : draft.comments) text.Comment(VisibleControls(comment));
  if (!draft.node_id.empty()) text.Member("nodeId", draft.node_id);
  if (!draft.project.empty()) text.Member("project", draft.project);
  if (!draft.zone.empty()) text.Member("zone", draft.zone);
  if (draft.alpha) text.Member("apiVersion", ApiVersionName(ApiVersion::kV2Alpha1));
  for (const std::string& key : KeysInOrder(draft.node)) text.Member(key, draft.node[key]);
  text.Members("libtpuFlags", draft.runtime.flags);
  text.Members("runtimeEnv", draft.runtime.variables);
  text.Members("metadata", draft.metadata);
  return text.text();
}

std::string WriteSpec(const std::string& project, const std::string& zone,
                      const std::vector<PodDraft>& drafts) {
  YamlText head;
  if (!project.empty()) head.Member("project", project);
  if (!zone.empty()) head.Member("zone", zone);
  if (!head.text().empty()) head.Blank();
  std::string text = head.text() + "pods:\n";
  for (const PodDraft& draft : drafts) text += WritePod(draft, YamlText::kStep);
  return text;
}

namespace {

constexpr std::string_view kPods = "pods:";
constexpr std::string_view kMerge = "<<";  // what a map merges comes behind all that it says itself

std::size_t NextLine(std::string_view text, std::size_t from) {
  const std::size_t end = text.find('\n', from);
  return end == std::string_view::npos ? text.size() : end + 1;
}

// The last line before `end` that begins a key at the top, or npos.
std::size_t LastTopLine(std::string_view text, std::size_t end) {
  for (std::size_t at = text.rfind('\n', end); at != std::string_view::npos && at > 0;
       at = text.rfind('\n', at - 1)) {
    const std::size_t line = at + 1;
    if (line < end && text[line] != ' ' && text[line] != '\n' && text[line] != '\r' &&
        text[line] != '#') {
      return line;
    }
  }
  return std::string_view::npos;
}

}  // namespace

std::optional<std::size_t> FindPodsCut(std::string_view text) {
  if (text.find(kMerge) != std::string_view::npos) return std::nullopt;
  const std::size_t middle = text.size() / 2;
  const std::size_t pods = LastTopLine(text, middle);
  if (pods == std::string_view::npos || !text.substr(pods).starts_with(kPods)) return std::nullopt;
  std::size_t line = NextLine(text, pods);
  if (!IsBlankOrComment(text.substr(pods + kPods.size(), line - pods - kPods.size()))) {
    return std::nullopt;
  }
  while (line < middle && IsBlankOrComment(text.substr(line, NextLine(text, line) - line))) {
    line = NextLine(text, line);
  }
  const std::size_t indent = text.find_first_not_of(' ', line) - line;
  if (line >= middle || indent == 0) return std::nullopt;
  for (line = NextLine(text, middle); line < text.size(); line = NextLine(text, line)) {
    const std::size_t first = text.find_first_not_of(' ', line);
    if (first == std::string_view::npos) break;
    if (first == line && text[line] != '\n' && text[line] != '\r' && text[line] != '#') break;
    const bool is_key = std::string_view("#-\r\n\t").find(text[first]) == std::string_view::npos;
    if (first - line == indent && is_key) return line;
  }
  return std::nullopt;
}

}  // namespace podctl
