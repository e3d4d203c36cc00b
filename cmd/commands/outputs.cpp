#include "cmd/commands/outputs.h"

#include <fmt/format.h>

#include "plans/fleet/exec/output_store.h"

namespace podctl {
std::string NotTogether(std::string_view one, std::string_view other, std::string_view why) {
  return fmt::format("`{}` and `{}` cannot be used together: {}", one, other, why);
}

std::string OutputConflict(const OutputOptions& options, bool json) {
  if (options.overwrite && options.output_dir.empty()) {
    return "`--overwrite` is about the results in a folder: give `--output-dir` too";
  }
  if ((options.gather || options.diff) && json) {
    return NotTogether(options.diff ? "--diff" : "--gather", "--json",
                       "the events hold each worker's lines");
  }
  if (options.timestamps && (options.gather || options.diff)) {
    return NotTogether("--timestamps", options.diff ? "--diff" : "--gather",
                       "what is gathered is compared, and shown at the end");
  }
  return {};
}

std::string WhereOutputsAre(const std::string& folder) {
  return fmt::format("The outputs are in {}, what came of it in {}.\n", folder,
                     OutputFolder::RecordPath(folder));
}

}  // namespace podctl
