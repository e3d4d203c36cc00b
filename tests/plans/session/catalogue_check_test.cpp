// What a plan says of types and versions that a zone has not, and whom it asks.
#include "plans/session/catalogue_check.h"

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

class FakeZoneLookup final : public ZoneLookup {
 public:
  Result<bool> Has(const CatalogueEntry& entry, std::stop_token) override {
    const std::lock_guard lock(mutex_);
    asked.push_back(entry.zone + " " + entry.name);
    if (on_asked) on_asked();
    if (error) return *error;
    return there.contains(entry.name) || there.contains(entry.zone + " " + entry.name);
  }
  Result<std::vector<std::string>> AllLike(const CatalogueEntry& entry, std::stop_token) override {
    ++lists;
    if (list_error) return *list_error;
    const bool is_type = entry.what == CatalogueEntry::What::kAcceleratorType;
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

class CatalogueCheckTest : public ::testing::Test, protected SessionHarness {
 protected:
  static std::string Pod(const std::string& name, const std::string& type,
                         const std::string& version, const std::string& keys = "") {
    return "  " + name + ":\n    acceleratorType: " + type + "\n    runtimeVersion: " + version +
           "\n" + keys;
  }
  // What is said of the plan, a line each.
  std::vector<std::string> Problems(const PlanRequest& request) {
    PlanDoors doors = ToPlan();
    doors.catalogue = &catalogue;
    catalogue.asked.clear();
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

  FakeZoneLookup catalogue;
  Diagnostics last;
};

TEST_F(CatalogueCheckTest, AReplacementByWhatThereIsNotIsRefusedAndTheNearestNamed) {
  Pods(Harness::Pod("three"));
  Applied();
  Pods(Pod("three", "v3-32", "tpu-ubuntu2204-bsae"));
  EXPECT_THAT(Problems(), ElementsAre("error: europe-west4-a has no runtime version "
                                      "`tpu-ubuntu2204-bsae`"));
  const Diagnostic& problem = last.items().front();
  EXPECT_EQ(problem.suggestion, "did you mean `tpu-ubuntu2204-base`?");
  EXPECT_EQ(problem.context, "pods.three");
  EXPECT_EQ(problem.place.line, 6) << "where the version stands";
  EXPECT_EQ(problem.place.column, 21);
  EXPECT_EQ(problem.detail,
            "`podctl versions --zone europe-west4-a` lists what there is. The node that there is "
            "stays as it is.");
  EXPECT_EQ(cloud.NodeCount(), 1U);
}

// Nothing is lost where it comes to nothing.
TEST_F(CatalogueCheckTest, OfWhatIsMadeOneIsWarnedAndToldWhereItIs) {
  Pods(Pod("three", "v4-8", "tpu-ubuntu2204-base"));
  EXPECT_THAT(Problems(), ElementsAre("warning: europe-west4-a has no accelerator type `v4-8`"));
  EXPECT_THAT(last.items().front().detail, HasSubstr("it is in us-central2-b. `podctl types "));
}

TEST_F(CatalogueCheckTest, WithoutAnAnswerItGoesOnAndWarnsAsValidateDoes) {
  Pods(Pod("three", "v4-8", "tpu-ubuntu2204-bsae"));
  catalogue.error = MakeError(ErrorCode::kPermissionDenied, "not you");
  const char* const warning = "warning: as far as podctl knows, europe-west4-a has no v4-8";
  EXPECT_THAT(Problems(), ElementsAre(warning));
  catalogue.error = MakeError(ErrorCode::kReplyLost, "503");
  EXPECT_THAT(Problems(Request(true)), ElementsAre(warning));
  EXPECT_EQ(catalogue.lists, 0);
}

// The service knows better than what podctl knows by itself.
TEST_F(CatalogueCheckTest, WhatTheServiceHasIsNotWarnedOf) {
  catalogue.there.insert("v4-8");
  Pods(Pod("three", "v4-8", "tpu-ubuntu2204-base"));
  EXPECT_THAT(Problems(), IsEmpty());
}

// Such as an endpoint that does not know the question at all, or a name that is not listed.
TEST_F(CatalogueCheckTest, NotFoundAloneRefusesNothing) {
  Pods(Pod("three", "v3-8", "private-image"));
  catalogue.list_error = MakeError(ErrorCode::kNotFound, "no such method");
  EXPECT_THAT(Problems(), IsEmpty());
  Pods(Pod("three", "v3-8", "tpu-ubuntu2204-base"));
  catalogue.list_error.reset();
  catalogue.there = {"v3-8"};
  EXPECT_THAT(Problems(), IsEmpty()) << "it is listed";
}

TEST_F(CatalogueCheckTest, ManyPodsAreOneQuestionAndOneProblem) {
  std::string pods;
  for (const char* name : {"a", "b", "c"}) pods += Pod(name, "v3-8", "tpu-x");
  Pods(pods);
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("no runtime version `tpu-x`")));
  EXPECT_THAT(catalogue.asked, UnorderedElementsAre("europe-west4-a v3-8", "europe-west4-a tpu-x"));
  EXPECT_EQ(catalogue.lists, 1);
  EXPECT_THAT(last.items().front().detail, HasSubstr("\nThe same holds for 2 more pods."));
  EXPECT_EQ(last.items().front().context, "pods.a");
}

TEST_F(CatalogueCheckTest, OfWhatIsNotMadeNothingIsAsked) {
  Pods(Harness::Pod("a"));
  Applied();
  catalogue.there.clear();
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_THAT(catalogue.asked, IsEmpty());
  Pods(Harness::Pod("a", "    labels: {x: y}\n"));
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_THAT(catalogue.asked, IsEmpty());
  Pods(Harness::Pod("a") + Harness::Pod("b"));
  PlanRequest request = Request();
  request.checks_catalogue = false;
  EXPECT_THAT(Problems(request), IsEmpty());
  EXPECT_THAT(catalogue.asked, IsEmpty());
}

TEST_F(CatalogueCheckTest, WhoOnlyLooksAndTrustsTheStateAsksNobody) {
  Pods(Harness::Pod("a"));
  PlanRequest look = Request();
  look.plan.refresh = false;
  EXPECT_THAT(Problems(look), IsEmpty());
  EXPECT_THAT(catalogue.asked, IsEmpty());
  PlanRequest act = Request(true);
  act.plan.refresh = false;
  EXPECT_THAT(Problems(act), IsEmpty());
  EXPECT_EQ(catalogue.asked.size(), 2U);
}

// A pod that may live in several zones needs one of them.
TEST_F(CatalogueCheckTest, OfSeveralZonesOneIsEnough) {
  const char* const zones = "    capacity: {zones: [us-central1-a]}\n";
  Pods(Pod("a", "v2-8", "tpu-ubuntu2204-base", zones));
  catalogue.there.insert("us-central1-a v2-8");
  EXPECT_THAT(Problems(), IsEmpty());
  catalogue.there.erase("us-central1-a v2-8");
  EXPECT_THAT(Problems(), ElementsAre("warning: none of europe-west4-a, us-central1-a has "
                                      "accelerator type `v2-8`"));
}

TEST_F(CatalogueCheckTest, AnInterruptEndsIt) {
  Pods(Harness::Pod("a"));
  PlanDoors doors = ToPlan();
  doors.catalogue = &catalogue;
  catalogue.on_asked = [&] { drain.request_stop(); };
  EXPECT_EQ(Why(PreparePlan(doors, Request(), *this)).why, NoPlan::Why::kInterrupted);
}

}  // namespace
}  // namespace podctl
