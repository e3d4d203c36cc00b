// A copy to workers and from them: who has not all of it, and what was wrong.
#include "plans/fleet/cp/copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "providers/tar/remote_texts.h"
#include "tests/support/fake_workers.h"
#include "tests/support/patient_clock.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using testing::FakeRandom;
using testing::FakeWorkers;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NotedCommands;
using testing::PatientClock;
using ::testing::SizeIs;
using testing::SomeWorkers;

class CopyTest : public ::testing::Test {
 protected:
  CopyTest() {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    std::ofstream(folder_ + "/a.txt") << "hello";
  }
  ~CopyTest() override { std::filesystem::remove_all(folder_); }
  Result<CopyReport> Run(const CopyPlan& plan, int workers,
                         const std::function<FakeWorkers::Answer(int)>& answer) {
    FakeWorkers transport([&](const ssh::Job& job) { return answer(job.worker.index); });
    copy_ = std::make_unique<Copy>(files_, clock_, plan, SomeWorkers(workers));
    if (auto ready = copy_->Prepare(random_); !ready) return ready.error();
    return copy_->Run(transport, watcher_, {});
  }
  CopyPlan Upload() const { return {true, "research", "", {folder_ + "/a.txt"}, "b.txt"}; }
  CopyPlan Download(const std::string& to) const { return {false, "research", "", {"x"}, to}; }

  std::string folder_ = ::testing::TempDir() + "podctl_copy_XXXXXX";
  RealFileSystem files_;
  PatientClock clock_;
  FakeRandom random_;
  std::vector<std::string> lines_;
  NotedCommands watcher_{lines_};
  std::unique_ptr<Copy> copy_;
};

TEST_F(CopyTest, ToAllWorkers) {
  const auto report = Run(Upload(), 2, [](int) { return FakeWorkers::Answer{}; });
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->files, 1U);
  EXPECT_EQ(report->bytes, 5U);
  EXPECT_THAT(report->missing, IsEmpty());
  EXPECT_FALSE(report->trouble);
  EXPECT_EQ(copy_->HowFar().all.value_or(0) % 1024, 0U) << "whole blocks, for each worker";
}

TEST_F(CopyTest, WhoFailedHasNotAllOfIt) {
  const auto report = Run(Upload(), 3, [](int worker) {
    return FakeWorkers::Answer{{}, {}, FakeWorkers::Exit(worker == 1 ? 1 : 0)};
  });
  ASSERT_TRUE(report);
  EXPECT_THAT(report->missing, ElementsAre(1));
}

TEST_F(CopyTest, WhatIsNotThereCannotBeSent) {
  CopyPlan plan = Upload();
  plan.sources = {folder_ + "/none"};
  EXPECT_FALSE(Run(plan, 1, [](int) { return FakeWorkers::Answer{}; }));
}

TEST_F(CopyTest, WhereNoWorkerHasItNobodyIsAskedAgain) {
  const auto report = Run(Download(folder_ + "/out/"), 2, [](int) {
    return FakeWorkers::Answer{{}, {"no such file"}, FakeWorkers::Exit(tar::kNothingToPack)};
  });
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(report->missing, IsEmpty());
  EXPECT_THAT(report->words[1], HasSubstr("no such file"));
}

// Else the next copy, to the same name, would find a folder and put its file into that.
TEST_F(CopyTest, WhereNothingCameNoFolderIsLeft) {
  std::filesystem::create_directory(folder_ + "/mine");
  const auto nothing = [](int) {
    return FakeWorkers::Answer{{}, {"no such file"}, FakeWorkers::Exit(tar::kNothingToPack)};
  };
  ASSERT_TRUE(Run(Download(folder_ + "/one.py"), 2, nothing));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/one.py"));
  ASSERT_TRUE(Run(Download(folder_ + "/mine/deep/er/"), 1, nothing));
  EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/mine"));
  ASSERT_TRUE(Run(Download(folder_ + "/mine"), 2, nothing));
  EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/mine")) << "and it stays, as it was there";
}

