// Who is found on the TPU, who of them is ended, and what is known of it afterwards.
#include "plans/fleet/drain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_workers.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using testing::FakeWorkers;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NotedRounds;
using ::testing::SizeIs;
using testing::SomeWorkers;

FakeWorkers::Answer HoldersAnswer(const std::vector<std::string>& more) {
  std::vector<std::string> lines = {"podctl-probe 1", "user alice"};
  lines.insert(lines.end(), more.begin(), more.end());
  lines.push_back("end");
  return {lines};
}
const std::string kNobodys = "holder 11 100 alice 5 - /dev/accel0 python3 a.py";
const std::string kOfAJob = "holder 12 100 alice 5 job:train:alice /dev/accel0 python3 b.py";
const std::string kRuntime = "holder 13 100 root 5 runtime /dev/accel0 tpu-runtime";

DrainSurvey Survey(const std::vector<FakeWorkers::Answer>& answers, bool with_jobs = false) {
  FakeWorkers workers(
      [&](const ssh::Job& job) { return answers[static_cast<std::size_t>(job.worker.index)]; });
  NotedRounds noted;
  WorkerRounds rounds(workers, noted, {}, {});
  return SurveyLeftovers(rounds, SomeWorkers(static_cast<int>(answers.size())), with_jobs);
}
std::vector<int> Pids(const Leftover& left) {
  std::vector<int> pids;
  for (const workers::Holder& holder : left.victims) pids.push_back(holder.pid);
  return pids;
}

TEST(DrainSurvey, FindsWhatBelongsToNobody) {
  const DrainSurvey survey = Survey({HoldersAnswer({}), HoldersAnswer({kNobodys, kRuntime})});
  ASSERT_THAT(survey.leftovers, SizeIs(1));
  EXPECT_EQ(survey.leftovers[0].worker.index, 1);
  EXPECT_THAT(Pids(survey.leftovers[0]), ElementsAre(11));
  EXPECT_TRUE(survey.Whole());
}

TEST(DrainSurvey, LeavesJobsUnlessToldOtherwise) {
  EXPECT_THAT(Survey({HoldersAnswer({kOfAJob})}).leftovers, IsEmpty());
  const DrainSurvey survey = Survey({HoldersAnswer({kOfAJob, kRuntime})}, true);
  ASSERT_THAT(survey.leftovers, SizeIs(1));
  EXPECT_THAT(Pids(survey.leftovers[0]), ElementsAre(12));
}

// libtpu's lock file is somebody's as long as one is there whom nobody ends.
TEST(DrainSurvey, ALockFileIsLeftWhereNobodyElseHoldsTheTpu) {
  const DrainSurvey alone = Survey({HoldersAnswer({"lock alice"})});
  ASSERT_THAT(alone.leftovers, SizeIs(1));
  EXPECT_TRUE(alone.leftovers[0].lock_file);
  EXPECT_THAT(Survey({HoldersAnswer({"lock alice", kOfAJob})}).leftovers, IsEmpty());
  const DrainSurvey with_victim = Survey({HoldersAnswer({"lock alice", kNobodys})});
  ASSERT_THAT(with_victim.leftovers, SizeIs(1));
  EXPECT_TRUE(with_victim.leftovers[0].lock_file);
}

TEST(DrainSurvey, WhoseAnswerCannotBeReadHasGivenNone) {
  const DrainSurvey survey = Survey({{{"hello"}}, HoldersAnswer({kNobodys})});
  EXPECT_FALSE(survey.Whole());
  EXPECT_EQ(CauseOfSilence(survey.answers[0]), "its answer to the probe cannot be read");
  EXPECT_THAT(survey.leftovers, SizeIs(1));
}

// --- The end.

DrainOutcome EndPods(const FakeWorkers::Answer& answer, FakeWorkers** seen = nullptr) {
  static std::unique_ptr<FakeWorkers> workers;
  workers = std::make_unique<FakeWorkers>([&](const ssh::Job&) { return answer; });
  if (seen != nullptr) *seen = workers.get();
  NotedRounds noted;
  WorkerRounds rounds(*workers, noted, {}, {});
  const DrainSurvey survey = Survey({HoldersAnswer({kNobodys})});
  return EndLeftovers(rounds, survey.leftovers, std::chrono::seconds(7));
}

TEST(DrainEnd, EndsJustWhomItWasGiven) {
  FakeWorkers* seen = nullptr;
  const DrainOutcome outcome = EndPods({{"podctl-drain 1", "ended 11 term", "end"}}, &seen);
  EXPECT_FALSE(outcome.something_left);
  ASSERT_THAT(outcome.reports, SizeIs(1));
  EXPECT_EQ(outcome.reports[0]->ended[0].how, workers::DrainReport::Ended::How::kTerm);
  const ssh::Job& job = seen->rounds.at(0).at(0);
  EXPECT_THAT(job.command, HasSubstr("11"));
  EXPECT_EQ(job.ending, kEndsByItself) << "it goes on to its end, whoever leaves";
  EXPECT_EQ(seen->last_limits.command, std::chrono::seconds(67));
}

TEST(DrainEnd, WhoCouldNotBeEndedIsLeft) {
  EXPECT_TRUE(EndPods({{"podctl-drain 1", "ended 11 refused", "end"}}).something_left);
  EXPECT_TRUE(EndPods({{"podctl-drain 1", "ended 11 kill", "lock refused", "end"}}).something_left);
  // Of a process that was never asked for nobody says that it is left.
  EXPECT_FALSE(
      EndPods({{"podctl-drain 1", "ended 11 kill", "ended 99 refused", "end"}}).something_left);
}

TEST(DrainEnd, WithoutAnAnswerSomethingMayBeLeft) {
  const DrainOutcome silent =
      EndPods({{}, {}, FakeWorkers::Trouble(ssh::Outcome::kLost, "the connection broke")});
  EXPECT_TRUE(silent.something_left);
  EXPECT_FALSE(silent.reports[0].has_value());
  const DrainOutcome unreadable = EndPods({{"hello"}});
  EXPECT_TRUE(unreadable.something_left);
  EXPECT_EQ(unreadable.answers[0].result.outcome, ssh::Outcome::kLost);
}

}  // namespace
}  // namespace podctl
