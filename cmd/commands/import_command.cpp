// The command line of `podctl import`.
#include "cmd/commands/commands.h"
#include "cmd/commands/import.h"
#include "cmd/context.h"

namespace podctl {
namespace {

using Of = FlagsOf<ImportOptions>;

constexpr Flag kFlags[] = {
    Of::Argument<&ImportOptions::address>("ADDRESS", "e.g. pod.research"),
    Of::Argument<&ImportOptions::id>("ID", "NODE, ZONE/NODE or the node's full name"),
    Of::Text<&ImportOptions::write_spec>(
        "--write-spec", "FILE", "write the pod to this file: a new one, or below its pods"),
};

constexpr CommandOf<ImportOptions> kCommand{{
    .name = "import",
    .summary = "take over a pod that exists, and print its spec",
    .flags = kFlags,
    .run = WithWorld<RunImport>,
}};

}  // namespace

const Command& commands::kImport = kCommand;

}  // namespace podctl
