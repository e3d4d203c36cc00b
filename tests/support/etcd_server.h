// A real etcd (Debian's etcd-server), of one member on loopback, in a folder that goes with it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

namespace podctl::testing {

class EtcdServer {
 public:
  struct Options {
    bool tls = false;                     // and clients must show a certificate
    std::vector<std::string> flags = {};  // further ones of etcd
  };
  // nullptr, and a failure that says why: the program is missing, or it does not come up.
  static std::unique_ptr<EtcdServer> Start(const Options& options);
  static std::unique_ptr<EtcdServer> Start() { return Start(Options{}); }
  ~EtcdServer();
  EtcdServer(const EtcdServer&) = delete;
  EtcdServer& operator=(const EtcdServer&) = delete;

  // "127.0.0.1:41234"; the same after Restart.
  std::string Address() const { return "127.0.0.1:" + std::to_string(port_); }
  // Where it is TLS: of the server, which vouches for itself, and of its clients.
  std::string CertificateFile() const { return folder_ + "/cert.pem"; }
  std::string KeyFile() const { return folder_ + "/key.pem"; }

  const std::string& Folder() const { return folder_; }  // goes with the server

  void Kill();     // by -9; returns when it is gone
  bool Restart();  // with the data that it had

  // POST /v3/PATH; "" and a failure where the answer is no 200. Without TLS alone.
  std::string Ask(const std::string& path, const std::string& json, const std::string& token = "");

 private:
  EtcdServer() = default;
  void Launch();
  bool IsUp();
  std::string Log() const;

  Options options_;
  std::string folder_;
  int port_ = 0;
  int peer_port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace podctl::testing
