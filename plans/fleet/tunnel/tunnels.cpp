#include "plans/fleet/tunnel/tunnels.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
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
    bool reported = false;
    while (!stop_.stop_requested()) {
      if (Get(door_.open == Open::kHttp ? "/" : "/api", {})) return {};
      const auto waited = world_.clock.Steady() - began;
      if (waited >= kLongestWait) {
        return MakeError(ErrorCode::kDeadlineExceeded,
                         fmt::format("nothing answers HTTP on port {} of {}", door_.remote_port,
                                     door_.worker.Name()),
                         "The tunnel stays open; it is not looked at any more.");
      }
      if (!reported && waited >= kSilence) {
        reported = true;
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

namespace {

std::optional<int> ParsePort(std::string_view text, int least) {
  int port = 0;
  auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool whole = code == std::errc() && rest == text.data() + text.size() && !text.empty();
  return whole && port >= least && port <= 65535 ? std::make_optional(port) : std::nullopt;
}

// As for names in the spec (plans/kinds/pod/reader/tunnel_reader.cpp).
bool LooksLikeName(std::string_view word) {
  return !word.empty() && word[0] >= 'a' && word[0] <= 'z' &&
         word.find(':') == std::string_view::npos;
}

// "8888" forwards the same local port; "9999:8888" another; "0:8888" any free one.
Result<ssh::Forward> ParseForward(const std::string& text) {
  const auto colon = text.find(':');
  const std::string remote = colon == std::string::npos ? text : text.substr(colon + 1);
  const std::string local = text.substr(0, colon);
  const auto remote_port = ParsePort(remote, 1);
  const auto local_port = ParsePort(local, colon == std::string::npos ? 1 : 0);
  if (!remote_port || !local_port) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("`{}` is not a port to forward", text),
                     "Write REMOTE or LOCAL:REMOTE, for example 8888 or 9999:8888.");
  }
  ssh::Forward forward;
  forward.local_port = *local_port;
  forward.remote_port = *remote_port;
  return forward;
}

Error UnknownName(const std::string& pod, const std::string& word,
                  const std::vector<TunnelSpec>& tunnels) {
  std::vector<std::string> names;
  for (const TunnelSpec& tunnel : tunnels) {
    if (!tunnel.name.empty()) names.push_back(tunnel.name);
  }
  const std::string near = NearestWord(word, names);
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("pod `{}` has no tunnel `{}` in the spec", pod, word),
                   !near.empty()    ? fmt::format("Did you mean `{}`?", near)
                   : !names.empty() ? fmt::format("There are: {}.", Join(names, ", "))
                                    : "Write a port, such as 8888, or its `tunnels` in the spec.");
}

// Puts tunnels together one by one, each with its worker.
class Chooser {
 public:
  Chooser(const TunnelOptions& options, const PodTarget& target)
      : options_(options), target_(target) {}

  Result<void> Add(const ssh::Forward& forward, int usual_worker, Open open) {
    auto workers = SelectWorkers(target_, options_.workers, std::to_string(usual_worker));
    if (!workers) return workers.error();
    if (workers->size() != 1) {
      return MakeError(ErrorCode::kInvalidArgument, "a tunnel leads to one worker");
    }
    wanted_.push_back({workers->front(), forward, open});
    return {};
  }
  Result<void> Add(const TunnelSpec& tunnel) {
    ssh::Forward forward;
    forward.local_port = tunnel.local;
    forward.remote_port = tunnel.remote;
    const Open open = tunnel.open == "jupyter" ? Open::kJupyter
                      : tunnel.open == "http"  ? Open::kHttp
                                               : Open::kNo;
    return Add(forward, tunnel.worker, open);
  }
  std::vector<WantedTunnel> Take() {
    const bool none = std::all_of(wanted_.begin(), wanted_.end(),
                                  [](const WantedTunnel& each) { return each.open == Open::kNo; });
    if (none) wanted_.front().open = Open::kAnything;
    if (options_.open.empty()) {
      for (WantedTunnel& each : wanted_) each.open = Open::kNo;
    }
    return std::move(wanted_);
  }

