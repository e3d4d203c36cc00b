#include "plans/fleet/tunnel/wanted.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "plans/kinds/pod/spec.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

using Open = WantedTunnel::Open;

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

}  // namespace podctl
