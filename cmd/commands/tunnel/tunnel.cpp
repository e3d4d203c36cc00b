// podctl tunnel: local ports that lead to workers, until Ctrl-C.
#include "providers/ssh/tunnel/tunnel.h"

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cmd/command.h"
#include "cmd/reporter.h"
#include "cmd/wiring.h"
#include "plans/fleet/tunnel/tunnels.h"
#include "plans/kinds/pod/spec.h"
#include "plans/session/known_pods.h"
#include "plans/session/loss_watch.h"
#include "providers/http/curl_transport.h"
#include "providers/ssh/libssh2/fan_out.h"
#include "providers/ssh/openssh/openssh_transport.h"

namespace podctl {
namespace {

class TunnelView final : public TunnelsWatcher {
 public:
  // `browser`: where it is opened by itself, by what this environment says; may be null.
  TunnelView(const KnownPods& pods, const std::string& address, Reporter& reporter,
             Streams& streams, Clock& clock, const Environment* browser,
             std::function<void()> on_trouble)
      : pods_(pods),
        address_(address),
        reporter_(reporter),
        streams_(streams),
        clock_(clock),
        browser_(browser),
        on_trouble_(std::move(on_trouble)) {}

  void OnReady(const WorkerAccess& worker, int local_port, int remote_port) override {
    const std::lock_guard lock(mutex_);
    const std::string url = fmt::format("http://127.0.0.1:{}", local_port);
    const bool said = reporter_.Event([&] {
      Value event = Event("forward", worker);
      event.Set("local_port", local_port);
      event.Set("remote_port", remote_port);
      event.Set("url", url);
      return event;
    });
    if (!said) Print(fmt::format("{} -> {} port {}", url, worker.Name(), remote_port));
    if (std::exchange(is_reported_, true)) return;
    streams_.err << "Press Ctrl-C to close the tunnel.\n" << std::flush;
  }
  void OnOpened(const WorkerAccess& worker, const OpenedDoor& opened) override {
    const std::lock_guard lock(mutex_);
    for (const std::string& remark : opened.remarks) streams_.err << remark << "\n";
    streams_.err << std::flush;
    ShowOpened(worker, opened);
    if (browser_ == nullptr) return;
    const auto command = BrowserCommand(*browser_, opened.url);
    if (!command) return;
    RealProcessRunner processes;
    if (auto started = StartBrowser(processes, *command); !started) {
      Note(started.error().message);
    }
  }
  void OnNote(const std::string& text) override {
    const std::lock_guard lock(mutex_);
    on_trouble_();
    Note(text);
  }
  // Why there may be no answer.
  void OnStatus(const std::string& text) {
    const std::lock_guard lock(mutex_);
    Note(text);
  }
  void OnHostKey(const WorkerAccess& worker, const HostKeyText& key) override {
    const std::lock_guard lock(mutex_);
    pods_.Remember(address_, {{worker.index, key}});
  }

