#include "providers/emulator/emulator.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "providers/emulator/api/admin.h"
#include "providers/emulator/api/api.h"
#include "providers/emulator/api/faults.h"
#include "providers/emulator/api/http_server.h"
#include "providers/emulator/names.h"
#include "providers/emulator/service/capacity.h"
#include "providers/emulator/service/journal.h"
#include "providers/emulator/service/service.h"
#include "providers/emulator/workers/light_farm.h"
#include "providers/emulator/workers/sshd_farm.h"
#include "providers/emulator/workers/worker_farm.h"

namespace podctl::emulator {

// In the order of their needs: each is lent the ones above it, and goes before them.
struct Emulator::Parts {
  std::string host;
  std::string temporary_folder;  // "" unless it is ours to remove
  std::unique_ptr<Journal> journal;
  std::unique_ptr<WorkerFarm> farm;
  std::unique_ptr<HttpServer> server;
  std::unique_ptr<Service> service;
  FaultList faults;
  std::unique_ptr<Admin> admin;
  std::unique_ptr<Api> api;
  int port = 0;
  int ssh_port = 0;
  bool isolated = false;
  bool private_networks = false;

  std::string Url() const;
  Result<void> MakeFarm(const Options& options, const std::string& folder);
};

namespace {

Result<std::string> MakeTemporaryFolder() {
  std::error_code problem;
  const std::filesystem::path base = std::filesystem::temp_directory_path(problem);
  std::string pattern = ((problem ? "/tmp" : base) / "podctl-emulator-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    return MakeError(ErrorCode::kIo, fmt::format("cannot make a temporary folder: {}",
                                                 std::generic_category().message(errno)));
  }
  return pattern;
}

// Emulators on one machine begin at different places, so that they seldom try the same addresses.
std::uint32_t AddressSeed(int port) {
  return (static_cast<std::uint32_t>(port) * 2477U) << 8U;
}

// Who started it. sudo says for whom it became root, who may be root for the asking.
std::vector<uid_t> OwnUsers() {
  std::vector<uid_t> users = {0, ::geteuid()};
  const char* const caller = ::geteuid() == 0 ? ::getenv("SUDO_UID") : nullptr;
  if (caller == nullptr) return users;
  uid_t user = 0;
  if (ReadNumber(caller, &user)) users.push_back(user);
  return users;
}

Result<Limits> ReadLimits(const Options& options) {
  Limits limits;
  Result<void> set;
  for (const std::string& rule : options.capacity) {
    if (set) set = limits.SetCapacity(rule);
  }
  for (const std::string& rule : options.quotas) {
    if (set) set = limits.SetQuota(rule);
  }
  for (const std::string& rule : options.reservations) {
    if (set) set = limits.SetReservation(rule);
  }
  if (!set) return set.error();
  return limits;
}

}  // namespace

std::string Emulator::Parts::Url() const {
  const bool six = host.find(':') != std::string::npos;
  return six ? fmt::format("http://[{}]:{}", host, port) : fmt::format("http://{}:{}", host, port);
}

Result<void> Emulator::Parts::MakeFarm(const Options& options, const std::string& folder) {
  using Workers = Options::Workers;
  if (options.workers == Workers::kNone) {
    farm = std::make_unique<NoWorkers>();
    return {};
  }
  if (options.workers != Workers::kLight) {
    auto made = SshdFarm::Make({.folder = folder,
                                .port = options.ssh_port,
                                .allow_namespaces = options.allow_namespaces,
                                .network = options.network,
                                .storage = Url()});
    // Light ones do without what sshd needs.
    const bool may_do_without = options.workers == Workers::kBest &&
                                options.network != WorkerNetwork::kPrivate && !made &&
                                made.error().code == ErrorCode::kFailedPrecondition;
    if (!made && !may_do_without) return made.error();
    if (made && (options.workers == Workers::kSshd || (*made)->namespaces())) {
      ssh_port = (*made)->port();
      isolated = (*made)->namespaces();
      private_networks = (*made)->own_network();
      farm = *std::move(made);
      return {};
    }
  }
  if (options.network == WorkerNetwork::kPrivate) {
    return MakeError(ErrorCode::kInvalidArgument,
                     "light workers share the machine's network and cannot have private ones",
                     "take sshd workers, or the machine's network");
  }
  auto made = LightFarm::Make({.folder = folder, .port = options.ssh_port, .storage = Url()});
  if (!made) return made.error();
  ssh_port = (*made)->port();
  farm = *std::move(made);
  return {};
}

Emulator::Emulator(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Emulator::~Emulator() {
  Stop();
}

Result<std::unique_ptr<Emulator>> Emulator::Start(const Options& options) {
  auto limits = ReadLimits(options);
  if (!limits) return limits.error();
  auto parts = std::make_unique<Parts>();
  parts->host = options.listen_host;
  if (!options.faults_file.empty()) {
    if (auto loaded = parts->faults.Load(options.faults_file); !loaded) return loaded.error();
  }
  auto server = HttpServer::Listen(options.listen_host, options.listen_port);
  if (!server) return server.error();
  parts->server = *std::move(server);
  parts->port = parts->server->port();

  std::string folder = options.data_folder;
  if (folder.empty()) {
    auto made = MakeTemporaryFolder();
    if (!made) return made.error();
    folder = parts->temporary_folder = *std::move(made);
  }
  std::error_code problem;
  folder = std::filesystem::absolute(folder, problem).lexically_normal().string();
  std::unique_ptr<Emulator> emulator(new Emulator(std::move(parts)));
  Parts& all = *emulator->parts_;  // from here on Stop cleans up whatever was made

  auto journal = Journal::Open(folder);
  if (!journal) return journal.error();
  all.journal = *std::move(journal);
  if (auto made = all.MakeFarm(options, folder + "/workers"); !made) return made.error();
  all.service = std::make_unique<Service>(Settings{.operation_delay = options.operation_delay,
                                                   .worker_boot_delay = options.worker_boot_delay,
                                                   .address_seed = AddressSeed(all.port)},
                                          *std::move(limits), all.journal.get(), all.farm.get());
  if (auto started = all.service->Start(); !started) return started.error();
  all.admin = std::make_unique<Admin>(all.service.get(), &all.faults);
  all.api = std::make_unique<Api>(all.service.get(), all.admin.get(), &all.faults);
  all.server->Serve(
      [api = all.api.get()](const HttpRequest& request) { return api->Handle(request); },
      {.port = 0, .hosts = {}, .users = OwnUsers()});
  return emulator;
}

std::string Emulator::url() const {
  return parts_->Url();
}

int Emulator::ssh_port() const {
  return parts_->ssh_port;
}

bool Emulator::isolated_workers() const {
  return parts_->isolated;
}

bool Emulator::private_networks() const {
  return parts_->private_networks;
}

void Emulator::Stop() {
  Parts& all = *parts_;
  if (all.server) all.server->Stop();
  if (all.service) all.service->Stop();
  all.server.reset();
  all.api.reset();
  all.admin.reset();
  all.service.reset();
  all.farm.reset();
  all.journal.reset();
  if (!all.temporary_folder.empty()) {
    std::error_code problem;
    std::filesystem::remove_all(std::exchange(all.temporary_folder, {}), problem);
  }
}

}  // namespace podctl::emulator
