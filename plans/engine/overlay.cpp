#include "plans/engine/overlay.h"

namespace podctl {
namespace {

// A path of an AttributeChange: below metadata and labels one key, which may hold a dot.
std::vector<std::string> StepsOf(const std::string& path) {
  for (const std::string map : {"metadata.", "labels."}) {
    if (path.starts_with(map)) return {map.substr(0, map.size() - 1), path.substr(map.size())};
  }
  std::vector<std::string> steps;
  std::size_t begin = 0;
  for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', begin)) {
    steps.push_back(path.substr(begin, dot - begin));
    begin = dot + 1;
  }
  steps.push_back(path.substr(begin));
  return steps;
}

}  // namespace

void PutAt(Value* target, const std::string& path, const std::optional<Value>& value) {
  const std::vector<std::string> steps = StepsOf(path);
  Value* at = target;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    if (!value && at->Find(steps[i]) == nullptr) return;
    at = &at->MutableMap()[steps[i]];
    if (!at->is_map()) *at = Value::EmptyMap();
  }
  if (value) {
    at->MutableMap()[steps.back()] = *value;
  } else {
    at->Erase(steps.back());
  }
}

void Overlay(const std::vector<AttributeChange>& attributes, Side side, ShownObject* object) {
  for (const AttributeChange& attribute : attributes) {
    if (side == Side::kAfter && !attribute.known) {
      PutAt(&object->values, attribute.path, std::nullopt);
      PutAt(&object->unknown, attribute.path, Value(true));
      if (attribute.sensitive) PutAt(&object->sensitive, attribute.path, Value(true));
      continue;
    }
    const auto& value = side == Side::kBefore ? attribute.before : attribute.after;
    const bool hidden = value && attribute.sensitive;
    PutAt(&object->values, attribute.path, hidden ? std::optional<Value>(kRedacted) : value);
    PutAt(&object->sensitive, attribute.path, hidden ? std::optional<Value>(true) : std::nullopt);
  }
}

}  // namespace podctl