 private:
  const TunnelOptions& options_;
  const PodTarget& target_;
  std::vector<WantedTunnel> wanted_;
};

}  // namespace

bool NeedsSpec(const TunnelOptions& options) {
  return options.ports.empty() ||
         std::any_of(options.ports.begin(), options.ports.end(), LooksLikeName);
}

Result<std::vector<WantedTunnel>> ChooseTunnels(const TunnelOptions& options,
                                                const PodTarget& target,
                                                const std::vector<TunnelSpec>& tunnels) {
  const std::string pod = BarePodName(options.pod);
  Chooser chooser(options, target);
  if (options.ports.empty() && tunnels.empty()) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("no port is named, and pod `{}` has no `tunnels` in the spec", pod),
        fmt::format("Name one: podctl tunnel {} 8888", pod));
  }
  if (options.ports.empty()) {
    for (const TunnelSpec& tunnel : tunnels) {
      if (auto added = chooser.Add(tunnel); !added) return added.error();
    }
    return chooser.Take();
  }
  for (const std::string& word : options.ports) {
    if (LooksLikeName(word)) {
      const auto found = std::find_if(tunnels.begin(), tunnels.end(),
                                      [&](const TunnelSpec& each) { return each.name == word; });
      if (found == tunnels.end()) return UnknownName(pod, word, tunnels);
      if (auto added = chooser.Add(*found); !added) return added.error();
      continue;
    }
    auto forward = ParseForward(word);
    if (!forward) return forward.error();
    if (auto added = chooser.Add(*forward, 0, Open::kNo); !added) return added.error();
  }
  return chooser.Take();
}

namespace {

#ifdef __APPLE__
constexpr const char* kOfTheDesktop = "open";
#else
constexpr const char* kOfTheDesktop = "xdg-open";
#endif

bool HasDisplay(const Environment& environment) {
#ifdef __APPLE__
  return !environment.Get("SSH_CONNECTION").has_value();
#else
  return !environment.Get("DISPLAY").value_or("").empty() ||
         !environment.Get("WAYLAND_DISPLAY").value_or("").empty();
#endif
}

}  // namespace

std::optional<std::string> BrowserCommand(const Environment& environment, const std::string& url) {
  const std::string wanted = environment.Get("BROWSER").value_or("");
  std::string command = wanted.substr(0, wanted.find(':'));
  if (TrimBlanks(command).empty()) {
    if (!HasDisplay(environment)) return std::nullopt;
    command = kOfTheDesktop;
  }
  const std::string quoted = ShellQuote(url);
  const auto mark = command.find("%s");
  return mark == std::string::npos ? command + " " + quoted : command.replace(mark, 2, quoted);
}

Result<void> StartBrowser(ProcessRunner& processes, const std::string& command) {
  // A session of its own: Ctrl-C is for the tunnel, and what is left of this process group is ended
  // with the shell. So the shell waits until the browser has one: its substitution ends when
  // nobody holds the pipe any more. The program is looked for first, as nobody hears of it later.
  const std::string script = fmt::format(
      "set -- {0}\n"
      "command -v \"$1\" >/dev/null || {{ printf %s \"$1\"; exit 127; }}\n"
      "if command -v setsid >/dev/null; then\n"
      "  x=$(setsid sh -c 'exec \"$@\" </dev/null >/dev/null 2>&1' sh \"$@\" &)\n"
      "else\n"
      "  \"$@\" </dev/null >/dev/null 2>&1\n"
      "fi\n",
      command);
  const auto run =
      processes.Run({"/bin/sh", "-c", script}, std::chrono::seconds(10), std::stop_token());
  if (!run) return run.error();
  if (run->exit_code != 127) return {};
  return MakeError(ErrorCode::kNotFound,
                   fmt::format("no browser was opened: there is no program `{}`", run->out));
}

}  // namespace podctl
