// How busy the chips of a worker are, as libtpu itself says it: the shell text that asks, and the
// reader of its answer. Source: libtpu's monitoring library, tpumonitoring.get_metric(
// "duty_cycle_pct"), which there is on images with a libtpu of 2025 and later. Not verified on a
// TPU (docs/assumptions.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace podctl::workers {

// Takes some seconds at most, and ends well where there is nothing that could be asked.
std::string DutyCommand();
// In percent, of the busiest chip; nullopt: nobody has said it.
std::optional<double> ParseDuty(const std::vector<std::string>& lines);

}  // namespace podctl::workers
