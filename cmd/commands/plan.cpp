// podctl plan: its command line. What it does is in apply.cpp, with what apply does before it acts.
#include <fmt/format.h>

#include "cmd/commands/commands.h"
#include "cmd/commands/plan_flags.h"
#include "cmd/context.h"

namespace podctl {

std::string PlanConflict(const ApplyOptions& options, const GlobalOptions& global) {
  if (options.markdown && global.json) {
    return "`--markdown` and `--json` cannot be used together";
  }
  if (options.refresh_only && options.destroy) {
    return "`--refresh-only` and `--destroy` cannot be used together: one changes nothing, the "
           "other deletes everything";
  }
  if (options.refresh_only && !options.refresh) {
    return "`--refresh-only` and `--refresh=false` cannot be used together: nothing would be left "
           "to do";
  }
  if (!options.replace.empty() && (options.refresh_only || options.destroy)) {
    return fmt::format(
        "`--replace` and `{}` cannot be used together: replacing is a part of a normal plan only",
        options.destroy ? "--destroy" : "--refresh-only");
  }
  return {};
}

constexpr Flag kFlags[] = {
    kDestroyFlag,
    kRefreshOnlyFlag,
    kTargetFlag,
    kRefreshFlag,
    kReplaceFlag,
    kDetailedExitCodeFlag,
    PlanFlags::Value<&ApplyOptions::out>("--out", "FILE", "save the plan, for `podctl apply FILE`"),
    kMarkdownFlag,
};

const CommandOf<ApplyOptions> kCommand("plan", "show what apply would do", kFlags,
                                       WithWorld<RunPlan>, PlanConflict);

const Command& commands::kPlan = kCommand;

}  // namespace podctl
