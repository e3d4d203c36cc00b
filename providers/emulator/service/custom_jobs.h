// Custom jobs of Vertex AI, which belong to a region: place.zone is one. Nothing of them runs:
// their states follow the clock. What a job must be to be taken, how it fares over time and how a
// list of them is filtered is pure; the contract is that of aiplatform.googleapis.com v1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "providers/base/value.h"
#include "providers/emulator/service/core.h"

namespace podctl::emulator {

// As it was asked for, and what happened to it; its state is a matter of the time.
struct CustomJob {
  Value resource;  // the body, with name
  std::int64_t created_ms = 0;
  std::int64_t cancelled_ms = 0;  // 0: nobody did
  std::int64_t struck_ms = 0;     // 0: it goes its way
  std::string struck_as;          // "JOB_STATE_FAILED", "JOB_STATE_SUCCEEDED"

  template <typename Archive>
  void Fields(Archive& archive) {
    archive("resource", resource);
    archive("createdMs", created_ms);
    archive("cancelledMs", cancelled_ms);
    archive("struckMs", struck_ms);
    archive("struckAs", struck_as);
  }
};

// How long a job runs when nobody ends it.
constexpr std::int64_t kJobRunMs = std::int64_t{10} * 60'000;

// Refuses a body of customJobs.create that the service would refuse.
Refusal CheckCustomJob(const Value& body);
// The job as it is at `now`; each step before RUNNING takes `delay`.
Value JobView(const CustomJob& job, std::int64_t now, std::int64_t delay);
// Whether nothing will happen to it any more.
bool IsJobOver(const CustomJob& job, std::int64_t now, std::int64_t delay);

// A list's filter: `state="JOB_STATE_RUNNING" AND labels.team=vision`, with =, !=, : and NOT.
struct JobTerm {
  bool negated = false;
  std::string field;  // "state", "displayName", "createTime", "labels.team"
  std::string op;     // "=", "!=", ":", "<", "<=", ">", ">="
  std::string value;
};
// Any of the inner ones, of every outer one: OR binds closer than AND (AIP-160).
using JobFilter = std::vector<std::vector<JobTerm>>;
std::variant<JobFilter, ApiError> ParseJobFilter(std::string_view text);
bool MatchesFilter(const JobFilter& filter, const Value& job);

class CustomJobs final : public Collection {
 public:
  explicit CustomJobs(Core* core)  // lent; it outlives them
      : Collection("customJobs", "job"), core_(core), jobs_(core->journal, "job") {}

  Answer List(const Call& call) const;
  Answer Get(const Call& call) const;
  Answer Create(const Call& call);
  // Of a job that is over, or being cancelled already: nothing happens.
  Answer Cancel(const Call& call);
  Answer Delete(const Call& call);

  // Collection
  void Restore(const std::string& name, const Value& record) override;
  std::vector<std::string> NamesOf(const std::string& id) const override;  // or display name
  // "fail", "succeed".
  Answer Incident(const std::string& name, std::string_view verb) override;

 private:
  Value View(const CustomJob& job) const;
  bool IsOver(const CustomJob& job) const;

  Core* const core_;
  Table<CustomJob> jobs_;
};

}  // namespace podctl::emulator
