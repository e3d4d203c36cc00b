// Rounds of a watch: what is done, and what is said once.
#include "plans/session/watch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plans/session/session_harness.h"

namespace podctl {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::EventLog;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SessionHarness;
using ::testing::SizeIs;

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
  WantedLook LookAtJobs(const Spec&, const WantedJobs& wanted) override {
    for (const auto& [pod, jobs] : wanted) {
      for (const auto& [name, job] : jobs) Say(fmt::format("looks at {} on {}", name, pod));
    }
    return look;
  }
  void OnEnd(const PodEnd& end) override {
    Say(fmt::format("{} {}: {}", end.what == IdleSpec::Then::kStop ? "stops" : "deletes", end.pod,
                    end.why));
  }
  PodUse LookForUse(const std::string& pod) override {
    asked.push_back(pod);
    return use;
  }
  void OnLeave() override { Say("leave"); }

  std::vector<std::string> Said() { return std::exchange(said_, {}); }

  EventLog log;
  PodUse use{PodUse::Is::kIdle, ""};
  std::vector<std::string> asked;
  std::vector<std::string> notes;
  WatchStatus last;
  bool jobs_start = true;
  WantedLook look = WantedLook::kNothing;
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

// ---- The ends of pods that nobody asks for at the time.

TEST_F(WatchSessionTest, DeletesAPodWhoseTimeIsOverAndNothingElse) {
  Pods(Harness::Pod("a", "    ttl: 2h\n") + Harness::Pod("b"));
  ApplyAll();
  EXPECT_EQ(Round(), RoundEnd::kNothing);
  EXPECT_THAT(
      lines_.notes,
      ElementsAre("pod.a will be deleted at 2026-11-20T16:30:00Z, when its ttl of 2h is over"));
  clock.Advance(std::chrono::minutes(119));
  EXPECT_EQ(Round(), RoundEnd::kNothing);
  EXPECT_THAT(lines_.notes, SizeIs(1));
  lines_.Said();
  clock.Advance(std::chrono::minutes(1));
  EXPECT_EQ(Round(), RoundEnd::kActed);
  EXPECT_THAT(lines_.Said(), ElementsAre("deletes a: its ttl of 2h is over"));
  EXPECT_FALSE(podctl::Pods(Stored()).contains(Addr("pod.a")));
  EXPECT_TRUE(podctl::Pods(Stored()).contains(Addr("pod.b")));
  EXPECT_FALSE(cloud.Node(Harness::Name("a")));
  // Only an apply makes it anew.
  EXPECT_EQ(Round(), RoundEnd::kNothing);
  EXPECT_FALSE(cloud.Node(Harness::Name("a")));
}

// One that waits for room is acted on in each look, for days perhaps.
TEST_F(WatchSessionTest, DeletesItAlsoWhileAnotherIsMadeAnew) {
  Pods(Harness::Pod("a", "    ttl: 2h\n") + Harness::Pod("b", kSpot));
  ApplyAll();
  Round();
  clock.Advance(std::chrono::hours(2));
  Preempt("b");
  lines_.Said();
  EXPECT_EQ(Round(), RoundEnd::kActed);
  EXPECT_THAT(lines_.Said(), Contains("deletes a: its ttl of 2h is over"));
  EXPECT_FALSE(cloud.Node(Harness::Name("a")));
  EXPECT_TRUE(cloud.Node(Harness::Name("b")));
}

TEST_F(WatchSessionTest, DoesNotDeleteWhatIsProtectedOrBuiltOn) {
  Pods(Harness::Pod("a", "    ttl: 1h\n    lifecycle: {preventDestroy: true}\n") +
       Harness::Pod("b", "    ttl: 1h\n") + Harness::Pod("c", "    dependsOn: [pod.b]\n"));
  ApplyAll();
  clock.Advance(std::chrono::hours(1));
  EXPECT_EQ(Round(), RoundEnd::kBlocked);
  lines_.Said();
  EXPECT_THAT(
      lines_.notes,
      ElementsAre("pod.a stays, whatever its ttl says: `lifecycle.preventDestroy` protects it",
                  "pod.b stays, although its ttl of 1h is over: pod.c is built on it"));
  EXPECT_EQ(podctl::Pods(Stored()).size(), 3U);
  EXPECT_EQ(Round(), RoundEnd::kBlocked);
  EXPECT_THAT(lines_.Said(), IsEmpty());
  EXPECT_THAT(lines_.notes, SizeIs(2));
}

constexpr const char* kOneHost =
    "  small:\n    acceleratorType: v3-8\n    runtimeVersion: tpu-vm-tf-2.11.0\n";

TEST_F(WatchSessionTest, StopsAPodThatNobodyUses) {
  Pods(std::string(kOneHost) + "    idle: {after: 30m, then: stop}\n");
  ApplyAll();
  EXPECT_EQ(Round(), RoundEnd::kNothing);
  clock.Advance(std::chrono::minutes(29));
  EXPECT_EQ(Round(), RoundEnd::kNothing);
  // Used once, it is counted anew; and who does not tell is not idle.
  lines_.use = {PodUse::Is::kUsed, "job t runs"};
  EXPECT_EQ(Round(), RoundEnd::kNothing);
  lines_.use = {PodUse::Is::kIdle, ""};
  EXPECT_EQ(Round(), RoundEnd::kNothing);
  clock.Advance(std::chrono::minutes(29));
  lines_.use = {PodUse::Is::kUnknown, "worker 0: no answer"};
  EXPECT_EQ(Round(), RoundEnd::kNothing);
  lines_.use = {PodUse::Is::kIdle, ""};
  EXPECT_EQ(Round(), RoundEnd::kNothing);
  clock.Advance(std::chrono::minutes(30));
  lines_.Said();
  EXPECT_EQ(Round(), RoundEnd::kActed);
  EXPECT_THAT(lines_.Said(), ElementsAre("stops small: nobody has used it for 30m"));
  EXPECT_EQ((*cloud.Node(Harness::Name("small")))["state"].AsString(), "STOPPED");
  EXPECT_THAT(lines_.notes, Contains(HasSubstr("pod.small is used: job t runs")));
  EXPECT_THAT(lines_.notes,
              Contains(HasSubstr("whether pod.small is used is not known: worker 0: no answer")));
  // A node that is stopped is not asked.
  lines_.asked.clear();
  EXPECT_EQ(Round(), RoundEnd::kNothing);
  EXPECT_THAT(lines_.asked, IsEmpty());
}

TEST_F(WatchSessionTest, ReportsAPodThatNobodyUses) {
  Pods(Harness::Pod("a", "    idle: {after: 30m}\n"));
  ApplyAll();
  Round();
  clock.Advance(std::chrono::minutes(30));
  EXPECT_EQ(Round(), RoundEnd::kNothing);
  EXPECT_EQ(Round(), RoundEnd::kNothing);
  EXPECT_THAT(lines_.notes, ElementsAre(HasSubstr("nobody uses pod.a since 2026-11-20T14:30:"),
                                        "nobody has used pod.a for 30m"));
  EXPECT_EQ(podctl::Pods(Stored()).size(), 1U);
}

// A change that waits for an apply is not carried out by a stop.
TEST_F(WatchSessionTest, StopsNothingThatIsToBeChangedFirst) {
  const std::string idle = "    idle: {after: 1m, then: stop}\n";
  Pods(kOneHost + idle);
  ApplyAll();
  Pods(kOneHost + idle + "    labels: {team: vision}\n");
  Round();
  clock.Advance(std::chrono::minutes(1));
  lines_.Said();
  EXPECT_EQ(Round(), RoundEnd::kBlocked);
  EXPECT_THAT(lines_.notes,
              Contains(HasSubstr("pod.small stays, although nobody has used it for "
                                 "1m: pod.small is to be changed by an apply first")));
  EXPECT_EQ((*cloud.Node(Harness::Name("small")))["state"].AsString(), "READY");
}

TEST(PodEndsTest, APlanSaysWhoActs) {
  podctl::Spec spec;
  EXPECT_EQ(NoteOnEnds(spec), std::nullopt);
}

}  // namespace
}  // namespace podctl
