// Runs commands on many workers at once, and hands on what they write and how they end. What exec
// and cp have in common; shows nothing.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>

#include "plans/fleet/exec/exec.h"
#include "plans/fleet/exec/outcome.h"
#include "plans/fleet/exec/output_store.h"
#include "plans/fleet/worker_round.h"
#include "providers/os/clock.h"
#include "providers/ssh/transport.h"

namespace podctl {

struct CommandWishes {
  ssh::Limits limits;                         // without what is about ends
  std::optional<std::chrono::seconds> grace;  // waits for those that are asked to end
  OutputSink* sink = nullptr;                 // takes the output; null: who watches does. Lent
  // The next two never at the same time; both may be empty.
  std::function<void(std::size_t job, const ssh::WorkerResult& result)> on_result;
  std::function<void()> on_tick;
};

// Fills in the results of `outcome`, whose jobs are run. `stop`: ends them, beside `stops`.
void RunCommands(ssh::Transport& transport, Clock& clock, ExecOutcome* outcome,
                 const CommandWishes& wishes, ExecWatcher& watcher, std::stop_source& stop,
                 const Stops& stops);

}  // namespace podctl
