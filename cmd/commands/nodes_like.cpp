#include "cmd/commands/nodes_like.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "plans/node_view.h"
#include "providers/base/text.h"

namespace podctl {

std::string NodesLike(Provider& provider, const NodeName& name, const std::stop_token& stop) {
  constexpr std::size_t kMostNames = 8;
  const auto nodes = provider.ListNodes(name.project, name.zone, stop);
  std::vector<std::string> ids;
  if (nodes) {
    for (const Value& node : *nodes) ids.push_back(NodeId(node));
  }
  const std::string near = NearestWord(name.node, ids);
  if (!near.empty()) return fmt::format("did you mean `{}`?", near);
  // All zones of the project at once (AIP-159).
  if (const auto everywhere = provider.ListNodes(name.project, "-", stop)) {
    for (const Value& node : *everywhere) {
      if (NodeId(node) != name.node) continue;
      return fmt::format("did you mean {}?", node["name"].AsString());
    }
  }
  if (ids.empty()) return "there is no node at all in that zone";
  std::sort(ids.begin(), ids.end());
  const bool more = ids.size() > kMostNames;
  if (more) ids.resize(kMostNames);
  return fmt::format("there are: {}{}", Join(ids, ", "), more ? ", …" : "");
}

}  // namespace podctl
