#include "plans/spec/references.h"

#include <algorithm>
#include <charconv>

#include "plans/spec/expressions.h"
#include "providers/base/json.h"

namespace podctl {
namespace {

// A scalar as text; nullopt for what has no text.
std::optional<std::string> ScalarText(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kString:
      return value.AsString();
    case Value::Kind::kBool:
    case Value::Kind::kInt:
    case Value::Kind::kDouble:
      return ToJson(value);
    case Value::Kind::kNull:
    case Value::Kind::kList:
    case Value::Kind::kMap:
      return std::nullopt;
  }
  return std::nullopt;
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

std::optional<std::string> RenderText(std::string_view template_text,
                                      const ReferenceLookup& lookup) {
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
    if (!scalar) return std::nullopt;
    text += *scalar;
  }
  return text;
}

std::string FindDangling(std::string_view template_text, const ReferenceLookup& lookup) {
  for (const TemplatePart& part : SplitTemplate(template_text)) {
    if (part.kind != TemplatePart::Kind::kReference) continue;
    const Value* of = lookup({part.target, part.name});
    const Value* value = of == nullptr ? nullptr : FindNodePath(*of, part.path);
    if (of != nullptr && (value == nullptr || !ScalarText(*value))) return part.text;
  }
  return {};
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
