// Jobs that an apply starts by itself: which, when not, and what is said of each.
#include "plans/session/due_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "providers/workers/jobs.h"
#include "tests/plans/session/session_harness.h"
#include "tests/support/fake_workers.h"

namespace podctl {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using testing::FakeWorkers;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SessionHarness;

using Answer = FakeWorkers::Answer;

std::string Job(const std::string& name, const std::string& keys = "    autostart: true\n") {
  return "  " + name + ":\n    pod: research\n    launcher: shell\n    command: [t]\n" + keys;
}

class Rounds final : public RoundWatcher {
 public:
  explicit Rounds(std::function<void()> on_end) : on_end_(std::move(on_end)) {}
  void OnBegin(const std::vector<ssh::Job>&, const RoundWords&) override {}
  void OnPhase(std::size_t, ssh::Phase) override {}
  void OnTryAgain(std::size_t, const ssh::Cause&) override {}
  void OnWaits(std::size_t) override {}
  void OnAnswer(std::size_t, const WorkerAnswer&) override {}
  void OnEnd() override { on_end_(); }
  void OnHostKeys(const std::map<int, HostKeyText>&) override {}

 private:
  const std::function<void()> on_end_;
};

class DueJobsTest : public ::testing::Test, protected SessionHarness, protected DueJobsListener {
 protected:
  void Jobs(const std::string& jobs, const std::string& pod_keys = "") {
    Pods(Harness::Pod("research", pod_keys) + "jobs:\n" + jobs);
  }
  bool ApplyAndStart() {
    ExecuteResult result;
    const PlanRun run = Applied(&result);
    const KnownPods pods(ToPods());
    said.clear();
    started.clear();
    const WantedJobsEdit edit({[this] { return Opener()(kStatePath); },
                               LockRequest{[] { return LockInfo{}; }, {}}, random,
                               drain.get_token()});
    return StartDueJobs({pods,
                         transport,
                         local_files,
                         random,
                         clock,
                         processes,
                         "/tmp",
                         {drain.get_token(), leave.get_token()},
                         edit},
                        run, result, "alice@laptop", *this);
  }
  Answer Say(const ssh::Job& job) {
    if (job.feed != nullptr) {
      started.push_back(job.worker.index);
      return {};
    }
    if (job.command == workers::ListCommand("serve")) return list;
    if (job.command == workers::ListCommand("eval")) return {{"podctl-jobs 1", "end"}};
    return earlier;
  }

  std::unique_ptr<RoundWatcher> WatchRounds(const std::string& address) override {
    EXPECT_EQ(address, "pod.research");
    return std::make_unique<Rounds>([this] {
      if (++rounds == interrupt_after) drain.request_stop();
    });
  }
  std::unique_ptr<RoundWatcher> WatchLook(const std::string& address) override {
    return WatchRounds(address);
  }
  void OnReturnNews(const ReturnNews& news) override { said.push_back(news.job + " returns"); }
  void OnPrepareEvent(const PrepareEvent&) override { said.emplace_back("news"); }
  void OnStart(const DetachedStart& start, const StartEvent&) override {
    said.push_back("start " + start.name);
  }
  void OnRunsAlready(const JobSpec& job) override { said.push_back(job.name + " runs"); }
  void OnStarted(const JobSpec& job) override { said.push_back(job.name + " started"); }
  void OnNotStarted(const JobSpec& job, const DetachReport& why) override {
    said.push_back(job.name + (why.blocker ? " hindered" : " not started"));
  }

