#include "providers/emulator/workers/light_farm.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <system_error>
#include <utility>

#include "providers/emulator/workers/address.h"

namespace podctl::emulator {
namespace {

constexpr int kThreads = 2;
constexpr int kBacklog = 128;

std::vector<std::size_t> All(std::size_t count) {
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

void RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

Result<std::unique_ptr<LightFarm>> LightFarm::Make(Settings settings) {
  if (::access("/bin/bash", X_OK) != 0) {
    return MakeError(ErrorCode::kFailedPrecondition,
                     "bash is needed to run workers, and is not installed", "install bash");
  }
  Result<int> port = ChoosePort(settings.port);
  if (!port) return port.error();
  settings.port = *port;
  RaiseDescriptorLimit();
  // First, while there is little to copy.
  auto spawner = ProcessSpawner::Start("LIGHT_WORKER=" + settings.folder + "/");
  if (!spawner) return spawner.error();
  if (Result<void> done = WriteLightPrograms(settings.folder + "/bin"); !done) return done.error();
  auto server = LightServer::Start(kThreads, **spawner);
  if (!server) return server.error();
  return std::unique_ptr<LightFarm>(
      new LightFarm(std::move(settings), *std::move(spawner), *std::move(server)));
}

LightFarm::LightFarm(Settings settings, std::unique_ptr<ProcessSpawner> spawner,
                     std::unique_ptr<LightServer> server)
    : settings_(std::move(settings)), spawner_(std::move(spawner)), server_(std::move(server)) {
  thread_ = std::thread([this] { Run(); });
}

LightFarm::~LightFarm() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
  server_.reset();
  spawner_.reset();
}

void LightFarm::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    lock.lock();
  }
}

void LightFarm::Later(std::function<void()> job) {
  jobs_.push_back(std::move(job));
  wake_.notify_all();
}

LightFarm::Machine* LightFarm::Find(const std::string& uid, int worker) {
  const auto found = sets_.find(uid);
  if (found == sets_.end() || worker < 0 ||
      worker >= static_cast<int>(found->second.machines.size())) {
    return nullptr;
  }
  return &found->second.machines[static_cast<std::size_t>(worker)];
}

void LightFarm::Boot(const MachineSet& machines) {
  const std::lock_guard lock(mutex_);
  Set& set = sets_[machines.uid];
  set.host = machines.host;
  set.metadata = machines.metadata;
  set.accounts = machines.accounts;
  if (set.node == nullptr) {
    set.node = std::make_shared<LightNode>(settings_.folder + "/" + machines.uid,
                                           settings_.folder + "/bin", machines.has_runtime,
                                           settings_.storage);
  }
  set.machines.resize(machines.addresses.size());
  for (std::size_t i = 0; i < set.machines.size(); ++i) {
    Machine& machine = set.machines[i];
    machine.address = machines.addresses[i];
    if (machine.worker == nullptr) {
      machine.worker = std::make_shared<LightWorker>(set.node, static_cast<int>(i),
                                                     fmt::format("{}-w-{}", machines.host, i));
    }
  }
  ++set.changing;
  Later([this, uid = machines.uid, count = set.machines.size()] {
    BootMachines(uid, All(count), false);
  });
}

void LightFarm::SetMetadata(const MachineSet& machines) {
  std::shared_ptr<LightNode> node;
  {
    const std::lock_guard lock(mutex_);
    const auto found = sets_.find(machines.uid);
    if (found == sets_.end()) return;
    found->second.metadata = machines.metadata;
    found->second.accounts = machines.accounts;
    node = found->second.node;
  }
  // A folder that cannot be written shows as workers without the new value, as on sick VMs.
  static_cast<void>(node->SetMetadata(machines.metadata, machines.accounts));
}

