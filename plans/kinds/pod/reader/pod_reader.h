// Reads one pod of the spec: the Node's fields by the field table, and the keys podctl adds.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "plans/engine/kind.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/value_reader.h"
#include "providers/os/file_system.h"

namespace podctl {

class PodReader {
 public:
  // `section` is lent.
  explicit PodReader(const Section& section)
      : section_(section), reader_(section.reader), files_(section.files) {}

  // `pod` is the pod's map with the spec's `defaults` merged under it. References, those of
  // dependsOn and replaceTriggeredBy included, are left with the section's reader.
  PodSpec Read(const YamlNode& key, const YamlNode& pod);
  // The keys of `defaults` on their own: what is wrong with each of them, whatever the pods say.
  void CheckDefaults(const YamlNode& defaults);

 private:
  void ReadPortOfAll(const YamlNode& key, const Slot& slot, PodSpec& pod);
  void ReadKeys(const YamlNode& map, const std::string& context, PodSpec& pod);
  void ReadOwnKey(const YamlEntry& entry, const Slot& slot, const Shape& shape, PodSpec& pod);
  void ReadApiVersion(const YamlEntry& entry, const Slot& slot, const Shape& shape, PodSpec& pod);
  void ReadSsh(const YamlNode& node, const Slot& slot, PodSpec& pod);
  void ReadSshKey(const YamlNode& value, const Slot& slot, const Shape& shape, PodSpec& pod);
  void ReadCheck(const YamlNode& value, const Slot& slot, PodSpec& pod);
  std::optional<std::chrono::milliseconds> ReadEnd(const YamlNode& node, const Slot& slot);
  void ReadIdle(const YamlNode& node, const Slot& slot, PodSpec& pod);
  void CheckIdle(const YamlNode& map, const std::string& context, const PodSpec& pod);
  void ReadLifecycle(const YamlNode& node, const Slot& slot, PodSpec& pod);
  void ReadIgnoreChanges(const YamlNode& node, const Slot& slot, PodSpec& pod);
  void ReadTriggers(const YamlNode& node, const Slot& slot, PodSpec& pod);
  void ReadDependsOn(const YamlNode& node, const Slot& slot);

  const Section& section_;
  ValueReader& reader_;
  FileSystem& files_;
};

// `pod.NAME`; nullopt: it is none.
std::optional<Address> ReadPodAddress(std::string_view text);

// ---- What is between pods: what a reference may name, and nodes that must not be claimed twice.

// nullopt: it may.
std::optional<ReferenceProblem> CheckPodReference(const FoundReference& reference,
                                                  const PodSpec& pod);

// What can be referred to of a pod: the fields of its Node, which have paths below them.
std::vector<std::string> PublishedMembers();

// Two pods with the same project, zone and node id are one problem with both places.
std::vector<Diagnostic> PodsOfOneNode(const std::vector<const Declared*>& pods);

// The `tunnels` of a pod: what `podctl tunnel POD` forwards. Nothing of them is ever planned.
std::vector<TunnelSpec> ReadTunnels(ValueReader& reader, const YamlNode& tunnels, const Slot& slot);

}  // namespace podctl
