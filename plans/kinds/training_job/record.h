// What is remembered of a training job: what was sent to the service, and what was last seen of it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "providers/base/value.h"
#include "state/address.h"
#include "state/record.h"
#include "state/state.h"

namespace podctl {

// A training job that podctl submitted to Vertex AI.
// Its object's locator is what the service calls it, "projects/…/customJobs/123"; empty while that
// has not been heard. The request_id of its creation is the label by which a job is found whose
// creation nobody heard of.
struct TrainingRecord : Record {
  static constexpr std::string_view kKind = "trainingJob";
  static const RecordCodec& Codec();

  std::string project;
  std::string region;
  Value applied;                         // the body that was sent, without podctl's own label
  std::string state;                     // as last seen, "JOB_STATE_RUNNING"; empty: never seen
  std::string error;                     // why it failed, in the service's words; else empty
  std::vector<Address> depends_on = {};  // what its arguments refer to; for the order of deletes

  friend bool operator==(const TrainingRecord&, const TrainingRecord&) = default;
};

inline constexpr std::string_view kTrainingKind = TrainingRecord::kKind;
Address TrainingAddress(const std::string& job);  // `trainingJob.mnist`

inline RecordsOf<TrainingRecord> TrainingJobs(const State& state) {
  return RecordsOf<TrainingRecord>(state);
}
inline EditableRecordsOf<TrainingRecord> TrainingJobs(State& state) {
  return EditableRecordsOf<TrainingRecord>(state);
}

// A body as the spec would say it, sorted by path: "image", "tpuSpec", "labels.team".
std::vector<std::pair<std::string, Value>> WordsOfBody(const Value& body);

// The same as values, with its place; what terraform's JSON shows.
Value ValuesOf(const std::string& project, const std::string& region, const Value& body);

// "it is JOB_STATE_FAILED: the image was not found".
std::string JobSentence(const TrainingRecord& record);

}  // namespace podctl
