// The command line of `podctl import`.
#include "cmd/commands/commands.h"
#include "cmd/commands/import.h"
#include "cmd/context.h"

namespace podctl {
using Of = FlagsOf<ImportOptions>;

constexpr Flag kFlags[] = {
    Required(Of::Value<&ImportOptions::address>("ADDRESS", "", "e.g. pod.research")),
    Required(Of::Value<&ImportOptions::id>("ID", "", "NODE, ZONE/NODE or the node's full name")),
    Of::Value<&ImportOptions::write_spec>(
        "--write-spec", "FILE", "write the pod to this file: a new one, or below its pods"),
};

const CommandOf<ImportOptions> kCommand("import", "take over a pod that exists, and print its spec",
                                        kFlags, WithWorld<RunImport>);

const Command& commands::kImport = kCommand;

}  // namespace podctl
