// Nobody waits for the workers of a pod that is gone, and nobody is asked while they answer.
#include "plans/session/loss_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <future>

#include "tests/plans/session/session_harness.h"
#include "tests/support/fake_workers.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SessionHarness;
using ::testing::SizeIs;

// Tries to connect until it is stopped; then, or when it is the `running` job's turn, it ends.
class DeafWorkers final : public ssh::Transport {
 public:
  std::vector<ssh::WorkerResult> Run(const std::vector<ssh::Job>& jobs, const ssh::Limits&,
                                     ssh::Observer& observer, std::stop_token stop) override {
    if (running) observer.OnPhase(*running, ssh::Phase::kRunning);
    for (int tries = 0; tries < 3; ++tries) observer.OnTryAgain(0, ssh::OtherCause("refused"));
    for (int tries = 0; goes_on && goes_on() && tries < 20000; ++tries) {
      WaitFor(stop, std::chrono::milliseconds(1));
      observer.OnTryAgain(0, ssh::OtherCause("refused"));
    }
    if (running) {
      // As long as that one runs, nothing is ended.
      EXPECT_FALSE(WaitFor(stop, std::chrono::milliseconds(100)));
      Tell(*running, testing::FakeWorkers::Exit(0), observer);
    }
    stopped = WaitFor(stop, gives_up ? std::chrono::milliseconds(0) : std::chrono::seconds(60));
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      if (job == running) continue;
      ssh::WorkerResult result;
      result.End(stopped ? ssh::Outcome::kCancelled : ssh::Outcome::kUnreachable,
                 stopped ? ssh::CancelledCause(ssh::Termination::kBeforeSent)
                         : ssh::OtherCause("cannot connect to port 22"));
      Tell(job, result, observer);
    }
    return results;
  }

  std::optional<std::size_t> running;  // a worker that answers
  bool gives_up = false;               // at once
  std::function<bool()> goes_on;       // to try
  bool stopped = false;
  std::vector<ssh::WorkerResult> results{2};

 private:
  static bool WaitFor(const std::stop_token& stop, std::chrono::milliseconds limit) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any over;
    over.wait_for(lock, stop, limit, [] { return false; });
    return stop.stop_requested();
  }
  void Tell(std::size_t job, const ssh::WorkerResult& result, ssh::Observer& observer) {
    results[job] = result;
    observer.OnResult(job, result);
    observer.OnPhase(job, ssh::Phase::kDone);
  }
};

class Described final : public ssh::Observer {
 public:
  void OnLine(std::size_t, ssh::Stream, std::string_view) override {}
  void OnPhase(std::size_t, ssh::Phase) override {}
  void OnResult(std::size_t, const ssh::WorkerResult& result) override {
    lines.push_back(result.ok() ? "ok" : result.message);
  }
  void OnTryAgain(std::size_t, const ssh::Cause& why) override {
    tries.push_back(ssh::SharedWords(why));
  }
  std::vector<std::string> lines;
  std::vector<std::string> tries;
};

constexpr const char* kGone =
    "pod `research` is gone: its node was preempted, or deleted outside of podctl";

class LossWatchTest : public ::testing::Test, protected SessionHarness {
 protected:
  LossWatchTest() {
    Pods(Harness::Pod("research"));
    Applied();
    cloud.ForgetCalls();
  }
  std::vector<ssh::WorkerResult> Run() {
    std::vector<ssh::Job> jobs;
    for (const WorkerAccess& worker : testing::SomeWorkers(2)) jobs.push_back({worker, "x", {}});
    LossAwareTransport transport(deaf_, pods_);
    return transport.Run(jobs, {}, reported_, asked_.get_token());
  }

  const KnownPods pods_{ToPods()};
  DeafWorkers deaf_;
  Described reported_;
  std::stop_source asked_;
};

TEST_F(LossWatchTest, APodThatIsGoneIsNotWaitedForAndAskedAboutOnce) {
  cloud.RemoveNode({"p", "europe-west4-a", "research"});
  const auto results = Run();
  EXPECT_TRUE(deaf_.stopped);
  EXPECT_THAT(reported_.lines, ElementsAre(kGone, kGone));
  EXPECT_EQ(results[1].outcome, ssh::Outcome::kUnreachable);
  EXPECT_EQ(ssh::CauseOf(results[1]), kGone);
  EXPECT_EQ(pods_.SilenceAdvice("research", results),
            "`podctl apply --target pod.research` makes it again.");
  EXPECT_THAT(cloud.Calls("get"), SizeIs(1)) << "the advice knows";
}

TEST_F(LossWatchTest, WhatRunsOnOtherWorkersRunsToItsEnd) {
  cloud.RemoveNode({"p", "europe-west4-a", "research"});
  deaf_.running = 1;
  const auto results = Run();
  EXPECT_TRUE(deaf_.stopped);
  EXPECT_TRUE(results[1].ok());
  EXPECT_THAT(reported_.lines, ElementsAre("ok", kGone));
}

TEST_F(LossWatchTest, APodThatIsThereIsTriedOn) {
  deaf_.gives_up = true;
  EXPECT_THAT(Run()[0].message, HasSubstr("cannot connect"));
  EXPECT_FALSE(deaf_.stopped);
  EXPECT_THAT(reported_.lines, SizeIs(2));
}

TEST_F(LossWatchTest, TheStateOfANodeThatIsThereSaysWhy) {
  cloud.EditNode({"p", "europe-west4-a", "research"},
                 [](Value& node) { node.Set("state", "REPAIRING"); });
  std::promise<std::string> heard;
  LossWatch watch(
      pods_, "research", [] { FAIL(); }, [&](const std::string& why) { heard.set_value(why); });
  watch.Trouble();
  watch.Trouble();
  auto why = heard.get_future();
  ASSERT_EQ(why.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_THAT(why.get(), HasSubstr("Pod `research` is REPAIRING"));
}

TEST_F(LossWatchTest, TheNextTriesOfARunSayItToo) {
  cloud.EditNode({"p", "europe-west4-a", "research"},
                 [](Value& node) { node.Set("state", "REPAIRING"); });
  deaf_.gives_up = true;
  deaf_.goes_on = [this] { return reported_.tries.back() == "refused"; };
  EXPECT_THAT(Run()[0].message, HasSubstr("cannot connect"));
  EXPECT_EQ(reported_.tries.front(), "refused");
  EXPECT_THAT(reported_.tries.back(), ::testing::StartsWith("the pod is REPAIRING"));
}

TEST_F(LossWatchTest, WhoIsInterruptedHearsThat) {
  asked_.request_stop();
  const auto results = Run();
  EXPECT_EQ(results[0].outcome, ssh::Outcome::kCancelled);
}

TEST_F(LossWatchTest, NobodyIsAskedWhileAllAnswer) {
  testing::FakeWorkers fine([](const ssh::Job&) { return testing::FakeWorkers::Answer{}; });
  LossAwareTransport transport(fine, pods_);
  std::vector<ssh::Job> jobs{{testing::SomeWorkers(1).front(), "x", {}}};
  EXPECT_TRUE(transport.Run(jobs, {}, reported_, {}).front().ok());
  EXPECT_THAT(cloud.Calls(), IsEmpty());
}

}  // namespace
}  // namespace podctl
