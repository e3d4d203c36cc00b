// What a plan says of types and versions that a zone has not, and whom it asks.
#include "plans/session/offers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <set>

#include "tests/plans/session/session_harness.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SessionHarness;
using ::testing::UnorderedElementsAre;

class FakeOffers final : public ZoneOffers {
 public:
  Result<bool> Has(const ZoneOffer& offer, std::stop_token) override {
    const std::lock_guard lock(mutex_);
    asked.push_back(offer.zone + " " + offer.name);
    if (on_asked) on_asked();
    if (error) return *error;
    return there.contains(offer.name) || there.contains(offer.zone + " " + offer.name);
  }
  Result<std::vector<std::string>> AllLike(const ZoneOffer& offer, std::stop_token) override {
    ++lists;
    if (list_error) return *list_error;
    const bool is_type = offer.what == ZoneOffer::What::kAcceleratorType;
    return is_type ? std::vector<std::string>{"v3-32", "v3-8"}
                   : std::vector<std::string>{"tpu-ubuntu2204-base", "tpu-vm-tf-2.11.0-pod"};
  }

  std::set<std::string> there = {"v3-32", "v3-8", "tpu-ubuntu2204-base", "tpu-vm-tf-2.11.0-pod"};
  std::optional<Error> error;
  std::optional<Error> list_error;
  std::vector<std::string> asked;
  std::function<void()> on_asked;
  int lists = 0;

 private:
  std::mutex mutex_;
};

class OffersTest : public ::testing::Test, protected SessionHarness {
 protected:
  static std::string Pod(const std::string& name, const std::string& type,
                         const std::string& version, const std::string& keys = "") {
    return "  " + name + ":\n    acceleratorType: " + type + "\n    runtimeVersion: " + version +
           "\n" + keys;
  }
  // What is said of the plan, a line each.
  std::vector<std::string> Problems(const PlanRequest& request) {
    PlanDoors doors = ToPlan();
    doors.offers = &offers;
    offers.asked.clear();
    const PlanRun run = Take(PreparePlan(doors, request, *this));
    last = run.problems;
    std::vector<std::string> said;
    for (const Diagnostic& each : last.items()) {
      const bool is_error = each.severity == Severity::kError;
      said.push_back((is_error ? "error: " : "warning: ") + each.summary);
    }
    return said;
  }
  std::vector<std::string> Problems() { return Problems(Request()); }

  FakeOffers offers;
  Diagnostics last;
};

TEST_F(OffersTest, AReplacementByWhatThereIsNotIsRefusedAndTheNearestNamed) {
  Pods(Harness::Pod("three"));
  Applied();
  Pods(Pod("three", "v3-32", "tpu-ubuntu2204-bsae"));
  EXPECT_THAT(Problems(), ElementsAre("error: europe-west4-a has no runtime version "
                                      "`tpu-ubuntu2204-bsae`"));
  const Diagnostic& problem = last.items().front();
  EXPECT_EQ(problem.suggestion, "did you mean `tpu-ubuntu2204-base`?");
  EXPECT_EQ(problem.context, "pods.three");
  EXPECT_EQ(problem.place.line, 4);
  EXPECT_EQ(problem.detail,
            "`podctl versions --zone europe-west4-a` lists what there is. The node that there is "
            "stays as it is.");
  EXPECT_EQ(cloud.NodeCount(), 1U);
}

// Nothing is lost where it comes to nothing.
TEST_F(OffersTest, OfWhatIsMadeOneIsWarnedAndToldWhereItIs) {
  Pods(Pod("three", "v4-8", "tpu-ubuntu2204-base"));
  EXPECT_THAT(Problems(), ElementsAre("warning: europe-west4-a has no accelerator type `v4-8`"));
  EXPECT_THAT(last.items().front().detail, HasSubstr("it is in us-central2-b. `podctl types "));
}

