// Reads `metadata`, `libtpuFlags` and `runtimeEnv` of a pod: what the guest will see.
#pragma once

#include <map>
#include <string>

#include "plans/kinds/pod/reader/node_fields.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/value_reader.h"
#include "providers/os/file_system.h"

namespace podctl {

class MetadataReader {
 public:
  MetadataReader(ValueReader& reader, FileSystem& files, PodSpec& pod)
      : reader_(reader), files_(files), pod_(pod) {}

  // Reads all three from the pod's map, and composes `tensorflow-env-vars`.
  void Read(const YamlNode& pod, const std::string& context);

 private:
  void ReadEntry(const YamlEntry& entry, const Slot& slot);
  std::optional<TextValue> ReadSource(const YamlNode& map, const Slot& slot);
  void ReadFlags(const YamlEntry& flags, const Slot& slot);
  void ReadVariables(const YamlEntry& variables, const Slot& slot, bool has_flags);
  void Compose(const YamlNode& pod, const std::string& context);

  ValueReader& reader_;
  FileSystem& files_;
  PodSpec& pod_;
  bool runtime_is_sensitive_ = false;
};

}  // namespace podctl
