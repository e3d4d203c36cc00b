#include "providers/emulator/workers/sshd_farm.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "providers/emulator/shell/worker_texts.h"
#include "providers/emulator/workers/address.h"
#include "providers/emulator/workers/child_process.h"
#include "providers/emulator/workers/pod_network.h"

namespace podctl::emulator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kBootingAtOnce = 12;  // key making is work; more would only share the cores
constexpr seconds kGentleEnd{3};    // a plain worker may take this long to end its processes
constexpr seconds kBootLimit{60};   // for one worker, from its first process on
// At one worker, open or about to be; more are closed at once, as by MaxStartups.
constexpr int kConnectionsAtOnce = 200;
constexpr int kDoors = 2;  // that of this machine's network, and that of its own
constexpr milliseconds kBusyPause{15};
constexpr milliseconds kIdlePause{500};

// May it stand within quotes in sshd_config, in a shell script, and beside sshd's own %-tokens?
bool IsQuotable(const std::string& path) {
  return std::none_of(path.begin(), path.end(), [](unsigned char c) {
    return std::iscntrl(c) != 0 || std::string_view("'\"\\%$`").find(c) != std::string_view::npos;
  });
}

std::string FindProgram(std::initializer_list<const char*> places) {
  for (const char* place : places) {
    if (::access(place, X_OK) == 0) return place;
  }
  return {};
}

bool NetworksWork() {
  const auto network = PodNetwork::Make();
  return network && (*network)->Join("127.64.255.254", 0).has_value();
}

std::string LastLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::string last;
  while (std::getline(file, line)) {
    if (!line.empty()) last = line.substr(0, 300);
  }
  return last;
}

}  // namespace

Result<std::unique_ptr<SshdFarm>> SshdFarm::Make(Settings settings) {
  std::string sshd = FindProgram({"/usr/sbin/sshd", "/usr/local/sbin/sshd"});
  if (sshd.empty() || FindProgram({"/usr/bin/ssh-keygen", "/usr/local/bin/ssh-keygen"}).empty()) {
    return MakeError(
        ErrorCode::kFailedPrecondition,
        "sshd and ssh-keygen are needed to run such workers, and are not both installed",
        "install openssh-server, or take `--workers light`");
  }
  if (FindProgram({"/bin/bash"}).empty()) {
    return MakeError(ErrorCode::kFailedPrecondition,
                     "bash is needed to run workers, and is not installed", "install bash");
  }
  Result<int> port = ChoosePort(settings.port);
  if (!port) return port.error();
  settings.port = *port;
  std::error_code problem;
  std::filesystem::create_directories(settings.folder, problem);
  if (problem) {
    return MakeError(ErrorCode::kIo, fmt::format("cannot make the folder {}: {}", settings.folder,
                                                 problem.message()));
  }
  const bool namespaces =
      settings.allow_namespaces && ::access(kSetpriv, X_OK) == 0 && NamespacesWork();
  const bool own_network = namespaces && settings.network != WorkerNetwork::kHost &&
                           ::access(kPerl, X_OK) == 0 && NetworksWork();
  if (settings.network == WorkerNetwork::kPrivate && !own_network) {
    return MakeError(
        ErrorCode::kFailedPrecondition, "workers with networks of their own cannot be had here",
        "they need root with CAP_SYS_ADMIN and CAP_NET_ADMIN, a kernel with bridge and "
        "veth, and perl; or let them share the machine's network");
  }
  if (!namespaces && !IsQuotable(settings.folder)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("workers without namespaces cannot live in {}: its name holds "
                                 "one of ' \" \\ % $ ` or a control character",
                                 settings.folder),
                     "choose another data folder");
  }
  // sshd started by root refuses to run without its privilege separation folder.
  if (!namespaces && ::geteuid() == 0) ::mkdir("/run/sshd", 0755);
  std::unique_ptr<MetadataServer> metadata;
  if (own_network) {
    auto started = MetadataServer::Start();
    if (!started) return started.error();
    metadata = *std::move(started);
  }
  return std::unique_ptr<SshdFarm>(
      new SshdFarm(std::move(settings), std::move(sshd), namespaces, std::move(metadata)));
}

