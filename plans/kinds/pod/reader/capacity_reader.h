// Reads what a pod says of capacity that is not there, or is taken back: `capacity` and
// `onPreemption`.
#pragma once

#include <string>

#include "plans/kinds/pod/spec.h"
#include "plans/spec/value_reader.h"

namespace podctl {

class CapacityReader {
 public:
  CapacityReader(ValueReader& reader, PodSpec& pod) : reader_(reader), pod_(pod) {}

  void ReadCapacity(const YamlEntry& entry, const Slot& slot);
  void ReadOnPreemption(const YamlNode& node, const Slot& slot);
  // When the pod's zone is known: it is the first of `capacity.zones`; and what does not go
  // together with `capacity`.
  void Check(const YamlNode& pod, const std::string& context);

 private:
  void ReadZones(const YamlNode& node, const Slot& slot);

  ValueReader& reader_;
  PodSpec& pod_;
};

}  // namespace podctl
