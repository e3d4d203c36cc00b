// The other SSH transport: one command on many workers through the program `ssh`, for certificates,
// hardware keys, jump hosts and whatever else stands in ~/.ssh/config. It costs a process for each
// connection, so libssh2's FanOut is what is used unless somebody asks for this.
//
// ssh logs in and stays in the background (masters.h); commands are given to it through its socket
// (mux_run.h), so it is known whether a command was sent, and a remote exit code of 255 is just
// that. A connection is kept for the next command. At most 256 workers are served at once, each on
// a thread of its own, and at most 64 log in at once. Which signal killed a command is not known:
// WorkerResult::signal stays empty.
#pragma once

#include <memory>
#include <string>

#include "providers/os/clock.h"
#include "providers/os/environment.h"
#include "providers/ssh/openssh/masters.h"
#include "providers/ssh/transport.h"
#include "providers/ssh/tunnel/tunnel.h"

namespace podctl::ssh {

class OpenSshTransport final : public Transport {
 public:
  // All are lent and must outlive it. Thread safe, as far as they are.
  OpenSshTransport(const Environment& environment, Clock& clock, Random& random,
                   std::string program = "ssh")
      : masters_(environment, clock, std::move(program)), clock_(clock), random_(random) {}

  std::vector<WorkerResult> Run(const std::vector<Job>& jobs, const Limits& limits,
                                Observer& observer, std::stop_token stop) override;
  std::size_t MostAtOnce(const std::vector<WorkerAccess>& workers) const override;

 private:
  Masters masters_;
  Clock& clock_;
  Random& random_;
};

// How the program carries a tunnel: it listens on the local ports itself.
// All are lent and must outlive it.
std::unique_ptr<TunnelCarrier> MakeProgramTunnel(const Environment& environment, Clock& clock,
                                                 Random& random);

}  // namespace podctl::ssh
