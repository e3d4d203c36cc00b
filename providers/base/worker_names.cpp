#include "providers/base/worker_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "providers/base/text.h"

namespace podctl {

std::string FormatWorkers(const std::vector<int>& numbers, int per_slice) {
  if (per_slice <= 0) return FormatRanges(numbers);
  std::map<int, std::vector<int>> by_slice;
  for (const int number : numbers) by_slice[number / per_slice].push_back(number % per_slice);
  // Slices of which the same workers are meant stand together, at the place of their first one.
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (auto& [slice, workers] : by_slice) {
    const std::string ranges = FormatRanges(std::move(workers));
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&](const auto& group) { return group.first == ranges; });
    if (same == groups.end()) {
      groups.push_back({ranges, {slice}});
    } else {
      same->second.push_back(slice);
    }
  }
  std::string text;
  for (const auto& [ranges, slices] : groups) {
    // Each range with its slices: a number without any is one through all slices.
    std::string_view rest = ranges;
    while (!rest.empty()) {
      const auto end = std::min(rest.find(','), rest.size());
      if (!text.empty()) text += ',';
      text += fmt::format("[{}]/{}", FormatRanges(slices), rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return text;
}

std::string WorkersName(const std::string& pod, const std::vector<int>& numbers, int per_slice) {
  const std::string workers = FormatWorkers(numbers, per_slice);
  if (per_slice > 0) return pod + workers;
  return numbers.size() == 1 ? fmt::format("{}/{}", pod, workers)
                             : fmt::format("{}/[{}]", pod, workers);
}

}  // namespace podctl
