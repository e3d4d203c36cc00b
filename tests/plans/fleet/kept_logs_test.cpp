// The log of a job out of the pieces in a bucket: which are read, in which order their lines are
// told, and what of a stranger's objects.
#include "plans/fleet/kept_logs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace podctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kFolder = "logs/research/train/";
constexpr const char* kRun = "0123abcd-55";

class FakeObjects final : public KeptObjects {
 public:
  Result<std::vector<std::string>> List(const std::string& prefix, const std::string& start,
                                        const std::stop_token&) override {
    std::vector<std::string> names;
    for (const auto& [name, text] : objects) {
      if (name.starts_with(prefix) && name >= start) names.push_back(name);
    }
    return names;
  }
  Result<std::string> Read(const std::string& name, const std::stop_token&) override {
    const std::lock_guard lock(mutex_);
    read.push_back(name);
    const auto found = objects.find(name);
    if (found == objects.end() || found->second == "gone") {
      return MakeError(ErrorCode::kNotFound, "it is gone");
    }
    return found->second;
  }
  std::map<std::string, std::string> objects;
  std::vector<std::string> read;

 private:
  std::mutex mutex_;
};

class NotedStory final : public KeptLogWatcher {
 public:
  void OnStrangers(std::size_t pieces, int highest_worker) override {
    told.push_back(fmt::format("{} of strangers up to {}", pieces, highest_worker));
  }
  void OnWorkers(const std::vector<int>& numbers) override { workers = numbers; }
  void OnAttempt(const KeptPiece& first) override {
    told.push_back(fmt::format("attempt {} of {}", first.attempt, first.run));
  }
  void OnLine(int worker, LogTime time, std::string_view line) override {
    told.push_back(fmt::format("{}: {}", worker, line));
    times.push_back(FormatLogTime(time));
  }
  void OnMissing(int worker, std::uint64_t bytes) override {
    told.push_back(fmt::format("{}: {} bytes missing", worker, bytes));
  }
  void OnBroken(const std::string& name, const Error& why) override {
    told.push_back(fmt::format("broken {}: {}", name.substr(name.rfind('/') + 1), why.message));
  }
  std::vector<int> workers;
  std::vector<std::string> told;
  std::vector<std::string> times;
};

// A second of 2026-11-27T09:00.
std::string At(int second) {
  return fmt::format("2026-11-27T09:{:02}:{:02}.000Z", second / 60, second % 60);
}

class KeptLogsTest : public ::testing::Test {
 protected:
  struct Writing {
    int attempt = 1;
    std::string run = kRun;
  };
  // The next piece of a worker's log: lines, each with its second.
  void Write(int worker, const std::vector<std::pair<int, std::string>>& lines) {
    Write(worker, lines, {});
  }
  void Write(int worker, const std::vector<std::pair<int, std::string>>& lines,
             const Writing& how) {
    std::string text;
    std::uint64_t length = 0;
    for (const auto& [second, line] : lines) {
      text += fmt::format("{} stdout F {}\n", At(second), line);
      length += line.size() + 1;
    }
    Put(worker, lines.front().first, lines.back().first, length, text, how);
  }
  void Put(int worker, int first, int last, std::uint64_t length, const std::string& text,
           const Writing& how) {
    auto& [sequence, offset] = logs_[{worker, how.run}];
    std::string times = At(first) + "_" + At(last);
    std::erase_if(times, [](char c) { return c == '-' || c == ':'; });
    names_.push_back(fmt::format("{}{}_{}_{:04}_{:05}_{:08}_{}_{}.log", kFolder, times, how.run,
                                 how.attempt, worker, sequence++, offset, length));
    objects_.objects[names_.back()] = text;
    offset += length;
  }
  Result<std::size_t> Read() { return ReadKeptLog(objects_, request_, story_, stop_.get_token()); }

