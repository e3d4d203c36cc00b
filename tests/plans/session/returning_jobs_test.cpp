// Jobs that come back with their pod: the record of a start, and what a look means.
#include "plans/session/returning_jobs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "plans/session/awaited_jobs.h"
#include "plans/session/due_jobs.h"
#include "providers/workers/jobs.h"
#include "tests/plans/session/session_harness.h"
#include "tests/support/fake_workers.h"
#include "tests/support/folders.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using testing::FakeWorkers;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SessionHarness;
using ::testing::SizeIs;

using Answer = FakeWorkers::Answer;
using What = ReturnNews::What;

constexpr const char* kTrain =
    "jobs:\n  train:\n    pod: research\n    command: [t]\n"
    "    restart: {attempts: 2, on: [";

class ReturningJobsTest : public ::testing::Test,
                          protected SessionHarness,
                          protected DueJobsListener {
 protected:
  // `pods` may say more of the pod.
  void Train(const std::string& on, const std::string& pod_keys = "") {
    Pods(Harness::Pod("research", pod_keys) + kTrain + on + "]}\n");
  }
  WantedJobsEdit Edit() {
    return WantedJobsEdit({[this] { return Opener()(kStatePath); },
                           LockRequest{[] { return LockInfo{}; }, {}}, random, drain.get_token()});
  }
  // As `podctl run train --detach`.
  WantedStart Start(const PlanRun& run, const RunRequest& request = {}) {
    const KnownPods pods(ToPods());
    const WantedJobsEdit edit = Edit();
    const ReturnDoors doors = Doors(pods, edit);
    const auto watcher = WatchRounds("pod.research");
    WorkerRounds rounds(transport, *watcher, drain.get_token(), leave.get_token());
    PodByName pod(pods, "research");
    return StartAnew(doors, {rounds, local_files, random, pod}, run.spec, run.spec.jobs.at(0),
                     request, Hooks());
  }
  WantedLook Look(const PlanRun& run) {
    said.clear();
    starts.clear();
    const KnownPods pods(ToPods());
    const WantedJobsEdit edit = Edit();
    return LookAtWanted(Doors(pods, edit), run.spec, WantedJobsOf(Stored()), *this);
  }
  bool AfterRun(const PlanRun& run, const ExecuteResult& result) {
    said.clear();
    starts.clear();
    const KnownPods pods(ToPods());
    const WantedJobsEdit edit = Edit();
    return StartDueJobs(Doors(pods, edit), run, result, "alice@laptop", *this);
  }
  ReturnDoors Doors(const KnownPods& pods, const WantedJobsEdit& edit) {
    return {pods,  transport, local_files, random,
            clock, processes, "/tmp",      {drain.get_token(), leave.get_token()},
            edit};
  }
  // Of the pod, as the state has it; nullopt: nothing is wanted there.
  std::optional<WantedJob> Wanted() {
    const State state = Stored();
    const auto& jobs = podctl::Pods(state).Get(PodAddress("research"))->jobs;
    const auto found = jobs.find("train");
    return found == jobs.end() ? std::nullopt : std::optional(found->second);
  }
  // What each worker says of train.
  void SayOfTrain(const std::string& life) { lists.assign(4, life); }

  Answer Say(const ssh::Job& job) {
    if (job.feed != nullptr) {
      starts.push_back(job.command);
      on_start();
      return start_answer;
    }
    if (job.ending == kEndsByItself && job.command.find("podctl-jobs 1") != std::string::npos) {
      ++kills;
      return {{"podctl-jobs 1", "end"}};
    }
    if (job.command == workers::ProbeCommand({})) {
      return {{"podctl-probe 1", "user alice", "end"}};
    }
    if (job.command == workers::ListCommand("train")) {
      Answer answer{{"podctl-jobs 1"}};
      const auto worker = static_cast<std::size_t>(job.worker.index);
      const std::string& life = worker < lists.size() ? lists[worker] : "";
      if (life == "silent") {
        return {{}, {}, FakeWorkers::Trouble(ssh::Outcome::kUnreachable, "refused")};
      }
      if (!life.empty()) answer.out.push_back(life);
      for (const std::string& line : more) answer.out.push_back(line);
      answer.out.emplace_back("end");
      return answer;
    }
    return {{"podctl-runs 1", "ended 0 left 0", "end"}};
  }

  std::unique_ptr<RoundWatcher> WatchRounds(const std::string&) override {
    return std::make_unique<testing::NotedRounds>();
  }
  std::unique_ptr<RoundWatcher> WatchLook(const std::string& address) override {
    return WatchRounds(address);
  }
  void OnPrepareEvent(const PrepareEvent&) override {}
  void OnStart(const DetachedStart& start, const StartEvent&) override {
    first_attempt = start.gang ? start.gang->first : 0;
  }
  void OnReturnNews(const ReturnNews& news) override {
    const std::pair<What, const char*> names[] = {{What::kComesBack, "comes back"},
                                                  {What::kStarted, "started"},
                                                  {What::kNotStarted, "not started"},
                                                  {What::kTaken, "taken"},
                                                  {What::kWaits, "waits"},
                                                  {What::kNotForThat, "not for that"},
                                                  {What::kUsedUp, "used up"},
                                                  {What::kEnded, "ended"},
                                                  {What::kFailed, "failed"},
                                                  {What::kEndedByHand, "ended by hand"},
                                                  {What::kNotInTheSpec, "not in the spec"},
                                                  {What::kStateNotTold, "not told"}};
    for (const auto& [what, name] : names) {
      if (what == news.what) said.push_back(fmt::format("{} {}", name, news.attempt));
    }
    because.push_back(news.because);
  }
  void OnRunsAlready(const JobSpec&) override { said.emplace_back("runs"); }
  void OnStarted(const JobSpec&) override { said.emplace_back("autostarted"); }
  void OnNotStarted(const JobSpec&, const DetachReport&) override {
    said.emplace_back("not autostarted");
  }

  std::vector<std::string> lists;  // a line for each worker; empty: it has no such job
  std::vector<std::string> more;   // lines behind it
  Answer start_answer;
  std::function<void()> on_start = [] {};
  FakeWorkers transport{[this](const ssh::Job& job) { return Say(job); }};
  RealFileSystem local_files;
  RealProcessRunner processes;
  std::vector<std::string> said;
  std::vector<std::string> because;
  std::vector<std::string> starts;  // commands
  int first_attempt = 0;
  int kills = 0;
};

