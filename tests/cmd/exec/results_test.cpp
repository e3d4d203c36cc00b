// What a run leaves: files, results.json, the last run; and how a later one goes on from there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "plans/fleet/exec/output_store.h"
#include "plans/fleet/exec/record.h"
#include "plans/fleet/exec/request.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/golden.h"

namespace podctl {
namespace {

namespace fs = std::filesystem;
using ssh::Outcome;
using ssh::Stream;
using ::testing::ElementsAre;
using testing::ExpectGolden;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

ssh::WorkerResult Exited(int code) {
  ssh::WorkerResult result;
  result.outcome = Outcome::kExited;
  result.exit_code = code;
  result.attempts = 2;
  result.waited = std::chrono::milliseconds(340);
  result.ran = std::chrono::milliseconds(12);
  result.bytes_out = 6;
  return result;
}

ssh::WorkerResult Troubled(Outcome outcome, const std::string& message) {
  ssh::WorkerResult result;
  result.outcome = outcome;
  result.message = message;
  return result;
}

ExecRecord Sample() {
  ExecRecord record;
  record.pod = "pod.research";
  record.command = {"sh", "-c", "echo \"$TOKEN\" 'a  b'"};
  record.env = {"TOKEN"};
  record.input = true;
  record.started = "2026-11-21T20:30:00Z";
  record.ended = "2026-11-21T20:31:00Z";
  record.workers = {0, 1, 2, 3, 5};
  record.results[0] = EntryOf(Exited(0));
  record.results[0].out_file = "research-0.out";
  record.results[0].err_file = "research-0.err";
  record.results[1] = EntryOf(Exited(255));
  record.results[2] = EntryOf(Troubled(Outcome::kLost, "reset"));
  record.results[3] = EntryOf(Troubled(Outcome::kSkipped, "not started"));
  return record;
}

class ResultsTest : public ::testing::Test {
 protected:
  ResultsTest() {
    std::string name = ::testing::TempDir() + "/podctl-results-XXXXXX";
    folder_ = mkdtemp(name.data());
    for (int i = 0; i < 3; ++i) {
      ssh::Job job;
      job.worker.pod = "research";
      job.worker.index = i * 7;
      jobs_.push_back(job);
    }
  }
  ~ResultsTest() override { fs::remove_all(folder_); }
  std::unique_ptr<OutputFolder> Open(OutputFolder::Found found = OutputFolder::Found::kRefuse) {
    auto opened = OutputFolder::Open(jobs_, files_, folder_ / "out", found);
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    return opened ? *std::move(opened) : nullptr;
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "out")) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  RealFileSystem files_;
  fs::path folder_;
  std::vector<ssh::Job> jobs_;
};

TEST_F(ResultsTest, TheRecordIsReadAsItWasWritten) {
  const std::string text = ExecRecordText(Sample());
  ExpectGolden("cmd/exec/results.json", text);
  const auto read = ParseExecRecord(text);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(ExecRecordText(*read), text);
  EXPECT_THAT(read->NotOk(), ElementsAre(1, 2, 3, 5)) << "5 was never heard of";
}

TEST_F(ResultsTest, WhatIsNoRecordIsRefused) {
  for (const char* text : {"", "{", "[]", "{}", R"({"format_version": "1.0"})",
                           R"({"format_version": "2.0", "pod": "pod.a", "command": ["x"],
                               "workers": "0"})",
                           R"({"format_version": "1.0", "pod": "pod.a", "command": ["x"],
                               "workers": "!3"})"}) {
    EXPECT_FALSE(ParseExecRecord(text).has_value()) << text;
  }
}

