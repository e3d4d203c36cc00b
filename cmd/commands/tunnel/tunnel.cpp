#include "cmd/commands/tunnel/tunnel.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "cmd/command.h"
#include "cmd/commands/commands.h"
#include "cmd/commands/failure.h"
#include "cmd/commands/plan_run.h"
#include "cmd/commands/pod_target.h"
#include "cmd/context.h"
#include "plans/fleet/tunnel/browser.h"
#include "plans/fleet/tunnel/door.h"
#include "plans/fleet/tunnel/wanted.h"
#include "providers/base/json.h"
#include "providers/http/curl_transport.h"
#include "providers/ssh/openssh_tunnel.h"
#include "providers/ssh/tunnel.h"

namespace podctl {
namespace {

// What all threads of a run show, one at a time.
class Desk {
 public:
  Desk(Wiring& wiring, const PodTarget& target) : wiring_(wiring), target_(target) {}

  void ShowReady(const WorkerAccess& worker, int local_port, int remote_port) {
    const std::lock_guard lock(mutex_);
    const std::string url = fmt::format("http://127.0.0.1:{}", local_port);
    if (wiring_.options().json) {
      Value event = Event("forward", worker);
      event.Set("local_port", local_port);
      event.Set("remote_port", remote_port);
      event.Set("url", url);
      Print(ToJson(event));
    } else {
      Print(fmt::format("{} -> {} port {}", url, worker.Name(), remote_port));
    }
  }
  void ShowOpened(const WorkerAccess& worker, const OpenedDoor& opened) {
    const std::lock_guard lock(mutex_);
    for (const std::string& remark : opened.remarks) wiring_.streams().err << remark << "\n";
    wiring_.streams().err << std::flush;
    if (wiring_.options().json) {
      Value event = Event("open", worker);
      event.Set("url", opened.url);
      if (!opened.colab_url.empty()) event.Set("colab_url", opened.colab_url);
      return Print(ToJson(event));
    }
    Print(fmt::format("\nIn a browser:\n  {}", opened.url));
    if (opened.colab_url.empty()) return;
    Print(
        fmt::format("In Colab (Connect, \"Connect to a local runtime\"):\n  {}", opened.colab_url));
  }
  // A client that tries again and again is told of once in a while.
  void Note(const std::string& text) {
    constexpr std::chrono::seconds kAgain{30};
    const std::lock_guard lock(mutex_);
    const auto now = wiring_.clock().Steady();
    if (text == last_note_ && now < last_noted_ + kAgain) return;
    last_note_ = text;
    last_noted_ = now;
    wiring_.streams().err << text << std::endl;
  }
  void Remember(const WorkerAccess& worker, const HostKeyText& key) {
    const std::lock_guard lock(mutex_);
    RememberHostKeys(wiring_, target_.address, {{worker.index, key}});
  }

 private:
  static Value Event(const char* type, const WorkerAccess& worker) {
    Value event;
    event.Set("format_version", "1.0");
    event.Set("type", type);
    event.Set("worker", worker.Name());
    return event;
  }
  void Print(const std::string& line) { wiring_.streams().out << line << "\n" << std::flush; }

  Wiring& wiring_;
  const PodTarget& target_;
  std::mutex mutex_;
  std::string last_note_;
  Clock::SteadyTime last_noted_{};
};

// The doors of this run to be opened, each on a thread of its own.
class Openers {
 public:
  Openers(Wiring& wiring, Desk& desk, bool browser, std::stop_token stop)
      : desk_(desk),
        ssh_(wiring.ssh()),
        clock_(wiring.clock()),
        environment_(wiring.environment()),
        http_(fmt::format("podctl/{}", kVersion)),
        browser_(browser),
        stop_(std::move(stop)) {}

  void Start(Door door) {
    const std::lock_guard lock(mutex_);
    threads_.emplace_back([this, door = std::move(door)] { Open(door); });
  }

 private:
  void Open(const Door& door) {
    const DoorWorld world{http_, ssh_, clock_,
                          [this](const std::string& text) { desk_.Note(text); }};
    const auto opened = OpenDoor(door, world, stop_);
    if (!opened) {
      if (!stop_.stop_requested()) desk_.Note(opened.error().message);
      return;
    }
    desk_.ShowOpened(door.worker, *opened);
    if (!browser_) return;
    const auto command = BrowserCommand(environment_, opened->url);
    if (!command) return;
    RealProcessRunner processes;
    if (auto started = StartBrowser(processes, *command); !started) {
      desk_.Note(started.error().message);
    }
  }

  Desk& desk_;
  ssh::Transport& ssh_;
  Clock& clock_;
  const Environment& environment_;
  http::CurlTransport http_;
  const bool browser_;
  const std::stop_token stop_;
  std::mutex mutex_;
  std::vector<std::jthread> threads_;  // they end with `stop`
};

// The tunnels to one worker, which share a session.
class WorkerTunnels final : public ssh::TunnelObserver {
 public:
  WorkerTunnels(const WorkerAccess& worker, Desk& desk, Openers& openers)
      : worker_(worker), desk_(desk), openers_(openers) {}