  FakeObjects objects_;
  KeptLogRequest request_{.folder = kFolder, .pod = "research"};
  NotedStory story_;
  std::stop_source stop_;
  std::vector<std::string> names_;
  std::map<std::pair<int, std::string>, std::pair<int, std::uint64_t>> logs_;
};

TEST(PieceNameTest, IsReadAsItIsWritten) {
  const auto piece = ReadPieceName(kFolder,
                                   "logs/research/train/20261127T091222.500Z_20261127T091231.000Z_"
                                   "0123abcd-55_0002_00003_00000012_4096_512.log");
  ASSERT_TRUE(piece);
  EXPECT_EQ(FormatLogTime(piece->first), "2026-11-27T09:12:22.500Z");
  EXPECT_EQ(FormatLogTime(piece->last), "2026-11-27T09:12:31.000Z");
  EXPECT_EQ(piece->run, kRun);
  EXPECT_EQ(piece->attempt, 2);
  EXPECT_EQ(piece->worker, 3);
  EXPECT_EQ(piece->sequence, 12U);
  EXPECT_EQ(piece->offset, 4096U);
  EXPECT_EQ(piece->end(), 4608U);
}

TEST(PieceNameTest, AStrangersNameIsNone) {
  const std::string good =
      "20261127T091222.500Z_20261127T091231.000Z_0123abcd-55_0002_00003_00000012_4096_512.log";
  ASSERT_TRUE(ReadPieceName("", good));
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"20261127T091222", "20261327T091222"},  // no such month
           {"20261127T091222", "20261127T251222"},
           {"20261127T091222", "20261128T091222"},  // it ends before it begins
           {"_20261127T", "_60261127T"},            // which no clock of nanoseconds can be set to
           {".500Z_", ".5x0Z_"},
           {"0123abcd-55", ""},
           {"0123abcd-55", "../../x"},
           {"0123abcd-55", "\x1b[31m"},
           {"0123abcd-55", "a_b"},
           {"_0002_", "_0_"},
           {"_0002_", "_-2_"},
           {"_00003_", "_100000_"},
           {"_4096_", "_99999999999999999999_"},
           {"_512.", "_0."},
           {"_512.", "_99999999."},
           {".log", ".txt"},
           {".log", ""}}) {
    std::string bad = good;
    bad.replace(bad.find(from), from.size(), to);
    EXPECT_FALSE(ReadPieceName("", bad)) << bad;
  }
  EXPECT_FALSE(ReadPieceName(kFolder, good));
  EXPECT_FALSE(ReadPieceName("", ".log"));
  EXPECT_FALSE(ReadPieceName("", ""));
  EXPECT_FALSE(ReadPieceName(kFolder, kFolder));
}

TEST_F(KeptLogsTest, TheLinesOfAllWorkersAreOneStory) {
  Write(0, {{1, "a"}, {4, "d"}});
  Write(1, {{2, "b"}, {3, "c"}, {6, "f"}});
  Write(0, {{5, "e"}});
  const auto told = Read();
  ASSERT_TRUE(told);
  EXPECT_EQ(*told, 3U);
  EXPECT_THAT(story_.workers, ElementsAre(0, 1));
  EXPECT_THAT(story_.told, ElementsAre("attempt 1 of 0123abcd-55", "0: a", "1: b", "1: c", "0: d",
                                       "0: e", "1: f"));
  EXPECT_EQ(story_.times.back(), At(6));
}

TEST_F(KeptLogsTest, AttemptsAndRunsFollowEachOther) {
  Write(0, {{1, "a"}});
  Write(0, {{10, "b"}}, {.attempt = 2});
  Write(0, {{20, "c"}}, {.attempt = 1, .run = "another-1"});
  ASSERT_TRUE(Read());
  EXPECT_THAT(story_.told,
              ElementsAre("attempt 1 of 0123abcd-55", "0: a", "attempt 2 of 0123abcd-55", "0: b",
                          "attempt 1 of another-1", "0: c"));
}

