// A light SSH server by itself, for benches and tests that want thousands of SSH hosts:
//
//   light_ssh_server --addresses N [--first 127.77.0.1] [--port 2222] [--threads 2]
//                    [--authorized-keys FILE] [--host-key-out FILE] [--home FOLDER]
//
// Listens on N addresses from --first on (127.77.0.1, 127.77.0.2, …, 127.77.1.0, …), all with one
// Ed25519 host key. With --authorized-keys only the keys in FILE (lines as in a .pub file) are
// admitted, else any. Users are any; their commands run as the user who started it, by /bin/sh, in
// --home (else "/"), but for the few words of providers/emulator/workers/light/host.h
// (`hostname`, `true`, `echo …`, `yes WORD | head -c BYTES`), which start no process. Host i calls
// itself "light-i".
//
// Prints "hostkey ssh-ed25519 AAAA…" and then "ready", each on a line; --host-key-out gets
// known_hosts lines, "[127.77.0.1]:2222 ssh-ed25519 AAAA…". Ends, with all its commands, when its
// standard input ends or on SIGTERM or SIGINT.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "providers/bootstrap/ssh_step_runner.h"
#include "providers/emulator/workers/light/host.h"
#include "providers/emulator/workers/light/server.h"

namespace podctl {
namespace {

using emulator::AnswerInline;
using emulator::Host;
using emulator::HostKey;
using emulator::InlineAnswer;
using emulator::LightServer;
using emulator::Login;

constexpr int kBacklog = 512;

// The step that the command runs; "" when it is no step of podctl's.
std::string StepOf(std::string_view command) {
  constexpr std::string_view kBefore = "--transform \"s,^";
  const std::size_t at = command.find(kBefore);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = command.substr(at + kBefore.size());
  const std::string id(rest.substr(0, rest.find('/')));
  constexpr std::string_view kMark = "step=";
  std::string mark;
  if (const std::size_t begin = command.find(kMark); begin != std::string_view::npos) {
    mark = command.substr(begin + kMark.size());
    mark.erase(std::min(mark.find('\n'), mark.size()));
  }
  return command == RunScriptCommand(id, {}, mark) ? id : "";
}

// The first file of a tar archive, without its last line's end, if that is its name.
std::string_view ScriptIn(std::string_view archive, std::string_view name) {
  constexpr std::size_t kBlock = 512;
  constexpr std::size_t kSizeAt = 124;
  if (archive.size() < kBlock || archive.substr(0, name.size()) != name) return {};
  std::size_t size = 0;
  const std::string_view digits = archive.substr(kSizeAt, 11);
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), size, 8);
  if (code != std::errc() || size == 0 || archive.size() < kBlock + size) return {};
  return archive.substr(kBlock, size - 1);
}

[[noreturn]] void Fail(const std::string& message) {
  std::cerr << "light_ssh_server: " << message << "\n";
  std::exit(1);
}

class PlainHost final : public Host {
 public:
  PlainHost(std::string name, std::shared_ptr<const std::set<std::string>> keys, std::string home,
            std::string mark)
      : name_(std::move(name)),
        keys_(std::move(keys)),
        home_(std::move(home)),
        mark_(std::move(mark)) {}

  std::string_view Hostname() const override { return name_; }
  bool MayAnswer(std::string_view command) override { return !StepOf(command).empty(); }
  std::optional<InlineAnswer> Answer(std::string_view command, std::string_view input) override {
    return AnswerInline(ScriptIn(input, StepOf(command) + "/script"), name_);
  }
  bool Admits(std::string_view, std::string_view key) override {
    return keys_ == nullptr || keys_->count(std::string(key)) != 0;
  }
  Result<Login> LogIn(const std::string& user) override {
    Login login{.shell = "/bin/sh", .environment = {}, .folder = home_};
    login.environment = {mark_,
                         "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                         "HOME=" + home_,
                         "USER=" + user,
                         "LOGNAME=" + user,
                         "SHELL=/bin/sh"};
    return login;
  }

 private:
  const std::string name_;
  const std::shared_ptr<const std::set<std::string>> keys_;
  const std::string home_;
  const std::string mark_;
};

