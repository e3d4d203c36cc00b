// podctl destroy: apply, of the empty spec.
#include "cmd/commands/commands.h"
#include "cmd/commands/plan.h"
#include "cmd/context.h"

namespace podctl {
namespace {

constexpr Flag kDestroyFlags[] = {
    kAutoApproveFlag,
    kTargetFlag,
    kRefreshFlag,
};

const CommandOf<ApplyOptions> kDestroyCommand("destroy", "delete everything podctl made",
                                              kDestroyFlags,
                                              [](Context& context, const ApplyOptions& given) {
                                                ApplyOptions options = given;
                                                options.destroy = true;
                                                return RunApply(context.wiring(), options);
                                              });

}  // namespace

const Command& commands::kDestroy = kDestroyCommand;

}  // namespace podctl
