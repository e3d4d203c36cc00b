// What everything that provides pods promises (plans/kinds/pod/backing.h), whoever stands behind
// it. Runs whole plans and applies against a cloud. A test file makes it run by
//   INSTANTIATE_TEST_SUITE_P(Name, BackingSuite, ::testing::Values(BackedCloudFactory{...}));
// in an executable of its own.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "plans/engine/observe.h"
#include "plans/kinds/pod/backing.h"
#include "plans/kinds/pod/node_view.h"
#include "providers/os/clock.h"
#include "state/transitions.h"
#include "tests/plans/harness.h"
#include "tests/support/kinds.h"

namespace podctl::testing {

// A cloud with nothing in it, and what is special of pods that come from the backing under test.
// All of it is in project p and zone europe-west4-a.
class BackedCloud {
 public:
  virtual ~BackedCloud() = default;
  virtual Provider& provider() = 0;
  // What the spec of a pod says for it, as keys indented by four.
  virtual std::string keys() const = 0;
  // The resource names of all that there is, sorted; and of what a pod `a` of it consists of.
  virtual std::vector<std::string> Objects() = 0;
  virtual std::vector<std::string> Whole() const = 0;
  // The service takes the next create, and its answer is lost.
  virtual void LoseReplyOfCreate() = 0;
  virtual bool LostReply() = 0;  // it was
  // Somebody else makes or deletes what a pod `a` would consist of.
  virtual void MakeByHand() = 0;
  virtual void DeleteByHand() = 0;

  std::function<void()> on_answer;  // called when the service has answered, on any thread
};

struct CloudRequest {
  bool workers = false;  // that have host keys
  bool slow = false;     // a create is still under way when the next run looks
};
using BackedCloudFactory = std::function<std::unique_ptr<BackedCloud>(
    const CloudRequest& request, Clock& clock, Random& random)>;

class BackingSuite : public ::testing::TestWithParam<BackedCloudFactory> {
 protected:
  // A new harness with an empty cloud, with a spec of one pod.
  void Begin(const CloudRequest& request = {}) {
    cloud_.reset();
    harness_ = std::make_unique<Harness>();
    cloud_ = GetParam()(request, harness_->clock, harness_->random);
    ASSERT_NE(cloud_, nullptr);
    harness_->provider_door = &cloud_->provider();
    // The clock of the harness is quicker than the cloud.
    harness_->options.operation_timeout = std::chrono::hours(10'000);
    harness_->Pods(Harness::Pod("a", cloud_->keys()));
  }
  PodRecord Record() { return Pods(harness_->Stored()).at(Addr("pod.a")); }
  PodSurvey Look(const State& state, bool refresh) {
    const Spec spec;
    const auto seen = Observe({spec, state, refresh}, AllKinds().all, cloud_->provider(), 2, {});
    EXPECT_TRUE(seen.has_value()) << seen.error().message;
    return seen ? PodsIn(*seen) : PodSurvey{};
  }
  void ExpectNothingLeft() {
    EXPECT_THAT(cloud_->Objects(), ::testing::IsEmpty());
    EXPECT_THAT(harness_->Stored().records, ::testing::IsEmpty());
  }

  std::unique_ptr<Harness> harness_;
  std::unique_ptr<BackedCloud> cloud_;
};

TEST_P(BackingSuite, APodIsMadeSeenReachedAndDeleted) {
  Begin({.workers = true});
  ASSERT_NO_FATAL_FAILURE(harness_->ApplyAll());
  EXPECT_EQ(cloud_->Objects(), cloud_->Whole());
  const PodRecord record = Record();
  EXPECT_TRUE(record.exists());
  EXPECT_FALSE(record.pending().has_value());
  EXPECT_EQ(NodeState(record.observed), "READY");
  const Backing& backing = BackingOf(record);
  std::set<std::string> addresses;
  for (const Endpoint& endpoint : backing.EndpointsOf(record)) {
    addresses.insert(endpoint.internal);
    EXPECT_NE(endpoint.gcloud_alias, "");
  }
  EXPECT_EQ(addresses.size(), 4U);  // v3-32: four workers
  EXPECT_FALSE(addresses.contains(""));
  const auto reported = backing.AskWorkers(cloud_->provider(), record, {});
  ASSERT_TRUE(reported.has_value()) << reported.error().message;
  const auto keys = HostKeysOf(*reported);
  EXPECT_EQ(keys.size(), 4U);
  EXPECT_EQ(keys, record.host_keys);
  EXPECT_TRUE(harness_->Destroy().ok());
  ExpectNothingLeft();
}

TEST_P(BackingSuite, ALostReplyOfTheCreateLeadsToOneObject) {
  Begin();
  cloud_->LoseReplyOfCreate();
  ASSERT_NO_FATAL_FAILURE(harness_->ApplyAll());
  EXPECT_TRUE(cloud_->LostReply());
  EXPECT_EQ(cloud_->Objects(), cloud_->Whole());
  EXPECT_TRUE(harness_->Destroy().ok());
  ExpectNothingLeft();
}

TEST_P(BackingSuite, ANameThatSomebodyElseHasIsRefused) {
  Begin();
  cloud_->MakeByHand();
  const std::vector<std::string> before = cloud_->Objects();
  const Diagnostics diagnostics = harness_->TryPlan();
  ASSERT_EQ(diagnostics.items().size(), 1U);
  EXPECT_THAT(diagnostics.items()[0].summary, ::testing::HasSubstr("already exists"));
  EXPECT_THAT(diagnostics.items()[0].detail, ::testing::HasSubstr("podctl import"));
  // Nor is it taken by who did not look.
  harness_->plan_options.refresh = false;
  const ExecuteResult result = harness_->Apply();
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].error.code, ErrorCode::kAlreadyExists);
  EXPECT_THAT(harness_->Stored().records, ::testing::IsEmpty());
  EXPECT_EQ(cloud_->Objects(), before);
}

