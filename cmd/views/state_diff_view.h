// In what two states differ, in the marks and colours of a plan, as text and as a document.
#pragma once

#include <string>
#include <vector>

#include "providers/base/value.h"
#include "state/state.h"

namespace podctl {

// "serial 41", "the present state", "backup.json".
struct StateSides {
  std::string before;
  std::string after;
};

// `changes`: as ChangesBetween has them. What is sensitive is hidden, but that it differs.
std::string StateDiffText(const std::vector<RecordChange>& changes, const StateSides& sides,
                          bool color);
Value StateDiffDocument(const std::vector<RecordChange>& changes, const StateSides& sides);

}  // namespace podctl
