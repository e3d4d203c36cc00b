#include "plans/from_command/spec_text.h"

#include "plans/spec/references.h"
#include "plans/spec/spec_writer.h"
#include "providers/base/json.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

bool IsEmpty(const Value& value) {
  return (value.is_map() && value.AsMap().empty()) || (value.is_list() && value.AsList().empty());
}

}  // namespace

void SpecText::Line(const std::string& text) {
  out_ += std::string(indent_, ' ') + text + "\n";
}

void SpecText::Comment(std::string_view text) {
  for (const std::string& line : SplitLines(text)) Line("# " + VisibleControls(line));
}

std::string SpecText::Scalar(const Value& value) const {
  if (value.is_string()) return YamlScalar(EscapeTemplate(value.AsString()), indent_ + kStep);
  if (IsEmpty(value)) return value.is_map() ? "{}" : "[]";
  return ToJson(value);  // numbers and truth values are JSON's
}

void SpecText::Member(std::string_view key, const Value& value) {
  const bool nests = (value.is_map() || value.is_list()) && !IsEmpty(value);
  if (!nests) return Line(YamlScalar(key, 0) + ": " + Scalar(value));
  Begin(key);
  for (const auto& [name, member] : value.AsMap()) Member(name, member);
  for (const Value& item : value.AsList()) Item(item);
  End();
}

void SpecText::Begin(std::string_view key) {
  Line(YamlScalar(key, 0) + ":");
  indent_ += kStep;
}

void SpecText::Item(const Value& item) {
  if (!item.is_map() || IsEmpty(item)) return Line("- " + Scalar(item));
  // The dash stands where the first member's indentation would.
  const std::size_t start = out_.size();
  indent_ += kStep;
  for (const auto& [name, member] : item.AsMap()) Member(name, member);
  indent_ -= kStep;
  out_[start + indent_] = '-';
}

}  // namespace podctl