 private:
  // A client that tries again and again is told of once in a while.
  void Note(const std::string& text) {
    constexpr std::chrono::seconds kAgain{30};
    const auto now = clock_.Steady();
    if (text == last_note_ && now < last_noted_ + kAgain) return;
    last_note_ = text;
    last_noted_ = now;
    streams_.err << text << std::endl;
  }
  static Value Event(const char* type, const WorkerAccess& worker) {
    return Value::Map{{"format_version", "1.0"}, {"type", type}, {"worker", worker.Name()}};
  }
  void ShowOpened(const WorkerAccess& worker, const OpenedDoor& opened) {
    const bool said = reporter_.Event([&] {
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
  void Print(const std::string& line) { streams_.out << line << "\n" << std::flush; }

  const KnownPods& pods_;
  const std::string address_;
  Reporter& reporter_;
  Streams& streams_;
  Clock& clock_;
  const Environment* const browser_;
  const std::function<void()> on_trouble_;
  std::mutex mutex_;          // of the streams, and of what follows
  bool is_reported_ = false;  // how it is closed
  std::string last_note_;
  Clock::SteadyTime last_noted_{};
};

// All but the last are lent.
Result<HoldTunnels> WayTo(ssh::Keyring& keyring, const Environment& environment, Clock& clock,
                          Random& random, const WorkerAccess& given) {
  std::shared_ptr<const ssh::Identities> keys;
  if (!given.use_openssh) {  // ssh finds its own
    auto found = keyring.For(given.identity_file);
    if (!found) return found.error();
    keys = *found;
  }
  return HoldTunnels([&environment, &clock, &random, keys](
                         const WorkerAccess& worker, const ssh::TunnelOptions& options,
                         ssh::TunnelObserver& observer, const std::stop_token& stop) {
    const auto carrier = worker.use_openssh ? ssh::MakeProgramTunnel(environment, clock, random)
                                            : ssh::MakeSessionTunnel(keys, clock, random);
    return ssh::RunTunnel(worker, *carrier, options, clock, observer, stop);
  });
}

std::vector<TunnelSpec> TunnelsOf(const Spec& spec, const std::string& pod) {
  const PodSpec* found = FindDeclaredPod(spec, pod);
  return found == nullptr ? std::vector<TunnelSpec>() : found->tunnels;
}

int RunTunnel(Wiring& wiring, const TunnelOptions& options) {
  Reporter& reporter = wiring.reporter();
  std::vector<TunnelSpec> specified;
  if (NeedsSpec(options)) {
    Diagnostics problems;
    specified = TunnelsOf(wiring.ReadSpec(problems), BarePodName(options.pod));
    if (problems.has_errors()) {
      reporter.Show(problems);
      return 1;
    }
  }
  const KnownPods pods(wiring.pod_doors());
  auto target = pods.Find(options.pod);
  if (!target) return reporter.ShowFailure(target.error());
  auto wanted = ChooseTunnels(options, *target, specified);
  if (!wanted) return reporter.ShowFailure(wanted.error());

  Streams& streams = wiring.streams();
  const bool browser = options.open == "browser" && streams.out_is_terminal;
  std::stop_source end;
  const std::stop_callback on_stop(wiring.interrupt().drain(), [&end] { end.request_stop(); });
  LossWatch* asks = nullptr;
  TunnelView view(pods, target->address, reporter, streams, wiring.clock(),
                  browser ? &wiring.environment() : nullptr, [&asks] { asks->Trouble(); });
  LossWatch watch(
      pods, BarePodName(options.pod), [&end] { end.request_stop(); },
      [&view](const std::string& why) { view.OnStatus(why); });
  asks = &watch;
  http::CurlTransport http(fmt::format("podctl/{}", kVersion));
  const TunnelDoors doors{[&](const WorkerAccess& worker) {
                            return WayTo(wiring.keyring(), wiring.environment(), wiring.clock(),
                                         wiring.random(), worker);
                          },
                          wiring.ssh(), http, wiring.clock()};
  const auto failure = RunTunnels(doors, *wanted, view, end.get_token());
  if (const auto loss = watch.loss()) return reporter.ShowFailure(*loss);
  // Ctrl-C is how a tunnel is closed; it is no failure.
  if (!failure) return 0;
  const std::string loss =
      failure->code == ErrorCode::kUnavailable ? pods.StandingAdvice(options.pod) : "";
  return reporter.ShowFailure(loss.empty() ? *failure
                                           : MakeError(failure->code, failure->message, loss));
}

constexpr Flag kTunnelFlags[] = {
    PodArgument<&TunnelOptions::pod>(),
    ManyValues<&TunnelOptions::ports>(
        "PORT", "", "[LOCAL:]REMOTE, or a name of the pod's `tunnels`; none: all of these"),
    IfAttached(
        OneOf("browser|url",
              OneValue<&TunnelOptions::open>(
                  "--open", "",
                  "wait until it answers, show its URL, and open that; =url: only show it"))),
    WorkerFlag<&TunnelOptions::workers>("number of the worker (default 0)", "N"),
};

}  // namespace

const Command commands::kTunnel("tunnel", "forward local ports to a worker", kTunnelFlags,
                                WithWorld<RunTunnel>);

}  // namespace podctl
