#include "plans/session/history_hint.h"

#include <fmt/format.h>

#include <algorithm>

#include "providers/base/text.h"

namespace podctl {

std::string HistoryHint(StateStore& store, const std::string& flags) {
  const auto kept = store.History();
  if (!kept) return {};
  const auto good = std::find_if(kept->begin(), kept->end(),
                                 [](const HistoryEntry& entry) { return entry.problem.empty(); });
  if (good == kept->end()) return {};
  return fmt::format("{} of it {} kept: `podctl state restore {}{}` brings the newest back",
                     Plural(kept->size(), "generation"), kept->size() == 1 ? "is" : "are",
                     good->serial, flags);
}

}  // namespace podctl
