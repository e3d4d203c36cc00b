// Declared in openssh_transport.h.
#include <poll.h>

#include <string>
#include <utility>

#include "providers/os/descriptor.h"
#include "providers/ssh/openssh/masters.h"
#include "providers/ssh/openssh/mux_session.h"
#include "providers/ssh/openssh/openssh_transport.h"
#include "providers/ssh/retry_queue.h"
#include "providers/ssh/tunnel/tunnel_clients.h"

namespace podctl::ssh {
namespace {

class ProgramTunnel final : public TunnelCarrier {
 public:
  ProgramTunnel(const Environment& environment, Clock& clock, Random& random)
      : clock_(clock), random_(random), masters_(environment, clock, "ssh") {}
  ~ProgramTunnel() override {
    if (!opened_.socket_path.empty()) EndMaster(opened_.socket_path);
  }

  bool Listens() const override { return true; }
  std::optional<HostKeyText> learned_host_key() const override { return opened_.learned_host_key; }

  std::optional<Verdict> Connect(const WorkerAccess& worker, const Limits& limits,
                                 const std::function<void(const Cause&)>& on_trouble,
                                 const std::stop_token& stop) override {
    const Wakeup wakeup;
    const std::stop_callback ring(stop, [&wakeup] { wakeup.Ring(); });
    const auto once = [&]() -> std::optional<Verdict> {
      opened_ = masters_.Open(worker, limits, {wakeup.fd()}, [](Stage) {});
      if (!opened_.socket_path.empty()) return std::nullopt;
      return opened_.verdict;
    };
    return RetryUntilIn(limits, clock_, random_, once, on_trouble, stop);
  }

  Result<std::string> Carry(const TunnelListeners& listeners, std::vector<TunnelClient>&,
                            TunnelObserver&, const std::function<void()>& on_ready,
                            const std::stop_token& stop) override {
    auto why = Serve(listeners, on_ready, stop);
    EndMaster(std::exchange(opened_.socket_path, {}));
    return why;
  }

 private:
  Result<std::string> Serve(const TunnelListeners& listeners, const std::function<void()>& on_ready,
                            const std::stop_token& stop) {
    const auto hold = MuxHold::Take(opened_.socket_path);
    if (!hold) return hold.error();
    for (const auto& [fd, forward] : listeners.all()) {
      const auto forwarded =
          (*hold)->Forward(forward.local_port, forward.remote_host, forward.remote_port);
      if (!forwarded) return forwarded.error();
    }
    on_ready();
    const Wakeup wakeup;
    const std::stop_callback ring(stop, [&wakeup] { wakeup.Ring(); });
    pollfd fds[] = {{(*hold)->fd(), POLLIN, 0}, {wakeup.fd(), POLLIN, 0}};
    while (fds[0].revents == 0 && !stop.stop_requested()) poll(fds, 2, -1);
    return std::string(stop.stop_requested() ? "" : "the ssh program has ended");
  }

  Clock& clock_;
  Random& random_;
  Masters masters_;
  Masters::Opened opened_;
};

}  // namespace

std::unique_ptr<TunnelCarrier> MakeProgramTunnel(const Environment& environment, Clock& clock,
                                                 Random& random) {
  return std::make_unique<ProgramTunnel>(environment, clock, random);
}

}  // namespace podctl::ssh