TEST_F(KeptLogsTest, WhatIsNotWantedIsNotRead) {
  Write(0, {{1, "a"}, {2, "b"}});
  Write(1, {{1, "other"}});
  Write(0, {{300, "c"}, {310, "d"}}, {.attempt = 2});
  request_.workers = "0";
  request_.attempt = 2;
  ASSERT_TRUE(Read());
  EXPECT_THAT(story_.told, ElementsAre("attempt 2 of 0123abcd-55", "0: c", "0: d"));
  EXPECT_THAT(objects_.read, ElementsAre(names_[2]));
}

TEST_F(KeptLogsTest, SinceIsInTheMiddleOfAPiece) {
  Write(0, {{1, "a"}});
  Write(0, {{100, "b"}, {108, "c"}});
  Write(0, {{300, "d"}});
  request_.since = ReadPieceName(kFolder, names_[1])->last;
  ASSERT_TRUE(Read());
  EXPECT_THAT(story_.told, ElementsAre("attempt 1 of 0123abcd-55", "0: c", "0: d"));
  EXPECT_THAT(objects_.read, SizeIs(2));
}

TEST_F(KeptLogsTest, TheTailIsThatOfEachWorker) {
  Write(0, {{1, "a"}, {2, "b"}});
  Write(0, {{3, "c"}, {4, "d"}});
  Write(1, {{1, "x"}});
  request_.tail = 3;
  ASSERT_TRUE(Read());
  EXPECT_THAT(story_.told, ElementsAre("attempt 1 of 0123abcd-55", "1: x", "0: b", "0: c", "0: d"));
  story_ = {};
  request_.tail = 1;
  ASSERT_TRUE(Read());
  EXPECT_THAT(story_.told, ElementsAre("attempt 1 of 0123abcd-55", "1: x", "0: d"));
}

TEST_F(KeptLogsTest, LinesThatWereCutAreWholeAgain) {
  Put(0, 1, 1, 5, At(1) + " stdout P hello\n", {});
  Put(0, 2, 2, 8, At(2) + " stdout F  world\n" + At(2) + " stdout P !\n", {});
  Put(0, 5, 5, 2, At(5) + " stdout F x\n", {.attempt = 2});
  ASSERT_TRUE(Read());
  EXPECT_THAT(story_.told, ElementsAre("attempt 1 of 0123abcd-55", "0: hello world", "0: !",
                                       "attempt 2 of 0123abcd-55", "0: x"));
}

TEST_F(KeptLogsTest, WhatIsMissingIsToldAndWhatIsThereTwiceIsNot) {
  Write(0, {{1, "a"}});
  Write(0, {{2, "bb"}});
  Write(0, {{3, "c"}});
  objects_.objects.erase(names_[1]);
  // The bytes of "c" again, and one more line behind them, as another object.
  std::string again = names_[2];
  again.replace(again.find("_00000002_5_2.log"), std::string::npos, "_00000003_5_4.log");
  objects_.objects[again] = At(3) + " stdout F c\n" + At(3) + " stdout F d\n";
  ASSERT_TRUE(Read());
  EXPECT_THAT(story_.told, ElementsAre("attempt 1 of 0123abcd-55", "0: a", "0: 3 bytes missing",
                                       "0: c", "0: d"));
}

TEST_F(KeptLogsTest, AClockThatIsSetBackChangesNoOrder) {
  Write(0, {{50, "a"}});
  Write(0, {{10, "b"}});
  Write(0, {{60, "c"}});
  ASSERT_TRUE(Read());
  EXPECT_THAT(story_.told, ElementsAre("attempt 1 of 0123abcd-55", "0: a", "0: b", "0: c"));
}

