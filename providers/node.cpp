#include "providers/node.h"

#include <algorithm>

#include "providers/base/text.h"

namespace podctl {

std::string NodeState(const Value& node) {
  const std::string& state = node["state"].AsString();
  return state.empty() ? "STATE_UNSPECIFIED" : VisibleControls(state);
}

std::string NodeHealth(const Value& node) {
  return VisibleControls(node["health"].AsString());
}

std::string NodeHealthDescription(const Value& node) {
  return VisibleControls(node["healthDescription"].AsString());
}

std::string NodeUid(const Value& node) {
  if (node["id"].is_int()) return std::to_string(node["id"].AsInt());
  const std::string& id = node["id"].AsString();
  return id.empty() ? node["createTime"].AsString() : id;
}

std::string NodeId(const Value& node) {
  const std::string& name = node["name"].AsString();
  return name.substr(name.rfind('/') + 1);  // npos + 1 is 0
}

std::size_t EndpointsPerWorker(const Value& node) {
  return std::max<std::size_t>(1, node["networkConfigs"].AsList().size());
}

std::size_t WorkerCount(const Value& node) {
  return node["networkEndpoints"].AsList().size() / EndpointsPerWorker(node);
}

}  // namespace podctl
