#include "plans/spec/spec_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "plans/spec/references.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/gcp/tpu_schema.h"

namespace podctl {
namespace {

constexpr std::size_t kStep = 2;  // blanks a level

// Words that some reader of YAML takes for a truth value or for nothing (yaml.org/type/bool,
// yaml.org/type/null).
bool IsReservedWord(std::string_view text) {
  constexpr std::array<std::string_view, 9> kWords = {"true", "false", "yes", "no", "on",
                                                      "off",  "null",  "y",   "n"};
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(kWords.begin(), kWords.end(), lower) != kWords.end();
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

// Whether the lines can stand as they are below a `|`: no control characters (a CR would become a
// newline), no line of blanks alone (its blanks would be lost), nothing that looks like
// indentation.
bool IsBlockText(std::string_view text) {
  if (text.find('\n') == std::string_view::npos || text.ends_with("\n\n")) return false;
  if (text.front() == ' ' || text.front() == '\t' || text.front() == '\n') return false;
  if (text.find('\r') != std::string_view::npos) return false;
  // The line separators of Unicode, and the byte order mark (YAML 1.2, 5.2 and 5.4).
  for (const char* odd : {"\xE2\x80\xA8", "\xE2\x80\xA9", "\xEF\xBB\xBF"}) {
    if (text.find(odd) != std::string_view::npos) return false;
  }
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

// What stands raw in JSON and is no printable character to YAML (1.2, 5.1), or ends a line in it
// (1.1, 4.1.4, as libyaml has it): DEL, the C1 controls, the line separators, two that are none.
std::string_view OddCharacter(std::string_view text) {
  if (text.front() == '\x7F') return text.substr(0, 1);
  if (text.size() > 1 && text[0] == '\xC2' && static_cast<unsigned char>(text[1]) <= 0x9F) {
    return text.substr(0, 2);
  }
  for (std::string_view odd : {"\xE2\x80\xA8", "\xE2\x80\xA9", "\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
    if (text.starts_with(odd)) return odd;
  }
  return {};
}

unsigned CodePointOf(std::string_view character) {
  const auto bits = [&](std::size_t i) {
    return static_cast<unsigned>(static_cast<unsigned char>(character[i]) & 0x3FU);
  };
  switch (character.size()) {
    case 1:
      return static_cast<unsigned char>(character[0]);
    case 2:
      return (bits(0) & 0x1FU) << 6U | bits(1);
    default:
      return (bits(0) & 0x0FU) << 12U | bits(1) << 6U | bits(2);
  }
}

// In double quotes: a JSON string is one (YAML 1.2, 1.3), but for what OddCharacter names.
std::string Quoted(std::string_view text) {
  const std::string json = ToJson(Value(text));
  std::string quoted;
  for (std::size_t i = 0; i < json.size();) {
    const std::string_view odd = OddCharacter(std::string_view(json).substr(i));
    if (odd.empty()) {
      quoted += json[i++];
    } else {
      quoted += fmt::format("\\u{:04x}", CodePointOf(odd));
      i += odd.size();
    }
  }
  return quoted;
}

class Writer {
 public:
  explicit Writer(std::size_t indent) : indent_(indent) {}

  void Line(const std::string& text) { out_ += std::string(indent_, ' ') + text + "\n"; }

  void Text(std::string_view key, std::string_view literal) {
    Line(YamlScalar(key, 0) + ": " + YamlScalar(EscapeTemplate(literal), indent_ + kStep));
  }

  void Texts(std::string_view key, const std::map<std::string, std::string>& texts) {
    if (texts.empty()) return;
    Line(YamlScalar(key, 0) + ":");
    indent_ += kStep;
    for (const auto& [name, text] : texts) Text(name, text);
    indent_ -= kStep;
  }

  void Member(std::string_view key, const Value& value) {
    const bool is_empty =
        (value.is_map() && value.AsMap().empty()) || (value.is_list() && value.AsList().empty());
    if (is_empty) {
      Line(YamlScalar(key, 0) + (value.is_map() ? ": {}" : ": []"));
    } else if (value.is_map()) {
      Line(YamlScalar(key, 0) + ":");
      indent_ += kStep;
      for (const auto& [name, member] : value.AsMap()) Member(name, member);
      indent_ -= kStep;
    } else if (value.is_list()) {
      Line(YamlScalar(key, 0) + ":");
      indent_ += kStep;
      for (const Value& item : value.AsList()) Item(item);
      indent_ -= kStep;
    } else if (value.is_string()) {
      Text(key, value.AsString());
    } else {
      Line(YamlScalar(key, 0) + ": " + ToJson(value));  // numbers and truth values are JSON's
    }
  }

  std::string Take() { return std::move(out_); }

 private:
  void Item(const Value& item) {
    if (!item.is_map()) {
      Line("- " + YamlScalar(EscapeTemplate(item.AsString()), indent_ + kStep));
      return;
    }
    if (item.AsMap().empty()) {
      Line("- {}");
      return;
    }
    // The dash stands where the first member's indentation would.
    const std::size_t start = out_.size();
    indent_ += kStep;
    for (const auto& [name, member] : item.AsMap()) Member(name, member);
    indent_ -= kStep;
    out_[start + indent_] = '-';
  }

  std::size_t indent_;
  std::string out_;
};

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

std::string WritePod(const PodDraft& draft, std::size_t indent) {
  Writer head(indent);
  head.Line(YamlScalar(draft.name, 0) + ":");
  Writer writer(indent + kStep);
  for (const std::string& comment : draft.comments) writer.Line("# " + VisibleControls(comment));
  if (!draft.node_id.empty()) writer.Text("nodeId", draft.node_id);
  if (!draft.project.empty()) writer.Text("project", draft.project);
  if (!draft.zone.empty()) writer.Text("zone", draft.zone);
  if (draft.alpha) writer.Text("apiVersion", std::string(ApiVersionName(ApiVersion::kV2Alpha1)));
  for (const std::string& key : KeysInOrder(draft.node)) writer.Member(key, draft.node[key]);
  writer.Texts("libtpuFlags", draft.runtime.flags);
  writer.Texts("runtimeEnv", draft.runtime.variables);
  writer.Texts("metadata", draft.metadata);
  return head.Take() + writer.Take();
}

std::string WriteSpec(const std::string& project, const std::string& zone, const PodDraft& draft) {
  Writer writer(0);
  if (!project.empty()) writer.Text("project", project);
  if (!zone.empty()) writer.Text("zone", zone);
  const std::string head = writer.Take();
  return head + (head.empty() ? "" : "\n") + "pods:\n" + WritePod(draft, kStep);
}

namespace {

constexpr std::string_view kPods = "pods:";
constexpr std::string_view kMerge = "<<";  // what a map merges comes behind all that it says itself

std::size_t NextLine(std::string_view text, std::size_t from) {
  const std::size_t end = text.find('\n', from);
  return end == std::string_view::npos ? text.size() : end + 1;
}

bool IsEmptyOrComment(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos || line[first] == '#';
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
  if (!IsEmptyOrComment(text.substr(pods + kPods.size(), line - pods - kPods.size()))) {
    return std::nullopt;
  }
  while (line < middle && IsEmptyOrComment(text.substr(line, NextLine(text, line) - line))) {
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