TEST_F(KeptLogsTest, ForeignContentsAreLinesAndNoMore) {
  Put(0, 1, 2, 100, "no row at all\n" + At(2) + " stdout X what\n" + At(2) + "\n\n", {});
  Put(0, 3, 3, 1, std::string(1000, 'x'), {});  // more than a piece of this length can hold
  Put(0, 4, 4, 2, "gone", {});
  objects_.objects[std::string(kFolder) + "notes.txt"] = "not for us";
  ASSERT_TRUE(Read());
  EXPECT_THAT(story_.told,
              ElementsAre("attempt 1 of 0123abcd-55", "0: no row at all",
                          "0: " + At(2) + " stdout X what", "0: " + At(2), "0: ",
                          ::testing::AllOf(HasSubstr("broken"), HasSubstr("larger than a piece")),
                          ::testing::AllOf(HasSubstr("broken"), HasSubstr("it is gone"))));
}

TEST_F(KeptLogsTest, ALineWithoutAnEndIsToldInParts) {
  const std::string part(60'000, 'x');
  std::string text;
  for (int i = 0; i < 4; ++i) text += At(1) + " stdout P " + part + "\n";
  Put(0, 1, 1, 240'000, text, {});
  ASSERT_TRUE(Read());
  ASSERT_THAT(story_.told, SizeIs(3));
  EXPECT_EQ(story_.told[1].size(), 120'003U);
}

TEST_F(KeptLogsTest, NothingIsKept) {
  const auto told = Read();
  ASSERT_TRUE(told);
  EXPECT_EQ(*told, 0U);
  EXPECT_THAT(story_.told, IsEmpty());
}

TEST_F(KeptLogsTest, AWorkerThatThereIsNot) {
  Write(0, {{1, "a"}});
  request_.workers = "7";
  const auto told = Read();
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, ErrorCode::kOutOfRange);
}

// Anybody may have written them; but a pod that was larger once has some of its own.
TEST_F(KeptLogsTest, OfWorkersThatThereAreNotItIsSaid) {
  Write(0, {{1, "a"}});
  Write(4, {{1, "e"}});
  Write(99'999, {{1, "z"}});
  request_.count = 4;
  ASSERT_TRUE(Read());
  EXPECT_THAT(story_.told,
              ElementsAre("2 of strangers up to 99999", "attempt 1 of 0123abcd-55", "0: a"));
  EXPECT_THAT(story_.workers, ElementsAre(0));
  story_ = {};
  request_.count = 5;
  request_.workers = "4";
  ASSERT_TRUE(Read());
  EXPECT_THAT(story_.told,
              ElementsAre("1 of strangers up to 99999", "attempt 1 of 0123abcd-55", "4: e"));
}

TEST_F(KeptLogsTest, WorkersMayStandWithThePod) {
  Write(0, {{1, "a"}});
  Write(2, {{1, "c"}});
  request_.pod = "research/1-2";
  ASSERT_TRUE(Read());
  EXPECT_THAT(story_.told, ElementsAre("attempt 1 of 0123abcd-55", "2: c"));
  request_.workers = "0";
  const auto told = Read();
  ASSERT_FALSE(told);
  EXPECT_THAT(told.error().message, HasSubstr("named twice"));
}

TEST_F(KeptLogsTest, WhoDoesNotListenAnyMoreIsNotReadTo) {
  Write(0, {{1, "a"}});
  stop_.request_stop();
  const auto told = Read();
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, ErrorCode::kCancelled);
}

TEST(KeptLogPlaceTest, IsBelowThePodAndTheJob) {
  JobSpec job;
  EXPECT_FALSE(KeptLogsOf(job));
  job.logs = "gs://bucket/a/b/";
  ASSERT_TRUE(KeptLogsOf(job));
  EXPECT_EQ(KeptLogFolder(*KeptLogsOf(job), "research", "train"), "a/b/research/train/");
  EXPECT_EQ(KeptLogFolder({"bucket", ""}, "research", "train"), "research/train/");
}

}  // namespace
}  // namespace podctl