TEST_P(BackingSuite, ADeleteOfWhatIsGoneEndsWell) {
  Begin();
  ASSERT_NO_FATAL_FAILURE(harness_->ApplyAll());
  cloud_->DeleteByHand();
  harness_->plan_options.refresh = false;  // so that it is sent
  EXPECT_TRUE(harness_->Destroy().ok());
  harness_->events.At("done pod.a");
  ExpectNothingLeft();
}

TEST_P(BackingSuite, ListAndGetAgree) {
  Begin();
  ASSERT_NO_FATAL_FAILURE(harness_->ApplyAll());
  State state = harness_->Stored();
  // Without refresh only what was begun is looked at, and each of it by itself.
  BeginChange({"", "2026-11-20T14:30:00Z"}, &Pods(state)[Addr("pod.a")]);
  const PodSurvey listed = Look(state, true);
  const PodSurvey got = Look(state, false);
  EXPECT_EQ(listed.nodes.size() + listed.auxiliary.size(), cloud_->Whole().size());
  EXPECT_EQ(listed.nodes, got.nodes);
  EXPECT_EQ(listed.auxiliary, got.auxiliary);
  EXPECT_THAT(got.remembered, ::testing::IsEmpty());
}

TEST_P(BackingSuite, WhatIsRememberedIsEnoughToSeeThatNothingIsToBeDone) {
  Begin();
  ASSERT_NO_FATAL_FAILURE(harness_->ApplyAll());
  const PodSurvey seen = Look(harness_->Stored(), true);
  const PodSurvey remembered = Look(harness_->Stored(), false);
  EXPECT_EQ(remembered.nodes.size(), seen.nodes.size());
  EXPECT_EQ(remembered.auxiliary.size(), seen.auxiliary.size());
  harness_->plan_options.refresh = false;
  EXPECT_TRUE(harness_->MakePlan().Empty());
}

TEST_P(BackingSuite, ARunThatIsDroppedInTheMiddleIsTakenUp) {
  constexpr int kAnswers = 8;  // lists, the create, and some looks at what it began
  constexpr int kFewest = 3;
  for (const bool disk_dies : {false, true}) {
    for (int k = 1; k <= kAnswers && !HasFailure(); ++k) {
      SCOPED_TRACE(fmt::format("{} {}", disk_dies, k));
      Begin({.slow = true});
      std::atomic<int> answers{0};
      cloud_->on_answer = [&] {
        if (++answers != k) return;
        if (disk_dies) harness_->files.StopAfter(0);
        harness_->leave.request_stop();
      };
      // A machine that has much else to do looks less often while something is under way.
      const bool ended = harness_->Apply().ok();
      EXPECT_EQ(ended, answers < k);
      EXPECT_GE(answers, std::min(k, kFewest));
      cloud_->on_answer = nullptr;
      harness_->leave = {};
      harness_->files.Restart();
      harness_->ApplyAll();
      EXPECT_EQ(cloud_->Objects(), cloud_->Whole());
    }
  }
}

}  // namespace podctl::testing
