// podctl kill: its command line. What it does is in jobs.cpp.
#include "cmd/command.h"
#include "cmd/commands/commands.h"
#include "cmd/commands/jobs.h"
#include "cmd/context.h"

namespace podctl {
using Of = FlagsOf<KillOptions>;

constexpr Flag kFlags[] = {
    Of::Pod<&KillOptions::pod>(),
    Of::Workers<&KillOptions::workers>(),
    Required(Of::Value<&KillOptions::job>("JOB", "", "name of the job")),
    Of::Value<&KillOptions::grace>(
        "--grace", "DURATION",
        "from TERM to KILL (default: the job's terminationGracePeriod, 30s)"),
};

const CommandOf<KillOptions> kCommand("kill", "end a job", kFlags, WithWorld<RunKill>);

const Command& commands::kKill = kCommand;

}  // namespace podctl
