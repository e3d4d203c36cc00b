// Workers played by OpenSSH's sshd, each on a loopback address of its own.
//
// With CAP_SYS_ADMIN each worker lives in namespaces of its own (pid, mount, uts, ipc) with its own
// hostname, homes, accounts and sudo rights; without, it is a plain sshd that only this process's
// own user can enter, with a home and a hostname of its own by way of ForceCommand. Either way all
// its processes die with it, with stdin or the namespace as the leash, even when this process is
// killed. Thread safe; one thread starts, watches and buries the workers.
//
// A worker with a network of its own (see WorkerNetwork and pod_network.h) is entered through a
// socket of this machine's network, and by the others of its pod through one of its own: bound
// here, handed to the worker's first process, which listens on them and starts `sshd -i` inside for
// each connection. Nobody else holds them, so that they die with the worker. There its metadata
// server answers too, from this process.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "providers/base/error.h"
#include "providers/emulator/workers/metadata_server.h"
#include "providers/emulator/workers/pod_network.h"
#include "providers/emulator/workers/worker_farm.h"
#include "providers/emulator/workers/worker_files.h"

namespace podctl::emulator {

class SshdFarm final : public WorkerFarm {
 public:
  struct Settings {
    std::string folder;  // absolute; for the workers' files
    int port = 0;        // 0: 22 if it may be bound, else 2222
    bool allow_namespaces = true;
    WorkerNetwork network = WorkerNetwork::kPrivateIfPossible;
    // Where plain workers reach Cloud Storage (STORAGE_EMULATOR_HOST); or empty. Others do not:
    // they have users that the emulator lets in nowhere.
    std::string storage = {};
  };

  // kFailedPrecondition with a hint when sshd or ssh-keygen is missing, the port is taken, or
  // private networks were asked for and cannot be had; kInvalidArgument: plain workers cannot live
  // in a folder of that name.
  static Result<std::unique_ptr<SshdFarm>> Make(Settings settings);
  ~SshdFarm() override;  // ends all workers

  int port() const { return settings_.port; }
  bool namespaces() const { return namespaces_; }
  bool own_network() const { return own_network_; }

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
  static constexpr char kPerl[] = "/usr/bin/perl";
  using Clock = std::chrono::steady_clock;

  struct Machine {
    WorkerFiles files;
    bool wanted = false;
    bool boot_again = false;  // when it is down, for new-host-keys
    bool fresh_host_keys = false;
    Condition condition = Condition::kOff;
    std::uint64_t turn = 0;  // who waits longest boots first, however many come after it
    std::string failure;
    pid_t pid = -1;
    int leash = -1;              // closing it ends a plain worker
    Clock::time_point deadline;  // of booting, or of dying gently
    bool killed = false;
    std::vector<pid_t> visitors;  // processes put into it from outside
  };
  struct Set {
    MachineSet spec;
    std::vector<Machine> machines;
    std::shared_ptr<PodNetwork> network;  // null before a worker with a network of its own came
    bool discarded = false;
  };

  // `metadata`: null unless workers have networks of their own.
  SshdFarm(Settings settings, std::string sshd, bool namespaces,
           std::unique_ptr<MetadataServer> metadata);
  void Run();
  // One look at everything; true while something is on its way up or down.
  bool Tend();
  bool TendMachine(Machine* machine, int* booting);
  void AwaitBoot(Machine* machine);
  void Bury(Machine* machine);
  Result<void> HoldTpu(Machine* machine);
  std::vector<std::string> FirstProcess(const WorkerFiles& files) const;
  Result<PodNetwork::Place> Join(const std::string& uid, const WorkerFiles& files);
  void StartMachine(const std::string& uid, std::size_t index);
  void SweepDiscarded();
  std::string FolderOf(const std::string& uid) const;

  Settings settings_;
  const std::string sshd_;
  const bool namespaces_;
  const bool own_network_;
  const std::unique_ptr<MetadataServer> metadata_;

  std::mutex files_mutex_;  // one writer of worker folders; taken before mutex_
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::string, Set> sets_;  // by uid
  std::uint64_t turns_ = 0;
  bool stirred_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace podctl::emulator
