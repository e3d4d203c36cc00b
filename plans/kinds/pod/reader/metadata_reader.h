// Reads `metadata`, `libtpuFlags` and `runtimeEnv` of a pod: what the guest will see. And
// `ssh.publishKeys`.
#pragma once

#include <string>
#include <string_view>

#include "plans/kinds/pod/spec.h"
#include "plans/spec/value_reader.h"
#include "providers/os/file_system.h"

namespace podctl {

// startup-script and shutdown-script, and what cloud-init takes.
bool IsExecutedByGuest(std::string_view key);

class MetadataReader {
 public:
  MetadataReader(ValueReader& reader, FileSystem& files, PodSpec& pod)
      : reader_(reader), files_(files), pod_(pod) {}

  // Reads all three from the pod's map, and composes `tensorflow-env-vars`.
  void Read(const YamlNode& pod, const std::string& context);

 private:
  void ReadEntry(const YamlEntry& entry, const Slot& slot);
  std::optional<MetadataEntry> ReadSource(const YamlNode& map, const Slot& slot);
  std::optional<MetadataEntry> ReadSecret(const YamlNode& node, const Slot& slot);
  void ReadFlags(const YamlEntry& flags, const Slot& slot);
  void ReadVariables(const YamlEntry& variables, const Slot& slot, bool has_flags);
  void Compose(const YamlNode& pod, const std::string& context);

  ValueReader& reader_;
  FileSystem& files_;
  PodSpec& pod_;
  bool runtime_is_sensitive_ = false;
};

// ---- Reads `ssh.publishKeys` of a pod: public keys that are let in beside that of whoever
// applies.

class PublishKeysReader {
 public:
  PublishKeysReader(ValueReader& reader, FileSystem& files, PodSpec& pod)
      : reader_(reader), files_(files), pod_(pod) {}

  // Each item is a key ("carol:ssh-ed25519 AAAA… carol@laptop"), the path of a file of such lines,
  // or {file: PATH, user: NAME}. A key that names no user is of `ssh.user`, which must have been
  // read; where there is none it is refused, since whoever applies would be another one each time.
  void Read(const YamlNode& list, const Slot& slot);

  // That the spec does not write `ssh-keys` itself as well.
  void Check(const YamlNode& pod, const std::string& context);

 private:
  void ReadItem(const YamlNode& item, const Slot& slot);
  void ReadMap(const YamlNode& map, const Slot& slot);
  void ReadFile(const YamlNode& at, const Slot& slot, const std::string& path,
                const std::string& user);
  // `where`: "line 3 of keys/team.pub"; "" for a key that stands in the spec.
  void TakeKey(const YamlNode& at, const Slot& slot, const std::string& line,
               const std::string& user, const std::string& where);

  ValueReader& reader_;
  FileSystem& files_;
  PodSpec& pod_;
};

bool IsUserName(std::string_view name);

}  // namespace podctl
