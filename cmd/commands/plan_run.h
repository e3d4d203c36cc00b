// What commands that plan ask of the session, and how it is told why there is no plan.
#pragma once

#include <string>

#include "cmd/reporter.h"
#include "cmd/wiring.h"
#include "plans/session/plan.h"

namespace podctl {

// By the flags of every command. `operation`: for the lock; empty: none is wanted.
PlanWishes WishesFor(Wiring& wiring, PlanOptions plan, const std::string& operation = {});

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
