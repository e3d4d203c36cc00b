#include "cmd/commands/tunnel.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <vector>

#include "cmd/commands/plan_run.h"
#include "cmd/commands/pod_target.h"
#include "providers/ssh/tunnel.h"

namespace podctl {
namespace {

std::optional<int> ParsePort(std::string_view text, int least) {
  int port = 0;
  auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool whole = code == std::errc() && rest == text.data() + text.size() && !text.empty();
  return whole && port >= least && port <= 65535 ? std::make_optional(port) : std::nullopt;
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

class TunnelView final : public ssh::TunnelObserver {
 public:
  TunnelView(Wiring& wiring, const PodTarget& target, const WorkerAccess& worker)
      : wiring_(wiring), target_(target), worker_(worker) {}

  void OnReady(int local_port, const ssh::Forward& forward) override {
    wiring_.streams().out << fmt::format("http://127.0.0.1:{} -> {} port {}\n", local_port,
                                         worker_.Name(), forward.remote_port)
                          << std::flush;
  }
  void OnNote(const std::string& text) override { wiring_.streams().err << text << std::endl; }
  void OnHostKey(const HostKeyText& key) override {
    RememberHostKeys(wiring_, target_.address, {{worker_.index, key}});
  }

 private:
  Wiring& wiring_;
  const PodTarget& target_;
  const WorkerAccess& worker_;
};

}  // namespace

int RunTunnel(Wiring& wiring, const PodOptions& options) {
  const auto fail = [&](const Error& error) {
    ShowError(wiring, nullptr, "", error);
    return 1;
  };
  std::vector<ssh::Forward> forwards;
  for (const std::string& port : options.ports) {
    auto forward = ParseForward(port);
    if (!forward) return fail(forward.error());
    forwards.push_back(*forward);
  }
  auto target = FindPod(wiring, options.pod);
  if (!target) return fail(target.error());
  auto workers = SelectWorkers(*target, options.workers, "0");
  if (!workers) return fail(workers.error());
  if (workers->size() != 1) {
    return fail(MakeError(ErrorCode::kInvalidArgument, "a tunnel leads to one worker"));
  }
  const WorkerAccess& worker = workers->front();
  auto identities = wiring.keyring().For(worker.identity_file);
  if (!identities) return fail(identities.error());
  TunnelView view(wiring, *target, worker);
  wiring.streams().err << "Press Ctrl-C to close the tunnel.\n" << std::flush;
  const auto ended = ssh::RunTunnel(worker, *identities, forwards, ssh::Limits{}, wiring.clock(),
                                    wiring.random(), view, wiring.interrupt().drain());
  // Ctrl-C is how a tunnel is closed; it is no failure.
  return ended ? 0 : fail(ended.error());
}

}  // namespace podctl
