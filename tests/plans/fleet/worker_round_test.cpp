// A round over workers: who is asked, what comes back, and who is told on the way.
#include "plans/fleet/worker_round.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "providers/workers/runs.h"
#include "tests/support/fake_workers.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using testing::FakeWorkers;
using testing::NotedRounds;
using ::testing::Pair;
using ::testing::SizeIs;
using testing::SomeWorkers;

TEST(WorkerRounds, NobodyCallsAWorkerWithoutAnAddress) {
  FakeWorkers workers([](const ssh::Job& job) {
    return FakeWorkers::Answer{{"I am " + std::to_string(job.worker.index)}};
  });
  NotedRounds noted;
  WorkerRounds rounds(workers, noted, {}, {});
  auto asked = SomeWorkers(3);
  asked[1].host.clear();
  const auto answers = rounds.Ask(asked, "hostname");
  ASSERT_THAT(answers, SizeIs(3));
  EXPECT_THAT(answers[2].lines, ElementsAre("I am 2"));
  EXPECT_FALSE(answers[1].result.ok());
  EXPECT_FALSE(AllAnswered(answers));
  ASSERT_THAT(workers.rounds, SizeIs(1));
  EXPECT_THAT(workers.rounds[0], SizeIs(2));
  EXPECT_THAT(noted.lines,
              ElementsAre("begin 3", "1: the node shows no address for it", "0 ok", "2 ok", "end"));
}

TEST(WorkerRounds, TellsWhoWaitsForTheEndOfSomething) {
  FakeWorkers workers([](const ssh::Job& job) {
    FakeWorkers::Answer answer;
    if (job.worker.index == 1) answer.err = {std::string(workers::kEndingLine)};
    return answer;
  });
  NotedRounds noted;
  const auto answers = WorkerRounds(workers, noted, {}, {}).Ask(SomeWorkers(2), "true");
  EXPECT_THAT(noted.lines, ElementsAre("begin 2", "0 ok", "1 waits", "1 ok", "end"));
  EXPECT_EQ(answers[1].last_words, "") << "it is none of what the worker has to say";
}

TEST(WorkerRounds, TellsOfHostKeysByTheWorkersNumber) {
  FakeWorkers workers([](const ssh::Job& job) {
    FakeWorkers::Answer answer;
    if (job.worker.index == 2) answer.result.learned_host_key = "ssh-ed25519 AAAA";
    return answer;
  });
  NotedRounds noted;
  auto asked = SomeWorkers(3);
  asked.erase(asked.begin());
  WorkerRounds(workers, noted, {}, {}).Ask(asked, "true");
  EXPECT_THAT(noted.learned, ElementsAre(Pair(2, "ssh-ed25519 AAAA")));
}

TEST(WorkerRounds, AStopEndsThemAndALeaveAbandonsThem) {
  FakeWorkers workers([](const ssh::Job&) { return FakeWorkers::Answer{}; });
  NotedRounds noted;
  std::stop_source stop;
  std::stop_source leave;
  WorkerRounds rounds(workers, noted, stop.get_token(), leave.get_token());
  EXPECT_FALSE(rounds.stopped());
  stop.request_stop();
  leave.request_stop();
  EXPECT_TRUE(rounds.stopped());
  const auto answers = rounds.Ask(SomeWorkers(1), "true");
  EXPECT_EQ(answers[0].result.outcome, ssh::Outcome::kCancelled);
  EXPECT_TRUE(workers.last_limits.abandon.stop_requested());
}

// So that one cause of many workers reads the same.
TEST(CauseOfSilence, HasNoWorkersAddress) {
  WorkerAnswer answer;
  answer.worker = SomeWorkers(1)[0];
  answer.result.End(ssh::Outcome::kUnreachable,
                    CauseAt(answer.worker, ssh::Cause::Code::kNotConnected, "Connection refused"));
  EXPECT_EQ(CauseOfSilence(answer), "cannot connect to port 22: Connection refused");
  answer.result = FakeWorkers::Exit(3);
  answer.last_words = "no such thing";
  EXPECT_EQ(CauseOfSilence(answer), "exit code 3: no such thing");
}

}  // namespace
}  // namespace podctl