std::string Line(const std::string& life, const std::string& start = "00000000") {
  return fmt::format("job train d-{} {} 0 1795184000 0 0 t", start, life);
}

TEST_F(ReturningJobsTest, AStartIsWrittenDownBeforeItIsBegun) {
  Train("preemption");
  const PlanRun run = Applied();
  std::optional<WantedJob> while_it_starts;
  on_start = [&] { while_it_starts = Wanted(); };
  RunRequest request;
  request.owner = "alice@laptop";
  request.arguments = {"--lr", "3"};
  const WantedStart start = Start(run, request);
  EXPECT_FALSE(start.error) << start.error->message;
  EXPECT_TRUE(start.report.report.Whole());
  ASSERT_TRUE(while_it_starts);
  EXPECT_TRUE(while_it_starts->begins);
  ASSERT_TRUE(Wanted());
  EXPECT_FALSE(Wanted()->begins);
  EXPECT_EQ(Wanted()->attempt, 1);
  EXPECT_EQ(Wanted()->by, "alice@laptop");
  EXPECT_THAT(Wanted()->arguments, ElementsAre("--lr", "3"));
  EXPECT_FALSE(Wanted()->uid.empty());
  EXPECT_THAT(starts.at(0), HasSubstr(Wanted()->start)) << "by which it is known on the workers";
}

TEST_F(ReturningJobsTest, WhatCouldNotBeBegunIsNotWanted) {
  Train("preemption");
  const PlanRun run = Applied();
  start_answer = {{}, {}, FakeWorkers::Trouble(ssh::Outcome::kUnreachable, "refused"), false};
  EXPECT_FALSE(Start(run).report.report.Whole());
  EXPECT_FALSE(Wanted());
}

TEST_F(ReturningJobsTest, OfTwoWhoStartItOneIsRefused) {
  Train("preemption");
  const PlanRun run = Applied();
  on_start = [&, once = false]() mutable {
    if (std::exchange(once, true)) return;
    // Another podctl, which has read the state before this start was written.
    WantedJob other;
    other.start = "ffffffff";
    other.since = "2026-11-20T14:30:00Z";
    const auto swapped = Edit().Swap("research", "train", std::nullopt, other);
    ASSERT_TRUE(swapped) << swapped.error().message;
    EXPECT_FALSE(*swapped);
  };
  EXPECT_TRUE(Start(run).report.report.Whole());
  EXPECT_NE(Wanted()->start, "ffffffff");
}

