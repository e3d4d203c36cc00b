// What is remembered of a bootstrap step: with which words, and on which node, it was run on each
// worker of its pod.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "state/address.h"
#include "state/state.h"

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
  // The script as it was last applied on a worker, with its references as they are written; empty:
  // it is sensitive or too long, or was applied by a podctl that did not remember it.
  std::string script = {};

  friend bool operator==(const StepRecord&, const StepRecord&) = default;
};

// Longer ones are not remembered: as much as a value of a node's metadata may have.
inline constexpr std::size_t kLongestScript = std::size_t{256} * 1024;

inline constexpr std::string_view kStepKind = StepRecord::kKind;
// `bootstrap.research.jupyter`
Address StepAddress(const std::string& pod, const std::string& step);

// The step podctl makes itself: restart tpu-runtime. Its digest is of the value it must run with.
inline constexpr const char* kRuntimeStepName = "tpu-runtime";
std::string RuntimeDigest(const std::string& tensorflow_env_vars);
// The step that proves that a new node's workers can be used. It is a part of the creation; the
// state holds it only while that proof is outstanding.
inline constexpr const char* kReadinessStepName = "readiness";

inline RecordsOf<StepRecord> Steps(const State& state) {
  return RecordsOf<StepRecord>(state);
}
inline EditableRecordsOf<StepRecord> Steps(State& state) {
  return EditableRecordsOf<StepRecord>(state);
}

}  // namespace podctl
