// How a line begins that says what became of some workers.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "providers/base/text.h"
#include "providers/base/worker_selection.h"

namespace podctl {

// "4 workers (3-5,90)". `per_slice`: workers of each slice of a multislice, else 0.
inline std::string CountedWorkers(const std::vector<int>& numbers, int per_slice) {
  return fmt::format("{} ({})", Plural(numbers.size(), "worker"),
                     FormatWorkers(numbers, per_slice));
}

}  // namespace podctl
