// podctl tunnel: local ports that lead to workers, until Ctrl-C.
#include "providers/ssh/tunnel.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "cmd/command.h"
#include "cmd/commands/commands.h"
#include "cmd/commands/pod_target.h"
#include "cmd/context.h"
#include "cmd/reporter.h"
#include "cmd/wiring.h"
#include "plans/fleet/tunnel/browser.h"
#include "plans/fleet/tunnel/tunnels.h"
#include "plans/fleet/tunnel/wanted.h"
#include "plans/kinds/pod/spec.h"
#include "providers/http/curl_transport.h"
#include "providers/ssh/openssh_tunnel.h"

namespace podctl {
namespace {

class TunnelView final : public TunnelsWatcher {
 public:
  TunnelView(Wiring& wiring, const std::string& address, bool browser)
      : wiring_(wiring), address_(address), browser_(browser) {}

  void OnReady(const WorkerAccess& worker, int local_port, int remote_port) override {
    const std::lock_guard lock(mutex_);
    const std::string url = fmt::format("http://127.0.0.1:{}", local_port);
    const bool said = wiring_.reporter().Event([&] {
      Value event = Event("forward", worker);
      event.Set("local_port", local_port);
      event.Set("remote_port", remote_port);
      event.Set("url", url);
      return event;
    });
    if (!said) Print(fmt::format("{} -> {} port {}", url, worker.Name(), remote_port));
  }
  void OnOpened(const WorkerAccess& worker, const OpenedDoor& opened) override {
    const std::lock_guard lock(mutex_);
    for (const std::string& remark : opened.remarks) wiring_.streams().err << remark << "\n";
    wiring_.streams().err << std::flush;
    ShowOpened(worker, opened);
    if (!browser_) return;
    const auto command = BrowserCommand(wiring_.environment(), opened.url);
    if (!command) return;
    RealProcessRunner processes;
    if (auto started = StartBrowser(processes, *command); !started) {
      Note(started.error().message);
    }
  }
  void OnNote(const std::string& text) override {
    const std::lock_guard lock(mutex_);
    Note(text);
  }
  void OnHostKey(const WorkerAccess& worker, const HostKeyText& key) override {
    const std::lock_guard lock(mutex_);
    RememberHostKeys(wiring_, address_, {{worker.index, key}});
  }

 private:
  // A client that tries again and again is told of once in a while.
  void Note(const std::string& text) {
    constexpr std::chrono::seconds kAgain{30};
    const auto now = wiring_.clock().Steady();
    if (text == last_note_ && now < last_noted_ + kAgain) return;
    last_note_ = text;
    last_noted_ = now;
    wiring_.streams().err << text << std::endl;
  }
  static Value Event(const char* type, const WorkerAccess& worker) {
    Value event;
    event.Set("format_version", "1.0");
    event.Set("type", type);
    event.Set("worker", worker.Name());
    return event;
  }
  void ShowOpened(const WorkerAccess& worker, const OpenedDoor& opened) {
    const bool said = wiring_.reporter().Event([&] {
      Value event = Event("open", worker);
      event.Set("url", opened.url);
      if (!opened.colab_url.empty()) event.Set("colab_url", opened.colab_url);
      return event;
    });
    if (said) return;
    Print(fmt::format("\nIn a browser:\n  {}", opened.url));
    if (opened.colab_url.empty()) return;
    Print(
        fmt::format("In Colab (Connect, \"Connect to a local runtime\"):\n  {}", opened.colab_url));
  }
  void Print(const std::string& line) { wiring_.streams().out << line << "\n" << std::flush; }

  Wiring& wiring_;
  const std::string address_;
  const bool browser_;
  std::mutex mutex_;  // of the streams, and of what follows
  std::string last_note_;
  Clock::SteadyTime last_noted_{};
};

Result<HoldTunnels> WayTo(Wiring& wiring, const WorkerAccess& given) {
  std::shared_ptr<const ssh::Identities> keys;
  if (!given.use_openssh) {  // ssh finds its own
    auto found = wiring.keyring().For(given.identity_file);
    if (!found) return found.error();
    keys = *found;
  }
  return HoldTunnels([&wiring, keys](const WorkerAccess& worker, const ssh::TunnelOptions& options,
                                     ssh::TunnelObserver& observer, const std::stop_token& stop) {
    return worker.use_openssh
               ? ssh::RunTunnelByProgram(worker, options, wiring.environment(), wiring.clock(),
                                         wiring.random(), observer, stop)
               : ssh::RunTunnel(worker, keys, options, wiring.clock(), wiring.random(), observer,
                                stop);
  });
}

// Shows itself what is wrong with the spec; nullopt then.
std::optional<std::vector<TunnelSpec>> TunnelsOfSpec(Wiring& wiring, const std::string& pod) {
  Diagnostics diagnostics;
  const Spec spec =
      LoadSpec(wiring.SpecOptions(), wiring.files(), wiring.environment(), diagnostics);
  if (diagnostics.has_errors()) {
    wiring.reporter().Show(diagnostics);
    return std::nullopt;
  }
  const PodSpec* found = FindDeclaredPod(spec, pod);
  return found == nullptr ? std::vector<TunnelSpec>() : found->tunnels;
}

int RunTunnel(Wiring& wiring, const TunnelOptions& options) {
  std::vector<TunnelSpec> specified;
  if (NeedsSpec(options)) {
    auto found = TunnelsOfSpec(wiring, BarePodName(options.pod));
    if (!found) return 1;
    specified = *std::move(found);
  }
  auto target = FindPod(wiring, options.pod);
  if (!target) return wiring.reporter().ShowFailure(target.error());
  auto wanted = ChooseTunnels(options, *target, specified);
  if (!wanted) return wiring.reporter().ShowFailure(wanted.error());

  TunnelView view(wiring, target->address,
                  options.open == "browser" && wiring.streams().out_is_terminal);
  http::CurlTransport http(fmt::format("podctl/{}", kVersion));
  const TunnelDoors doors{[&](const WorkerAccess& worker) { return WayTo(wiring, worker); },
                          wiring.ssh(), http, wiring.clock()};
  wiring.streams().err << "Press Ctrl-C to close the tunnel.\n" << std::flush;
  const auto failure = RunTunnels(doors, *wanted, view, wiring.interrupt().drain());
  // Ctrl-C is how a tunnel is closed; it is no failure.
  return failure ? wiring.reporter().ShowFailure(*failure) : 0;
}

using Of = FlagsOf<TunnelOptions>;

constexpr Flag kFlags[] = {
    Of::Pod<&TunnelOptions::pod>(),
    Of::Values<&TunnelOptions::ports>(
        "PORT", "", "[LOCAL:]REMOTE, or a name of the pod's `tunnels`; none: all of these"),
    IfAttached(
        OneOf("browser|url",
              Of::Value<&TunnelOptions::open>(
                  "--open", "",
                  "wait until it answers, show its URL, and open that; =url: only show it"))),
    Of::Workers<&TunnelOptions::workers>("number of the worker (default 0)", "N"),
};

const CommandOf<TunnelOptions> kCommand("tunnel", "forward local ports to a worker", kFlags,
                                        WithWorld<RunTunnel>);

}  // namespace

const Command& commands::kTunnel = kCommand;

}  // namespace podctl