TEST(MeantWorkers, AreTakenFromThePathThatBeginsWithThem) {
  const auto meant = [](const std::vector<std::string>& words, const std::string& workers = "") {
    return MeantWorkers(*ReadCopy(words, workers));
  };
  EXPECT_EQ(meant({"research:0:~/x", "x"}), "research/0:~/x");
  EXPECT_EQ(meant({"x", "research:all:x"}), "research/all:x");
  EXPECT_EQ(meant({"research:[1]/3:x", "x"}), "research[1]/3:x");
  EXPECT_EQ(meant({"research:x", "x"}) + meant({"research/0:1:x", "x"}) +
                meant({"research:a:x", "x"}) + meant({"research:0:x", "x"}, "1"),
            "");
}

TEST_F(CopyTest, AnArchiveThatIsNoneIsAProblem) {
  const auto report = Run(Download(folder_ + "/out/"), 2, [](int worker) {
    if (worker == 0) return FakeWorkers::Answer{{}, {}, FakeWorkers::Exit(tar::kNothingToPack)};
    return FakeWorkers::Answer{{std::string(1024, 'x')}};
  });
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_THAT(report->problems.groups(), SizeIs(1));
  EXPECT_THAT(report->problems.groups()[0].workers, ElementsAre(1));
  EXPECT_THAT(report->missing, ElementsAre(0, 1));
}

// Takes the commands of all, and then lets time go by until it is told to stop.
class SilentWorkers final : public ssh::Transport {
 public:
  explicit SilentWorkers(PatientClock& clock) : clock_(clock) {}
  std::vector<ssh::WorkerResult> Run(const std::vector<ssh::Job>& jobs, const ssh::Limits&,
                                     ssh::Observer& observer, std::stop_token stop) override {
    for (std::size_t i = 0; i < jobs.size(); ++i) observer.OnPhase(i, ssh::Phase::kRunning);
    const auto began = clock_.Elapsed();
    while (!stop.stop_requested() && clock_.Elapsed() - began < std::chrono::minutes(20)) {
      if (speaks && observer.TakesBytes()) observer.OnBytes(0, ssh::Stream::kErr, "wait\n");
      clock_.Advance(std::chrono::minutes(1));
      clock_.LetTick();
    }
    waited = clock_.Elapsed() - began;
    std::vector<ssh::WorkerResult> results(
        jobs.size(), FakeWorkers::Trouble(ssh::Outcome::kCancelled, "cancelled"));
    for (std::size_t i = 0; i < jobs.size(); ++i) observer.OnResult(i, results[i]);
    return results;
  }

  bool speaks = false;  // worker 0 does
  std::chrono::milliseconds waited{0};

 private:
  PatientClock& clock_;
};

TEST_F(CopyTest, WorkersThatSayNothingAreGivenUp) {
  for (const bool upload : {false, true}) {
    SilentWorkers silent(clock_);
    Copy copy(files_, clock_, upload ? Upload() : Download(folder_ + "/out/"), SomeWorkers(2));
    ASSERT_TRUE(copy.Prepare(random_));
    const CopyReport report = copy.Run(silent, watcher_, {});
    EXPECT_EQ(silent.waited, std::chrono::minutes(5)) << upload;
    ASSERT_THAT(report.problems.groups(), SizeIs(1)) << upload;
    EXPECT_THAT(report.problems.groups()[0].what, HasSubstr("5m"));
    EXPECT_THAT(report.problems.groups()[0].workers, ElementsAre(0, 1));
    EXPECT_THAT(report.missing, ElementsAre(0, 1));
  }
}

TEST_F(CopyTest, WhoGoesOnSendingIsWaitedFor) {
  SilentWorkers silent(clock_);
  silent.speaks = true;
  Copy copy(files_, clock_, Download(folder_ + "/out/"), SomeWorkers(2));
  ASSERT_TRUE(copy.Prepare(random_));
  const CopyReport report = copy.Run(silent, watcher_, {});
  EXPECT_EQ(silent.waited, std::chrono::minutes(20));
  ASSERT_THAT(report.problems.groups(), SizeIs(1));
  EXPECT_THAT(report.problems.groups()[0].workers, ElementsAre(1));
}

TEST_F(CopyTest, SeveralWorkersNeedAFolder) {
  const auto report =
      Run(Download(folder_ + "/a.txt"), 2, [](int) { return FakeWorkers::Answer{}; });
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kAlreadyExists);
}

}  // namespace
}  // namespace podctl
