// What is remembered of a bootstrap step: with which words, and on which node, it was run on each
// worker of its pod.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "state/address.h"
#include "state/records_of.h"

namespace podctl {

struct StepWorkerRecord {
  std::string digest;  // of the step as applied on this worker
  std::string uid;     // of the node it was applied on
  std::string applied_at;

  friend bool operator==(const StepWorkerRecord&, const StepWorkerRecord&) = default;
};

struct StepRecord {
  static constexpr std::string_view kKind = "bootstrap";
  static const RecordCodec& Codec();

  Address pod;
  std::map<int, StepWorkerRecord> workers;

  friend bool operator==(const StepRecord&, const StepRecord&) = default;
};

inline constexpr std::string_view kStepKind = StepRecord::kKind;
// `bootstrap.research.jupyter`
Address StepAddress(const std::string& pod, const std::string& step);

inline RecordsOf<StepRecord> Steps(const State& state) {
  return RecordsOf<StepRecord>(state);
}
inline EditableRecordsOf<StepRecord> Steps(State& state) {
  return EditableRecordsOf<StepRecord>(state);
}

}  // namespace podctl
