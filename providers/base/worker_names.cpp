#include "providers/base/worker_names.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "providers/base/text.h"

namespace podctl {

std::string FormatWorkers(const std::vector<int>& numbers, int per_slice) {
  if (per_slice <= 0) return FormatRanges(numbers);
  std::map<int, std::vector<int>> by_slice;
  for (const int number : numbers) by_slice[number / per_slice].push_back(number % per_slice);
  std::string text;
  for (auto& [slice, workers] : by_slice) {
    if (!text.empty()) text += ',';
    text += fmt::format("[{}]/{}", slice, FormatRanges(std::move(workers)));
  }
  return text;
}

}  // namespace podctl