SshdFarm::SshdFarm(Settings settings, std::string sshd, bool namespaces,
                   std::unique_ptr<MetadataServer> metadata)
    : settings_(std::move(settings)),
      sshd_(std::move(sshd)),
      namespaces_(namespaces),
      own_network_(metadata != nullptr),
      metadata_(std::move(metadata)) {
  thread_ = std::thread([this] { Run(); });
}

SshdFarm::~SshdFarm() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    for (auto& [uid, set] : sets_) {
      for (Machine& machine : set.machines) {
        machine.wanted = false;
        machine.boot_again = false;
      }
    }
  }
  wake_.notify_all();
  thread_.join();
}

std::string SshdFarm::FolderOf(const std::string& uid) const {
  return settings_.folder + "/" + uid;
}

void SshdFarm::Boot(const MachineSet& machines) {
  if (metadata_) metadata_->Tell(machines);
  std::lock_guard lock(mutex_);
  Set& set = sets_[machines.uid];
  set.spec = machines;
  set.machines.resize(machines.addresses.size());
  for (std::size_t i = 0; i < set.machines.size(); ++i) {
    Machine& machine = set.machines[i];
    machine.files = {.folder = fmt::format("{}/{}", FolderOf(machines.uid), i),
                     .hostname = fmt::format("{}-w-{}", machines.host, i),
                     .address = machines.addresses[i],
                     .port = settings_.port,
                     .namespaces = namespaces_,
                     .has_runtime = machines.has_runtime,
                     .has_metadata_server = own_network_,
                     .storage = settings_.storage};
    machine.wanted = true;
    if (machine.pid >= 0) {
      machine.boot_again = machine.killed;
    } else {
      AwaitBoot(&machine);
    }
  }
  stirred_ = true;
  wake_.notify_all();
}

void SshdFarm::SetMetadata(const MachineSet& machines) {
  std::lock_guard files_lock(files_mutex_);
  std::vector<WorkerFiles> running;
  {
    std::lock_guard lock(mutex_);
    const auto found = sets_.find(machines.uid);
    if (found == sets_.end()) return;
    found->second.spec.metadata = machines.metadata;
    found->second.spec.accounts = machines.accounts;
    for (const Machine& machine : found->second.machines) {
      if (machine.pid >= 0) running.push_back(machine.files);
    }
    if (metadata_) metadata_->Tell(machines);
  }
  for (const WorkerFiles& files : running) {
    // A folder that cannot be written shows as a worker without the new key, as on a sick VM.
    static_cast<void>(files.WriteMetadata(machines.metadata, machines.accounts));
  }
}

Condition SshdFarm::ConditionOf(const std::string& uid) {
  std::lock_guard lock(mutex_);
  const auto found = sets_.find(uid);
  if (found == sets_.end()) return Condition::kOff;
  if (found->second.discarded) return Condition::kBooting;
  bool booting = false;
  bool off = false;
  for (const Machine& machine : found->second.machines) {
    if (machine.condition == Condition::kFailed) return Condition::kFailed;
    booting = booting || machine.condition == Condition::kBooting ||
              (!machine.wanted && machine.pid >= 0);
    off = off || (!machine.wanted && machine.pid < 0);
  }
  return booting ? Condition::kBooting : off ? Condition::kOff : Condition::kUp;
}

std::string SshdFarm::FailureOf(const std::string& uid) {
  std::lock_guard lock(mutex_);
  const auto found = sets_.find(uid);
  if (found == sets_.end()) return {};
  for (const Machine& machine : found->second.machines) {
    if (machine.condition == Condition::kFailed) {
      return fmt::format("{}: {}", machine.files.hostname, machine.failure);
    }
  }
  return {};
}

