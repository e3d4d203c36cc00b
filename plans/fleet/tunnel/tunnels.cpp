#include "plans/fleet/tunnel/tunnels.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "providers/base/text.h"
#include "providers/http/url.h"
#include "providers/workers/notebooks.h"

namespace podctl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using workers::Notebook;
using Open = WantedTunnel::Open;

constexpr milliseconds kBetweenTries{500};
constexpr seconds kSilence{5};  // after which it is said that it takes its time
constexpr std::chrono::minutes kLongestWait{10};
constexpr seconds kOneAnswer{10};
// A server listens a moment before it writes down how to get in.
constexpr int kTriesForToken = 5;
constexpr std::string_view kColab = "https://colab.research.google.com";

class DoorListener final : public ssh::Observer {
 public:
  void OnLine(std::size_t, ssh::Stream stream, std::string_view line) override {
    constexpr std::size_t kMostLines = 500;
    if (stream == ssh::Stream::kOut && lines_.size() < kMostLines) lines_.emplace_back(line);
  }
  void OnPhase(std::size_t, ssh::Phase) override {}
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

class Opener {
 public:
  Opener(const Door& door, const DoorWorld& world, const std::stop_token& stop)
      : door_(door), world_(world), stop_(stop) {}

  Result<OpenedDoor> Run() {
    if (auto answered = WaitForAnswer(); !answered) return answered.error();
    opened_.url = Url("127.0.0.1", "/", "");
    if (door_.open == Open::kHttp) return opened_;
    const std::optional<Notebook> notebook = FindNotebook();
    if (stop_.stop_requested()) return Cancelled();
    if (notebook) {
      Enter(*notebook);
    } else if (door_.open == Open::kJupyter) {
      Remark(
          fmt::format("No Jupyter of {}'s listens on port {} of {}, so its token is not known; "
                      "it may stand in its log.",
                      door_.worker.user, door_.remote_port, door_.worker.Name()));
    }
    return opened_;
  }

 private:
  static Error Cancelled() { return MakeError(ErrorCode::kCancelled, "cancelled"); }
  void Remark(std::string text) { opened_.remarks.push_back(std::move(text)); }

  std::string Url(std::string_view host, const std::string& path, const std::string& token) const {
    return fmt::format("http://{}:{}{}{}", host, door_.local_port, path,
                       token.empty() ? "" : "?token=" + http::PercentEncode(token));
  }

  Result<http::Response> Get(const std::string& path,
                             std::vector<std::pair<std::string, std::string>> headers) const {
    http::Request request;
    request.url = Url("127.0.0.1", path, "");
    request.headers = std::move(headers);
    request.timeout = kOneAnswer;
    request.no_proxy = true;
    return world_.http.Send(request, stop_);
  }

  // Any status is an answer.
  Result<void> WaitForAnswer() const {
    const auto began = world_.clock.Steady();
    bool told = false;
    while (!stop_.stop_requested()) {
      if (Get(door_.open == Open::kHttp ? "/" : "/api", {})) return {};
      const auto waited = world_.clock.Steady() - began;
      if (waited >= kLongestWait) {
        return MakeError(ErrorCode::kDeadlineExceeded,
                         fmt::format("nothing answers HTTP on port {} of {}", door_.remote_port,
                                     door_.worker.Name()),
                         "The tunnel stays open; it is not looked at any more.");
      }
      if (!told && waited >= kSilence) {
        told = true;
        world_.on_wait(fmt::format("port {} of {} does not answer HTTP yet; waiting",
                                   door_.remote_port, door_.worker.Name()));
      }
      if (!world_.clock.SleepFor(kBetweenTries, stop_)) break;
    }
    return Cancelled();
  }

  // What the worker says of it.
  std::optional<Notebook> FindNotebook() const {
    for (int i = 0; i < kTriesForToken; ++i) {
      ssh::Limits limits;
      limits.retry = seconds(20);
      limits.command = seconds(60);
      DoorListener listener;
      const auto results = world_.ssh.Run({{door_.worker, workers::NotebooksCommand(), nullptr}},
                                          limits, listener, stop_);
      const auto notebooks =
          results.at(0).ok() ? workers::ParseNotebooks(listener.lines()) : std::vector<Notebook>();
      for (const Notebook& each : notebooks.value_or({})) {
        if (each.port == door_.remote_port) return each;
      }
      const bool again = door_.open == Open::kJupyter && i + 1 < kTriesForToken;
      if (!again || !world_.clock.SleepFor(seconds(1), stop_)) break;
    }
    return std::nullopt;
  }

