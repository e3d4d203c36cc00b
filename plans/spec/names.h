// What projects and zones may be called. (What things may: IsThingName, in state/thing_name.h.)
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plans/spec/value_reader.h"

namespace podctl {

// What speaks against a zone. One that podctl does not know and that looks like one is only warned
// of, as new ones come.
struct ZoneProblem {
  bool is_error;
  std::string summary;
  std::string suggestion;  // may be empty
};
std::optional<ZoneProblem> JudgeZone(std::string_view zone);

// Zone and project become parts of URLs; a region in place of a zone is a common slip. False after
// a report.
bool CheckZone(ValueReader& reader, const YamlNode& at, const Slot& slot, std::string_view zone);
bool CheckProject(ValueReader& reader, const YamlNode& at, const Slot& slot,
                  std::string_view project);

// "europe-west4", which has zones but is none.
bool IsRegion(std::string_view text);
// What a zone looks like, and which are known.
Shape ZoneShape();

// ---- What a person meant by a word that is not known. Knows nothing of specs.

std::string BareWord(std::string_view word);  // "Spot_VM" -> "spotvm"
// The word among `known` that is meant by `word`: the same but for case, _ and -; else one that is
// a few letters away or has two letters exchanged; else the only one of which `word` is the
// beginning, or which is the beginning of `word`. "" when none is near.
std::string SuggestWord(std::string_view word, const std::vector<std::string>& known);

}  // namespace podctl
