// Reads the `tunnels` of a pod: what `podctl tunnel POD` forwards. Nothing of them is ever planned.
#pragma once

#include <vector>

#include "plans/kinds/pod/spec.h"
#include "plans/spec/value_reader.h"

namespace podctl {

class TunnelReader {
 public:
  explicit TunnelReader(ValueReader& reader) : reader_(reader) {}

  std::vector<TunnelSpec> Read(const YamlNode& tunnels, const Slot& slot);

 private:
  bool ReadTunnel(const YamlNode& node, const Slot& slot, TunnelSpec& tunnel);
  void ReadKey(const YamlEntry& entry, const Slot& slot, TunnelSpec& tunnel);

  ValueReader& reader_;
};

}  // namespace podctl
