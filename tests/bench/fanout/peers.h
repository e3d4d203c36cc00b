// podctl and its peers as commands: the same word to the same workers, each in its own way.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/bench/fanout/client.h"
#include "tests/bench/fanout/pod.h"

namespace podctl::bench {

// Which key exchange OpenSSH's programs may use. By default it is a post-quantum one wherever the
// server has it, which takes most of their time.
enum class KeyExchange { kDefault, kCurve25519 };

// What clients are called in the tables.
inline constexpr const char* kPodctl = "podctl exec";
inline constexpr const char* kPdsh = "pdsh -f64";
inline constexpr const char* kPssh = "pssh -p64";
inline constexpr const char* kClush = "clush -f64";
inline constexpr const char* kClushGather = "clush -b -f64";
inline constexpr const char* kAnsible = "ansible raw -f64";
inline constexpr const char* kXargs = "xargs -P64 ssh";
inline constexpr const char* kXargsCurve = "xargs -P64 ssh (curve25519)";

class Peers {
 public:
  // `podctl`: the program's path. The network is the one of the clients; -1: the bench's own.
  Peers(std::string podctl, int network) : podctl_(std::move(podctl)), network_(network) {}

  Client Podctl(const Pod& pod, const std::string& command,
                const std::vector<std::string>& flags = {}) const;
  // Nothing where the program is not on this machine.
  std::optional<Client> Pdsh(const Pod& pod, const std::string& command) const;
  std::optional<Client> Pssh(const Pod& pod, const std::string& command) const;
  std::optional<Client> Clush(const Pod& pod, const std::string& command, bool gather) const;
  std::optional<Client> Ansible(const Pod& pod, const std::string& command) const;
  Client Xargs(const Pod& pod, const std::string& command, KeyExchange key_exchange) const;

 private:
  Client Make(std::string name, std::vector<std::string> words, const Pod& pod,
              std::vector<std::string> environment = {}) const;

  std::string podctl_;
  int network_;
};

// Those of the peers' programs that are missing here, with their Debian packages, for a remark.
std::vector<std::string> MissingPeers();

}  // namespace podctl::bench