Condition LightFarm::ConditionOf(const std::string& uid) {
  const std::lock_guard lock(mutex_);
  const auto found = sets_.find(uid);
  if (found == sets_.end()) return Condition::kOff;
  if (found->second.changing > 0) return Condition::kBooting;
  bool off = false;
  for (const Machine& machine : found->second.machines) {
    if (machine.condition == Condition::kFailed) return Condition::kFailed;
    off = off || machine.condition == Condition::kOff;
  }
  return off ? Condition::kOff : Condition::kUp;
}

std::string LightFarm::FailureOf(const std::string& uid) {
  const std::lock_guard lock(mutex_);
  const auto found = sets_.find(uid);
  if (found == sets_.end()) return {};
  for (const Machine& machine : found->second.machines) {
    if (machine.condition != Condition::kFailed) continue;
    return fmt::format("{}: {}", machine.worker->Hostname(), machine.failure);
  }
  return {};
}

void LightFarm::PowerOff(const std::string& uid) {
  const std::lock_guard lock(mutex_);
  const auto found = sets_.find(uid);
  if (found == sets_.end()) return;
  ++found->second.changing;
  Later([this, uid, count = found->second.machines.size()] { StopMachines(uid, All(count)); });
}

void LightFarm::Discard(const std::string& uid) {
  PowerOff(uid);
  const std::lock_guard lock(mutex_);
  ++sets_[uid].changing;
  Later([this, uid] { Remove(uid); });
}

bool LightFarm::IsFree(const std::string& address) {
  return TryBind(address, settings_.port) == 0;
}

std::vector<std::pair<std::string, std::string>> LightFarm::HostKeys(const std::string& uid,
                                                                     int worker) {
  const std::lock_guard lock(mutex_);
  const Machine* machine = Find(uid, worker);
  // A guest agent that has not run yet has published nothing.
  if (machine == nullptr || machine->condition != Condition::kUp) return {};
  return {{"ssh-ed25519", machine->key->public_base64()}};
}

Result<void> LightFarm::Act(const std::string& uid, int worker, const std::string& action) {
  const std::lock_guard lock(mutex_);
  Machine* machine = Find(uid, worker);
  if (machine == nullptr) return MakeError(ErrorCode::kNotFound, "there is no such worker");
  const std::vector<std::size_t> only{static_cast<std::size_t>(worker)};
  if (action == "break-runtime" || action == "mend-runtime") {
    return machine->worker->SetBroken(action == "break-runtime");
  }
  if (action != "stop" && action != "start" && action != "new-host-keys") {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("unknown action \"{}\"; there are stop, start, new-host-keys, "
                                 "break-runtime, mend-runtime",
                                 action));
  }
  Set& set = sets_.at(uid);
  if (action != "start") {
    ++set.changing;
    machine->condition = Condition::kOff;
    Later([this, uid, only] { StopMachines(uid, only); });
  }
  if (action != "stop") {
    ++set.changing;
    machine->condition = Condition::kBooting;
    const bool fresh = action == "new-host-keys";
    Later([this, uid, only, fresh] { BootMachines(uid, only, fresh); });
  }
  return {};
}

std::string LightFarm::OpenDoors(const Set& set, const std::vector<std::size_t>& which,
                                 std::vector<LightServer::Door>* doors) const {
  for (const std::size_t i : which) {
    const Machine& machine = set.machines[i];
    Result<int> socket = ListenOn(machine.address, settings_.port, kBacklog);
    if (!socket) {
      for (const LightServer::Door& door : *doors) ::close(door.socket);
      doors->clear();
      return fmt::format("{}: {}", machine.worker->Hostname(), socket.error().message);
    }
    doors->push_back({.host = machine.worker, .key = *machine.key, .socket = *socket});
  }
  return {};
}