void SshdFarm::PowerOff(const std::string& uid) {
  std::lock_guard lock(mutex_);
  const auto found = sets_.find(uid);
  if (found == sets_.end()) return;
  for (Machine& machine : found->second.machines) {
    machine.wanted = false;
    machine.condition = Condition::kOff;
  }
  stirred_ = true;
  wake_.notify_all();
}

void SshdFarm::Discard(const std::string& uid) {
  PowerOff(uid);
  std::lock_guard lock(mutex_);
  sets_[uid].discarded = true;
  stirred_ = true;
  wake_.notify_all();
}

bool SshdFarm::IsFree(const std::string& address) {
  return TryBind(address, settings_.port) == 0;
}

std::vector<std::pair<std::string, std::string>> SshdFarm::HostKeys(const std::string& uid,
                                                                    int worker) {
  std::lock_guard lock(mutex_);
  const auto found = sets_.find(uid);
  if (found == sets_.end() || worker < 0 ||
      worker >= static_cast<int>(found->second.machines.size())) {
    return {};
  }
  const Machine& machine = found->second.machines[static_cast<std::size_t>(worker)];
  // A guest agent that has not run yet has published nothing.
  if (machine.condition != Condition::kUp) return {};
  return machine.files.HostKeys();
}

Result<void> SshdFarm::Act(const std::string& uid, int worker, const std::string& action) {
  std::lock_guard lock(mutex_);
  const auto found = sets_.find(uid);
  if (found == sets_.end() || worker < 0 ||
      worker >= static_cast<int>(found->second.machines.size())) {
    return MakeError(ErrorCode::kNotFound, "there is no such worker");
  }
  Machine& machine = found->second.machines[static_cast<std::size_t>(worker)];
  const std::string broken = machine.files.folder + "/broken-runtime";
  if (action == "stop") {
    machine.wanted = false;
    machine.condition = Condition::kOff;
  } else if (action == "start") {
    machine.wanted = true;
    AwaitBoot(&machine);
    if (machine.pid >= 0 && machine.killed) machine.boot_again = true;
  } else if (action == "new-host-keys") {
    machine.fresh_host_keys = true;
    machine.boot_again = true;
    machine.wanted = false;
    AwaitBoot(&machine);
  } else if (action == "break-runtime") {
    std::ofstream(broken).flush();
  } else if (action == "mend-runtime") {
    std::error_code problem;
    std::filesystem::remove(broken, problem);
  } else if (action == "hold-tpu") {
    if (auto held = HoldTpu(&machine); !held) return held;
  } else {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("unknown action \"{}\"; there are stop, start, new-host-keys, "
                                 "break-runtime, mend-runtime, hold-tpu",
                                 action));
  }
  stirred_ = true;
  wake_.notify_all();
  return {};
}

Result<void> SshdFarm::HoldTpu(Machine* machine) {
  if (!namespaces_) {
    return MakeError(ErrorCode::kInvalidArgument, "a worker without namespaces has no TPU to hold");
  }
  if (machine->condition != Condition::kUp) {
    return MakeError(ErrorCode::kInvalidArgument, "the worker is not up");
  }
  // Of the worker's own kind, or root there could neither see what it holds nor end it.
  auto visitor =
      StartChild({.argv = {"/usr/bin/nsenter", "--target", std::to_string(machine->pid), "--mount",
                           "--pid", "--uts", "--ipc", "--", kSetpriv,
                           fmt::format("--bounding-set={}", kWorkerCapabilities), "--inh-caps=-all",
                           "--", "/bin/bash", "-c", std::string(kHoldTpu)},
                  .log = machine->files.folder + "/visitor.log",
                  .confined = true});
  if (!visitor) return visitor.error();
  machine->visitors.push_back(*visitor);
  return {};
}

void SshdFarm::Run() {
  while (true) {
    const bool busy = Tend();
    std::unique_lock lock(mutex_);
    if (stopping_ && !busy) return;
    if (!stirred_) wake_.wait_for(lock, busy ? kBusyPause : kIdlePause);
    stirred_ = false;
  }
}

