// Reads what a pod says of capacity that is not there, or is taken back: `capacity` and
// `onPreemption`; and of waiting for it: `queuedResource`, `slices`, `timeouts`.
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

// ---- Reads what a pod says of waiting: `queuedResource`, `slices` and `timeouts`. What a queued
// resource may be asked is told by the table in providers/gcp/queued_resource.h.

class QueueReader {
 public:
  QueueReader(ValueReader& reader, PodSpec& pod) : reader_(reader), pod_(pod) {}

  void ReadQueuedResource(const YamlEntry& entry, const Slot& slot);
  void ReadTimeouts(const YamlNode& node, const Slot& slot);
  // After all keys: `slices`, and what does not go together with a queued resource.
  void Check(const YamlNode& pod, const std::string& context);

 private:
  // `prefix`: of the terms that `map` is the table of.
  void ReadTerms(const YamlNode& node, const Slot& slot, const std::string& prefix,
                 const Shape& map);
  void ReadTerm(const YamlEntry& entry, const Slot& slot, const std::string& path,
                const Shape& shape);
  void CheckTier(const YamlNode& queued, const Slot& slot);
  // That the pod's API version knows them all.
  void CheckVersion(const YamlNode& queued, const Slot& slot, const std::string& prefix);
  void CheckWorkload(const YamlNode& queued, const Slot& slot);

  ValueReader& reader_;
  PodSpec& pod_;
};

}  // namespace podctl
