// Moments and spans of time as gcloud's flags have them, for a request that needs both ends of an
// interval. No clock: the present is told.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace podctl {

// "2026-11-22T09:00:00+01:00", with a fraction or without, as UTC; nullopt: it is not in full.
std::optional<std::chrono::sys_seconds> ParseMoment(std::string_view text);
std::string MomentText(std::chrono::sys_seconds moment);  // "2026-11-22T08:00:00Z"
// From when on, or until when, a queued resource waits for capacity.
struct QueueBound {
  std::string duration;  // GcloudDuration's, from now on
  std::optional<std::chrono::sys_seconds> moment;

  bool given() const { return !duration.empty() || moment; }
};
// The members of queueingPolicy. One bound is sent as it is; of two gcloud makes an interval, and
// counts durations from `now`, which must be known then.
std::map<std::string, std::string> QueueingPolicy(const QueueBound& after, const QueueBound& until,
                                                  std::optional<std::chrono::sys_seconds> now);

// Of GcloudDuration's text: "6h", "90m", "5s".
std::chrono::seconds SpanOf(std::string_view duration);

}  // namespace podctl