TEST_F(ResultsTest, OutputsAreFilesByteByByte) {
  auto folder = Open();
  const std::string bytes("a\r\n\0\xff no newline", 16);
  const std::string much(300'000, 'x');
  folder->OnBytes(0, Stream::kOut, bytes.substr(0, 3));
  folder->OnBytes(2, Stream::kErr, much);
  folder->OnBytes(0, Stream::kOut, bytes.substr(3));
  folder->OnBytes(2, Stream::kErr, "end");
  folder->OnEnd(0, Exited(0));
  folder->OnEnd(2, Troubled(Outcome::kLost, "reset"));
  folder->OnEnd(1, Troubled(Outcome::kUnreachable, "refused"));
  EXPECT_FALSE(folder->trouble());
  EXPECT_EQ(Read(folder_ / "out/research-0.out"), bytes);
  EXPECT_EQ(Read(folder_ / "out/research-14.err"), much + "end");
  EXPECT_THAT(Names(),
              ElementsAre("research-0.err", "research-0.out", "research-14.err", "research-14.out"))
      << "none for a worker on which nothing ran";
  WorkerEntry entry;
  folder->Name(0, entry);
  EXPECT_EQ(entry.out_file, "research-0.out");
  WorkerEntry none;
  folder->Name(1, none);
  EXPECT_EQ(none.out_file, "");
}

TEST_F(ResultsTest, AFolderThatHoldsSomethingIsRefusedUnlessItIsToBeReplaced) {
  auto folder = Open();
  folder->OnBytes(0, Stream::kOut, "first and long\n");
  folder->OnEnd(0, Exited(0));
  folder->OnBytes(1, Stream::kOut, "stays\n");
  folder->OnEnd(1, Exited(0));
  folder->Save(Sample());
  const auto refused =
      OutputFolder::Open(jobs_, files_, folder_ / "out", OutputFolder::Found::kRefuse);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kAlreadyExists);
  EXPECT_THAT(refused.error().hint, HasSubstr("--overwrite"));

  auto again = Open(OutputFolder::Found::kReplace);
  again->OnBytes(0, Stream::kOut, "second\n");
  again->OnEnd(0, Exited(0));
  EXPECT_EQ(Read(folder_ / "out/research-0.out"), "second\n");
  EXPECT_EQ(Read(folder_ / "out/research-7.out"), "stays\n");
}

TEST_F(ResultsTest, AFullDiskIsToldAndNoFileIsCutWithoutAWord) {
  auto folder = Open();
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 100'000;
  setrlimit(RLIMIT_FSIZE, &small);
  folder->OnBytes(0, Stream::kOut, std::string(300'000, 'x'));
  folder->OnEnd(0, Exited(0));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_TRUE(folder->trouble());
  EXPECT_THAT(folder->trouble()->message, HasSubstr("research-0.out: File too large"));
}

TEST_F(ResultsTest, ASymbolicLinkIsNotWrittenThrough) {
  auto folder = Open();
  std::ofstream(folder_ / "precious") << "precious";
  fs::create_symlink(folder_ / "precious", folder_ / "out/research-0.out");
  folder->OnBytes(0, Stream::kOut, "x");
  folder->OnEnd(0, Exited(0));
  EXPECT_TRUE(folder->trouble());
  EXPECT_EQ(Read(folder_ / "precious"), "precious");
}

TEST_F(ResultsTest, TheLastRunIsKeptForEachPodOfEachState) {
  const FixedEnvironment environment(
      {{"XDG_STATE_HOME", (folder_ / "state").string()}, {"HOME", "/nonexistent"}});
  LastRun mine(files_, environment, "a.json", "pod.research");
  const auto none = mine.Load();
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().message, "nothing was run on pod.research from here yet");
  mine.Save(Sample());
  const auto loaded = LastRun(files_, environment, "./a.json", "pod.research").Load();
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  EXPECT_EQ(ExecRecordText(*loaded), ExecRecordText(Sample()));
  EXPECT_FALSE(LastRun(files_, environment, "b.json", "pod.research").Load().has_value());
  EXPECT_FALSE(LastRun(files_, environment, "a.json", "pod.other").Load().has_value());
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "state")) {
    if (entry.is_regular_file()) {
      EXPECT_EQ(entry.status().permissions(), fs::perms::owner_read | fs::perms::owner_write);
    }
  }
}

