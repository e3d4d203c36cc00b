// podctl kill: its command line. What it does is in jobs.cpp.
#include "cmd/command.h"
#include "cmd/commands/commands.h"
#include "cmd/commands/jobs.h"
#include "cmd/context.h"

namespace podctl {
namespace {

using Of = FlagsOf<KillOptions>;

constexpr Flag kFlags[] = {
    Of::Pod<&KillOptions::pod>(),
    Of::Workers<&KillOptions::workers>(),
    Of::Argument<&KillOptions::job>("JOB", "name of the job"),
    Of::Duration<&KillOptions::grace>(
        "--grace", "from TERM to KILL (default: the job's terminationGracePeriod, 30s)"),
};

constexpr CommandOf<KillOptions> kCommand{{
    .name = "kill",
    .summary = "end a job",
    .flags = kFlags,
    .run = WithWorld<RunKill>,
}};

}  // namespace

const Command& commands::kKill = kCommand;

}  // namespace podctl
