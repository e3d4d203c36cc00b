// What exec and run have in common: the flags that say what becomes of the workers' outputs, and
// what is told of that at the end.
#pragma once

#include <string>
#include <string_view>

#include "cmd/flag.h"
#include "plans/fleet/exec/request.h"

namespace podctl {

template <typename Options>
constexpr Flag GatherFlag() {
  return Switch<&OutputOptions::gather, Options>(
      "--gather", "show equal outputs once, with their workers, at the end");
}
template <typename Options>
constexpr Flag DiffFlag() {
  return Switch<&OutputOptions::diff, Options>(
      "--diff", "gather, and show the smaller groups as differences from the biggest");
}
template <typename Options>
constexpr Flag OutputDirFlag() {
  return OneValue<&OutputOptions::output_dir, Options>(
      "--output-dir", "DIR", "write outputs to files in DIR, with results.json");
}
template <typename Options>
constexpr Flag OverwriteFlag() {
  return Switch<&OutputOptions::overwrite, Options>("--overwrite",
                                                    "replace the results that DIR holds");
}
template <auto kMember, typename Options>
constexpr Flag TimestampsFlag() {
  return Switch<kMember, Options>("--timestamps",
                                  "put the time at which it came here before each line");
}

// Flags that do not go together: what is wrong, or "".
std::string OutputConflict(const OutputOptions& options, bool json);

// "`--tty` and `--json` cannot be used together: …".
std::string NotTogether(std::string_view one, std::string_view other, std::string_view why);

// "The outputs are in DIR, what came of it in DIR/results.json."
std::string WhereOutputsAre(const std::string& folder);

}  // namespace podctl
