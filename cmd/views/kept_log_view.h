// The log of a job as it is kept in a bucket: lines with their workers' names, or events, and a
// header for each attempt. Knows nothing of where they come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/output_filter.h"
#include "plans/fleet/kept_logs.h"
#include "plans/fleet/line_pattern.h"

namespace podctl {

struct KeptLogStyle {
  bool times = false;                    // before each line
  std::optional<LinePattern> grep = {};  // only the lines that fit
};

class KeptLogView final : public KeptLogWatcher {
 public:
  // `streams` is lent. `unheard` is asked to stop when nobody reads standard output any more.
  KeptLogView(Streams& streams, std::string pod, std::string job, KeptLogStyle style,
              std::stop_source unheard);

  void OnStrangers(std::size_t pieces, int highest_worker) override;
  void OnWorkers(const std::vector<int>& workers) override;
  void OnAttempt(const KeptPiece& first) override;
  void OnLine(int worker, LogTime time, std::string_view line) override;
  void OnMissing(int worker, std::uint64_t bytes) override;
  void OnBroken(const std::string& name, const Error& why) override;

 private:
  std::string Name(int worker) const;

  Streams& streams_;
  const std::string pod_;
  const std::string job_;
  const KeptLogStyle style_;
  std::stop_source unheard_;
  std::size_t width_ = 0;
  int last_attempt_ = 0;  // that was told
};

}  // namespace podctl