// `podctl kill` finds nothing yet that runs, and takes it off the state.
TEST_F(ReturningJobsTest, WhatIsEndedWhileItBeginsDoesNotRunOn) {
  Train("preemption");
  const PlanRun run = Applied();
  on_start = [&, once = false]() mutable {
    if (std::exchange(once, true)) return;
    const auto was = Edit().Forget("research", "train");
    ASSERT_TRUE(was) << was.error().message;
    EXPECT_TRUE(*was);
  };
  const WantedStart start = Start(run);
  EXPECT_TRUE(start.forgotten);
  EXPECT_THAT(start.error->message, HasSubstr("ended train while it began"));
  EXPECT_EQ(kills, 4);
  EXPECT_FALSE(Wanted());
}

TEST_F(ReturningJobsTest, AStartOnAnotherNodeCountsWhoeverSawIt) {
  Train("preemption");
  const PlanRun run = Applied();
  WantedJob left;
  left.start = "12345678";
  left.uid = "another";
  left.begins = true;
  left.since = FormatTimestamp(clock.Now());
  ASSERT_TRUE(Edit().Swap("research", "train", std::nullopt, left));
  EXPECT_EQ(Look(run), WantedLook::kBroughtBack);
  EXPECT_THAT(said, ElementsAre("comes back 2", "started 2"));
}

TEST_F(ReturningJobsTest, AJobThatNobodyCouldBringBackIsWrittenNowhere) {
  for (const char* on : {"failure", "killed, hang"}) {
    Train(on);
    const PlanRun run = Planned(Request());
    EXPECT_FALSE(ComesBack(run.spec.jobs.at(0))) << on;
  }
  Train("maintenance");
  EXPECT_TRUE(ComesBack(Planned(Request()).spec.jobs.at(0)));
}

TEST_F(ReturningJobsTest, WhatRunsIsLeftAloneAndItsAttemptTakenDown) {
  Train("preemption");
  const PlanRun run = Applied();
  Start(run);
  SayOfTrain(Line("running", Wanted()->start));
  more = {"gang attempt 2 3"};
  EXPECT_EQ(Look(run), WantedLook::kNothing);
  EXPECT_THAT(said, IsEmpty());
  EXPECT_THAT(starts, IsEmpty());
  EXPECT_EQ(Wanted()->attempt, 2);
}

TEST_F(ReturningJobsTest, ItsEndTakesItOffTheState) {
  Train("preemption");
  const PlanRun run = Applied();
  Start(run);
  const std::string start = Wanted()->start;
  SayOfTrain(fmt::format("job train d-{} ended 0 1795184000 1795184100 0 t", start));
  EXPECT_EQ(Look(run), WantedLook::kNothing);
  EXPECT_THAT(said, ElementsAre("ended 1"));
  EXPECT_FALSE(Wanted());
  Start(run);
  SayOfTrain(fmt::format("job train d-{} ended 3 1795184000 1795184100 0 t", Wanted()->start));
  Look(run);
  EXPECT_THAT(said, ElementsAre("failed 1"));
  EXPECT_FALSE(Wanted());
}

TEST_F(ReturningJobsTest, WhatSomebodyEndedStaysEnded) {
  Train("preemption, connection");
  const PlanRun run = Applied();
  Start(run);
  SayOfTrain(fmt::format("job train d-{} ended 143 1795184000 1795184100 0 t", Wanted()->start));
  more = {"by bob@desk: podctl kill research train"};
  EXPECT_EQ(Look(run), WantedLook::kNothing);
  EXPECT_THAT(said, ElementsAre("ended by hand 1"));
  EXPECT_THAT(because, ElementsAre("bob@desk"));
  EXPECT_FALSE(Wanted());
}

TEST_F(ReturningJobsTest, NothingIsDoneWhileAWorkerIsSilent) {
  Train("connection");
  const PlanRun run = Applied();
  Start(run);
  lists = {Line("running"), Line("running"), Line("running"), "silent"};
  EXPECT_EQ(Look(run), WantedLook::kNothing);
  EXPECT_THAT(said, ElementsAre("waits 1"));
  EXPECT_THAT(starts, IsEmpty());
  EXPECT_TRUE(Wanted());
}

