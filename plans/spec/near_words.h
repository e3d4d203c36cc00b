// What a person meant by a word that is not known. Knows nothing of specs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace podctl {

std::string BareWord(std::string_view word);  // "Spot_VM" -> "spotvm"
// The word among `known` that is meant by `word`: the same but for case, _ and -; else one that is
// a few letters away or has two letters exchanged; else the only one of which `word` is the
// beginning, or which is the beginning of `word`. "" when none is near.
std::string SuggestWord(std::string_view word, const std::vector<std::string>& known);

}  // namespace podctl