  Answer earlier{{"podctl-runs 1", "ended 0 left 0", "end"}};
  Answer list{{"podctl-jobs 1", "end"}};
  FakeWorkers transport{[this](const ssh::Job& job) { return Say(job); }};
  RealFileSystem local_files;
  RealProcessRunner processes;
  std::vector<std::string> said;
  std::vector<int> started;  // workers
  int rounds = 0;            // over workers
  int interrupt_after = 0;
};

constexpr const char* kRuns = "job serve r running 0 1795184000 0 0 t";
constexpr const char* kStep = "    bootstrap:\n      - {name: x, run: 'true'}\n";

TEST_F(DueJobsTest, StartOnAllWorkersOfAPodThatWasMade) {
  Jobs(Job("serve") + Job("eval", ""));
  EXPECT_TRUE(ApplyAndStart());
  EXPECT_THAT(said, ElementsAre("start serve", "serve started"));
  EXPECT_THAT(started, ElementsAre(0, 1, 2, 3));
  EXPECT_TRUE(ApplyAndStart());
  EXPECT_THAT(said, IsEmpty()) << "nothing was made";
}

TEST_F(DueJobsTest, OneThatRunsAlreadyIsLeftAlone) {
  Jobs(Job("serve"));
  ApplyAndStart();
  list.out.insert(list.out.begin() + 1, kRuns);
  Jobs(Job("serve"), kStep);
  EXPECT_TRUE(ApplyAndStart());
  EXPECT_THAT(said, ElementsAre("serve runs"));
  EXPECT_THAT(started, IsEmpty());
}

TEST_F(DueJobsTest, OneThatDoesNotRunIsStartedAfterAStep) {
  Jobs(Job("serve"));
  ApplyAndStart();
  Jobs(Job("serve"), kStep);
  EXPECT_TRUE(ApplyAndStart());
  EXPECT_THAT(said, ElementsAre("start serve", "serve started"));
}

TEST_F(DueJobsTest, OneThatCannotBeStartedHoldsNoOtherUp) {
  // On a new pod nobody asks whether it runs.
  list.out.insert(list.out.begin() + 1, kRuns);
  Jobs(Job("serve") + Job("eval"));
  EXPECT_FALSE(ApplyAndStart());
  EXPECT_THAT(said, ElementsAre("serve not started", "start eval", "eval started"));
}

TEST_F(DueJobsTest, WhatIsInTheWayIsTold) {
  earlier.out[1] = "ended 2 left 0";
  Jobs(Job("serve"));
  EXPECT_TRUE(ApplyAndStart());
  EXPECT_THAT(said, ElementsAre("news", "start serve", "serve started"));
}

TEST_F(DueJobsTest, AWorkerWithoutAnAnswerHinders) {
  earlier = {{}, {}, FakeWorkers::Trouble(ssh::Outcome::kUnreachable, "refused")};
  Jobs(Job("serve"));
  EXPECT_FALSE(ApplyAndStart());
  EXPECT_THAT(said, ElementsAre("serve hindered"));
  EXPECT_THAT(started, IsEmpty());
}

TEST_F(DueJobsTest, NobodyWaitsAfterAnInterrupt) {
  Jobs(Job("eval") + Job("serve"));
  interrupt_after = 3;  // what is left of earlier runs, what runs, the start
  EXPECT_FALSE(ApplyAndStart());
  EXPECT_THAT(started, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(said, ElementsAre("start eval", "eval not started")) << "serve is not tried";
}

// What was started there, as far as it is known here, does not end without a word.
TEST_F(DueJobsTest, APlanTellsWhichJobsItEnds) {
  const auto ended = [this](std::vector<StartedJob> jobs) {
    const PlanRun run = Planned(Request());
    return JobsEnded(run.plan, run.settled, [&](const std::string& pod) {
      EXPECT_EQ(pod, "research");
      return jobs;
    });
  };
  const std::string flags = "    libtpuFlags: {xla_a: ";
  Pods(Harness::Pod("research", flags + "1}\n"));
  Applied();
  const State stored = Stored();
  const StartedJob train{"train", "2026-11-25T22:00:00Z",
                         podctl::Pods(stored).Get(PodAddress("research"))->uid()};
  EXPECT_THAT(ended({train}), IsEmpty()) << "nothing is changed";
  Pods(Harness::Pod("research", flags + "1}\n    labels: {a: b}\n"));
  EXPECT_THAT(ended({train}), IsEmpty()) << "labels end nothing";
  Pods(Harness::Pod("research", flags + "2}\n"));
  const std::string begin =
      "train was started on pod.research at 2026-11-25T22:00:00Z, and no end of it is known here: ";
  EXPECT_THAT(ended({train}), ElementsAre(begin + "the restart of tpu-runtime ends it"));
  EXPECT_THAT(ended({{"train", train.started_at, "another"}}), IsEmpty()) << "on another node";
  PlanRequest again = Request();
  again.plan.replace = {"pod.research"};
  const PlanRun run = Planned(again);
  EXPECT_THAT(
      JobsEnded(run.plan, run.settled, [&](const std::string&) { return std::vector{train}; }),
      ElementsAre(begin + "its replacement ends it"));
  // A start that the state has is told with its time, as a status does.
  State known = run.settled;
  podctl::Pods(known).at(PodAddress("research")).jobs["train"].since = "2026-11-25T21:58:00Z";
  EXPECT_THAT(JobsEnded(run.plan, known, [&](const std::string&) { return std::vector{train}; }),
              ElementsAre(HasSubstr("was started on pod.research at 2026-11-25T21:58:00Z, and")));
}

// ---- What a plan tells of them.

class PlannedJobsTest : public DueJobsTest {
 protected:
  PlannedJobsTest() {
    std::string pattern = (fs::temp_directory_path() / "podctl-test-XXXXXX").string();
    PODCTL_CHECK(::mkdtemp(pattern.data()) != nullptr);
    folder_ = fs::canonical(pattern).string();
    fs::create_directories(folder_ + "/src/.git");
    Write("src/a", "one");
    Write("src/b.pyc", "compiled");
    Write("src/.git/index", "1");
  }
  ~PlannedJobsTest() override { fs::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
  }
  // Of a plan that makes the pod; the job `serve` copies src.
  std::vector<std::string> Told() {
    PlanRun run = Planned(Request());
    run.spec.jobs.at(0).sync = {{folder_ + "/src", "~/the src", {"*.pyc"}}};
    problems = {};
    return JobsAffected(run.spec, run.plan, run.wanted, local_files, folder_, &problems);
  }

  std::string folder_;
  Diagnostics problems;
};

TEST_F(PlannedJobsTest, ToldIsAllThatIsStartedAndCopied) {
  Jobs(Job("serve",
           "    autostart: true\n    workers: '0'\n    flags: {a: 1}\n"
           "    env: {B: \"x y\", C: z}\n    docker: {image: i, flags: [--ipc=host]}\n") +
       Job("eval", ""));
  const auto told = Told();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].substr(0, told[0].find("sha256:")),
            "serve is a job of pod.research, which is created; it is started then\n"
            "  command: t --a=1\n"
            "  launcher: shell\n"
            "  workers: 0\n"
            "  env: B=\"x y\" C=z\n"
            "  docker: i --ipc=host\n"
            "  sync: src -> \"~/the src\" without *.pyc (1 file, 3 bytes, ");
  EXPECT_EQ(told[1],
            "eval is a job of pod.research, which is created; `podctl run eval` starts it");
  EXPECT_TRUE(problems.items().empty());
}