void LightFarm::BootMachines(const std::string& uid, const std::vector<std::size_t>& which,
                             bool fresh_host_keys) {
  Set set;  // a copy, since files and sockets are no work for a locked farm
  {
    const std::lock_guard lock(mutex_);
    set = sets_.at(uid);
  }
  std::vector<std::size_t> down;
  for (const std::size_t i : which) {
    if (set.machines[i].door == kClosed) down.push_back(i);
  }
  std::string failure;
  Result<void> done = set.node->SetMetadata(set.metadata, set.accounts);
  Result<std::vector<HostKey>> keys = set.node->LoadHostKeys(set.machines.size());
  if (done && keys && fresh_host_keys) {
    for (const std::size_t i : which) {
      if (Result<HostKey> made = HostKey::Make()) (*keys)[i] = *std::move(made);
    }
    done = set.node->SaveHostKeys(*keys);
  }
  if (!done) failure = done.error().message;
  if (!keys) failure = keys.error().message;
  std::vector<LightServer::Door> doors;
  if (failure.empty()) {
    for (const std::size_t i : down) {
      set.machines[i].key = (*keys)[i];
      set.machines[i].worker->Boot();
    }
    failure = OpenDoors(set, down, &doors);
  }
  const bool has_script = set.metadata.Find("startup-script") != nullptr;
  const std::vector<LightServer::Id> ids = server_->Open(std::move(doors));
  for (std::size_t n = 0; failure.empty() && has_script && n < down.size(); ++n) {
    RunStartupScript(*set.node, *set.machines[down[n]].worker);
  }
  const std::lock_guard lock(mutex_);
  Set& now = sets_.at(uid);
  --now.changing;
  for (std::size_t n = 0; n < down.size(); ++n) {
    Machine& machine = now.machines[down[n]];
    machine.key = set.machines[down[n]].key;
    machine.door = failure.empty() ? ids[n] : kClosed;
    machine.condition = failure.empty() ? Condition::kUp : Condition::kFailed;
    machine.failure = failure;
  }
}

void LightFarm::StopMachines(const std::string& uid, const std::vector<std::size_t>& which) {
  std::vector<LightServer::Id> doors;
  std::vector<std::string> marks;
  {
    const std::lock_guard lock(mutex_);
    Set& set = sets_.at(uid);
    for (const std::size_t i : which) {
      Machine& machine = set.machines[i];
      if (machine.door != kClosed) doors.push_back(std::exchange(machine.door, kClosed));
    }
    if (which.size() == set.machines.size()) {
      marks = {fmt::format("LIGHT_WORKER={}/", set.node->folder())};
    } else {
      for (const std::size_t i : which) marks.push_back(set.machines[i].worker->Mark());
    }
  }
  server_->Close(doors);
  for (const std::string& mark : marks) KillMarked(mark);
  const std::lock_guard lock(mutex_);
  Set& set = sets_.at(uid);
  --set.changing;
  for (const std::size_t i : which) set.machines[i].condition = Condition::kOff;
}

void LightFarm::Remove(const std::string& uid) {
  std::error_code problem;
  std::filesystem::remove_all(settings_.folder + "/" + uid, problem);
  const std::lock_guard lock(mutex_);
  sets_.erase(uid);
}

// As root of the worker, and nobody waits for it.
void LightFarm::RunStartupScript(const LightNode& node, LightWorker& worker) const {
  Result<Login> login = worker.LogIn("root");
  if (!login) return;
  const std::string script = worker.Folder() + "/state/startup-script";
  const std::string log = script + ".log";
  std::error_code problem;
  std::filesystem::copy_file(node.folder() + "/metadata/attributes/startup-script", script,
                             std::filesystem::copy_options::overwrite_existing, problem);
  std::filesystem::permissions(script, std::filesystem::perms::owner_all, problem);
  const int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (in >= 0 && out >= 0) {
    // A worker whose script could not be started is one whose script has failed.
    static_cast<void>(spawner_->RunAlone({.argv = {login->shell, "-c", "exec \"$0\"", script},
                                          .environment = login->environment,
                                          .folder = "/",
                                          .in = in,
                                          .out = out,
                                          .err = out}));
  }
  if (in >= 0) ::close(in);
  if (out >= 0) ::close(out);
}

}  // namespace podctl::emulator
