// The files of light workers, and what such a worker answers its SSH server.
//
// A node's folder holds what its workers share (`metadata`, `units`, `host_keys`) and a folder for
// each worker that somebody has entered, made when that happens: its homes and the state of its
// unit. Knows no sockets and starts no process. Thread safe.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/error.h"
#include "providers/base/value.h"
#include "providers/emulator/workers/light/host.h"
#include "providers/emulator/workers/light/server.h"

namespace podctl::emulator {

// What the workers of one node have in common.
class LightNode {
 public:
  // `programs`: the folder of their systemctl and its like. `storage`: where they reach Cloud
  // Storage; may be empty.
  LightNode(std::string folder, std::string programs, bool has_runtime, std::string storage)
      : folder_(std::move(folder)),
        programs_(std::move(programs)),
        has_runtime_(has_runtime),
        storage_(std::move(storage)) {}

  const std::string& folder() const { return folder_; }
  const std::string& programs() const { return programs_; }
  bool has_runtime() const { return has_runtime_; }
  const std::string& storage() const { return storage_; }

  // Writes the metadata and the unit, and lets those in whom `accounts` names ("user:key" lines).
  Result<void> SetMetadata(const Value& metadata, const std::string& accounts);
  bool Admits(std::string_view user, std::string_view key) const;
  // Text that starts tpu-runtime as the metadata has it now; "": it would not start.
  std::string RuntimeBegin() const;

  // As many keys as there are workers: those of the file, and new ones for the rest.
  Result<std::vector<HostKey>> LoadHostKeys(std::size_t count) const;
  Result<void> SaveHostKeys(const std::vector<HostKey>& keys) const;

 private:
  const std::string folder_;
  const std::string programs_;
  const bool has_runtime_;
  const std::string storage_;
  mutable std::mutex mutex_;
  std::map<std::string, std::set<std::string>, std::less<>> keys_;  // by user
  std::string runtime_begin_;
};

class LightWorker final : public Host {
 public:
  LightWorker(std::shared_ptr<LightNode> node, int index, std::string hostname);

  // Forgets the state of the last run. The unit starts with the metadata of this moment.
  void Boot();
  // What all its processes have in their environment: "LIGHT_WORKER=…/".
  std::string Mark() const;
  Result<void> SetBroken(bool broken);
  const std::string& Folder() const { return folder_; }

  // Host
  std::string_view Hostname() const override { return hostname_; }
  bool Admits(std::string_view user, std::string_view key) override;
  Result<Login> LogIn(const std::string& user) override;

 private:
  Result<void> Furnish(const std::string& user);
  std::string UnitState() const;

  const std::shared_ptr<LightNode> node_;
  const std::string folder_;
  const std::string hostname_;
  std::mutex mutex_;
  std::string runtime_begin_;  // at boot; "": the unit did not start
  std::chrono::system_clock::time_point booted_;
  std::set<std::string> furnished_;  // users whose homes are there
};

// The stand-in programs, shared by all light workers of a farm.
Result<void> WriteLightPrograms(const std::string& folder);

}  // namespace podctl::emulator