bool SshdFarm::Tend() {
  bool busy = false;
  std::map<std::uint64_t, std::pair<std::string, std::size_t>> to_start;  // by turn
  {
    std::lock_guard lock(mutex_);
    int booting = 0;
    for (auto& [uid, set] : sets_) {
      for (std::size_t i = 0; i < set.machines.size(); ++i) {
        Machine& machine = set.machines[i];
        const bool lived = machine.pid >= 0;
        busy = TendMachine(&machine, &booting) || busy;
        // Its socket would keep the network of a worker that is gone.
        if (metadata_ && lived && machine.pid < 0) metadata_->Close(uid, i);
        if (!stopping_ && machine.wanted && machine.pid < 0 &&
            machine.condition == Condition::kBooting) {
          to_start[machine.turn] = {uid, i};
        }
      }
    }
    const auto room = static_cast<std::size_t>(std::max(kBootingAtOnce - booting, 0));
    while (to_start.size() > room) to_start.erase(std::prev(to_start.end()));
  }
  for (const auto& [turn, machine] : to_start) StartMachine(machine.first, machine.second);
  SweepDiscarded();
  return busy || !to_start.empty();
}

bool SshdFarm::TendMachine(Machine* machine, int* booting) {
  std::erase_if(machine->visitors, HasEnded);
  if (machine->pid < 0) return machine->wanted && machine->condition == Condition::kBooting;
  if (HasEnded(machine->pid)) {
    Bury(machine);
    return true;
  }
  const Clock::time_point now = Clock::now();
  if (!machine->wanted || machine->killed) {
    if (!machine->killed && !namespaces_ && machine->leash >= 0) {
      ::close(machine->leash);
      machine->leash = -1;
      machine->deadline = now + kGentleEnd;
    }
    const bool gentle = !namespaces_ && now < machine->deadline && !machine->killed;
    if (!gentle) KillChild(machine->pid);
    machine->killed = machine->killed || !gentle;
    return true;
  }
  if (machine->condition != Condition::kBooting) return false;
  ++*booting;
  if (Answers(machine->files.address, settings_.port)) {
    machine->condition = Condition::kUp;
  } else if (now > machine->deadline) {
    machine->condition = Condition::kFailed;
    machine->failure = "it did not answer in time";
    machine->wanted = false;
  }
  return true;
}

void SshdFarm::AwaitBoot(Machine* machine) {
  machine->condition = Condition::kBooting;
  machine->turn = ++turns_;
}

void SshdFarm::Bury(Machine* machine) {
  machine->pid = -1;
  if (machine->leash >= 0) ::close(machine->leash);
  machine->leash = -1;
  const bool expected = machine->killed || !machine->wanted;
  machine->killed = false;
  if (machine->boot_again && !stopping_) {
    machine->boot_again = false;
    machine->wanted = true;
    AwaitBoot(machine);
  } else if (!expected) {
    machine->wanted = false;
    machine->condition = Condition::kFailed;
    const std::string said = LastLine(machine->files.folder + "/log");
    machine->failure = said.empty() ? "its first process ended" : said;
  }
}

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
    if (joined) {
      place = *std::move(joined);
    } else {
      prepared = joined.error();
    }
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

void SshdFarm::SweepDiscarded() {
  std::vector<std::string> gone;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [uid, set] : sets_) {
      bool alive = false;
      for (const Machine& machine : set.machines) alive = alive || machine.pid >= 0;
      if (set.discarded && !alive) gone.push_back(uid);
    }
  }
  for (const std::string& uid : gone) {
    std::error_code problem;
    std::filesystem::remove_all(FolderOf(uid), problem);
    if (metadata_) metadata_->Forget(uid);
    std::lock_guard lock(mutex_);
    sets_.erase(uid);
  }
}

}  // namespace podctl::emulator