TEST_F(OffersTest, WithoutAnAnswerItGoesOnAndWarnsAsValidateDoes) {
  Pods(Pod("three", "v4-8", "tpu-ubuntu2204-bsae"));
  offers.error = MakeError(ErrorCode::kPermissionDenied, "not you");
  const char* const warning = "warning: as far as podctl knows, europe-west4-a has no v4-8";
  EXPECT_THAT(Problems(), ElementsAre(warning));
  offers.error = MakeError(ErrorCode::kReplyLost, "503");
  EXPECT_THAT(Problems(Request(true)), ElementsAre(warning));
  EXPECT_EQ(offers.lists, 0);
}

// The service knows better than what podctl knows by itself.
TEST_F(OffersTest, WhatTheServiceHasIsNotWarnedOf) {
  offers.there.insert("v4-8");
  Pods(Pod("three", "v4-8", "tpu-ubuntu2204-base"));
  EXPECT_THAT(Problems(), IsEmpty());
}

// Such as an endpoint that does not know the question at all, or a name that is not listed.
TEST_F(OffersTest, NotFoundAloneRefusesNothing) {
  Pods(Pod("three", "v3-8", "private-image"));
  offers.list_error = MakeError(ErrorCode::kNotFound, "no such method");
  EXPECT_THAT(Problems(), IsEmpty());
  Pods(Pod("three", "v3-8", "tpu-ubuntu2204-base"));
  offers.list_error.reset();
  offers.there = {"v3-8"};
  EXPECT_THAT(Problems(), IsEmpty()) << "it is listed";
}

TEST_F(OffersTest, ManyPodsAreOneQuestionAndOneProblem) {
  std::string pods;
  for (const char* name : {"a", "b", "c"}) pods += Pod(name, "v3-8", "tpu-x");
  Pods(pods);
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("no runtime version `tpu-x`")));
  EXPECT_THAT(offers.asked, UnorderedElementsAre("europe-west4-a v3-8", "europe-west4-a tpu-x"));
  EXPECT_EQ(offers.lists, 1);
  EXPECT_THAT(last.items().front().detail, HasSubstr("\nThe same holds for 2 more pods."));
  EXPECT_EQ(last.items().front().context, "pods.a");
}

TEST_F(OffersTest, OfWhatIsNotMadeNothingIsAsked) {
  Pods(Harness::Pod("a"));
  Applied();
  offers.there.clear();
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_THAT(offers.asked, IsEmpty());
  Pods(Harness::Pod("a", "    labels: {x: y}\n"));
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_THAT(offers.asked, IsEmpty());
  Pods(Harness::Pod("a") + Harness::Pod("b"));
  PlanRequest request = Request();
  request.judges_offers = false;
  EXPECT_THAT(Problems(request), IsEmpty());
  EXPECT_THAT(offers.asked, IsEmpty());
}

TEST_F(OffersTest, WhoOnlyLooksAndTrustsTheStateAsksNobody) {
  Pods(Harness::Pod("a"));
  PlanRequest look = Request();
  look.plan.refresh = false;
  EXPECT_THAT(Problems(look), IsEmpty());
  EXPECT_THAT(offers.asked, IsEmpty());
  PlanRequest act = Request(true);
  act.plan.refresh = false;
  EXPECT_THAT(Problems(act), IsEmpty());
  EXPECT_EQ(offers.asked.size(), 2U);
}

// A pod that may live in several zones needs one of them.
TEST_F(OffersTest, OfSeveralZonesOneIsEnough) {
  const char* const zones = "    capacity: {zones: [us-central1-a]}\n";
  Pods(Pod("a", "v2-8", "tpu-ubuntu2204-base", zones));
  offers.there.insert("us-central1-a v2-8");
  EXPECT_THAT(Problems(), IsEmpty());
  offers.there.erase("us-central1-a v2-8");
  EXPECT_THAT(Problems(), ElementsAre("warning: none of europe-west4-a, us-central1-a has "
                                      "accelerator type `v2-8`"));
}

TEST_F(OffersTest, AnInterruptEndsIt) {
  Pods(Harness::Pod("a"));
  PlanDoors doors = ToPlan();
  doors.offers = &offers;
  offers.on_asked = [&] { drain.request_stop(); };
  EXPECT_EQ(Why(PreparePlan(doors, Request(), *this)).why, NoPlan::Why::kInterrupted);
}

}  // namespace
}  // namespace podctl
