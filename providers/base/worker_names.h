// Many workers named in a few words.
#pragma once

#include <string>
#include <vector>

namespace podctl {

// Worker numbers as ranges, "0-2,5"; of a multislice with `per_slice` workers in each slice
// "[0-1]/0-3,[2]/1", which WorkerSelection reads. 0: there are no slices.
std::string FormatWorkers(const std::vector<int>& numbers, int per_slice);

// The same with the pod: "research/3", "research/[0-2,5]"; "research[1]/3", "research[0-1]/0-3".
std::string WorkersName(const std::string& pod, const std::vector<int>& numbers, int per_slice);

}  // namespace podctl