TEST_F(ReturningJobsTest, WhatAWorkerLostIsStartedAgainOnAll) {
  Train("connection");
  const PlanRun run = Applied();
  Start(run);
  const std::string first = Wanted()->start;
  lists = {Line("died", first), Line("died", first), Line("died", first), Line("died", first)};
  EXPECT_EQ(Look(run), WantedLook::kBroughtBack);
  EXPECT_THAT(said, ElementsAre("comes back 2", "started 2"));
  EXPECT_THAT(starts, SizeIs(4));
  EXPECT_EQ(first_attempt, 2);
  EXPECT_EQ(Wanted()->attempt, 2);
}

TEST_F(ReturningJobsTest, ForAnotherReasonItIsNotStarted) {
  Train("preemption");
  const PlanRun run = Applied();
  Start(run);
  SayOfTrain(Line("died", Wanted()->start));
  EXPECT_EQ(Look(run), WantedLook::kNothing);
  EXPECT_THAT(said, ElementsAre("not for that 1"));
  EXPECT_FALSE(Wanted());
}

TEST_F(ReturningJobsTest, ItsRestartsAreCounted) {
  Train("connection");
  const PlanRun run = Applied();
  Start(run);
  for (int attempt = 2; attempt <= 3; ++attempt) {
    SayOfTrain(Line("died", Wanted()->start));
    EXPECT_EQ(Look(run), WantedLook::kBroughtBack);
    EXPECT_EQ(first_attempt, attempt);
  }
  SayOfTrain(Line("died", Wanted()->start));
  EXPECT_EQ(Look(run), WantedLook::kNothing);
  EXPECT_THAT(said, ElementsAre("used up 4"));
  EXPECT_FALSE(Wanted());
}

// Whoever had written it down died before it began, or before it could say that it had.
TEST_F(ReturningJobsTest, AStartThatNobodySawEndIsBegunOnceMore) {
  Train("preemption");
  const PlanRun run = Applied();
  WantedJob left;
  left.start = "12345678";
  left.uid = podctl::Pods(std::as_const(run.settled)).Get(PodAddress("research"))->uid();
  left.begins = true;
  left.since = FormatTimestamp(clock.Now());
  ASSERT_TRUE(Edit().Swap("research", "train", std::nullopt, left));
  EXPECT_EQ(Look(run), WantedLook::kNothing) << "somebody may be at it";
  EXPECT_THAT(said, IsEmpty());
  clock.Advance(std::chrono::minutes(11));
  EXPECT_EQ(Look(run), WantedLook::kBroughtBack);
  EXPECT_THAT(said, ElementsAre("comes back 1", "started 1"));
  EXPECT_FALSE(Wanted()->begins);
}

TEST_F(ReturningJobsTest, AStartThatCameAboutUnseenIsTakenForOne) {
  Train("preemption");
  const PlanRun run = Applied();
  WantedJob left;
  left.start = "12345678";
  left.begins = true;
  left.since = FormatTimestamp(clock.Now());
  ASSERT_TRUE(Edit().Swap("research", "train", std::nullopt, left));
  SayOfTrain(Line("running", "12345678"));
  EXPECT_EQ(Look(run), WantedLook::kNothing);
  EXPECT_FALSE(Wanted()->begins);
  EXPECT_THAT(starts, IsEmpty());
}

TEST_F(ReturningJobsTest, OnANewNodeItIsStartedWhateverTheWorkersSay) {
  Train("preemption");
  PlanRun run = Applied();
  Start(run);
  WantedJob wanted = *Wanted();
  WantedJob elsewhere = wanted;
  elsewhere.uid = "another";
  ASSERT_TRUE(Edit().Swap("research", "train", wanted, elsewhere));
  EXPECT_EQ(Look(run), WantedLook::kBroughtBack);
  EXPECT_THAT(said, ElementsAre("comes back 2", "started 2"));
  EXPECT_EQ(Wanted()->uid, wanted.uid);
}

