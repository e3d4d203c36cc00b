// The SSH transport: one command on thousands of workers, over libssh2, from one poller thread that
// lives as long as this does (poller.h). Run delivers what it finds to the observer on the caller's
// own thread; a slow observer holds up neither the poller nor other calls (outbox.h). Who takes
// bytes gets all that was received; of lines, those that wait on disk when the run is stopped are
// left out.
//
// Connections are kept open between calls for a minute: a worker that was reached before pays no
// second key exchange (session_pool.h).
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "providers/os/clock.h"
#include "providers/ssh/keys/identities.h"
#include "providers/ssh/transport.h"
#include "providers/ssh/tunnel/tunnel.h"

namespace podctl::ssh {

class Poller;

class FanOut final : public Transport {
 public:
  // Hears what a user should know of this libssh2 (ExitStatusWarning), once, on the thread that
  // called Run.
  using Warn = std::function<void(const std::string& text)>;
  // The first three are lent and must outlive it. Thread safe, as far as they are.
  FanOut(Keyring& keyring, Clock& clock, Random& random, Warn warn = {});
  ~FanOut() override;  // closes what is kept; no Run may be under way

  std::vector<WorkerResult> Run(const std::vector<Job>& jobs, const Limits& limits,
                                Observer& observer, std::stop_token stop) override;
  std::size_t MostAtOnce(const std::vector<WorkerAccess>& workers) const override;

 private:
  Poller& ThePoller();  // begun when first wanted

  Keyring& keyring_;
  Clock& clock_;
  Random& random_;
  const Warn warn_;
  std::mutex mutex_;
  std::unique_ptr<Poller> poller_;
};

// How libssh2 carries a tunnel: each local connection is a channel of one session.
// The clock and the source of chance are lent, and must outlive it.
std::unique_ptr<TunnelCarrier> MakeSessionTunnel(std::shared_ptr<const Identities> identities,
                                                 Clock& clock, Random& random);

}  // namespace podctl::ssh
