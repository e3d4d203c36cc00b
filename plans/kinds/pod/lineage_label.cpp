#include "plans/kinds/pod/lineage_label.h"

#include <utility>

#include "providers/node.h"

namespace podctl {
namespace {

// Takes the uid of the next slice off the front.
std::string_view NextUid(std::string_view* uids) {
  const auto end = uids->find('+');
  const std::string_view uid = uids->substr(0, end);
  uids->remove_prefix(end == std::string_view::npos ? uids->size() : end + 1);
  return uid;
}

}  // namespace

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

bool IsOfAnotherState(const Value& node, const std::string& uid, const std::string& lineage) {
  const std::string& made_from = LineageOf(node);
  return !made_from.empty() && made_from != lineage && !IsSameUid(uid, NodeUid(node));
}

bool SharesUid(std::string_view a, std::string_view b) {
  while (!a.empty()) {
    const std::string_view one = NextUid(&a);
    for (std::string_view rest = b; !one.empty() && !rest.empty();) {
      if (NextUid(&rest) == one) return true;
    }
  }
  return false;
}

bool IsSameUid(std::string_view known, std::string_view seen) {
  while (!known.empty() && !seen.empty()) {
    const std::string_view one = NextUid(&known);
    if (one == NextUid(&seen) && !one.empty()) return true;
  }
  return false;
}

}  // namespace podctl