TEST_F(ReturningJobsTest, AReplacedPodHasItsJobAgainWhereTheSpecSaysSo) {
  for (const bool says_so : {true, false}) {
    SCOPED_TRACE(says_so);
    Train(says_so ? "preemption, replacement" : "preemption");
    Start(Applied());
    PlanRequest again = Request(true);
    again.plan.replace = {"pod.research"};
    PlanRun run = Planned(again);
    struct Yes final : ApplyListener {
      bool Approve(const PlanRun&) override { return true; }
      void OnNoLogin(const Error&) override {}
      EventSink& OnBegin() override { return events; }
      testing::EventLog events;
    } yes;
    const ApplyEnd end = Apply(ToApply(), {}, yes, &run);
    ASSERT_TRUE(end.result.ok());
    run.lock.reset();
    EXPECT_TRUE(AfterRun(run, end.result));
    if (says_so) {
      EXPECT_THAT(said, ElementsAre("comes back 2", "started 2"));
      EXPECT_EQ(Wanted()->attempt, 2);
    } else {
      EXPECT_THAT(said, ElementsAre("not for that 1"));
      EXPECT_FALSE(Wanted());
    }
    const auto wanted = Wanted();
    if (wanted) {
      ASSERT_TRUE(Edit().Swap("research", "train", wanted, std::nullopt));
    }
  }
}

// It is the end that the spec asks for, so the run that finds it has not failed (docs/jobs.md).
TEST_F(ReturningJobsTest, ThatNoRestartIsLeftFailsNoApply) {
  Train("replacement");
  Start(Applied());
  WantedJob last = *Wanted();
  last.attempt = 3;
  ASSERT_TRUE(Edit().Swap("research", "train", Wanted(), last));
  PlanRequest again = Request(true);
  again.plan.replace = {"pod.research"};
  PlanRun run = Planned(again);
  struct Yes final : ApplyListener {
    bool Approve(const PlanRun&) override { return true; }
    void OnNoLogin(const Error&) override {}
    EventSink& OnBegin() override { return events; }
    testing::EventLog events;
  } yes;
  const ApplyEnd end = Apply(ToApply(), {}, yes, &run);
  ASSERT_TRUE(end.result.ok());
  run.lock.reset();
  EXPECT_TRUE(AfterRun(run, end.result));
  EXPECT_THAT(said, ElementsAre("used up 4"));
  EXPECT_FALSE(Wanted());
}

TEST_F(ReturningJobsTest, APlanTellsThatItComesBack) {
  Train("replacement");
  Start(Applied());
  PlanRequest again = Request();
  again.plan.replace = {"pod.research"};
  const PlanRun run = Planned(again);
  EXPECT_THAT(run.jobs,
              ElementsAre("train is a job of pod.research, which is replaced; it comes back then, "
                          "with the code that it was started with"));
}

TEST_F(ReturningJobsTest, AJobThatLeftTheSpecIsOnlyTold) {
  Train("preemption");
  Start(Applied());
  Pods(Harness::Pod("research"));
  const PlanRun run = Planned(Request());
  EXPECT_EQ(Look(run), WantedLook::kNothing);
  EXPECT_THAT(said, ElementsAre("not in the spec 1"));
  EXPECT_TRUE(Wanted());
}

// ---- What is told of those that do not run.

class AwaitedJobsTest : public ReturningJobsTest {
 protected:
  AwaitedJobsTest() {
    Train("connection");
    spec_ = Planned(Request()).spec;
    record_.current = {"research", "4711", Present{}};
    wanted_.start = "12345678";
    wanted_.uid = "4711";
    wanted_.attempt = 2;
    wanted_.since = FormatTimestamp(clock.Now());
  }
  // "<what it waits for> <attempt>"; "": nothing. `life`: of the job on both workers, of the run
  // `start`; empty: they do not have it.
  std::string Judge(const std::string& life, const std::string& start = "12345678") {
    if (!life.empty()) {
      for (int i = 0; i < 2; ++i) {
        report_.found.push_back(
            {i, *workers::ParseJobs({"podctl-jobs 1", Line(life, start), "end"})});
      }
    }
    return JudgeReport(&report_);
  }
  std::string JudgeReport(const JobsReport* report) {
    record_.jobs["train"] = wanted_;
    const auto all = AwaitedJobs("research", record_, spec_, report, whole_, clock.Now());
    report_ = {};
    if (all.empty()) return "";
    EXPECT_EQ(all[0].attempts, spec_.jobs.empty() ? 0 : 3);
    const char* const names[] = {"pod", "look", "start", "unheard"};
    return fmt::format("{} {}", names[static_cast<std::size_t>(all[0].waits)], all[0].attempt);
  }
  WorkerAnswer Silent() {
    WorkerAnswer answer;
    answer.result = FakeWorkers::Trouble(ssh::Outcome::kUnreachable, "refused");
    return answer;
  }

  podctl::Spec spec_;
  PodRecord record_;
  WantedJob wanted_;
  JobsReport report_;
  bool whole_ = true;
};

