// Rounds of a watch: what is done, and what is said once.
#include "plans/session/watch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plans/session/session_harness.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using testing::EventLog;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SessionHarness;

constexpr const char* kSpot = "    schedulingConfig: {spot: true}\n    onPreemption: recreate\n";

// What was said, a line each.
class Lines final : public WatchListener {
 public:
  void OnSpec(const Diagnostics& warnings) override {
    Say("warning " + warnings.items().front().summary);
  }
  void OnTakeover(const std::string& note) override { Say("lock " + note); }
  void OnSettled() override { ++settled; }
  void OnPause(const WatchStatus& status, Clock::SystemTime) override { last = status; }
  void OnSubject(const std::vector<Address>& recreated) override {
    Say(fmt::format("watches {}", fmt::join(recreated, ",")));
  }
  void OnNote(const std::string& note) override { notes.push_back(note); }
  void OnLeft(const std::string& what) override { Say("left " + what); }
  void OnNoPlan(const NoPlan& none, const Diagnostics&, bool hopeless) override {
    Say(fmt::format("no plan {}{}", none.error ? ErrorCodeName(none.error->code) : "",
                    hopeless ? " hopeless" : ""));
  }
  void OnUnsound(const Diagnostics& problems) override {
    Say("unsound " + problems.items().front().summary);
  }
  void OnNoAccess(const NoAccess& why) override { Say("no way in " + why.error.message); }
  void OnFailures(const ExecuteResult& result) override {
    Say("failed " + result.failures.front().error.message);
  }
  void OnSaveError(const ExecuteResult&) override { Say("not saved"); }
  void OnOver() override { Say("over"); }
  EventSink& events() override { return log; }
  void OnExecuted(const ExecuteResult&, bool acted) override { executed += acted ? 1 : 0; }
  void OnQueued(const Address& address) override { Say("queued " + address.Text()); }
  void OnDone(const ExecuteResult& result) override {
    Say(fmt::format("done {} {}", result.recovered, result.steps));
  }
  bool StartJobs(const PlanRun& run, const ExecuteResult& result) override {
    lock_was_free = run.lock == nullptr;
    Say("jobs of " + fmt::format("{}", fmt::join(testing::Actions(run.plan), ",")));
    return jobs_start && result.failures.empty();
  }
  void OnLeave() override { Say("leave"); }

  std::vector<std::string> Said() { return std::exchange(said_, {}); }

  EventLog log;
  std::vector<std::string> notes;
  WatchStatus last;
  bool jobs_start = true;
  bool lock_was_free = false;
  int settled = 0;
  int executed = 0;

 private:
  void Say(const std::string& line) { said_.push_back(line); }

  std::vector<std::string> said_;
};

class WatchSessionTest : public ::testing::Test, protected SessionHarness {
 protected:
  WatchSessionTest() {
    request_ = Request(true);
    request_.will_log_in = true;
    request_.keep_stored = true;
    options_.wait_for_capacity = false;
  }
  // As `podctl apply` does.
  void ApplyAll() {
    class Yes final : public ApplyListener {
     public:
      bool Approve(const PlanRun&) override { return true; }
      void OnNoLogin(const Error&) override {}
      EventSink& OnBegin() override { return log; }
      EventLog log;
    } yes;
    PlanRun run = Planned(Request(true));
    ASSERT_TRUE(Apply(ToApply(), {}, yes, &run).result.ok());
  }
  void Preempt(const std::string& node) {
    cloud.EditNode(Harness::Name(node), [](Value& value) { value.Set("state", "PREEMPTED"); });
  }
  // A round, and what was said in it. The watch goes on from round to round.
  RoundEnd Round() {
    if (!session_) {
      plan_doors_.emplace(ToPlan());
      apply_doors_.emplace(ToApply());
      session_.emplace(*plan_doors_, *apply_doors_, request_, options_, lines_);
    }
    return session_->Run();
  }

  PlanRequest request_;
  ExecuteOptions options_;
  Lines lines_;
  std::optional<PlanDoors> plan_doors_;
  std::optional<ApplyDoors> apply_doors_;
  std::optional<WatchSession> session_;
};

TEST_F(WatchSessionTest, ARoundInWhichAllIsWellIsQuiet) {
  Pods(Harness::Pod("a", kSpot) + Harness::Pod("b"));
  ApplyAll();
  EXPECT_EQ(Round(), RoundEnd::kNothing);
  EXPECT_THAT(lines_.Said(), ElementsAre("watches pod.a"));
  EXPECT_EQ(Round(), RoundEnd::kNothing);
  EXPECT_THAT(lines_.Said(), IsEmpty());
  session_->OnPause({});
  EXPECT_EQ(lines_.last.watched, 2U);
  EXPECT_FALSE(lines_.last.failed || lines_.last.left);
  EXPECT_FALSE(session_->acted());
}

TEST_F(WatchSessionTest, AnInterruptHidesNoSaveThatFailed) {
  Pods(Harness::Pod("a", kSpot));
  ApplyAll();
  Round();
  lines_.Said();
  Preempt("a");
  lines_.log.on_line = [&](const std::string& line) {
    if (line != "start pod.a") return;
    files.LimitSpace(0);
    drain.request_stop();
  };
  EXPECT_EQ(Round(), RoundEnd::kInterrupted);
  EXPECT_THAT(lines_.Said(), ElementsAre("not saved"));
}

TEST_F(WatchSessionTest, MakesAPodAnewThatWasTakenAway) {
  Pods(Harness::Pod("a", kSpot));
  ApplyAll();
  Round();
  lines_.Said();
  Preempt("a");
  EXPECT_EQ(Round(), RoundEnd::kActed);
  EXPECT_THAT(lines_.Said(), ElementsAre("done 1 0", "jobs of replace pod.a"));
  EXPECT_TRUE(lines_.lock_was_free);
  EXPECT_EQ(lines_.executed, 1);
  EXPECT_TRUE(session_->acted());
  EXPECT_EQ(Round(), RoundEnd::kNothing);
}

