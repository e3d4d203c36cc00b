#include "state/push.h"

#include <fmt/format.h>

namespace podctl {
namespace {

Error Refused(std::string message) {
  return MakeError(ErrorCode::kFailedPrecondition, std::move(message),
                   "Make sure that it is the state you mean; `--force` pushes it all the same.");
}

}  // namespace

Result<void> CheckPush(const Snapshot& stored, const State& pushed, bool force) {
  if (force || !stored.state) return {};
  const State& present = *stored.state;
  if (present.records.empty()) return {};
  if (pushed.lineage != present.lineage) {
    return Refused(
        fmt::format("cannot import state with lineage \"{}\" over unrelated state with lineage "
                    "\"{}\"",
                    pushed.lineage, present.lineage));
  }
  if (pushed.serial < present.serial) {
    return Refused(fmt::format("cannot import state with serial {} over newer state with serial {}",
                               pushed.serial, present.serial));
  }
  if (pushed.serial == present.serial && !(pushed == present)) {
    return Refused(
        fmt::format("cannot overwrite existing state with serial {} with a different "
                    "state that has the same serial",
                    pushed.serial));
  }
  return {};
}

}  // namespace podctl
