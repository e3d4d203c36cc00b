// The second part of sshd_farm.h: a worker's first process, and what it finds when it starts.
#include <fcntl.h>
#include <unistd.h>

#include "providers/emulator/child_process.h"
#include "providers/emulator/sshd_farm.h"

namespace podctl::emulator {
namespace {

using std::chrono::seconds;

constexpr seconds kBootLimit{60};  // for one worker, from its first process on
// At one worker, open or about to be; more are closed at once, as by MaxStartups.
constexpr int kConnectionsAtOnce = 200;
constexpr int kDoors = 2;  // that of this machine's network, and that of its own

}  // namespace

// The init script, its two arguments, and the command that it becomes or starts to answer SSH.
std::vector<std::string> SshdFarm::FirstProcess(const WorkerFiles& files) const {
  const std::string config = files.Inside() + "/ssh/sshd_config";
  std::vector<std::string> argv = {"/bin/bash", files.folder + "/bin/init", files.folder,
                                   files.hostname};
  const std::vector<std::string> listener =
      own_network_ ? std::vector<std::string>{kPerl,
                                              files.Inside() + "/bin/doorman",
                                              std::to_string(kDoors),
                                              std::to_string(kConnectionsAtOnce),
                                              sshd_,
                                              "-i",
                                              "-e",
                                              "-f",
                                              config}
                   : std::vector<std::string>{sshd_, "-D", "-e", "-f", config};
  argv.insert(argv.end(), listener.begin(), listener.end());
  return argv;
}

// A place in the network of its pod, which the first of the workers to come makes.
Result<PodNetwork::Place> SshdFarm::Join(const std::string& uid, const WorkerFiles& files) {
  std::shared_ptr<PodNetwork> network;
  {
    std::lock_guard lock(mutex_);
    Set& set = sets_.at(uid);
    for (const auto& [other, one] : sets_) {
      if (!set.network && one.spec.network == set.spec.network) set.network = one.network;
    }
    if (!set.network) {
      auto made = PodNetwork::Make();
      if (!made) return made.error();
      set.network = *std::move(made);
    }
    network = set.network;
  }
  return network->Join(files.address, files.port);
}

void SshdFarm::StartMachine(const std::string& uid, std::size_t index) {
  std::lock_guard files_lock(files_mutex_);
  WorkerFiles files;
  Value metadata;
  std::string accounts;
  bool fresh_host_keys = false;
  {
    std::lock_guard lock(mutex_);
    const auto found = sets_.find(uid);
    if (found == sets_.end() || found->second.discarded) return;
    Machine& machine = found->second.machines[index];
    if (!machine.wanted) return;
    files = machine.files;
    metadata = found->second.spec.metadata;
    accounts = found->second.spec.accounts;
    fresh_host_keys = std::exchange(machine.fresh_host_keys, false);
  }
  if (fresh_host_keys) files.RemoveHostKeys();
  Result<void> prepared = files.Prepare(metadata, accounts);
  int leash[2] = {-1, -1};
  if (!namespaces_ && ::pipe2(leash, O_CLOEXEC) != 0) {
    prepared = MakeError(ErrorCode::kIo, "cannot make a pipe");
  }
  PodNetwork::Place place;
  if (prepared && own_network_) {
    Result<PodNetwork::Place> joined = Join(uid, files);
    if (joined) place = *std::move(joined);
    if (!joined) prepared = joined.error();
  }
  if (prepared && metadata_) metadata_->Open(uid, index, std::move(place.metadata));
  Result<pid_t> child = MakeError(ErrorCode::kIo, "not started");
  if (prepared) {
    child = StartChild({.argv = FirstProcess(files),
                        .log = files.folder + "/log",
                        .namespaces = namespaces_,
                        .network = place.space.get(),
                        .confined = namespaces_,
                        .stdin_file = leash[0],
                        .passed_files = own_network_ ? std::vector<int>{place.outer_door.get(),
                                                                        place.inner_door.get()}
                                                     : std::vector<int>{}});
  }
  if (leash[0] >= 0) ::close(leash[0]);
  std::lock_guard lock(mutex_);
  Machine& machine = sets_.at(uid).machines[index];
  if (!prepared || !child) {
    if (leash[1] >= 0) ::close(leash[1]);
    if (metadata_) metadata_->Close(uid, index);
    machine.condition = Condition::kFailed;
    machine.failure = prepared ? child.error().message : prepared.error().message;
    machine.wanted = false;
    return;
  }
  machine.pid = *child;
  machine.leash = leash[1];
  machine.killed = false;
  machine.deadline = Clock::now() + kBootLimit;
}

}  // namespace podctl::emulator