std::map<std::string, std::string> ReadArguments(int argc, char** argv) {
  std::map<std::string, std::string> options{
      {"--addresses", ""},       {"--first", "127.77.0.1"}, {"--port", "2222"}, {"--threads", "2"},
      {"--authorized-keys", ""}, {"--host-key-out", ""},    {"--home", "/"}};
  for (int i = 1; i < argc; i += 2) {
    const auto found = options.find(argv[i]);
    if (found == options.end()) Fail(fmt::format("unknown option {}", argv[i]));
    if (i + 1 == argc) Fail(fmt::format("{} wants a value", argv[i]));
    found->second = argv[i + 1];
  }
  return options;
}

int Number(const std::map<std::string, std::string>& options, const std::string& name) {
  const std::string& text = options.at(name);
  int value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || *end != '\0' || value < 1) {
    Fail(fmt::format("{} wants a number", name));
  }
  return value;
}

std::string AddressAfter(const std::string& first, int steps) {
  std::array<unsigned, 4> part{};
  char dot = '.';
  std::istringstream text(first);
  text >> part[0] >> dot >> part[1] >> dot >> part[2] >> dot >> part[3];
  if (!text) Fail("--first wants an IPv4 address");
  const unsigned number = (part[0] << 24U) + (part[1] << 16U) + (part[2] << 8U) + part[3] +
                          static_cast<unsigned>(steps);
  return fmt::format("{}.{}.{}.{}", number >> 24U, (number >> 16U) & 255U, (number >> 8U) & 255U,
                     number & 255U);
}

std::shared_ptr<const std::set<std::string>> ReadKeys(const std::string& path) {
  if (path.empty()) return nullptr;
  std::ifstream file(path);
  if (!file) Fail(fmt::format("cannot read {}", path));
  auto keys = std::make_shared<std::set<std::string>>();
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string type;
    std::string key;
    if (words >> type >> key) keys->insert(type + " " + key);
  }
  return keys;
}

void RaiseDescriptorLimit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

int Run(int argc, char** argv) {
  const auto options = ReadArguments(argc, argv);
  const int port = Number(options, "--port");
  RaiseDescriptorLimit();
  const std::string mark = fmt::format("LIGHT_SSH_SERVER={}", ::getpid());
  auto spawner = emulator::ProcessSpawner::Start(mark);
  if (!spawner) Fail(spawner.error().message);
  auto server = LightServer::Start(Number(options, "--threads"), **spawner);
  if (!server) Fail(server.error().message);
  const Result<HostKey> key = HostKey::Make();
  if (!key) Fail(key.error().message);
  const auto keys = ReadKeys(options.at("--authorized-keys"));

  std::vector<LightServer::Door> doors;
  std::string known_hosts;
  for (int i = 0; i < Number(options, "--addresses"); ++i) {
    const std::string address = AddressAfter(options.at("--first"), i);
    Result<int> socket = emulator::ListenOn(address, port, kBacklog);
    if (!socket) Fail(socket.error().message);
    doors.push_back({.host = std::make_shared<PlainHost>(fmt::format("light-{}", i), keys,
                                                         options.at("--home"), mark),
                     .key = *key,
                     .socket = *socket});
    known_hosts += fmt::format("[{}]:{} ssh-ed25519 {}\n", address, port, key->public_base64());
  }
  (*server)->Open(std::move(doors));
  if (!options.at("--host-key-out").empty()) {
    std::ofstream file(options.at("--host-key-out"));
    if (!(file << known_hosts).flush()) Fail("cannot write the known hosts");
  }
  std::cout << "hostkey ssh-ed25519 " << key->public_base64() << "\nready" << std::endl;
  std::array<char, 256> nothing{};
  while (::read(0, nothing.data(), nothing.size()) > 0) {
  }
  return 0;
}

}  // namespace
}  // namespace podctl

int main(int argc, char** argv) {
  struct sigaction end {};
  end.sa_handler = [](int) {};  // interrupts the read of standard input
  ::sigaction(SIGTERM, &end, nullptr);
  ::sigaction(SIGINT, &end, nullptr);
  return podctl::Run(argc, argv);
}