TEST_F(AwaitedJobsTest, WhatItsWorkersTellOfIsNotAwaited) {
  EXPECT_EQ(Judge("running"), "");
  EXPECT_EQ(Judge("running", "87654321"), "") << "somebody has started it anew";
  EXPECT_EQ(Judge("ended"), "");
  EXPECT_EQ(Judge("died"), "look 3");
  EXPECT_EQ(Judge(""), "look 3");
}

TEST_F(AwaitedJobsTest, WithoutItsPodItWaitsForThat) {
  EXPECT_EQ(JudgeReport(nullptr), "pod 3");
  spec_ = {};
  EXPECT_EQ(JudgeReport(nullptr), "pod 3") << "whether the spec is at hand or not";
}

TEST_F(AwaitedJobsTest, OnANewNodeItWaitsForItsStart) {
  wanted_.uid = "another";
  EXPECT_EQ(Judge(""), "look 3");
  wanted_.uid = "4711";
  wanted_.begins = true;
  EXPECT_EQ(Judge(""), "start 2");
  EXPECT_EQ(Judge("ended", "87654321"), "start 2") << "that was the one before";
  clock.Advance(std::chrono::minutes(11));
  EXPECT_EQ(Judge(""), "look 2") << "who was at it has died";
}

TEST_F(AwaitedJobsTest, OfSilentWorkersNobodyKnows) {
  report_.answers = {Silent()};
  EXPECT_EQ(Judge(""), "unheard 2");
  whole_ = false;
  EXPECT_EQ(Judge(""), "") << "it may run on those that were not asked";
}

TEST_F(AwaitedJobsTest, ForWhatItsSpecDoesNotSayItIsNotStarted) {
  spec_.jobs.at(0).restart.on = {RestartReason::kPreemption};
  EXPECT_EQ(Judge(""), "");
  EXPECT_EQ(JudgeReport(nullptr), "pod 3");
}

// ---- The state that it is kept in.

TEST(WantedJobState, IsReadAsItWasWritten) {
  PodRecord pod;
  pod.project = "p";
  pod.zone = "europe-west4-a";
  pod.current = {"research", "4711", Present{}};
  State state;
  state.lineage = "8f14e45f-ceea-467f-a0e6-c1a5b1b7d3aa";
  state.digest_key = "00112233445566778899aabbccddeeff";
  state.records.emplace(PodAddress("research"), pod);
  EXPECT_THAT(StateToJson(state), HasSubstr("\"format_version\": 5,"));
  WantedJob& job = podctl::Pods(state).at(PodAddress("research")).jobs["train"];
  job = {"12345678",
         "4711",
         true,
         3,
         "2026-11-27T12:00:00Z",
         "alice@laptop",
         "0-1",
         {"--lr", "é\n"},
         {{std::string(64, 'a'), std::string(40, 'b')}, {"c", ""}}};
  const std::string text = StateToJson(state);
  EXPECT_THAT(text, HasSubstr("\"format_version\": 7,"));
  const auto again = StateFromJson(text, "x", RememberedKinds());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, state);
}

// Files of every version stay in tests/golden/state, and are read for ever.
TEST(WantedJobState, Version7IsRead) {
  std::ifstream file(testing::SourceFolder() + "/tests/golden/state/version7.state.json");
  std::stringstream text;
  text << file.rdbuf();
  const auto state = StateFromJson(text.str(), "x", RememberedKinds());
  ASSERT_TRUE(state) << state.error().message;
  const auto& jobs = podctl::Pods(*state).at(PodAddress("research")).jobs;
  ASSERT_THAT(jobs, SizeIs(2));
  EXPECT_TRUE(jobs.at("eval").begins);
  const WantedJob& train = jobs.at("train");
  EXPECT_EQ(train.start, "9e8f7a6b");
  EXPECT_EQ(train.uid, "3204316052172671686");
  EXPECT_EQ(train.attempt, 4);
  EXPECT_EQ(train.by, "alice@laptop");
  EXPECT_EQ(train.workers, "0-3");
  EXPECT_THAT(train.arguments, ElementsAre("--lr", "3"));
  ASSERT_THAT(train.code, SizeIs(2));
  EXPECT_EQ(train.code[0].commit, "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
  EXPECT_EQ(train.code[1].commit, "");
  const auto again = StateFromJson(StateToJson(*state), "x", RememberedKinds());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *state);
}

}  // namespace
}  // namespace podctl
