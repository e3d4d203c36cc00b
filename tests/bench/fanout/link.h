// A long way between clients and servers: two network namespaces joined by a pair of TUN devices,
// between which a process carries each packet, later by the delay, or not at all.
//
// Needs root, /dev/net/tun and `ip`, but no netem. Servers listen on addresses from kFirstWorker on
// in `server()`; clients run in `client()`. Everything goes with the process.
#pragma once

#include <sys/types.h>

#include <string>

namespace podctl::bench {

class Link {
 public:
  struct Options {
    double delay_ms = 25;  // each way
    double loss = 0;       // of packets: 0.001 is 0.1 %
    std::string dead;      // packets from and to this address vanish
    std::string slow;      // and of this one take 0.5 s each way
  };
  // Why there can be no link on this machine; empty: there can.
  static std::string WhyNot();

  explicit Link(const Options& options);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Descriptors of the network namespaces.
  int client() const { return client_; }
  int server() const { return server_; }

  static constexpr const char* kFirstWorker = "10.1.0.1";

 private:
  int client_ = -1;
  int server_ = -1;
  pid_t carrier_ = -1;
};

}  // namespace podctl::bench
