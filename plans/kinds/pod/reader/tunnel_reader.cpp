// Declared in pod_reader.h.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "plans/kinds/pod/reader/pod_reader.h"
#include "plans/kinds/pod/reader/pod_shape.h"
#include "plans/kinds/pod/spec.h"

namespace podctl {
namespace {

// It stands where a port may stand on the command line, so it must not look like one.
bool IsTunnelName(std::string_view name) {
  constexpr std::size_t kLongest = 63;
  return !name.empty() && name.size() <= kLongest && name[0] >= 'a' && name[0] <= 'z' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

void ReadTunnelKey(ValueReader& reader, const YamlNode& value, const Slot& slot, const Shape& shape,
                   TunnelSpec& tunnel) {
  const std::string& key = slot.key;
  if (key == "name") {
    const auto name = reader.ReadPlain(value, slot);
    if (!name) return;
    if (IsTunnelName(*name)) {
      tunnel.name = *name;
    } else {
      reader.Error(value, slot, fmt::format("{} is no name for a tunnel", FoundWords(value)),
                   "a lower-case letter first, then these, digits and -");
    }
  } else if (key == "remote") {
    tunnel.remote = static_cast<int>(reader.ReadInt(value, slot, shape).value_or(0));
  } else if (key == "local") {
    tunnel.local = static_cast<int>(reader.ReadInt(value, slot, shape).value_or(0));
  } else if (key == "worker") {
    tunnel.worker = static_cast<int>(reader.ReadInt(value, slot, shape).value_or(0));
  } else {
    tunnel.open = reader.ReadWord(value, slot, shape).value_or("");
  }
}

bool ReadTunnel(ValueReader& reader, const YamlNode& node, const Slot& slot, TunnelSpec& tunnel) {
  tunnel.place = node.Place();
  for (const YamlEntry& entry : node.entries) {
    const Key* key = reader.KnownKey(*entry.key, slot.Path(), TunnelShape());
    if (key == nullptr) continue;
    ReadTunnelKey(reader, *entry.value, slot.Below(key->name), key->shape, tunnel);
  }
  if (node.Find("remote") == nullptr) {
    reader.Error(node, slot, "a tunnel without `remote`", "the port on the worker: remote: 8888");
  }
  if (tunnel.remote == 0) return false;
  if (node.Find("local") == nullptr) tunnel.local = tunnel.remote;
  return true;
}

}  // namespace

std::vector<TunnelSpec> ReadTunnels(ValueReader& reader, const YamlNode& tunnels,
                                    const Slot& slot) {
  std::vector<TunnelSpec> read;
  if (!reader.ExpectList(tunnels, slot)) return read;
  const std::size_t most = OwnKeys().At("tunnels").most;
  if (tunnels.items.size() > most) {
    reader.Error(tunnels, slot, fmt::format("more than {} tunnels", most));
    return read;
  }
  std::map<std::string, const YamlNode*> names;
  std::map<int, const YamlNode*> locals;
  for (std::size_t i = 0; i < tunnels.items.size(); ++i) {
    const YamlNode& node = *tunnels.items[i];
    const Slot below{slot.context, fmt::format("{}[{}]", slot.key, i)};
    TunnelSpec tunnel;
    if (!reader.ExpectMap(node, below) || !ReadTunnel(reader, node, below, tunnel)) continue;
    if (!tunnel.name.empty()) {
      const auto [it, is_new] = names.emplace(tunnel.name, &node);
      if (!is_new) {
        reader.Conflict(node, below, fmt::format("two tunnels are called `{}`", tunnel.name),
                        *it->second, "the first one");
      }
    }
    if (tunnel.local != 0) {
      const auto [it, is_new] = locals.emplace(tunnel.local, &node);
      if (!is_new) {
        reader.Conflict(node, below,
                        fmt::format("the local port {} leads to two places", tunnel.local),
                        *it->second, "the first one; give another `local`, or 0 for any");
      }
    }
    read.push_back(std::move(tunnel));
  }
  return read;
}

}  // namespace podctl
