// Caliban's experiment.json: one map, or a list of them, whose lists are to be tried in every
// combination, and whose compound keys ("[a,b]") go together. What it means is google/caliban's
// (caliban/config/experiment.py).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "providers/base/error.h"

namespace podctl {

inline constexpr std::size_t kMostExperiments = 1000;

// The flags of each experiment: "--rate", "0.1"; of true the flag alone, of false nothing.
// kInvalidArgument: it is none, or has more than kMostExperiments.
Result<std::vector<std::vector<std::string>>> ExpandExperiments(std::string_view json);

}  // namespace podctl
