#include "cmd/watch_flags.h"

#include <chrono>

#include "cmd/flag_kinds.h"

namespace podctl {

void AddWatchCommand(CLI::App* app, WatchOptions* options) {
  CLI::App* watch =
      AddCommand(app, "watch", "make pods anew that were preempted, as their spec allows");
  AddDuration(watch, "--interval", &options->interval, "between two looks (default 60s)");
  watch->add_flag("--once", options->once, "look once, do what is to be done, and end");
  watch->add_flag("--detailed-exitcode", options->detailed_exitcode,
                  "with --once: exit 2 when something was done, or is left to do");
  watch
      ->add_option("--target", options->targets,
                   "only this pod, and what it depends on; repeatable")
      ->type_name("ADDRESS")
      ->allow_extra_args(false);
}

std::string WatchConflict(const WatchOptions& options) {
  if (options.interval < std::chrono::seconds(1)) return "`--interval` must be at least 1s";
  if (options.detailed_exitcode && !options.once) {
    return "`--detailed-exitcode` needs `--once`: without it watch ends only when it is told to";
  }
  return {};
}

}  // namespace podctl