TEST_F(PlannedJobsTest, OtherContentsAreOtherWords) {
  Jobs(Job("serve"));
  const auto before = Told();
  Write("src/b.pyc", "anew");
  Write("src/.git/index", "2");
  EXPECT_EQ(Told(), before) << "left out, and another one in each checkout";
  EXPECT_EQ(JobWithOtherFiles(before, before), "");
  Write("src/a", "two");
  const auto now = Told();
  EXPECT_NE(now, before);
  EXPECT_EQ(JobWithOtherFiles(before, now), "serve");
  EXPECT_EQ(JobWithOtherFiles({"serve\n  command: x"}, {"serve\n  command: y"}), "");
}

TEST_F(PlannedJobsTest, ALinkThatLeadsOutIsAProblemOfThePlan) {
  Jobs(Job("serve"));
  fs::create_symlink("/etc/passwd", folder_ + "/src/s");
  Told();
  ASSERT_EQ(problems.items().size(), 1u);
  EXPECT_EQ(problems.items()[0].summary,
            "`" + folder_ + "/src/s` is a link that leads out of the source `" + folder_ + "/src`");
  EXPECT_EQ(problems.items()[0].context, "jobs.serve.sync");
}

TEST_F(PlannedJobsTest, AStepStartsThemToo) {
  Jobs(Job("serve"));
  ApplyAndStart();
  Jobs(Job("serve") + Job("eval", ""), kStep);
  const auto told = Told();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].substr(0, told[0].find('\n')),
            "serve is a job of pod.research, which is bootstrapped; it is started then unless it "
            "runs");
}

}  // namespace
}  // namespace podctl
