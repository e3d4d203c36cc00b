#include "providers/workers/duty.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "providers/workers/shell.h"

namespace podctl::workers {
namespace {

constexpr std::string_view kDutyFirstLine = "podctl-duty 1";

// As whoever is asked: libtpu may be one's own. What else it prints is not looked at.
constexpr const char* kDuty = R"sh(
echo 'podctl-duty 1'
timeout 10 python3 -c "
from libtpu.sdk import tpumonitoring
for percent in tpumonitoring.get_metric(\"duty_cycle_pct\").data():
    print(\"duty\", float(percent))
" 2>/dev/null </dev/null | head -n 1000 | grep "^duty "
echo end
)sh";

}  // namespace

std::string DutyCommand() {
  return InPlainShell(kDuty);
}

std::optional<double> ParseDuty(const std::vector<std::string>& lines) {
  constexpr std::string_view kKey = "duty ";
  constexpr double kAll = 100;
  if (lines.size() < 2 || lines.front() != kDutyFirstLine || lines.back() != "end") {
    return std::nullopt;
  }
  std::optional<double> busiest;
  for (std::string_view line : lines) {
    if (!line.starts_with(kKey)) continue;
    line.remove_prefix(kKey.size());
    double percent = 0;
    const auto [end, code] = std::from_chars(line.data(), line.data() + line.size(), percent);
    const bool sound = code == std::errc() && end == line.data() + line.size() && percent >= 0 &&
                       percent <= kAll;  // and so no NaN
    if (!sound) return std::nullopt;
    busiest = std::max(busiest.value_or(0), percent);
  }
  return busiest;
}

}  // namespace podctl::workers
