#include "tests/bench/fanout/fleet.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>

#include "tests/bench/fanout/process_tree.h"
#include "tests/bench/fanout/server.h"
#include "tests/bench/measure.h"
#include "tests/bench/workbench.h"

namespace podctl::bench {
namespace {

constexpr std::size_t kAddressesASshd = 16;  // MAX_LISTEN_SOCKS of sshd

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// In nobody's way: below the ports that connections take for themselves, and two benches at once
// hardly have the same.
int Port() {
  constexpr int kFirst = 20'000;
  constexpr int kCount = 10'000;
  return kFirst + getpid() % kCount;
}

std::string UserName() {
  const passwd* const entry = getpwuid(getuid());
  if (entry == nullptr) Fail("this user has no name");
  return entry->pw_name;
}

// The key of "FILE.pub" without its comment.
std::string PublicKey(const std::string& path) {
  const std::string line = ReadText(path + ".pub");
  return line.substr(0, line.find_first_of(" \n", line.find(' ') + 1));
}

void MakeKey(const std::string& path) {
  Run({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "bench", "-f", path}, "/");
}

class RealFleet final : public Fleet {
 public:
  explicit RealFleet(const FleetOptions& options) {
    addresses_ = options.addresses;
    port_ = Port();
    user_ = UserName();
    identity_ = options.folder + "/client";
    std::filesystem::create_directories(options.folder + "/home");
    // sshd insists on its separation folder when it runs as root; a service manager makes it
    // usually.
    if (getuid() == 0) mkdir("/run/sshd", 0755);
    MakeKey(identity_);
    MakeKey(options.folder + "/host");
    host_key_ = PublicKey(options.folder + "/host");
    for (std::size_t first = 0; first < addresses_.size(); first += kAddressesASshd) {
      Start(options, first);
    }
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      servers_[i].WaitFor("Server listening on",
                          std::min(kAddressesASshd, addresses_.size() - i * kAddressesASshd));
    }
  }

  double CpuSeconds() const override {
    WaitForSessions();
    double seconds = 0;
    for (const Server& server : servers_) seconds += bench::CpuSeconds(server.process());
    return seconds;
  }
  void CheckAlive() const override {
    for (const Server& server : servers_) server.CheckAlive();
  }

 private:
  void Start(const FleetOptions& options, std::size_t first) {
    const std::size_t last = std::min(first + kAddressesASshd, addresses_.size());
    std::string config = fmt::format(
        "Port {}\nHostKey {}/host\nAuthorizedKeysFile {}/client.pub\nPidFile none\nUsePAM no\n"
        "StrictModes no\nPermitRootLogin yes\nUseDNS no\nPasswordAuthentication no\n"
        "MaxStartups 4096\nMaxSessions 64\nPrintMotd no\nPrintLastLog no\n"
        // What stands in the user's own .bashrc is not to be measured.
        "SetEnv HOME={}/home\n",
        port_, options.folder, options.folder, options.folder);
    for (std::size_t i = first; i < last; ++i) {
      config += fmt::format("ListenAddress {}\n", addresses_[i]);
    }
    const std::string path = fmt::format("{}/sshd_config.{}", options.folder, first);
    // OpenSSH 9.8 and later lock out addresses that connect too often; earlier ones do not know the
    // keyword.
    if (penalties_ == Keyword::kUnknown) {
      WriteFile(path, config + "PerSourcePenalties no\n");
      penalties_ =
          std::system(fmt::format("/usr/sbin/sshd -t -f {} 2>/dev/null", path).c_str()) == 0
              ? Keyword::kThere
              : Keyword::kMissing;
    }
    if (penalties_ == Keyword::kThere) config += "PerSourcePenalties no\n";
    WriteFile(path, config);
    servers_.emplace_back(std::vector<std::string>{"/usr/sbin/sshd", "-D", "-e", "-f", path},
                          options.network, fmt::format("{}/sshd.{}.log", options.folder, first));
  }

  // What a session used is known once it has ended.
  void WaitForSessions() const {
    for (int look = 0; look < 100; ++look) {
      const bool idle = std::all_of(servers_.begin(), servers_.end(), [](const Server& server) {
        return Descendants(server.process()).empty();
      });
      if (idle) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  enum class Keyword { kUnknown, kThere, kMissing };
  Keyword penalties_ = Keyword::kUnknown;
  std::vector<Server> servers_;
};

class LightFleet final : public Fleet {
 public:
  LightFleet(const std::string& program, const FleetOptions& options) {
    addresses_ = options.addresses;
    port_ = Port();
    user_ = UserName();
    identity_ = options.folder + "/client";
    std::filesystem::create_directories(options.folder + "/home");
    MakeKey(identity_);
    server_.emplace(
        std::vector<std::string>{program, "--addresses", std::to_string(addresses_.size()),
                                 "--first", addresses_.front(), "--port", std::to_string(port_),
                                 "--authorized-keys", identity_ + ".pub", "--home",
                                 options.folder + "/home"},
        options.network, options.folder + "/log");
    server_->WaitFor("\nready", 1);
    const std::string log = server_->Log();
    constexpr std::string_view kHostKey = "hostkey ";
    const std::size_t at = log.find(kHostKey) + kHostKey.size();
    host_key_ = log.substr(at, log.find('\n', at) - at);
  }

  double CpuSeconds() const override { return bench::CpuSeconds(server_->process()); }
  void CheckAlive() const override { server_->CheckAlive(); }

 private:
  std::optional<Server> server_;
};

}  // namespace

std::vector<std::string> Addresses(const std::string& first, int count) {
  in_addr address{};
  if (inet_pton(AF_INET, first.c_str(), &address) != 1) Fail(first + " is no address");
  std::vector<std::string> addresses;
  for (int i = 0; i < count; ++i) {
    const in_addr next{htonl(ntohl(address.s_addr) + static_cast<std::uint32_t>(i))};
    char text[INET_ADDRSTRLEN];
    addresses.emplace_back(inet_ntop(AF_INET, &next, text, sizeof(text)));
  }
  return addresses;
}

std::string Fleet::public_key() const {
  return PublicKey(identity_);
}

std::unique_ptr<Fleet> StartRealFleet(const FleetOptions& options) {
  return std::make_unique<RealFleet>(options);
}

std::unique_ptr<Fleet> StartLightFleet(const std::string& program, const FleetOptions& options) {
  return std::make_unique<LightFleet>(program, options);
}

}  // namespace podctl::bench
