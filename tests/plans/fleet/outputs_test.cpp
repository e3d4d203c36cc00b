// What is kept of a job's outputs: gathered, in files, of each start by itself.
#include "plans/fleet/run/outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/fake_clock.h"
#include "tests/support/fake_workers.h"

namespace podctl {
namespace {

using ssh::Stream;
using ::testing::ElementsAre;
using testing::FakeClock;
using testing::FakeWorkers;
using ::testing::HasSubstr;
using testing::NotedCommands;
using ::testing::SizeIs;
using testing::SomeWorkers;

std::string ReadWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class RunOutputsTest : public ::testing::Test {
 protected:
  RunOutputsTest() {
    std::filesystem::create_directories(folder_);
    for (const WorkerAccess& worker : SomeWorkers(3)) jobs_.push_back({worker, {}, nullptr});
  }
  ~RunOutputsTest() override { std::filesystem::remove_all(folder_); }
  RunOutputs& Open() {
    RunOutputs::Settings settings = settings_;
    settings.scratch = folder_;
    ExecRecord about;
    about.pod = "pod.research";
    about.job = "train";
    about.command = {"python3 t.py"};
    outputs_.emplace(watcher_, files_, clock_, std::move(settings), std::move(about));
    return *outputs_;
  }
  // One start, in which each worker says hello, and the last one fails.
  void Start(const std::string& word = "hello") {
    outputs_->OnBegin(jobs_, unheard_);
    for (std::size_t i = 0; i < jobs_.size(); ++i) outputs_->OnLine(i, Stream::kOut, word);
    outputs_->OnLine(2, Stream::kErr, "oops");
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      outputs_->OnResult(i, FakeWorkers::Exit(i == 2 ? 3 : 0));
    }
    outputs_->OnEnd();
  }
  std::string Dir(const std::string& below = "") const { return folder_ + "/out" + below; }

  const std::string folder_ = ::testing::TempDir() + "run_outputs_" + std::to_string(getpid());
  RealFileSystem files_;
  FakeClock clock_;
  std::vector<ssh::Job> jobs_;
  std::stop_source unheard_;
  std::vector<std::string> lines_;
  NotedCommands watcher_{lines_, false};
  RunOutputs::Settings settings_;
  std::optional<RunOutputs> outputs_;
};

TEST_F(RunOutputsTest, EqualOutputsAreGathered) {
  settings_.gather = true;
  RunOutputs& outputs = Open();
  Start();
  const auto groups = outputs.kept()->gatherer()->Groups();
  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_THAT(groups[0].workers, ElementsAre(0, 1));
  EXPECT_THAT(groups[1].workers, ElementsAre(2));
  EXPECT_EQ(groups[1].end, "exit code 3");
  EXPECT_THAT(lines_,
              ElementsAre("begin 3", "0 | hello", "1 | hello", "2 | hello", "2 | oops", "end"))
      << "who watches hears it all, and may leave it out";
}

TEST_F(RunOutputsTest, OfTheWatchedOnesAlone) {
  settings_.gather = true;
  settings_.gathered = std::set<int>{1, 2};
  RunOutputs& outputs = Open();
  Start();
  const auto groups = outputs.kept()->gatherer()->Groups();
  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_THAT(groups[0].workers, ElementsAre(1));
  EXPECT_THAT(groups[1].workers, ElementsAre(2));
}

TEST_F(RunOutputsTest, FilesHoldTheOutputsOfAllAndWhatCameOfThem) {
  settings_.folder = Dir();
  settings_.gathered = std::set<int>{1};
  RunOutputs& outputs = Open();
  ASSERT_TRUE(outputs.Prepare());
  Start();
  EXPECT_EQ(ReadWhole(Dir("/research-0.out")), "hello\n");
  EXPECT_EQ(ReadWhole(Dir("/research-2.err")), "oops\n");
  const auto record = LoadExecRecord(files_, Dir());
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->job, "train");
  EXPECT_EQ(record->pod, "pod.research");
  EXPECT_FALSE(record->ended.empty());
  EXPECT_THAT(record->NotOk(), ElementsAre(2));
  EXPECT_EQ(record->results.at(2).err_file, "research-2.err");
  EXPECT_FALSE(outputs.trouble());
}

TEST_F(RunOutputsTest, ARunThatNeverBeganLeavesWhatCameOfEachWorker) {
  settings_.folder = Dir();
  RunOutputs& outputs = Open();
  ASSERT_TRUE(outputs.Prepare());
  EXPECT_THAT(ReadWhole(Dir("/results.json")), HasSubstr("\"train\"")) << "from the beginning";
  std::vector<WorkerAnswer> answers(2);
  answers[0] = {jobs_[0].worker, FakeWorkers::Exit(0), {}, ""};
  answers[1].worker = jobs_[1].worker;
  answers[1].Spoil("gone fishing");
  outputs.OnNotBegun(answers);
  const auto record = LoadExecRecord(files_, Dir());
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_FALSE(record->ended.empty());
  EXPECT_EQ(record->results.at(0).outcome, ssh::OutcomeName(ssh::Outcome::kSkipped));
  EXPECT_EQ(record->results.at(1).outcome, ssh::OutcomeName(ssh::Outcome::kLost));
}