  const WorkerAccess& worker() const { return worker_; }
  void Add(const WantedTunnel& wanted) {
    options_.forwards.push_back(wanted.forward);
    open_.push_back(wanted.open);
  }
  const ssh::TunnelOptions& options() const { return options_; }

  void OnReady(int local_port, const ssh::Forward& forward) override {
    desk_.ShowReady(worker_, local_port, forward.remote_port);
    const WantedTunnel::Open open = open_[ready_++];
    if (open == WantedTunnel::Open::kNo) return;
    openers_.Start({local_port, forward.remote_port, open, worker_});
  }
  void OnNote(const std::string& text) override { desk_.Note(text); }
  void OnHostKey(const HostKeyText& key) override {
    worker_.host_keys = {key};
    desk_.Remember(worker_, key);
  }

 private:
  WorkerAccess worker_;
  Desk& desk_;
  Openers& openers_;
  ssh::TunnelOptions options_;
  std::vector<WantedTunnel::Open> open_;
  std::size_t ready_ = 0;
};

// Shows itself what is wrong with the spec; nullopt then.
std::optional<std::vector<TunnelSpec>> TunnelsOfSpec(Wiring& wiring, const std::string& pod) {
  Diagnostics diagnostics;
  const Spec spec =
      LoadSpec(wiring.SpecOptions(), wiring.files(), wiring.environment(), diagnostics);
  if (diagnostics.has_errors()) {
    ShowDiagnostics(wiring, nullptr, diagnostics);
    return std::nullopt;
  }
  const auto found = std::find_if(spec.pods.begin(), spec.pods.end(),
                                  [&](const PodSpec& each) { return each.name == pod; });
  return found == spec.pods.end() ? std::vector<TunnelSpec>() : found->tunnels;
}

// Runs them side by side until `stop`; what fails ends all. The first failure, if any.
std::optional<Error> RunAll(Wiring& wiring, std::list<WorkerTunnels>& tunnels,
                            std::stop_source& stop) {
  std::vector<std::shared_ptr<const ssh::Identities>> identities;
  for (const WorkerTunnels& each : tunnels) {
    if (each.worker().use_openssh) {
      identities.emplace_back();  // ssh finds its own
      continue;
    }
    auto found = wiring.keyring().For(each.worker().identity_file);
    if (!found) return found.error();
    identities.push_back(*found);
  }
  Clock& clock = wiring.clock();
  Random& random = wiring.random();
  std::mutex mutex;
  std::optional<Error> failure;
  {
    std::vector<std::jthread> threads;
    std::size_t i = 0;
    for (WorkerTunnels& each : tunnels) {
      threads.emplace_back([&, &mine = each, keys = identities[i++]] {
        const auto ended =
            mine.worker().use_openssh
                ? ssh::RunTunnelByProgram(mine.worker(), mine.options(), wiring.environment(),
                                          clock, random, mine, stop.get_token())
                : ssh::RunTunnel(mine.worker(), keys, mine.options(), clock, random, mine,
                                 stop.get_token());
        if (ended) return;
        const std::lock_guard lock(mutex);
        if (!failure) failure = ended.error();
        stop.request_stop();
      });
    }
  }
  return failure;
}

}  // namespace

int RunTunnel(Wiring& wiring, const TunnelOptions& options) {
  std::vector<TunnelSpec> specified;
  if (NeedsSpec(options)) {
    auto found = TunnelsOfSpec(wiring, BarePodName(options.pod));
    if (!found) return 1;
    specified = *std::move(found);
  }
  auto target = FindPod(wiring, options.pod);
  if (!target) return ShowFailure(wiring, target.error());
  auto wanted = ChooseTunnels(options, *target, specified);
  if (!wanted) return ShowFailure(wiring, wanted.error());

  std::stop_source stop;
  const std::stop_callback hang_up(wiring.interrupt().drain(), [&stop] { stop.request_stop(); });
  Desk desk(wiring, *target);
  const bool browser = options.open == "browser" && wiring.streams().out_is_terminal;
  std::optional<Error> failure;
  {
    Openers openers(wiring, desk, browser, stop.get_token());
    std::list<WorkerTunnels> tunnels;
    for (const WantedTunnel& each : *wanted) {
      auto mine = std::find_if(tunnels.begin(), tunnels.end(), [&](const WorkerTunnels& known) {
        return known.worker().index == each.worker.index;
      });
      if (mine == tunnels.end()) {
        mine = tunnels.emplace(tunnels.end(), each.worker, desk, openers);
      }
      mine->Add(each);
    }
    wiring.streams().err << "Press Ctrl-C to close the tunnel.\n" << std::flush;
    failure = RunAll(wiring, tunnels, stop);
    stop.request_stop();
  }
  // Ctrl-C is how a tunnel is closed; it is no failure.
  return failure ? ShowFailure(wiring, *failure) : 0;
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

const Command& commands::kTunnel = kCommand;

}  // namespace podctl
