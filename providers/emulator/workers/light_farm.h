// Workers played by one process, this one: an SSH server on each worker's address, and no process
// for a worker until somebody runs a command there. Thousands boot within a second.
//
// What is less real than with SshdFarm: every user's commands run as this process's own user, in
// homes of their own; the workers share the machine's network, file system and process table; there
// is one host key, Ed25519. The rest is the same, above all accounts from `ssh-keys`, the
// startup-script, and a tpu-runtime unit that reads `tensorflow-env-vars` when it starts. All
// processes of a worker die with it, and all die with this process, even when it is killed.
//
// Thread safe; one thread boots and buries, others serve SSH.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "providers/base/error.h"
#include "providers/emulator/workers/light/server.h"
#include "providers/emulator/workers/light/supervisor.h"
#include "providers/emulator/workers/light_worker.h"
#include "providers/emulator/workers/worker_farm.h"

namespace podctl::emulator {

class LightFarm final : public WorkerFarm {
 public:
  struct Settings {
    std::string folder;        // absolute; for the workers' files
    int port = 0;              // 0: 22 if it may be bound, else 2222
    std::string storage = {};  // where they reach Cloud Storage (STORAGE_EMULATOR_HOST); or empty
  };

  // Raises this process's soft limit of descriptors. kFailedPrecondition with a hint when the port
  // is taken or bash is missing; kUnavailable; kIo.
  static Result<std::unique_ptr<LightFarm>> Make(Settings settings);
  ~LightFarm() override;  // ends all workers

  int port() const { return settings_.port; }

  void Boot(const MachineSet& machines) override;
  void SetMetadata(const MachineSet& machines) override;
  Condition ConditionOf(const std::string& uid) override;
  std::string FailureOf(const std::string& uid) override;
  void PowerOff(const std::string& uid) override;
  void Discard(const std::string& uid) override;
  bool IsFree(const std::string& address) override;
  std::vector<std::pair<std::string, std::string>> HostKeys(const std::string& uid,
                                                            int worker) override;
  Result<void> Act(const std::string& uid, int worker, const std::string& action) override;

 private:
  struct Machine {
    std::string address;
    std::shared_ptr<LightWorker> worker;
    std::optional<HostKey> key;
    LightServer::Id door = kClosed;
    Condition condition = Condition::kOff;
    std::string failure;
  };
  struct Set {
    std::string host;
    Value metadata;
    std::string accounts;
    std::shared_ptr<LightNode> node;
    std::vector<Machine> machines;
    int changing = 0;  // jobs that will change a machine's condition
  };
  static constexpr LightServer::Id kClosed = -1;

  LightFarm(Settings settings, std::unique_ptr<ProcessSpawner> spawner,
            std::unique_ptr<LightServer> server);
  void Run();
  void Later(std::function<void()> job);  // with mutex_ held
  Machine* Find(const std::string& uid, int worker);

  // Jobs, on the farm's thread. `which`: the machines that are meant.
  void BootMachines(const std::string& uid, const std::vector<std::size_t>& which,
                    bool fresh_host_keys);
  void StopMachines(const std::string& uid, const std::vector<std::size_t>& which);
  void Remove(const std::string& uid);

  std::string OpenDoors(const Set& set, const std::vector<std::size_t>& which,
                        std::vector<LightServer::Door>* doors) const;
  void RunStartupScript(const LightNode& node, LightWorker& worker) const;

  const Settings settings_;
  std::unique_ptr<ProcessSpawner> spawner_;
  std::unique_ptr<LightServer> server_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::string, Set> sets_;  // by uid
  std::deque<std::function<void()>> jobs_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace podctl::emulator