TEST_F(ResultsTest, OnlySoManyLastRunsAreKept) {
  const FixedEnvironment environment(
      std::map<std::string, std::string>{{"HOME", folder_.string()}});
  for (int i = 0; i < 120; ++i) {
    LastRun(files_, environment, "a.json", "pod.p" + std::to_string(i)).Save(Sample());
  }
  const auto names = files_.List(folder_ / ".local/state/podctl/exec");
  ASSERT_TRUE(names.has_value());
  EXPECT_LE(names->size(), 101U);
  EXPECT_TRUE(LastRun(files_, environment, "a.json", "pod.p119").Load().has_value());
}

TEST_F(ResultsTest, WithoutAHomeNothingIsKeptAndThatIsNoFailure) {
  const FixedEnvironment environment(std::map<std::string, std::string>{});
  LastRun last(files_, environment, "a.json", "pod.research");
  last.Save(Sample());
  EXPECT_FALSE(last.Load().has_value());
}

// What --retry-failed finds after a power cut at any step of a save: the record of the save before,
// or the new one. Never less.
class PowerCutTest : public ::testing::Test {
 protected:
  using Files = testing::FakeFileSystem;
  using Saver = std::function<void(Files&, const ExecRecord&)>;
  using Loader = std::function<Result<ExecRecord>(Files&)>;

  static void CutEverywhere(const Saver& save, const Loader& load) {
    ExecRecord before = Sample();
    before.ended.clear();
    const ExecRecord after = Sample();
    int cuts = 0;
    for (int steps = 0; Cut(before, after, steps, 0, Files::TornBytes::kGone, save, load) > 0;
         ++steps) {
      for (const auto bytes : {Files::TornBytes::kGone, Files::TornBytes::kHalf,
                               Files::TornBytes::kZeroed, Files::TornBytes::kWhole}) {
        std::size_t subsets = 1;
        for (std::uint64_t kept = 0; kept < subsets; ++kept, ++cuts) {
          subsets = Cut(before, after, steps, kept, bytes, save, load);
        }
      }
    }
    EXPECT_GT(cuts, 20);
  }

 private:
  // How many outcomes such a cut has; 0: the save was over before it.
  static std::size_t Cut(const ExecRecord& before, const ExecRecord& after, int steps,
                         std::uint64_t kept, Files::TornBytes bytes, const Saver& save,
                         const Loader& load) {
    Files files;
    files.SetFolder("/project");
    save(files, before);
    files.StopAfter(steps);
    save(files, after);
    const bool whole = !files.Stopped();
    const std::size_t subsets = std::size_t{1} << files.UnsyncedNames();
    files.CutPower(kept, bytes);
    const auto found = load(files);
    EXPECT_TRUE(found.has_value()) << "after " << steps << " steps: " << found.error().message;
    if (!found) return whole ? 0 : subsets;
    const std::string text = ExecRecordText(*found);
    const bool is_new = text == ExecRecordText(after);
    EXPECT_TRUE(is_new || (!whole && text == ExecRecordText(before))) << steps << "\n" << text;
    return whole ? 0 : subsets;
  }
};

TEST_F(PowerCutTest, TheResultsInAFolderAreWholeAfterIt) {
  const std::vector<ssh::Job> jobs(1);
  CutEverywhere(
      [&](Files& files, const ExecRecord& record) {
        auto folder =
            OutputFolder::Open(jobs, files, "/project/out", OutputFolder::Found::kReplace);
        if (folder) (*folder)->Save(record);
      },
      [](Files& files) { return LoadExecRecord(files, "/project/out"); });
}

