#include "plans/spec/references.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "plans/spec/names.h"
#include "providers/base/foreign_text.h"
#include "providers/base/json.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr std::size_t kLongestExpression = 1024;  // bytes; keeps the search for } short

bool IsNameCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

bool IsName(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsNameCharacter);
}

// "networkEndpoints[0].ipAddress": names with at most one index each, joined by dots.
bool IsPath(std::string_view path) {
  constexpr std::size_t kLongestIndex = 6;
  while (true) {
    const auto dot = path.find('.');
    std::string_view segment = path.substr(0, dot);
    if (const auto bracket = segment.find('['); bracket != std::string_view::npos) {
      const std::string_view index = segment.substr(bracket + 1);
      const bool is_number = index.size() >= 2 && index.size() <= kLongestIndex &&
                             index.back() == ']' &&
                             std::all_of(index.begin(), index.end() - 1,
                                         [](unsigned char c) { return std::isdigit(c) != 0; });
      if (!is_number) return false;
      segment = segment.substr(0, bracket);
    }
    if (!IsName(segment)) return false;
    if (dot == std::string_view::npos) return true;
    path.remove_prefix(dot + 1);
  }
}

std::string Shortened(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  text = text.substr(0, text.find('\n'));
  return text.size() <= kLongest ? std::string(text) : std::string(text.substr(0, kLongest)) + "…";
}

TemplatePart Bad(TemplatePart part, std::string problem, std::string suggestion) {
  part.kind = TemplatePart::Kind::kBad;
  part.problem = std::move(problem);
  part.suggestion = std::move(suggestion);
  return part;
}

// `rest`: what stands behind the first dot; empty: there is none.
TemplatePart Unknown(TemplatePart part, std::string_view head, std::string_view rest,
                     const std::vector<std::string>& targets) {
  std::string suggestion = fmt::format("write `${}` for the text itself", Shortened(part.text));
  if (!rest.empty()) {
    std::vector<std::string> heads = {"var", "env"};
    heads.insert(heads.end(), targets.begin(), targets.end());
    const std::string near = SuggestWord(head, heads);
    std::string known = "known are ";
    for (std::size_t i = 0; i < heads.size(); ++i) {
      known += fmt::format("{}`${{{}.…}}`",
                           i == 0                  ? ""
                           : i + 1 == heads.size() ? " and "
                                                   : ", ",
                           heads[i]);
    }
    suggestion =
        near.empty() ? known : fmt::format("did you mean `${{{}.{}}}`?", near, Shortened(rest));
  }
  const std::string problem = fmt::format("unknown expression `{}`", Shortened(part.text));
  return Bad(std::move(part), problem, suggestion);
}

// `body` is what stands between the braces.
TemplatePart ParseExpression(TemplatePart part, std::string_view body) {
  using Kind = TemplatePart::Kind;
  body = TrimBlanks(body);
  const auto dot = body.find('.');
  const std::string_view head = body.substr(0, dot);
  const std::string_view rest = dot == std::string_view::npos ? "" : body.substr(dot + 1);
  if (head == "var" || head == "env") {
    if (!IsName(rest)) {
      return Bad(part, fmt::format("`{}` names nothing", Shortened(part.text)),
                 fmt::format("write `${{{}.NAME}}`", head));
    }
    part.kind = head == "var" ? Kind::kVariable : Kind::kEnvironment;
    part.name = rest;
    return part;
  }
  const auto second = rest.find('.');
  const std::string_view name = rest.substr(0, second);
  const std::string_view path =
      second == std::string_view::npos ? std::string_view() : rest.substr(second + 1);
  if (IsName(head) && IsName(name) && IsPath(path)) {
    part.kind = Kind::kReference;
    part.target = head;
    part.name = name;
    part.path = path;
    return part;
  }
  if (head == "pod") {
    return Bad(part, fmt::format("`{}` is no reference to a pod", Shortened(part.text)),
               "write `${pod.NAME.PATH}`");
  }
  return Unknown(part, head, dot == std::string_view::npos ? "" : rest, {"pod"});
}

}  // namespace

TemplatePart AsUnknown(TemplatePart reference, const std::vector<std::string>& targets) {
  const std::string head = reference.target;
  const std::string rest = reference.name + "." + reference.path;
  return Unknown(std::move(reference), head, rest, targets);
}

std::vector<TemplatePart> SplitTemplate(std::string_view text) {
  std::vector<TemplatePart> parts;
  TemplatePart literal;
  const auto flush = [&] {
    if (!literal.text.empty()) parts.push_back(std::move(literal));
    literal = TemplatePart{};
  };
  std::size_t i = 0;
  while (i < text.size()) {
    if (literal.text.empty()) literal.offset = i;
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("$${")) {
      literal.text += "${";
      i += 3;
    } else if (rest.starts_with("${")) {
      flush();
      TemplatePart part;
      part.offset = i;
      const auto end = rest.substr(0, kLongestExpression).find_first_of("}\n");
      if (end == std::string_view::npos || rest[end] == '\n') {
        part.text = "${";
        parts.push_back(Bad(part, "`${` is not closed", "write `$${` for the text itself"));
        i += 2;
        continue;
      }
      part.text = rest.substr(0, end + 1);
      parts.push_back(ParseExpression(part, rest.substr(2, end - 2)));
      i += end + 1;
    } else {
      const auto dollar = rest.find('$', 1);
      const std::size_t length = std::min(dollar, rest.size());
      literal.text += rest.substr(0, length);
      i += length;
    }
  }
  flush();
  return parts;
}

