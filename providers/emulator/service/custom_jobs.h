// Custom jobs of Vertex AI, which belong to a region: place.zone is one. Nothing of them runs:
// their states follow the clock.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "providers/base/value.h"
#include "providers/emulator/service/core.h"
#include "providers/emulator/service/custom_job_rules.h"

namespace podctl::emulator {

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
