#include "cmd/commands/state_lock.h"

#include <fmt/format.h>

#include <utility>

#include "cmd/reporter.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

// "alice@host (process 4711, podctl apply)".
std::string NameOfHolder(const LockInfo& holder) {
  if (holder.who.empty()) return "another run";
  const std::string what = holder.command.empty() ? holder.operation : holder.command;
  const std::string process = holder.pid > 0 ? fmt::format("process {}, ", holder.pid) : "";
  return VisibleControls(fmt::format("{} ({}{})", holder.who, process, what));
}

}  // namespace

LockRequest RequestFor(Wiring& wiring, const std::string& operation) {
  LockWait wait(wiring.options().lock_timeout);
  wait.on_wait = [&reporter = wiring.reporter()](const LockInfo& holder,
                                                 std::chrono::milliseconds waited) {
    if (waited.count() == 0) {
      // Terraform's sentence, which people and tools know.
      reporter.Note("Acquiring state lock. This may take a few moments...");
    }
    const std::string since =
        waited.count() == 0 ? "" : fmt::format("... [{} elapsed]", FormatDuration(waited));
    reporter.Note(fmt::format("{} for {}{}", waited.count() == 0 ? "Waiting" : "Still waiting",
                              NameOfHolder(holder), since));
  };
  return {[&wiring, operation] { return wiring.LockFor(operation); }, std::move(wait)};
}

}  // namespace podctl
