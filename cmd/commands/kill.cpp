// podctl kill: its command line. What it does is in jobs.cpp.
#include "cmd/command.h"
#include "cmd/commands/commands.h"
#include "cmd/commands/jobs.h"
#include "cmd/context.h"

namespace podctl {
using KillFlags = FlagsOf<KillOptions>;

constexpr Flag kKillFlags[] = {
    KillFlags::Pod<&KillOptions::pod>(),
    KillFlags::Workers<&KillOptions::workers>(),
    Required(KillFlags::Value<&KillOptions::job>("JOB", "", "name of the job")),
    KillFlags::Value<&KillOptions::grace>(
        "--grace", "DURATION",
        "from TERM to KILL (default: the job's terminationGracePeriod, 30s)"),
};

const CommandOf<KillOptions> kKillCommand("kill", "end a job", kKillFlags, WithWorld<RunKill>);

const Command& commands::kKill = kKillCommand;

}  // namespace podctl
