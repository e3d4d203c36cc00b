#include "providers/ssh/openssh/masters.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "providers/base/text.h"
#include "providers/os/child.h"
#include "providers/ssh/openssh/mux_session.h"

namespace podctl::ssh {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostKept = 128;  // each is a process of some megabytes
constexpr milliseconds kGlance{50};     // where the kernel does not tell that a process has ended

std::string RouteTo(const WorkerAccess& worker) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", worker.host, worker.port, worker.user,
                     worker.identity_file, Join(worker.host_keys, "\n"),
                     Join(worker.revoked_keys, "\n"),
                     worker.trust_first_use && worker.distrust.empty(), Join(worker.through, "\n"));
}

void ReadLog(Child& child, SshLog& log) {
  std::array<char, 8192> buffer;
  ssize_t got = 0;
  while ((got = read(child.error_fd(), buffer.data(), buffer.size())) > 0) {
    log.Add(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
  }
}

// Waits for words of the child, its end or an interrupt; true for an interrupt.
bool WaitFor(const Child& child, bool reads, const std::vector<int>& interrupts,
             milliseconds patience) {
  std::vector<pollfd> fds;
  for (const int fd : interrupts) fds.push_back({fd, POLLIN, 0});
  fds.push_back({child.exit_fd(), POLLIN, 0});
  fds.push_back({reads ? child.error_fd() : -1, POLLIN, 0});
  if (child.exit_fd() < 0) patience = std::min(patience, kGlance);
  if (poll(fds.data(), fds.size(), static_cast<int>(patience.count())) <= 0) return false;
  return std::any_of(fds.begin(), fds.begin() + static_cast<std::ptrdiff_t>(interrupts.size()),
                     [](const pollfd& fd) { return fd.revents != 0; });
}

// More than podctl's own limits, which end it earlier: ssh must not end it before.
int ConnectSeconds(const Limits& limits) {
  const milliseconds all = limits.connect + limits.first_byte + limits.handshake;
  return static_cast<int>(std::chrono::ceil<std::chrono::seconds>(all).count()) + 1;
}

}  // namespace

Masters::Masters(const Environment& environment, Clock& clock, std::string program)
    : environment_(environment), clock_(clock), program_(std::move(program)) {}

Masters::~Masters() {
  for (const auto& [route, socket_path] : kept_) EndMaster(socket_path);
}

Result<SshFolder*> Masters::Folder() {
  const std::lock_guard lock(mutex_);
  if (folder_ == nullptr) {
    auto made = SshFolder::Make(environment_.Get("XDG_RUNTIME_DIR").value_or(""),
                                environment_.Get("HOME").value_or(""), program_);
    if (!made) return made.error();
    folder_ = *std::move(made);
  }
  return folder_.get();
}

Masters::Opened Masters::Open(const WorkerAccess& worker, const Limits& limits,
                              const std::vector<int>& interrupts,
                              const std::function<void(Stage)>& on_stage) {
  const auto failed = [](const Error& error) {
    return Opened{{}, {Outcome::kUnreachable, OtherCause(error.message), false}, false, {}};
  };
  if (!worker.no_route.empty()) {
    Cause why = CauseAt(worker, Cause::Code::kNoRoute, worker.no_route);
    return Opened{{}, {Outcome::kUnreachable, std::move(why), false}, false, {}};
  }
  const auto folder = Folder();
  if (!folder) return failed(folder.error());
  const int number = next_number_++;
  const auto words = (*folder)->Arguments(worker, number, ConnectSeconds(limits));
  if (!words) return failed(words.error());
  const auto started = Child::Start(*words);
  if (!started) return failed(started.error());
  Child& child = **started;
  SshLog log;
  Stage stage = log.stage();
  auto deadline = clock_.Steady() + StageLimit(stage, worker, limits);
  Opened opened;
  bool late = false;
  while (!child.HasEnded() && !opened.interrupted && !late) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - clock_.Steady());
    late = left.count() <= 0;
    // A proxy that ssh has started may hold its standard error open: then that has no end.
    if (!late) opened.interrupted = WaitFor(child, true, interrupts, left);
    ReadLog(child, log);
    if (log.stage() == stage) continue;
    stage = log.stage();
    late = false;
    deadline = clock_.Steady() + StageLimit(stage, worker, limits);
    on_stage(stage);
  }
  if (!child.HasEnded()) child.Kill();
  ReadLog(child, log);
  log.Finish();
  if (!worker.through.empty()) log.AddRouteLog((*folder)->TakeRouteLog(number));
  opened.learned_host_key = (*folder)->TakeLearnedKey(number);
  if (child.HasEnded() == 0) {
    opened.socket_path = (*folder)->SocketPath(number);
  } else if (late) {
    opened.verdict = {Outcome::kUnreachable, StageComplaint(stage, worker, limits), true};
  } else {
    opened.verdict = log.Judge(worker);
  }
  return opened;
}

std::optional<std::string> Masters::Take(const WorkerAccess& worker) {
  const std::string route = RouteTo(worker);
  while (true) {
    std::string socket_path;
    {
      const std::lock_guard lock(mutex_);
      const auto found = kept_.find(route);
      if (found == kept_.end()) return std::nullopt;
      socket_path = found->second;
      kept_.erase(found);
    }
    if (MasterAnswers(socket_path)) return socket_path;
  }
}

void Masters::Keep(const WorkerAccess& worker, const std::string& socket_path) {
  {
    const std::lock_guard lock(mutex_);
    if (kept_.size() < (worker.through.empty() ? kMostKept : std::size_t{kMostPrograms})) {
      kept_.emplace(RouteTo(worker), socket_path);
      return;
    }
  }
  EndMaster(socket_path);
}

}  // namespace podctl::ssh
