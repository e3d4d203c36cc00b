// Reads one pod of the spec: the Node's fields by the field table, and the keys podctl adds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plans/spec/node_fields.h"
#include "plans/spec/spec.h"
#include "plans/spec/value_reader.h"
#include "providers/os/file_system.h"

namespace podctl {

struct PodDefaults {
  std::optional<std::string> project;  // of the spec, else from the options
  std::optional<std::string> zone;
};

struct ReadPod {
  PodSpec pod;
  std::vector<FoundReference> references;  // to other pods, dependsOn included (with an empty path)
  std::string source_line;                 // of the pod's key
  bool lacks_project = false;
  bool lacks_zone = false;
};

class PodReader {
 public:
  PodReader(ValueReader& reader, FileSystem& files, const PodDefaults& defaults)
      : reader_(reader), files_(files), defaults_(defaults) {}

  // `pod` is the pod's map with the spec's `defaults` merged under it.
  ReadPod Read(const YamlNode& key, const YamlNode& pod);
  // The keys of `defaults` on their own: what is wrong with each of them, whatever the pods say.
  void CheckDefaults(const YamlNode& defaults);

 private:
  void ReadKeys(const YamlNode& pod, const std::string& context, ReadPod& result);
  void ReadOwnKey(const YamlEntry& entry, const Slot& slot, ReadPod& result);
  void ReadApiVersion(const YamlEntry& entry, const Slot& slot, PodSpec& pod);
  void ReadSsh(const YamlNode& node, const Slot& slot, PodSpec& pod);
  void ReadSshKey(const YamlEntry& entry, const Slot& slot, PodSpec& pod);
  void ReadLifecycle(const YamlNode& node, const Slot& slot, ReadPod& result);
  void ReadIgnoreChanges(const YamlNode& node, const Slot& slot, PodSpec& pod);
  void ReadTriggers(const YamlNode& node, const Slot& slot, ReadPod& result);
  void ReadDependsOn(const YamlNode& node, const Slot& slot, ReadPod& result);

  ValueReader& reader_;
  FileSystem& files_;
  const PodDefaults& defaults_;
};

// Names that may be a part of an address, `pod.research`.
bool IsPodName(std::string_view name);
// `pod.NAME`; nullopt: it is none.
std::optional<Address> ReadPodAddress(std::string_view text);

}  // namespace podctl