TEST_F(PowerCutTest, TheLastRunIsWholeAfterIt) {
  const FixedEnvironment environment(std::map<std::string, std::string>{{"HOME", "/project"}});
  const auto last = [&](Files& files) {
    return LastRun(files, environment, "/project/a.json", "pod.research");
  };
  CutEverywhere([&](Files& files, const ExecRecord& record) { last(files).Save(record); },
                [&](Files& files) { return last(files).Load(); });
}

class ChoiceTest : public ::testing::Test {
 protected:
  ChoiceTest() {
    target_.address = "pod.research";
    for (int i = 0; i < 8; ++i) {
      WorkerAccess worker;
      worker.pod = "research";
      worker.index = i;
      target_.workers.push_back(worker);
    }
    exec_.retry_failed = "results";
    exec_.env = {"TOKEN=x"};
  }
  std::vector<int> Chosen() {
    const auto choice = ChooseAgain(target_, options_, exec_, earlier_);
    if (!choice) return {-1};
    std::vector<int> numbers;
    for (const WorkerAccess& worker : choice->workers) numbers.push_back(worker.index);
    return numbers;
  }
  std::string Refusal() {
    const auto choice = ChooseAgain(target_, options_, exec_, earlier_);
    return choice ? "" : choice.error().message;
  }

  PodTarget target_;
  PodOptions options_;
  ExecOptions exec_;
  ExecRecord earlier_ = Sample();
};

// Its workers start together, and its command is the spec's.
TEST_F(ChoiceTest, TheResultsOfAJobAreRefused) {
  earlier_.job = "train";
  EXPECT_EQ(Refusal(), "those are results of the job train, whose workers start together");
  const auto read = ParseExecRecord(ExecRecordText(earlier_));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->job, "train");
}

TEST_F(ChoiceTest, OnlyThoseThatWereNotOkRunTheSameCommandAgain) {
  EXPECT_THAT(Chosen(), ElementsAre(1, 2, 3, 5));
  const auto choice = ChooseAgain(target_, options_, exec_, earlier_);
  EXPECT_EQ(choice->command, earlier_.command);
  EXPECT_EQ(choice->output_dir, "results") << "what comes of it belongs there";
  EXPECT_TRUE(choice->into_earlier);
  options_.workers = "!2";
  EXPECT_THAT(Chosen(), ElementsAre(1, 3, 5));
  for (const int worker : earlier_.workers) earlier_.results[worker] = EntryOf(Exited(0));
  EXPECT_THAT(Chosen(), IsEmpty());
}

TEST_F(ChoiceTest, AnotherCommandIsAnotherRun) {
  options_.command = {"dmesg"};
  exec_.env.clear();
  const auto choice = ChooseAgain(target_, options_, exec_, earlier_);
  ASSERT_TRUE(choice.has_value());
  EXPECT_FALSE(choice->earlier.has_value());
  EXPECT_EQ(choice->output_dir, "") << "the results of the earlier one are left alone";
  EXPECT_EQ(choice->workers.size(), 4U);
}

TEST_F(ChoiceTest, TheLastRunIsNoFolder) {
  exec_.retry_failed = "last";
  EXPECT_EQ(ChooseAgain(target_, options_, exec_, earlier_)->output_dir, "");
  exec_.output_dir = "elsewhere";
  const auto choice = ChooseAgain(target_, options_, exec_, earlier_);
  EXPECT_EQ(choice->output_dir, "elsewhere");
  EXPECT_FALSE(choice->into_earlier);
}

TEST_F(ChoiceTest, SaysWhatDoesNotFit) {
  exec_.env = {"OTHER=x"};
  EXPECT_EQ(Refusal(), "the earlier run had `--env TOKEN`, whose value is not kept");
  exec_.env = {"TOKEN"};
  earlier_.pod = "pod.other";
  EXPECT_EQ(Refusal(), "those are results of pod.other, not of pod.research");
  earlier_.pod = "pod.research";
  earlier_.workers.push_back(12);
  EXPECT_THAT(Refusal(), HasSubstr("the pod has changed since"));
}

}  // namespace
}  // namespace podctl
