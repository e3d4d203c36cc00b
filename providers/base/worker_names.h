// How many workers are named in a few words.
#pragma once

#include <string>
#include <vector>

namespace podctl {

// Worker numbers as ranges, "0-2,5"; of a multislice with `per_slice` workers in each slice
// "[0]/0-3,[1]/2". 0: there are no slices.
std::string FormatWorkers(const std::vector<int>& numbers, int per_slice);

}  // namespace podctl
