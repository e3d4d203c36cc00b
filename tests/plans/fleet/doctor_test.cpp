// What the service and the workers say, and what doctor makes of it.
#include "plans/fleet/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/record.h"
#include "providers/workers/jobs.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_provider.h"
#include "tests/support/fake_workers.h"

namespace podctl {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::FakeClock;
using testing::FakeProvider;
using testing::FakeWorkers;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::NotedRounds;
using ::testing::SizeIs;
using testing::SomeWorkers;
using ::testing::StartsWith;

constexpr std::int64_t kNow = 1'795'185'000;  // of FakeClock

std::vector<std::string> ProbeAnswer(const std::string& more = {}) {
  std::vector<std::string> lines = {
      "podctl-probe 1",    "user alice",          "home ok", "clock " + std::to_string(kNow),
      "disk 40 1000000 /", "runtime unit active", "chips 4", "devices 4"};
  if (!more.empty()) lines.push_back(more);
  lines.push_back("end");
  return lines;
}
std::vector<std::string> JobsAnswer(const std::string& job = {}) {
  std::vector<std::string> lines = {"podctl-jobs 1"};
  if (!job.empty()) lines.push_back("job " + job);
  lines.push_back("end");
  return lines;
}

std::vector<std::string> Codes(const std::vector<workers::Finding>& findings) {
  std::vector<std::string> codes;
  for (const workers::Finding& finding : findings) codes.push_back(finding.code);
  return codes;
}

// --- The node.

class DoctorNode : public ::testing::Test {
 protected:
  DoctorNode() {
    record_.project = "p";
    record_.zone = "z";
    record_.current.locator = "research";
    record_.observed.Set("state", "READY");
    cloud_.PutNode({"p", "z", "research"}, Value::EmptyMap());
  }
  Result<Value> Look() { return LookAtNode(cloud_, {}, record_, "ours", &report_); }

