// How commands that plan tell what the session says, and why there is no plan.
#pragma once

#include "cmd/reporter.h"
#include "plans/session/plan.h"

namespace podctl {

class PlanTeller final : public PlanListener {
 public:
  explicit PlanTeller(Reporter& reporter) : reporter_(reporter) {}
  void OnSpec(const Diagnostics& warnings) override { reporter_.Show(warnings); }
  void OnTakeover(const std::string& note) override { reporter_.Note(note); }

 private:
  Reporter& reporter_;
};

// `warnings`: of the spec, where they were not shown yet.
void ShowNoPlan(Reporter& reporter, const NoPlan& none, const Diagnostics& warnings = {});
void ShowNoWayIn(Reporter& reporter, const NoWayIn& why);

}  // namespace podctl
