#include "providers/ssh/openssh/ssh_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "providers/base/text.h"
#include "providers/os/child.h"
#include "providers/os/descriptor.h"
#include "providers/os/file_system.h"
#include "providers/ssh/keys/host_key.h"

namespace podctl::ssh {
namespace {

// ssh adds 17 letters to the socket's name while it makes it, of 108 that there are.
constexpr std::size_t kLongestFolder = 60;

// What stands in the user's own configuration holds for the rest.
constexpr const char* kMasterConfiguration = R"(# What stands first counts.
BatchMode yes
CheckHostIP no
ClearAllForwardings yes
ControlMaster yes
ControlPersist 60
EscapeChar none
ForwardAgent no
ForwardX11 no
HashKnownHosts no
HostKeyAlgorithms -ssh-rsa,ssh-rsa-cert-v01@openssh.com
LogLevel DEBUG1
PermitLocalCommand no
RemoteCommand none
RequestTTY no
ServerAliveCountMax 3
ServerAliveInterval 10
Tunnel no
UpdateHostKeys no
VisualHostKey no
)";
constexpr const char* kShellConfiguration = R"(# What stands first counts.
CheckHostIP no
ControlMaster no
ControlPath none
HashKnownHosts no
HostKeyAlgorithms -ssh-rsa,ssh-rsa-cert-v01@openssh.com
RemoteCommand none
UpdateHostKeys no
)";

Result<void> WriteFile(const std::string& path, std::string_view text) {
  Descriptor file = Open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  int error = file.ok() ? WriteAll(file.get(), text) : errno;
  if (error == 0) error = file.Close();
  if (error != 0) return SystemError("write", path, error);
  return {};
}

// For the shell that ssh has it started by, and with no `%` that ssh would put something for.
std::string ProxyCommand(const std::vector<std::string>& through) {
  std::string text;
  for (const std::string& word : through) {
    if (!text.empty()) text += ' ';
    for (const char letter : ShellQuote(word))
      text += letter == '%' ? "%%" : std::string(1, letter);
  }
  return text;
}

std::string ConfigName(SshUse use, bool usual_keys) {
  return std::string(use == SshUse::kShell ? "/shell-config" : "/config") +
         (usual_keys ? "-usual-keys" : "");
}

void AddOption(std::vector<std::string>* words, std::string_view name, std::string_view value) {
  words->emplace_back("-o");
  words->push_back(fmt::format("{}={}", name, value));
}

WorkerResult Unreachable(Cause cause) {
  WorkerResult result;
  result.End(Outcome::kUnreachable, std::move(cause));
  return result;
}

}  // namespace

std::string SshConfiguration(const std::string& home, SshUse use) {
  std::string text = use == SshUse::kShell ? kShellConfiguration : kMasterConfiguration;
  text += "Include ~/.ssh/config\nInclude /etc/ssh/ssh_config\n";
  if (use == SshUse::kShell) text += "Host *\n  ServerAliveInterval 15\n";
  if (home.empty() || home.find_first_of("\"%\n") != std::string::npos) return text;
  if (use == SshUse::kMaster) text += "Host *\n";
  for (const char* name : {"id_ed25519", "id_ecdsa", "id_ed25519_sk", "id_ecdsa_sk", "id_rsa",
                           "podctl_ed25519", "google_compute_engine"}) {
    text += fmt::format("  IdentityFile \"{}/.ssh/{}\"\n", home, name);
  }
  return text;
}

Result<std::unique_ptr<SshFolder>> SshFolder::Make(const std::string& runtime_folder,
                                                   const std::string& home,
                                                   const std::string& program) {
  const bool fits = !runtime_folder.empty() && runtime_folder.size() <= kLongestFolder &&
                    runtime_folder.find_first_of(" \t\"'%$") == std::string::npos &&
                    access(runtime_folder.c_str(), W_OK | X_OK) == 0;
  std::string path = (fits ? runtime_folder : "/tmp") + "/podctl-ssh-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return MakeError(ErrorCode::kIo,
                     fmt::format("cannot make the folder {}: {}", path, std::strerror(errno)));
  }
  std::unique_ptr<SshFolder> folder(new SshFolder(path, program));
  for (const SshUse use : {SshUse::kMaster, SshUse::kShell}) {
    for (const bool usual : {false, true}) {
      const std::string text = SshConfiguration(usual ? home : "", use);
      if (auto written = WriteFile(path + ConfigName(use, usual), text); !written) {
        return written.error();
      }
    }
  }
  return folder;
}

SshFolder::~SshFolder() {
  // A master that ends takes its socket away at the same time, which one look may stumble over.
  std::error_code error;
  for (int i = 0; i < 10 && std::filesystem::exists(path_, error); ++i) {
    std::filesystem::remove_all(path_, error);
  }
}

std::string SshFolder::SocketPath(int number) const {
  return fmt::format("{}/{}", path_, number);
}

std::string SshFolder::HostsPath(int number) const {
  return fmt::format("{}/{}.hosts", path_, number);
}

