// What counts as a use of a pod, and what does not.
#include "plans/fleet/use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "providers/workers/duty.h"
#include "providers/workers/jobs.h"
#include "tests/support/fake_workers.h"

namespace podctl {
namespace {

using testing::FakeWorkers;
using ::testing::HasSubstr;
using testing::NotedRounds;
using testing::SomeWorkers;

using Answer = FakeWorkers::Answer;
using Is = PodUse::Is;

Answer ProbeTold(const std::vector<std::string>& more) {
  std::vector<std::string> lines = {"podctl-probe 1", "user alice"};
  lines.insert(lines.end(), more.begin(), more.end());
  lines.emplace_back("end");
  return {lines};
}
Answer JobsTold(const std::vector<std::string>& more = {}) {
  std::vector<std::string> lines = {"podctl-jobs 1"};
  lines.insert(lines.end(), more.begin(), more.end());
  lines.emplace_back("end");
  return {lines};
}

// Two workers, of which the second one answers so.
PodUse UseOf(const Answer& jobs, const Answer& probe) {
  FakeWorkers workers([&](const ssh::Job& job) {
    const bool asks_for_jobs = job.command == workers::ListCommand("");
    if (job.worker.index == 1) return asks_for_jobs ? jobs : probe;
    return asks_for_jobs ? JobsTold() : ProbeTold({});
  });
  NotedRounds noted;
  WorkerRounds rounds(workers, noted, {}, {});
  return LookForUse(rounds, SomeWorkers(2));
}

TEST(LookForUseTest, NobodyIsThere) {
  EXPECT_EQ(UseOf(JobsTold(), ProbeTold({})).is, Is::kIdle);
  // It holds the TPU as long as the machine runs.
  EXPECT_EQ(
      UseOf(JobsTold(), ProbeTold({"holder 13 100 root 5 runtime /dev/accel0 tpu-runtime"})).is,
      Is::kIdle);
}

TEST(LookForUseTest, HowBusyItIsIsToldWhereThatIsKnown) {
  const std::string holder = "holder 11 100 alice 5 - /dev/accel0 python3";
  const auto told = [&](const std::vector<std::string>& duty) {
    FakeWorkers workers([&](const ssh::Job& job) {
      if (job.command == workers::ListCommand("")) return JobsTold();
      if (job.command == workers::DutyCommand()) return Answer{duty};
      return ProbeTold({holder});
    });
    NotedRounds noted;
    WorkerRounds rounds(workers, noted, {}, {});
    return LookForUse(rounds, SomeWorkers(2)).why;
  };
  const std::string held = "the TPU of worker 0 is held by pid 11 of alice";
  EXPECT_EQ(told({"podctl-duty 1", "duty 0.0", "duty 36.6", "end"}),
            held + ", and busy for less than half of the time, as libtpu says (unverified)");
  EXPECT_EQ(told({"podctl-duty 1", "duty 0.4", "end"}),
            held + ", and busy for less than 1 % of the time, as libtpu says (unverified)");
  for (const std::vector<std::string>& odd :
       std::vector<std::vector<std::string>>{{"podctl-duty 1", "end"},
                                             {},
                                             {"podctl-duty 1", "duty 5"},
                                             {"podctl-duty 1", "duty nan", "end"},
                                             {"podctl-duty 1", "duty 101", "end"},
                                             {"podctl-duty 1", "duty 5 x", "end"}}) {
    EXPECT_EQ(told(odd), held);
  }
}

TEST(LookForUseTest, SomebodyHoldsTheTpu) {
  for (const char* owner : {"-", "job:train:alice", "startup-script"}) {
    const PodUse use =
        UseOf(JobsTold(),
              ProbeTold({"holder 11 100 alice 5 " + std::string(owner) + " /dev/accel0 python3"}));
    EXPECT_EQ(use.is, Is::kUsed) << owner;
    EXPECT_EQ(use.why, "the TPU of worker 1 is held by pid 11 of alice");
  }
}

// On the TPU or not, held or about to be.
TEST(LookForUseTest, AJobRuns) {
  const PodUse use =
      UseOf(JobsTold({"job train run-1 running 0 1795184000 0 0 python3 t.py"}), ProbeTold({}));
  EXPECT_EQ(use.is, Is::kUsed);
  EXPECT_EQ(use.why, "job train runs");
  EXPECT_EQ(UseOf(JobsTold({"job train run-1 ended 0 1795184000 1795184001 0 python3 t.py"}),
                  ProbeTold({}))
                .is,
            Is::kIdle);
}

TEST(LookForUseTest, WhoDoesNotTellIsNotIdle) {
  const Answer silent{{}, {}, FakeWorkers::Trouble(ssh::Outcome::kUnreachable, "no route"), false};
  EXPECT_EQ(UseOf(silent, silent).is, Is::kUnknown);
  EXPECT_THAT(UseOf(silent, silent).why, HasSubstr("worker 1: "));
  EXPECT_EQ(UseOf(JobsTold(), {{"hello"}}).is, Is::kUnknown);
  EXPECT_EQ(UseOf(JobsTold(), ProbeTold({"saw own"})).is, Is::kUnknown);
}

}  // namespace
}  // namespace podctl
