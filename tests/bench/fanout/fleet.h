// Workers to reach: N addresses that answer SSH, on one port, with one host key.
//
// Real ones are OpenSSH's sshd, each process on 16 addresses (its limit). Light ones are the
// emulator's SSH server in one process, for sizes at which sshd would only measure itself.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

namespace podctl::bench {

class Fleet {
 public:
  virtual ~Fleet() = default;
  // CPU that the servers have used so far, with those of their children that have ended.
  virtual double CpuSeconds() const = 0;
  // Ends the bench, with what the server said last, when one of them has died.
  virtual void CheckAlive() const = 0;

  const std::vector<std::string>& addresses() const { return addresses_; }
  int port() const { return port_; }
  const std::string& user() const { return user_; }
  const std::string& identity() const { return identity_; }  // path of a private key
  std::string public_key() const;                            // of it: "ssh-ed25519 AAAA…"
  const std::string& host_key() const { return host_key_; }  // likewise

 protected:
  std::vector<std::string> addresses_;
  int port_ = 0;
  std::string user_;
  std::string identity_;
  std::string host_key_;
};

// `first` and those that follow it.
std::vector<std::string> Addresses(const std::string& first, int count);

struct FleetOptions {
  std::string folder;                  // where it keeps its keys and logs; is made
  std::vector<std::string> addresses;  // to listen on, one after the other
  int network = -1;                    // the network namespace to listen in; -1: the bench's own
};

// Both return when every address answers.
std::unique_ptr<Fleet> StartRealFleet(const FleetOptions& options);
// `program`: the light SSH server.
std::unique_ptr<Fleet> StartLightFleet(const std::string& program, const FleetOptions& options);

}  // namespace podctl::bench