// What the start wrote that failed is what somebody wants to read.
TEST_F(RunOutputsTest, ARestartHasAFolderOfItsOwn) {
  settings_.gather = true;
  settings_.folder = Dir();
  RunOutputs& outputs = Open();
  ASSERT_TRUE(outputs.Prepare());
  Start("first");
  Start("second");
  Start("third");
  EXPECT_EQ(ReadWhole(Dir("/research-0.out")), "first\n");
  EXPECT_EQ(ReadWhole(Dir("/restart-1/research-0.out")), "second\n");
  EXPECT_EQ(ReadWhole(Dir("/restart-2/research-0.out")), "third\n");
  EXPECT_EQ(LoadExecRecord(files_, Dir("/restart-2"))->NotOk(), std::vector<int>{2});
  EXPECT_THAT(outputs.kept()->gatherer()->Groups(), SizeIs(2)) << "of the last start";
}

TEST_F(RunOutputsTest, ARestartIsWrittenThroughNoLink) {
  settings_.folder = Dir();
  RunOutputs& outputs = Open();
  ASSERT_TRUE(outputs.Prepare());
  std::filesystem::create_directories(folder_ + "/theirs");
  std::filesystem::create_directory_symlink(folder_ + "/theirs", Dir("/restart-1"));
  Start("first");
  Start("second");
  EXPECT_TRUE(outputs.trouble());
  EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/theirs"));
  settings_.overwrite = true;
  EXPECT_FALSE(Open().Prepare());
}

// Else they look like those of the new run.
TEST_F(RunOutputsTest, RestartsOfAnEarlierRunGoWithIt) {
  settings_.folder = Dir();
  ASSERT_TRUE(Open().Prepare());
  Start("first");
  Start("second");
  Start("third");
  std::ofstream(Dir("/restart-2/notes.txt")) << "mine";
  std::filesystem::create_directories(Dir("/restart-9"));
  std::ofstream(Dir("/restart-9/research-0.out")) << "of nobody's run";
  settings_.overwrite = true;
  ASSERT_TRUE(Open().Prepare());
  EXPECT_FALSE(std::filesystem::exists(Dir("/restart-1")));
  EXPECT_FALSE(std::filesystem::exists(Dir("/restart-2/results.json")));
  EXPECT_FALSE(std::filesystem::exists(Dir("/restart-2/research-0.out")));
  EXPECT_EQ(ReadWhole(Dir("/restart-2/notes.txt")), "mine");
  EXPECT_EQ(ReadWhole(Dir("/restart-9/research-0.out")), "of nobody's run");
}

TEST_F(RunOutputsTest, TheFilesHoldTheBytesAsTheyCame) {
  settings_.folder = Dir();
  RunOutputs& outputs = Open();
  ASSERT_TRUE(outputs.Prepare());
  const std::string piece(std::size_t{64} << 10, 'x');
  outputs.OnBegin(jobs_, unheard_);
  outputs.OnOpenLine(0, Stream::kOut);
  outputs.OnLine(0, Stream::kOut, piece);
  outputs.OnLine(0, Stream::kOut, "end");
  outputs.OnOpenLine(0, Stream::kOut);
  outputs.OnLine(0, Stream::kOut, "no newline");
  auto result = FakeWorkers::Exit(0);
  result.bytes_err = 18;  // of a line that was for podctl
  outputs.OnResult(0, result);
  outputs.OnEnd();
  EXPECT_EQ(ReadWhole(Dir("/research-0.out")), piece + "end\nno newline");
  const auto record = LoadExecRecord(files_, Dir());
  ASSERT_TRUE(record);
  EXPECT_EQ(record->results.at(0).out_bytes, piece.size() + 14);
  EXPECT_EQ(record->results.at(0).err_bytes, 0U);
}

TEST_F(RunOutputsTest, AFolderThatHoldsSomethingIsRefusedBeforeTheStart) {
  settings_.folder = Dir();
  ASSERT_TRUE(Open().Prepare());
  Start();
  const auto refused = Open().Prepare();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kAlreadyExists);
  EXPECT_THAT(refused.error().hint, HasSubstr("--overwrite"));
  settings_.overwrite = true;
  EXPECT_TRUE(Open().Prepare());
}

TEST_F(RunOutputsTest, WhatIsKnownSoFarIsInTheFolderWhileItRuns) {
  settings_.folder = Dir();
  RunOutputs& outputs = Open();
  outputs.OnBegin(jobs_, unheard_);
  EXPECT_THAT(LoadExecRecord(files_, Dir())->NotOk(), ElementsAre(0, 1, 2));
  outputs.OnResult(0, FakeWorkers::Exit(0));
  outputs.Tick();
  EXPECT_THAT(LoadExecRecord(files_, Dir())->NotOk(), ElementsAre(0, 1, 2));
  clock_.Advance(std::chrono::seconds(5));
  outputs.Tick();
  EXPECT_THAT(LoadExecRecord(files_, Dir())->NotOk(), ElementsAre(1, 2));
}

TEST_F(RunOutputsTest, SaysWhatCouldNotBeKept) {
  settings_.folder = Dir();
  RunOutputs& outputs = Open();
  outputs.OnBegin(jobs_, unheard_);
  std::filesystem::remove_all(Dir());
  outputs.OnLine(0, Stream::kOut, "hello");
  outputs.OnResult(0, FakeWorkers::Exit(0));
  outputs.OnEnd();
  EXPECT_TRUE(outputs.trouble());
}

}  // namespace
}  // namespace podctl
