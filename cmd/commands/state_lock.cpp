#include "cmd/commands/state_lock.h"

#include <fmt/format.h>

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

LockWait PatienceFor(Wiring& wiring) {
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
  return wait;
}

std::unique_ptr<StateLock> TakeLock(Wiring& wiring, StateStore& store,
                                    const std::string& operation) {
  auto lock =
      store.Lock(wiring.LockFor(operation), PatienceFor(wiring), wiring.interrupt().drain());
  if (!lock && wiring.interrupt().requested()) {
    wiring.reporter().TellInterrupted(
        "Interrupted while waiting for the state lock. Nothing was changed.");
    return nullptr;
  }
  if (!lock) {
    wiring.reporter().ShowError("", lock.error());
    return nullptr;
  }
  const std::string note = (*lock)->TakeoverNote();
  if (!note.empty()) wiring.reporter().Note(note);
  return *std::move(lock);
}

}  // namespace podctl
