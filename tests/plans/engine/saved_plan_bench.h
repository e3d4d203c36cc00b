// Plans of a harness as `podctl plan --out` keeps them, and their text.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "plans/engine/observe.h"
#include "plans/engine/plan_file.h"
#include "plans/engine/plan_file/secrets.h"
#include "plans/engine/plan_file/staleness.h"
#include "plans/spec/spec.h"
#include "state/state.h"
#include "tests/plans/harness.h"
#include "tests/support/kinds.h"

namespace podctl::testing {

class SavedPlanBench : public ::testing::Test {
 protected:
  // What `podctl plan --out` keeps.
  SavedPlan Save(const Plan& plan) {
    SavedPlan saved;
    saved.podctl_version = "0.1.0";
    saved.created_at = "2026-11-20T14:30:00Z";
    saved.plan = plan;
    State state = harness_.Stored();
    key_ = {state.digest_key.empty() ? "check" : state.digest_key, state.digest_key.empty()};
    const auto observation = Observe({Spec{}, state}, AllKinds().all, harness_.cloud, 1, {});
    EXPECT_TRUE(observation.has_value());
    saved.preconditions = TakePreconditions(plan, state, *observation, key_, AllKinds().all);
    HideSecrets(key_, &saved.plan);
    if (state.serial > 0) saved.prior = std::move(state);
    return saved;
  }
  std::string Text(const SavedPlan& saved) {
    auto text = PlanToJson(saved);
    EXPECT_TRUE(text.has_value()) << text.error().message;
    return text ? *text : "";
  }

  Harness harness_;
  SecretKey key_;
};

}  // namespace podctl::testing
