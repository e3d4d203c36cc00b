#include "plans/session/pipeline_state.h"

#include <fmt/format.h>

#include "providers/base/text.h"
#include "providers/os/ci_run.h"
#include "state/store.h"

namespace podctl {

std::optional<Diagnostic> WarnOfLostState(
    const Environment& environment, FileSystem& files, const std::string& path,
    const std::function<std::optional<bool>(const std::string& path)>& git_follows) {
  if (!IsPipeline(environment) || IsStateUrl(path)) return std::nullopt;
  const auto there = files.Stat(path);
  if (there || there.error().code != ErrorCode::kNotFound) return std::nullopt;
  if (git_follows(path) != false) return std::nullopt;
  Diagnostic warning;
  warning.severity = Severity::kWarning;
  warning.summary = "The state would be lost with this pipeline's machine";
  warning.detail = fmt::format(
      "The state is the file {0}. It is not there, git does not follow it, and nothing has brought "
      "it back from an earlier run. If an earlier run made pods, this plan does not know them; and "
      "what is applied here, the next run will not know.\n"
      "Keep the state on a server that every run reaches: `state: gs://BUCKET/PREFIX` in the spec "
      "(docs/state.md); `podctl state migrate --to gs://BUCKET/PREFIX` moves one that there is. Or "
      "bring {0} back before podctl runs, and keep it afterwards.",
      VisibleControls(path));
  return warning;
}

}  // namespace podctl