TEST_F(WatchSessionTest, WhatIsLeftToApplyIsToldOnce) {
  Pods(Harness::Pod("a", kSpot) + Harness::Pod("b"));
  EXPECT_EQ(Round(), RoundEnd::kNothing);
  const auto said = lines_.Said();
  ASSERT_EQ(said.size(), 3U);
  EXPECT_THAT(said[1], HasSubstr("left pod.a"));
  EXPECT_THAT(said[2], HasSubstr("left pod.b"));
  EXPECT_EQ(Round(), RoundEnd::kNothing);
  EXPECT_THAT(lines_.Said(), IsEmpty());
  EXPECT_TRUE(session_->CurrentStatus().left);
  EXPECT_EQ(cloud.MutatingCalls(), 0);
}

TEST_F(WatchSessionTest, TroubleIsToldOnceAndThatItIsOver) {
  Pods(Harness::Pod("a", kSpot));
  ApplyAll();
  Round();
  lines_.Said();
  for (int round = 0; round < 3; ++round) {
    cloud.FailNext("list", MakeError(ErrorCode::kUnavailable, fmt::format("down [EID: {}]", round)),
                   9);
    EXPECT_EQ(Round(), RoundEnd::kFailed);
    cloud.Calm();
  }
  EXPECT_THAT(lines_.Said(), ElementsAre(HasSubstr("no plan")));
  EXPECT_TRUE(session_->CurrentStatus().failed);
  EXPECT_EQ(Round(), RoundEnd::kNothing);
  EXPECT_THAT(lines_.Said(), ElementsAre("over"));
}

TEST_F(WatchSessionTest, WhoeverHoldsTheLockIsToldOfOnce) {
  Pods(Harness::Pod("a", kSpot));
  Lock();
  EXPECT_EQ(Round(), RoundEnd::kBlocked);
  EXPECT_EQ(Round(), RoundEnd::kBlocked);
  EXPECT_THAT(lines_.Said(), ElementsAre(HasSubstr("no plan")));
}

TEST_F(WatchSessionTest, ASpecThatIsWrongFromTheBeginningEndsIt) {
  Pods(Harness::Pod("a", "    runtimeVerson: x\n"));
  EXPECT_EQ(Round(), RoundEnd::kWrongUsage);
  EXPECT_THAT(lines_.Said(), ElementsAre("no plan  hopeless"));
}

TEST_F(WatchSessionTest, ASpecThatBreaksMeanwhileIsWaitedFor) {
  Pods(Harness::Pod("a", kSpot));
  ApplyAll();
  Round();
  lines_.Said();
  Pods(Harness::Pod("a", "    runtimeVerson: x\n"));
  EXPECT_EQ(Round(), RoundEnd::kBlocked);
  EXPECT_EQ(Round(), RoundEnd::kBlocked);
  EXPECT_THAT(lines_.Said(), ElementsAre("no plan "));
  Pods(Harness::Pod("a", kSpot));
  EXPECT_EQ(Round(), RoundEnd::kNothing);
  EXPECT_THAT(lines_.Said(), ElementsAre("over"));
}

TEST_F(WatchSessionTest, ATargetThatIsNoneEndsIt) {
  Pods(Harness::Pod("a", kSpot));
  request_.plan.targets = {"pod.b"};
  EXPECT_EQ(Round(), RoundEnd::kWrongUsage);
  EXPECT_THAT(lines_.Said(), ElementsAre(HasSubstr("unsound")));
}

TEST_F(WatchSessionTest, AFailureToMakeItAnewIsToldOnce) {
  Pods(Harness::Pod("a", kSpot));
  ApplyAll();
  Round();
  Preempt("a");
  cloud.sold_out = {"europe-west4-a"};
  lines_.Said();
  EXPECT_EQ(Round(), RoundEnd::kFailed);
  EXPECT_EQ(Round(), RoundEnd::kFailed);
  EXPECT_THAT(lines_.Said(),
              ElementsAre(HasSubstr("failed"), HasSubstr("jobs of"), HasSubstr("jobs of")));
  cloud.sold_out.clear();
  EXPECT_EQ(Round(), RoundEnd::kActed);
  EXPECT_THAT(lines_.Said(), ElementsAre("done 1 0", "over", HasSubstr("jobs of")));
}

// Those of a pod of which it does something, and of no other.
TEST_F(WatchSessionTest, AJobThatDoesNotStartIsAFailure) {
  Pods(Harness::Pod("a", kSpot) + Harness::Pod("b"));
  ApplyAll();
  Round();
  Preempt("a");
  lines_.Said();
  lines_.jobs_start = false;
  EXPECT_EQ(Round(), RoundEnd::kFailed);
  EXPECT_THAT(lines_.Said(), ElementsAre("done 1 0", "jobs of replace pod.a"));
  EXPECT_EQ(Round(), RoundEnd::kNothing);
  EXPECT_THAT(lines_.Said(), IsEmpty());
}

TEST_F(WatchSessionTest, AnInterruptIsNoTrouble) {
  Pods(Harness::Pod("a", kSpot));
  drain.request_stop();
  EXPECT_EQ(Round(), RoundEnd::kInterrupted);
}

TEST_F(WatchSessionTest, HoldsTheLockOnlyDuringARound) {
  Pods(Harness::Pod("a", kSpot));
  ApplyAll();
  Round();
  EXPECT_NE(Planned(Request(true)).lock, nullptr);
}

}  // namespace
}  // namespace podctl