  FakeProvider cloud_;
  PodRecord record_;
  DoctorReport report_;
};

TEST_F(DoctorNode, IsWellWhereTheServiceSaysSo) {
  ASSERT_TRUE(Look());
  EXPECT_EQ(report_.state, "READY");
  EXPECT_THAT(report_.findings, IsEmpty());
  EXPECT_EQ(report_.unread, "");
}

TEST_F(DoctorNode, IsJudgedByStateAndHealth) {
  cloud_.EditNode({"p", "z", "research"}, [](Value& node) {
    node.Set("state", "PREEMPTED");
    node.Set("health", "TIMEOUT");
  });
  ASSERT_TRUE(Look());
  EXPECT_THAT(Codes(report_.findings), ElementsAre("node-state", "node-health"));
  EXPECT_FALSE(report_.Healthy());
}

// What passes by itself is waited for; of the rest a command line tells what changes it. None leads
// to a plan that has nothing to do.
TEST_F(DoctorNode, OfEachStateItIsSaidWhetherItPasses) {
  const auto look = [&](const std::string& state, const std::string& health) {
    report_ = {};
    cloud_.EditNode({"p", "z", "research"}, [&](Value& node) {
      node.Set("state", state);
      node.Set("health", health);
    });
    EXPECT_TRUE(Look());
    EXPECT_THAT(report_.findings, SizeIs(1)) << state << health;
    return report_.findings.empty() ? workers::Finding() : report_.findings.front();
  };
  for (const std::string state : {"RESTARTING", "REIMAGING", "REPAIRING"}) {
    const workers::Finding passes = look(state, "");
    EXPECT_THAT(passes.summary, HasSubstr("comes back by itself"));
    EXPECT_THAT(passes.to_do, StartsWith("wait: podctl status shows when it is READY."));
  }
  EXPECT_EQ(look("PREEMPTED", "").to_do, "podctl apply --target pod.{pod}  (makes it anew)");
  EXPECT_EQ(look("DELETING", "").to_do, "podctl apply --target pod.{pod}  (makes it anew)");
  EXPECT_THAT(look("STOPPED", "").to_do, HasSubstr("desiredState: READY"));
  for (const std::string state : {"HIDDEN", "UNKNOWN", "NEWLY"}) {
    EXPECT_THAT(look(state, "").to_do, HasSubstr("podctl apply --replace pod.{pod}"));
  }
  EXPECT_THAT(look("READY", "UNHEALTHY_MAINTENANCE").summary, HasSubstr("comes back by itself"));
  EXPECT_THAT(look("READY", "UNHEALTHY_TENSORFLOW").to_do, Not(StartsWith("wait")));
  EXPECT_THAT(look("READY", "TIMEOUT").summary, HasSubstr("may pass by itself"));
}

TEST_F(DoctorNode, OfAPodThatIsNotMadeYetItIsSaidHow) {
  JudgeNotMade(&report_);
  EXPECT_EQ(report_.state, "NOT CREATED");
  EXPECT_FALSE(report_.Healthy());
  EXPECT_THAT(report_.findings.at(0).to_do, StartsWith("podctl apply --target pod.{pod}"));
}

TEST_F(DoctorNode, ThatIsGoneIsAFindingAndNoNode) {
  cloud_.RemoveNode({"p", "z", "research"});
  EXPECT_FALSE(Look());
  EXPECT_EQ(report_.state, "GONE");
  EXPECT_THAT(Codes(report_.findings), ElementsAre("node-gone"));
}

TEST_F(DoctorNode, OfWhatAWatchMakesAnewThatIsSaid) {
  const std::string watch =
      "podctl watch  (makes it anew by itself)  or  podctl apply --target pod.{pod}  (now)";
  cloud_.EditNode({"p", "z", "research"}, [](Value& node) { node.Set("state", "PREEMPTED"); });
  EXPECT_TRUE(Look());
  AdviseWatch(record_, &report_);
  EXPECT_EQ(report_.findings.at(0).to_do, watch);
  report_ = {};
  cloud_.RemoveNode({"p", "z", "research"});
  EXPECT_FALSE(Look());
  AdviseWatch(record_, &report_);
  EXPECT_THAT(report_.findings.at(0).to_do, StartsWith("podctl apply")) << "it is not spot";
  record_.applied.SetPath("schedulingConfig.spot", true);
  AdviseWatch(record_, &report_);
  EXPECT_EQ(report_.findings.at(0).to_do, watch);
}

// A pod whose node is still to come waits; it is not gone.
// It was deleted, and made anew with another state.
TEST_F(DoctorNode, OfAnotherStateIsNotThePods) {
  cloud_.PutNode({"p", "z", "research"}, WithLineage(Value::EmptyMap(), "theirs"));
  EXPECT_FALSE(Look());
  EXPECT_EQ(report_.state, "GONE");
  ASSERT_THAT(Codes(report_.findings), ElementsAre("node-gone"));
  EXPECT_EQ(report_.findings[0].detail,
            "what has its name now was made with another state, of lineage theirs");
}

class DoctorQueue : public DoctorNode {
 protected:
  DoctorQueue() {
    cloud_.RemoveNode({"p", "z", "research"});
    record_.observed = Value();
    record_.queued = QueuedRecord{"lab", {}, 1, ""};
    record_.auxiliary = {{"lab", "", Creating{{"operations/1", "2026-11-20T14:30:00Z", 1}, true}}};
    record_.current.life = Absent{};
  }
  void Request(const std::string& state, const std::string& why = "") {
    cloud_.queue.capacity = false;
    cloud_.queue.Put({"p", "z", "lab"}, state, why);
  }
};

TEST_F(DoctorQueue, ThatWaitsIsToldSinceWhenAndForWhat) {
  Request("WAITING_FOR_RESOURCES");
  EXPECT_FALSE(Look());
  EXPECT_EQ(report_.state, "WAITING_FOR_RESOURCES");
  ASSERT_THAT(Codes(report_.findings), ElementsAre("node-waits"));
  EXPECT_EQ(report_.findings[0].summary,
            "it waits: its queued resource lab is WAITING_FOR_RESOURCES, since "
            "2026-11-20T14:30:00Z");
  EXPECT_FALSE(report_.Healthy()) << "nobody can use it yet";
  EXPECT_EQ(
      report_.findings[0].to_do,
      "podctl apply --target pod.{pod}  (waits for it)  or  podctl destroy --target pod.{pod} "
      " (gives it up)")
      << "no other pod is to go with it";
}

TEST_F(DoctorQueue, ThatCameToNothingIsAskedForAnew) {
  Request("FAILED", "no more capacity");
  EXPECT_FALSE(Look());
  EXPECT_EQ(report_.state, "FAILED");
  EXPECT_THAT(report_.findings.at(0).summary, HasSubstr("FAILED: no more capacity"));
  ASSERT_THAT(Codes(report_.findings), ElementsAre("node-lost"));
  EXPECT_THAT(report_.findings[0].to_do, HasSubstr("podctl apply"));
}

// When it came to its end the service does not tell; when podctl found it so may be known.
TEST_F(DoctorQueue, OneThatWasSuspendedIsToldWithTheTimeAtWhichThatWasFound) {
  record_.auxiliary[0].life = Present{};
  Request("SUSPENDED");
  EXPECT_FALSE(Look());
  EXPECT_EQ(report_.findings.at(0).summary, "its queued resource lab is SUSPENDED");
  report_ = {};
  record_.goal = Recovering{"SUSPENDED", "2026-11-20T15:00:00Z"};
  EXPECT_FALSE(Look());
  EXPECT_EQ(report_.findings.at(0).summary,
            "its queued resource lab is SUSPENDED, as was found at 2026-11-20T15:00:00Z");
}

// Else somebody is said to have had the node deleted.
TEST_F(DoctorQueue, WhatItCameFromExplainsANodeThatGoes) {
  record_.auxiliary[0].life = Present{};
  record_.current.life = Present{};
  Request("SUSPENDED");
  for (const char* state : {"DELETING", "PREEMPTED"}) {
    report_ = {};
    Value node = Value::EmptyMap();
    node.Set("state", state);
    cloud_.PutNode({"p", "z", "research"}, node);
    EXPECT_FALSE(Look());
    EXPECT_EQ(report_.state, "SUSPENDED");
    ASSERT_THAT(Codes(report_.findings), ElementsAre("node-lost"));
    EXPECT_EQ(report_.findings[0].summary, "its queued resource lab is SUSPENDED");
  }
}

// It never was, so it is not gone.
TEST_F(DoctorNode, ForWhichCapacityIsSoughtIsPending) {
  cloud_.RemoveNode({"p", "z", "research"});
  record_.observed = Value();
  record_.current.life = Absent{};
  record_.current.uid.clear();
  record_.goal = Seeking{"2026-11-20T14:30:00Z"};
  EXPECT_FALSE(Look());
  EXPECT_EQ(report_.state, "PENDING");
  ASSERT_THAT(Codes(report_.findings), ElementsAre("node-waits"));
  EXPECT_EQ(report_.findings[0].summary, "capacity for it is sought since 2026-11-20T14:30:00Z");
}

TEST_F(DoctorQueue, WithoutARequestIsPendingWhileItsCreationIsAndGoneAfterwards) {
  EXPECT_FALSE(Look());
  EXPECT_EQ(report_.state, "PENDING");
  ASSERT_THAT(Codes(report_.findings), ElementsAre("node-waits"));
  EXPECT_THAT(report_.findings[0].summary, HasSubstr("since 2026-11-20T14:30:00Z"));
  report_ = {};
  record_.auxiliary[0].life = Present{};
  EXPECT_FALSE(Look());
  EXPECT_EQ(report_.state, "GONE");
}

// Asked for with another state, under the same name.
TEST_F(DoctorQueue, OfAnotherStateIsNotThePods) {
  Value spec = Value::EmptyMap();
  spec.Set("nodeId", "research");
  spec.Set("parent", "projects/p/locations/z");
  spec.Set("node", WithLineage(Value::EmptyMap(), "theirs"));
  Value body = Value::EmptyMap();
  body.SetPath("tpu.nodeSpec", Value(Value::List{spec}));
  cloud_.queue.capacity = false;
  ASSERT_TRUE(cloud_.queue.Create({"p", "z", "lab"}, body, "their id", {}));
  record_.auxiliary[0].life = Present{};
  EXPECT_FALSE(Look());
  EXPECT_EQ(report_.state, "GONE");
  ASSERT_THAT(Codes(report_.findings), ElementsAre("node-gone"));
}

TEST_F(DoctorQueue, ThatCannotBeAskedIsNotCalledGone) {
  cloud_.FailNext("queue get", MakeError(ErrorCode::kUnavailable, "no route"));
  EXPECT_FALSE(Look());
  EXPECT_EQ(report_.state, "UNKNOWN");
  EXPECT_EQ(report_.findings.at(0).detail, "no route");
}

TEST_F(DoctorNode, IsTakenAsItWasLastSeenWhereTheServiceDoesNotAnswer) {
  record_.observed.Set("state", "STOPPED");
  cloud_.FailNext("get", MakeError(ErrorCode::kUnavailable, "no route"));
  const auto node = Look();
  ASSERT_TRUE(node);
  EXPECT_EQ(report_.state, "STOPPED");
  EXPECT_EQ(report_.unread, "no route");
}

TEST_F(DoctorNode, OfAnInterruptedLookNothingIsSaid) {
  cloud_.FailNext("get", MakeError(ErrorCode::kInterrupted, "stopped"));
  EXPECT_FALSE(Look());
  EXPECT_THAT(report_.findings, IsEmpty());
}

// --- The workers.

// `probe` and `jobs`: what the worker with that number answers.
using Script = std::function<FakeWorkers::Answer(int worker)>;
DoctorReport Look(const Script& probe, const Script& jobs, int count = 3,
                  FakeWorkers** seen = nullptr, const std::string& state = "READY") {
  static std::unique_ptr<FakeWorkers> workers;
  workers = std::make_unique<FakeWorkers>([&](const ssh::Job& job) {
    const bool asks_jobs = job.command == workers::ListCommand("");
    return (asks_jobs ? jobs : probe)(job.worker.index);
  });
  if (seen != nullptr) *seen = workers.get();
  NotedRounds noted;
  WorkerRounds rounds(*workers, noted, {}, {});
  FakeClock clock;
  DoctorReport report;
  report.pod = "research";
  Value node = Value::EmptyMap();
  node.Set("state", state);
  LookAtWorkers(rounds, clock, node, SomeWorkers(count), &report);
  return report;
}
FakeWorkers::Answer Well(int) {
  return {ProbeAnswer()};
}
FakeWorkers::Answer NoJobs(int) {
  return {JobsAnswer()};
}

TEST(DoctorWorkers, AllWell) {
  const DoctorReport report = Look(Well, NoJobs);
  EXPECT_TRUE(report.Healthy());
  EXPECT_EQ(report.HealthyWorkers(), 3U);
  EXPECT_TRUE(report.workers[1].probe.has_value());
}

TEST(DoctorWorkers, ASilentOneIsNotAskedTwice) {
  FakeWorkers* seen = nullptr;
  const DoctorReport report = Look(
      [](int worker) -> FakeWorkers::Answer {
        if (worker != 1) return {ProbeAnswer()};
        return {{}, {}, FakeWorkers::Trouble(ssh::Outcome::kUnreachable, "connection refused")};
      },
      NoJobs, 3, &seen);
  EXPECT_THAT(Codes(report.workers[1].findings), ElementsAre("no-ssh"));
  EXPECT_THAT(report.workers[1].findings[0].summary, HasSubstr("connection refused"));
  ASSERT_THAT(seen->rounds, SizeIs(2));
  EXPECT_THAT(seen->rounds[1], SizeIs(2));
  EXPECT_EQ(report.HealthyWorkers(), 2U);
}

TEST(DoctorWorkers, OfASilentOneAmongOthersNoPortIsDoubted) {
  const auto silent = [](int worker) -> FakeWorkers::Answer {
    if (worker != 1) return {ProbeAnswer()};
    ssh::WorkerResult result;
    result.End(ssh::Outcome::kUnreachable,
               ssh::CauseAt({}, ssh::Cause::Code::kNotConnected, "Connection refused"));
    result.cause.error = ECONNREFUSED;
    return {{}, {}, std::move(result)};
  };
  const DoctorReport report = Look(silent, NoJobs);
  ASSERT_THAT(Codes(report.workers[1].findings), ElementsAre("no-ssh"));
  EXPECT_THAT(report.workers[1].findings[0].to_do,
              AllOf(StartsWith("The others answer on that port"), HasSubstr("--replace")));
}

TEST(DoctorWorkers, WhileTheNodeIsRepairedASilentOneIsWaitedFor) {
  const auto silent = [](int) -> FakeWorkers::Answer {
    return {{}, {}, FakeWorkers::Trouble(ssh::Outcome::kUnreachable, "connection refused")};
  };
  EXPECT_THAT(Look(silent, NoJobs, 1).workers[0].findings[0].to_do, HasSubstr("--replace"));
  const DoctorReport report = Look(silent, NoJobs, 1, nullptr, "REPAIRING");
  EXPECT_THAT(report.workers[0].findings[0].to_do, StartsWith("wait for the node"));
}

TEST(DoctorWorkers, EachSilenceHasItsCode) {
  const std::map<ssh::Outcome, std::string> codes = {
      {ssh::Outcome::kAuthRefused, "key-refused"},
      {ssh::Outcome::kHostKeyChanged, "host-key-changed"},
      {ssh::Outcome::kLost, "probe-failed"},
      {ssh::Outcome::kTimedOut, "no-ssh"}};
  for (const auto& [outcome, code] : codes) {
    const auto said = outcome;
    const DoctorReport report = Look(
        [&](int) -> FakeWorkers::Answer {
          return {{}, {}, FakeWorkers::Trouble(said, "so")};
        },
        NoJobs, 1);
    EXPECT_THAT(Codes(report.workers[0].findings), ElementsAre(code));
  }
}

// Nobody is to make a node anew because the API was silent.
TEST(DoctorWorkers, AKeyThatCannotBeCheckedIsNoDeadWorker) {
  for (const auto code : {ssh::Cause::Code::kHostKeyUnchecked, ssh::Cause::Code::kHostKeyUnknown}) {
    const DoctorReport report = Look(
        [&](int) -> FakeWorkers::Answer {
          auto result = FakeWorkers::Trouble(ssh::Outcome::kUnreachable, "so");
          result.cause.code = code;
          return {{}, {}, std::move(result)};
        },
        NoJobs, 1);
    ASSERT_THAT(Codes(report.workers[0].findings), ElementsAre("host-key-unchecked"));
    EXPECT_THAT(report.workers[0].findings[0].to_do, Not(HasSubstr("--replace")));
  }
}

TEST(DoctorWorkers, AnAnswerThatIsNoneIsAFinding) {
  const DoctorReport report = Look([](int) { return FakeWorkers::Answer{{"hello"}}; },
                                   [](int) { return FakeWorkers::Answer{{"hello"}}; }, 1);
  EXPECT_THAT(Codes(report.workers[0].findings), ElementsAre("probe-failed", "jobs-unreadable"));
}

TEST(DoctorWorkers, APartOfAJobThatIsGoneWhileOthersWaitIsTrouble) {
  const DoctorReport report = Look(Well, [](int worker) -> FakeWorkers::Answer {
    return {JobsAnswer(worker == 2 ? "train run-1 ended 3 1795184000 1795184010 0 python3 t.py"
                                   : "train run-1 running 0 1795184000 0 0 python3 t.py")};
  });
  EXPECT_THAT(Codes(report.workers[2].findings), ElementsAre("job-died"));
  EXPECT_THAT(report.workers[0].findings, IsEmpty());
  EXPECT_TRUE(report.died.empty());
}

TEST(DoctorWorkers, AJobThatDiedEverywhereIsOnlyWorthANote) {
  const DoctorReport report = Look(Well, [](int worker) -> FakeWorkers::Answer {
    return {JobsAnswer(worker == 0 ? "" : "train run-1 died 0 1795184000 0 0 python3 t.py")};
  });
  EXPECT_TRUE(report.Healthy());
  ASSERT_THAT(report.died.groups(), SizeIs(1));
  EXPECT_EQ(report.died.groups()[0].what, "train");
  EXPECT_THAT(report.died.groups()[0].workers, ElementsAre(1, 2));
}

TEST(DoctorWorkers, TellsHowFarAJobIsThatNobodyWatches) {
  const DoctorReport report = Look(Well, [](int worker) -> FakeWorkers::Answer {
    std::vector<std::string> lines =
        JobsAnswer("train run-1 running 0 1795184000 0 0 python3 t.py");
    const std::string end = lines.back();
    lines.back() = "gang attempt 2 6";
    lines.push_back("gang first 1 2 3100 failure ended with exit code 7");
    if (worker == 0) lines.push_back("gang waiting 2");
    lines.push_back(end);
    return {lines};
  });
  ASSERT_TRUE(report.gangs.contains("train"));
  const workers::GangNews& gang = report.gangs.at("train");
  EXPECT_EQ(gang.attempt, 2);
  ASSERT_TRUE(gang.first);
  EXPECT_EQ(gang.first->worker, 2);
  EXPECT_THAT(gang.waiting, ElementsAre(2));
}

// Of a gang in which worker 2 was lost; `others`: how the job is on the others.
DoctorReport LookAtLoss(const std::string& others, const std::string& waiting) {
  return Look(Well, [&](int worker) -> FakeWorkers::Answer {
    std::vector<std::string> lines = JobsAnswer("train run-1 " + (worker == 2 ? "died 0" : others) +
                                                " 1795184000 0 0 python3 t.py");
    const std::string end = lines.back();
    lines.back() = "gang attempt 1 6";
    if (worker != 2) lines.push_back("gang first 1 2 31000 connection was silent for 30s");
    if (worker != 2 && !waiting.empty()) lines.push_back("gang waiting " + waiting);
    lines.push_back(end);
    return {lines};
  });
}

TEST(DoctorWorkers, ALostPartOfAJobIsWaitedForOrWasItsEnd) {
  const DoctorReport waits = LookAtLoss("running 0", "2");
  ASSERT_THAT(Codes(waits.workers[2].findings), ElementsAre("job-died"));
  EXPECT_EQ(waits.workers[2].findings[0].summary,
            "job train died without an exit code here, and the others wait for it");
  EXPECT_THAT(waits.workers[2].findings[0].to_do, HasSubstr("podctl run train --detach"));
  EXPECT_THAT(waits.lost, IsEmpty());

  const DoctorReport over = LookAtLoss("ended 143", "");
  EXPECT_TRUE(over.Healthy());
  EXPECT_THAT(over.lost, ElementsAre("train"));
  ASSERT_TRUE(over.gangs.contains("train"));
  EXPECT_EQ(over.gangs.at("train").first->worker, 2);
}

TEST(DoctorWorkers, AJobOnTheTpuIsNoTrouble) {
  const DoctorReport report = Look(
      [](int worker) -> FakeWorkers::Answer {
        return {ProbeAnswer(
            worker == 1 ? "holder 4711 100 alice 7500 job:train:alice /dev/accel0 python3" : "")};
      },
      NoJobs);
  EXPECT_TRUE(report.Healthy());
  ASSERT_THAT(report.at_work.groups(), SizeIs(1));
  EXPECT_THAT(report.at_work.groups()[0].workers, ElementsAre(1));
}

TEST(DoctorWorkers, ComparesTheirClockWithOurs) {
  const DoctorReport report = Look(
      [](int) -> FakeWorkers::Answer {
        auto lines = ProbeAnswer();
        for (std::string& line : lines) {
          if (line.starts_with("clock ")) line = "clock " + std::to_string(kNow - 600);
        }
        return {lines};
      },
      NoJobs, 1);
  EXPECT_THAT(Codes(report.workers[0].findings), ElementsAre("clock-skew"));
}

}  // namespace
}  // namespace podctl
