#include "plans/kinds/pod/lineage_label.h"

#include <utility>

namespace podctl {

Value WithLineage(Value node, const std::string& lineage) {
  Value labels = node["labels"].is_map() ? node["labels"] : Value::EmptyMap();
  if (labels.AsMap().size() >= kMostLabels) return node;
  labels.Set(kLineageLabel, lineage);
  node.Set("labels", std::move(labels));
  return node;
}

Value WithoutLineage(Value node) {
  if (node["labels"].Find(kLineageLabel) == nullptr) return node;
  Value labels = node["labels"];
  labels.Erase(kLineageLabel);
  if (labels.AsMap().empty()) {
    node.Erase("labels");
  } else {
    node.Set("labels", std::move(labels));
  }
  return node;
}

const std::string& LineageOf(const Value& node) {
  return node["labels"][kLineageLabel].AsString();
}

}  // namespace podctl