namespace {

// A scalar as text; nullopt for what has no text.
std::optional<std::string> ScalarText(const Value& value) {
  if (value.is_string()) return value.AsString();
  if (value.is_null() || value.is_list() || value.is_map()) return std::nullopt;
  return ToJson(value);
}

// The first one, or one that hides, as it is shown, with where it stands; "": there is none.
std::string FirstControl(std::string_view text) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
  for (std::size_t at = 0; at < text.size();) {
    if (is_plain(text[at])) {
      ++at;
      continue;
    }
    const Character character = CharacterAt(text, at);
    if (IsControl(character.code) || IsHidden(character.code) || !character.valid)
      return fmt::format("{} (at byte {})", Visible(character), at);
    at += character.size;
  }
  return {};
}

bool IsIpAddress(const std::string& text) {
  in6_addr address{};
  return inet_pton(AF_INET, text.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

// Where a value may be no more than a plain word, what to do with another; else "".
std::string_view InsteadOfShellText(ReferenceUse use) {
  switch (use) {
    case ReferenceUse::kShellText:
      return "Put it into `env` and use the variable.";
    case ReferenceUse::kGuestScript:
      return "Put it into a metadata key of its own, and let what runs there read that.";
    case ReferenceUse::kDockerText:
      return "Write it under `libtpuFlags` or `runtimeEnv`, which quote it.";
    default:
      return {};
  }
}

std::string Below(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

// Most values have nothing to render, and stand for themselves.
bool HasTemplates(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kString:
      return value.AsString().find("${") != std::string::npos;
    case Value::Kind::kList:
      return std::any_of(value.AsList().begin(), value.AsList().end(), HasTemplates);
    case Value::Kind::kMap:
      return std::any_of(value.AsMap().begin(), value.AsMap().end(),
                         [](const auto& member) { return HasTemplates(member.second); });
    default:
      return false;
  }
}

// nullopt when something in `value` cannot be rendered and so `value` as a whole is unknown; a map
// just lacks what is unknown.
std::optional<Value> RenderAt(const Value& value, const std::string& path,
                              const ReferenceLookup& lookup, std::vector<std::string>* unknown) {
  if (value.is_string()) {
    if (auto text = RenderText(value.AsString(), lookup)) return Value(std::move(*text));
    if (unknown != nullptr) unknown->push_back(path);
    return std::nullopt;
  }
  if (value.is_list()) {
    Value::List list;
    for (const Value& item : value.AsList()) {
      std::vector<std::string> unknown_below;
      auto rendered = RenderAt(item, path, lookup, &unknown_below);
      if (!rendered || !unknown_below.empty()) {
        // A list without one of its items would be another list.
        if (unknown != nullptr) unknown->push_back(path);
        return std::nullopt;
      }
      list.push_back(std::move(*rendered));
    }
    return Value(std::move(list));
  }
  if (value.is_map()) {
    Value::Map map;
    for (const auto& [key, member] : value.AsMap()) {
      auto rendered = RenderAt(member, Below(path, key), lookup, unknown);
      if (rendered) map.emplace(key, std::move(*rendered));
    }
    return Value(std::move(map));
  }
  return value;
}

}  // namespace

std::vector<Reference> FindReferences(std::string_view template_text) {
  std::vector<Reference> references;
  if (template_text.find("${") == std::string_view::npos) return references;
  for (const TemplatePart& part : SplitTemplate(template_text)) {
    if (part.kind == TemplatePart::Kind::kReference)
      references.push_back({{part.target, part.name}, part.path});
  }
  return references;
}

std::string EscapeTemplate(std::string_view literal) {
  std::string escaped;
  escaped.reserve(literal.size());
  for (std::size_t i = 0; i < literal.size(); ++i) {
    if (literal.substr(i).starts_with("${")) escaped += '$';
    escaped += literal[i];
  }
  return escaped;
}

std::optional<UnusableReference> WhyUnfit(const TemplatePart& reference, const std::string& value,
                                          ReferenceUse use) {
  if (const std::string control = FirstControl(value); !control.empty()) {
    return UnusableReference{
        false, fmt::format("`{}`, which holds the control character {}", reference.text, control),
        "What others may write could begin a line of its own there. Mend the value, or do not "
        "refer to it."};
  }
  const bool is_address = reference.target == "pod" && (reference.path.ends_with(".ipAddress") ||
                                                        reference.path.ends_with(".externalIp"));
  if (is_address && !value.empty() && !IsIpAddress(value)) {
    constexpr std::size_t kLongest = 60;
    return UnusableReference{
        false,
        fmt::format("`{}`, which is no IP address: {}", reference.text, value.substr(0, kLongest)),
        ""};
  }
  if (const std::string_view instead = InsteadOfShellText(use);
      !instead.empty() && !IsPlainWord(value)) {
    return UnusableReference{
        false, fmt::format("`{}`, which holds characters that a shell would read", reference.text),
        std::string(instead)};
  }
  if (use == ReferenceUse::kFlags && value.find_first_of(" \t\r\n") != std::string::npos) {
    return UnusableReference{false,
                             fmt::format("`{}`, which has a blank in its value", reference.text),
                             "libtpu reads its flags from one line, where blanks separate them."};
  }
  return std::nullopt;
}

std::optional<std::string> RenderText(std::string_view template_text, const ReferenceLookup& lookup,
                                      ReferenceUse use) {
  if (template_text.find("${") == std::string_view::npos) return std::string(template_text);
  std::string text;
  for (const TemplatePart& part : SplitTemplate(template_text)) {
    if (part.kind != TemplatePart::Kind::kReference) {
      text += part.text;
      continue;
    }
    const Value* node = lookup({part.target, part.name});
    const Value* value = node == nullptr ? nullptr : FindNodePath(*node, part.path);
    const auto scalar = value == nullptr ? std::nullopt : ScalarText(*value);
    if (!scalar || WhyUnfit(part, *scalar, use)) return std::nullopt;
    text += *scalar;
  }
  return text;
}

std::optional<UnusableReference> FindUnusable(std::string_view template_text,
                                              const ReferenceLookup& lookup, ReferenceUse use) {
  if (template_text.find("${") == std::string_view::npos) return std::nullopt;
  for (const TemplatePart& part : SplitTemplate(template_text)) {
    if (part.kind != TemplatePart::Kind::kReference) continue;
    const Value* of = lookup({part.target, part.name});
    if (of == nullptr) continue;
    const Value* value = FindNodePath(*of, part.path);
    const auto scalar = value == nullptr ? std::nullopt : ScalarText(*value);
    if (!scalar) {
      return UnusableReference{true, fmt::format("`{}`, which is not there", part.text),
                               "`podctl state show` of what it refers to shows what there is."};
    }
    if (auto why = WhyUnfit(part, *scalar, use)) return why;
  }
  return std::nullopt;
}

std::optional<UnusableReference> FindUnusableIn(const Value& value, const ReferenceLookup& lookup) {
  if (value.is_string()) return FindUnusable(value.AsString(), lookup);
  const auto first = [&](const auto& items, const auto& of) -> std::optional<UnusableReference> {
    for (const auto& item : items) {
      if (auto found = FindUnusableIn(of(item), lookup)) return found;
    }
    return std::nullopt;
  };
  if (value.is_list()) {
    return first(value.AsList(), [](const Value& item) -> const Value& { return item; });
  }
  if (value.is_map()) {
    return first(value.AsMap(), [](const auto& member) -> const Value& { return member.second; });
  }
  return std::nullopt;
}

std::map<std::string, std::string> KnownReferences(std::string_view template_text,
                                                   const ReferenceLookup& lookup) {
  std::map<std::string, std::string> known;
  if (template_text.find("${") == std::string_view::npos) return known;
  for (const TemplatePart& part : SplitTemplate(template_text)) {
    if (part.kind != TemplatePart::Kind::kReference) continue;
    if (auto text = RenderText(part.text, lookup)) known.emplace(part.text, *std::move(text));
  }
  return known;
}

bool IsPlainWord(std::string_view text) {
  return !text.empty() && text[0] != '-' &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 ||
                  std::string_view("._-:/@%+=,").find(static_cast<char>(c)) !=
                      std::string_view::npos;
         });
}

Value RenderValue(const Value& value, const ReferenceLookup& lookup,
                  std::vector<std::string>* unknown) {
  if (!HasTemplates(value)) return value;
  return RenderAt(value, "", lookup, unknown).value_or(Value());
}

const Value* FindNodePath(const Value& node, std::string_view path) {
  const Value* value = &node;
  while (value != nullptr) {
    const auto dot = path.find('.');
    std::string_view segment = path.substr(0, dot);
    const auto bracket = segment.find('[');
    value = value->Find(segment.substr(0, bracket));
    if (value != nullptr && bracket != std::string_view::npos) {
      std::size_t index = 0;
      const char* const end = segment.data() + segment.size();
      const auto [rest, code] = std::from_chars(segment.data() + bracket + 1, end, index);
      const bool is_index = code == std::errc() && rest != end && *rest == ']';
      if (!is_index || index >= value->AsList().size()) return nullptr;
      value = &value->AsList()[index];
    }
    if (dot == std::string_view::npos) return value;
    path.remove_prefix(dot + 1);
  }
  return nullptr;
}

}  // namespace podctl
