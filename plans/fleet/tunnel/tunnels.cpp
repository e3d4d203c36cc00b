#include "plans/fleet/tunnel/tunnels.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

namespace podctl {
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