  void Enter(const Notebook& notebook) {
    opened_.url = Url("127.0.0.1", notebook.base_url, notebook.token);
    const std::string status = notebook.base_url + "api/status";
    std::vector<std::pair<std::string, std::string>> headers;
    if (!notebook.token.empty()) headers.emplace_back("Authorization", "token " + notebook.token);
    const auto answer = Get(status, headers);
    if (notebook.token.empty()) {
      Remark(notebook.password
                 ? "This Jupyter asks for a password."
                 : "This Jupyter asks for no token: everybody on the worker may use it.");
    } else if (answer && (answer->status == 401 || answer->status == 403)) {
      Remark("This Jupyter does not accept the token that it wrote down.");
      return;
    }
    headers.emplace_back("Origin", kColab);
    const auto from_colab = Get(status, headers);
    const std::string* allowed =
        from_colab ? from_colab->Header("access-control-allow-origin") : nullptr;
    if (allowed != nullptr && (*allowed == kColab || *allowed == "*")) {
      opened_.colab_url = Url("localhost", notebook.base_url, notebook.token);
    } else {
      Remark(
          fmt::format("Colab is not let in: this Jupyter was not started with "
                      "allow_origin='{}' (the template `colab` does that).",
                      kColab));
    }
  }

  const Door& door_;
  const DoorWorld& world_;
  const std::stop_token& stop_;
  OpenedDoor opened_;
};

}  // namespace

Result<OpenedDoor> OpenDoor(const Door& door, const DoorWorld& world, const std::stop_token& stop) {
  return Opener(door, world, stop).Run();
}

namespace {

// The doors of this run to be opened, each on a thread of its own.
class Openers {
 public:
  Openers(const TunnelDoors& doors, TunnelsWatcher& watcher, std::stop_token stop)
      : doors_(doors), watcher_(watcher), stop_(std::move(stop)) {}

  void Start(Door door) {
    const std::lock_guard lock(mutex_);
    threads_.emplace_back([this, door = std::move(door)] { Open(door); });
  }

 private:
  void Open(const Door& door) {
    const DoorWorld world{doors_.http, doors_.ssh, doors_.clock,
                          [this](const std::string& text) { watcher_.OnNote(text); }};
    const auto opened = OpenDoor(door, world, stop_);
    if (opened) {
      watcher_.OnOpened(door.worker, *opened);
    } else if (!stop_.stop_requested()) {
      watcher_.OnNote(opened.error().message);
    }
  }

  const TunnelDoors& doors_;
  TunnelsWatcher& watcher_;
  const std::stop_token stop_;
  std::mutex mutex_;
  std::vector<std::jthread> threads_;  // they end with `stop`
};

// The tunnels to one worker, which share a session.
class WorkerTunnels final : public ssh::TunnelObserver {
 public:
  WorkerTunnels(const WorkerAccess& worker, TunnelsWatcher& watcher, Openers& openers)
      : worker_(worker), watcher_(watcher), openers_(openers) {}

  const WorkerAccess& worker() const { return worker_; }
  void Add(const WantedTunnel& wanted) {
    options_.forwards.push_back(wanted.forward);
    open_.push_back(wanted.open);
  }
  const ssh::TunnelOptions& options() const { return options_; }

  void OnReady(int local_port, const ssh::Forward& forward) override {
    watcher_.OnReady(worker_, local_port, forward.remote_port);
    const WantedTunnel::Open open = open_[ready_++];
    if (open == WantedTunnel::Open::kNo) return;
    openers_.Start({local_port, forward.remote_port, open, worker_});
  }
  void OnNote(const std::string& text) override { watcher_.OnNote(text); }
  void OnHostKey(const HostKeyText& key) override {
    worker_.host_keys = {key};
    watcher_.OnHostKey(worker_, key);
  }

 private:
  WorkerAccess worker_;
  TunnelsWatcher& watcher_;
  Openers& openers_;
  ssh::TunnelOptions options_;
  std::vector<WantedTunnel::Open> open_;
  std::size_t ready_ = 0;
};

// Runs them side by side until `stop`; what fails ends all.
std::optional<Error> RunAll(const TunnelDoors& doors, std::list<WorkerTunnels>& tunnels,
                            std::stop_source& stop) {
  std::vector<HoldTunnels> ways;
  for (const WorkerTunnels& each : tunnels) {
    auto way = doors.way_to(each.worker());
    if (!way) return way.error();
    ways.push_back(*std::move(way));
  }
  std::mutex mutex;
  std::optional<Error> failure;
  {
    std::vector<std::jthread> threads;
    auto way = ways.begin();
    for (WorkerTunnels& each : tunnels) {
      threads.emplace_back([&, &mine = each, &hold = *way++] {
        const auto ended = hold(mine.worker(), mine.options(), mine, stop.get_token());
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

std::optional<Error> RunTunnels(const TunnelDoors& doors, const std::vector<WantedTunnel>& wanted,
                                TunnelsWatcher& watcher, const std::stop_token& asked) {
  std::stop_source stop;
  const std::stop_callback hang_up(asked, [&stop] { stop.request_stop(); });
  Openers openers(doors, watcher, stop.get_token());
  std::list<WorkerTunnels> tunnels;
  for (const WantedTunnel& each : wanted) {
    auto mine = std::find_if(tunnels.begin(), tunnels.end(), [&](const WorkerTunnels& known) {
      return known.worker().index == each.worker.index;
    });
    if (mine == tunnels.end()) mine = tunnels.emplace(tunnels.end(), each.worker, watcher, openers);
    mine->Add(each);
  }
  auto failure = RunAll(doors, tunnels, stop);
  stop.request_stop();
  return failure;
}

}  // namespace podctl