Result<std::vector<std::string>> SshFolder::Arguments(const WorkerAccess& worker, int number,
                                                      int connect_seconds) const {
  const std::string config = path_ + ConfigName(SshUse::kMaster, worker.identity_file.empty());
  std::vector<std::string> words = {program_, "-F", config, "-f", "-N", "-T"};
  AddOption(&words, "ControlPath", SocketPath(number));
  AddOption(&words, "ConnectTimeout", std::to_string(connect_seconds));
  if (!worker.through.empty()) {
    AddOption(&words, "ProxyCommand", ProxyCommand(worker.through) + " 2>" + RouteLogPath(number));
  }
  if (auto added = AddWorker(worker, number, &words); !added) return added.error();
  return words;
}

Result<std::vector<std::string>> SshFolder::ShellArguments(const WorkerAccess& worker, int number,
                                                           bool tty,
                                                           const std::string& command) const {
  const std::string config = path_ + ConfigName(SshUse::kShell, worker.identity_file.empty());
  // Twice: even where this side is no terminal.
  std::vector<std::string> words = {program_, "-F", config, tty ? "-tt" : "-T"};
  if (!worker.through.empty()) AddOption(&words, "ProxyCommand", ProxyCommand(worker.through));
  if (auto added = AddWorker(worker, number, &words); !added) return added.error();
  if (!command.empty()) words.push_back(command);
  return words;
}

Result<void> SshFolder::AddWorker(const WorkerAccess& worker, int number,
                                  std::vector<std::string>* words) const {
  const std::string hosts = HostsPath(number);
  const bool pinned = !worker.host_keys.empty();
  AddOption(words, "Port", std::to_string(worker.port));
  AddOption(words, "User", worker.user);
  if (!worker.identity_file.empty()) {
    AddOption(words, "IdentitiesOnly", "yes");
    words->insert(words->end(), {"-i", ExpandHome(worker.identity_file)});
  }
  // The keys stand under a name of their own: whatever name or port ~/.ssh/config makes of the
  // address, they are this worker's.
  std::string known;
  const std::string name = fmt::format("podctl-worker-{}", worker.index);
  for (const HostKey& pin : PinsOf(worker)) {
    if (const HostKeyText key = FormatHostKey(pin.blob); !key.empty()) {
      known += fmt::format("{} {}\n", name, key);
    }
  }
  for (const HostKeyText& key : worker.revoked_keys) known += fmt::format("@revoked * {}\n", key);
  if (auto written = WriteFile(hosts, known); !written) return written.error();
  if (pinned) {
    AddOption(words, "HostKeyAlias", name);
    AddOption(words, "GlobalKnownHostsFile", "/dev/null");
    AddOption(words, "UserKnownHostsFile", hosts);
  } else {
    AddOption(words, "UserKnownHostsFile", hosts + " ~/.ssh/known_hosts ~/.ssh/known_hosts2");
  }
  const bool trust = worker.trust_first_use && worker.distrust.empty();
  AddOption(words, "StrictHostKeyChecking", pinned || !trust ? "yes" : "accept-new");
  words->insert(words->end(), {"--", worker.host});
  return {};
}

std::string SshFolder::RouteLogPath(int number) const {
  return fmt::format("{}/{}.route", path_, number);
}

std::string SshFolder::TakeRouteLog(int number) const {
  constexpr std::size_t kMost = 4096;
  const std::string path = RouteLogPath(number);
  std::ifstream file(path, std::ios::binary);
  std::string text(kMost, '\0');
  file.read(text.data(), static_cast<std::streamsize>(kMost));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  unlink(path.c_str());
  return text;
}

std::optional<HostKeyText> SshFolder::TakeLearnedKey(int number) const {
  const std::string path = HostsPath(number);
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  unlink(path.c_str());
  for (const std::string& line : SplitLines(text)) {
    if (line.starts_with('@') || line.starts_with("podctl-worker-")) continue;
    const auto key = ParseHostKey(line.substr(std::min(line.find(' '), line.size())));
    if (key) return FormatHostKey(key->blob);
  }
  return std::nullopt;
}

WorkerResult RunShellByProgram(const WorkerAccess& worker, const std::string& command, bool tty,
                               const Environment& environment, const std::stop_token& stop) {
  constexpr int kNumber = 1;
  if (!worker.no_route.empty()) {
    return Unreachable(CauseAt(worker, Cause::Code::kNoRoute, worker.no_route));
  }
  const auto folder = SshFolder::Make(environment.Get("XDG_RUNTIME_DIR").value_or(""),
                                      environment.Get("HOME").value_or(""), "ssh");
  if (!folder) return Unreachable(OtherCause(folder.error().message));
  const auto words = (*folder)->ShellArguments(worker, kNumber, tty, command);
  if (!words) return Unreachable(OtherCause(words.error().message));
  const auto end = RunInForeground(*words, stop);
  if (!end) return Unreachable(OtherCause(end.error().message));
  WorkerResult result;
  result.attempts = 1;
  result.outcome = Outcome::kExited;
  result.exit_code = end->exit_code;
  result.learned_host_key = (*folder)->TakeLearnedKey(kNumber);
  if (stop.stop_requested()) {
    result.outcome = Outcome::kCancelled;
  } else if (end->signal != 0) {
    result.outcome = Outcome::kSignaled;
    const char* name = sigabbrev_np(end->signal);
    result.signal = name == nullptr ? std::to_string(end->signal) : name;
  }
  return result;
}

}  // namespace podctl::ssh
