#include "providers/ssh/outbox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "providers/ssh/line_splitter.h"

namespace podctl::ssh {
namespace {

constexpr std::size_t kChunk = Outbox::kChunk;

WorkerResult Exit(int code) {
  WorkerResult result;
  result.outcome = Outcome::kExited;
  result.exit_code = code;
  return result;
}

// What one turn brings, as text: phases as letters, output as it is.
struct Taken {
  std::size_t job = 0;
  std::string out;
  std::string err;
  std::size_t phases = 0;
  bool ended = false;
};

Taken TakeOne(Outbox& outbox) {
  Outbox::Turn turn;
  Taken taken;
  if (!outbox.Take(turn)) {
    taken.job = 999;
    return taken;
  }
  taken.job = turn.job;
  taken.phases = turn.phases.size();
  taken.ended = turn.result != nullptr;
  Outbox::Unpack(turn.output, [&](Stream stream, std::string_view bytes) {
    (stream == Stream::kOut ? taken.out : taken.err) += bytes;
  });
  return taken;
}

Outbox::Sizes Small() {
  Outbox::Sizes sizes;
  sizes.near_job = 2 * kChunk;
  sizes.near_all = 3 * kChunk;
  sizes.far_job = 4;
  sizes.far_all = 8;
  return sizes;
}

TEST(OutboxTest, GivesPhasesOutputAndResultInTheirOrder) {
  Outbox outbox(2, Outbox::Sizes(), [] {});
  outbox.PutPhase(1, Phase::kRunning);
  outbox.PutOutput(1, Stream::kErr, "text");
  outbox.PutOutput(1, Stream::kOut, "more");
  outbox.PutResult(1, Exit(3));
  outbox.Close();
  const Taken taken = TakeOne(outbox);
  EXPECT_EQ(taken.job, 1U);
  EXPECT_EQ(taken.phases, 1U);
  EXPECT_EQ(taken.err, "text");
  EXPECT_EQ(taken.out, "more");
  EXPECT_TRUE(taken.ended);
  EXPECT_EQ(TakeOne(outbox).job, 999U) << "nothing more will come";
}

// What it is told of lines: "+" before one that has no newline of its own.
class NotedLines final : public Observer {
 public:
  void OnLine(std::size_t, Stream stream, std::string_view line) override {
    lines.push_back((std::exchange(open_, false) ? "+" : "") +
                    (line.size() > 9 ? std::to_string(line.size()) : std::string(line)) +
                    (stream == Stream::kErr ? " (err)" : ""));
  }
  void OnOpenLine(std::size_t, Stream) override { open_ = true; }
  void OnPhase(std::size_t, Phase) override {}

  std::vector<std::string> lines;

 private:
  bool open_ = false;
};

TEST(OutboxTest, SaysWhichLinesHaveNoNewline) {
  Outbox outbox(1, Outbox::Sizes(), [] {});
  const auto put = [&](Stream stream, std::string_view bytes) {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kChunk))) {
      outbox.PutOutput(0, stream, bytes.substr(0, kChunk));
    }
  };
  put(Stream::kOut, "one\ntw");
  put(Stream::kOut, "o\n" + std::string(LineSplitter::kLongestLine + 1, 'x'));
  put(Stream::kOut, "\nend");
  put(Stream::kErr, std::string(LineSplitter::kLongestLine, 'y') + "\n");
  outbox.PutResult(0, Exit(0));
  outbox.Close();
  NotedLines noted;
  Deliver(outbox, 1, noted);
  const std::string longest = std::to_string(LineSplitter::kLongestLine);
  EXPECT_EQ(noted.lines, (std::vector<std::string>{"one", "two", "+" + longest, "x",
                                                   longest + " (err)", "+end"}));
}

TEST(OutboxTest, ServesTheJobsInTurn) {
  Outbox outbox(2, Outbox::Sizes(), [] {});
  for (int i = 0; i < 20; ++i) outbox.PutOutput(0, Stream::kOut, std::string(kChunk, 'a'));
  outbox.PutOutput(1, Stream::kOut, "b");
  outbox.PutResult(1, Exit(0));
  EXPECT_EQ(TakeOne(outbox).job, 0U);
  const Taken second = TakeOne(outbox);
  EXPECT_EQ(second.job, 1U) << "who talks little waits for one turn of who talks much";
  EXPECT_TRUE(second.ended);
  EXPECT_EQ(TakeOne(outbox).job, 0U);
}

TEST(OutboxTest, KeepsTheOrderOfWhatLiesOnDisk) {
  Outbox outbox(1, Small(), [] {});
  std::string put;
  for (int i = 0; i < 8; ++i) {
    const std::string chunk(kChunk - static_cast<std::size_t>(i) * 7, static_cast<char>('a' + i));
    ASSERT_FALSE(outbox.Full(0)) << i;
    outbox.PutOutput(0, Stream::kOut, chunk);
    put += chunk;
  }
  outbox.PutResult(0, Exit(0));
  std::string got;
  for (int turns = 0; turns < 50; ++turns) {
    const Taken taken = TakeOne(outbox);
    got += taken.out;
    if (taken.ended) break;
  }
  EXPECT_TRUE(got == put);
}

TEST(OutboxTest, StopsOnlyWhoHasTooMuchAndTellsWhenThereIsRoom) {
  int rung = 0;
  Outbox outbox(2, Small(), [&] { ++rung; });
  int chunks = 0;
  while (!outbox.Full(0)) {
    outbox.PutOutput(0, Stream::kOut, std::string(kChunk, 'x'));
    ASSERT_LT(++chunks, 100);
  }
  EXPECT_GT(chunks, 6) << "four blocks of 64 KiB on disk, and what is in memory";
  EXPECT_FALSE(outbox.Full(1));
  EXPECT_TRUE(outbox.TakeResumable().empty());
  while (rung == 0) {
    TakeOne(outbox);
    ASSERT_GT(--chunks, -100);
  }
  EXPECT_EQ(outbox.TakeResumable(), std::vector<std::size_t>{0});
  EXPECT_FALSE(outbox.Full(0));
}

TEST(OutboxTest, LosesNothingWhenTheDiskTakesNoMore) {
  Outbox::Sizes sizes = Small();
  sizes.far_all = 1;
  Outbox outbox(2, sizes, [] {});
  std::string put;
  for (int i = 0; i < 12; ++i) {  // far more than a polite writer would put
    const std::string chunk(kChunk, static_cast<char>('a' + i));
    outbox.PutOutput(0, Stream::kOut, chunk);
    put += chunk;
  }
  EXPECT_TRUE(outbox.Full(0));
  EXPECT_FALSE(outbox.Full(1)) << "who has nothing waiting may always add a chunk";
  outbox.PutResult(0, Exit(0));
  std::string got;
  for (int turns = 0; turns < 50; ++turns) {
    const Taken taken = TakeOne(outbox);
    got += taken.out;
    if (taken.ended) break;
  }
  EXPECT_TRUE(got == put);
}

TEST(OutboxTest, ForgetsTheBacklogOfAStoppedRun) {
  Outbox outbox(1, Small(), [] {});
  for (int i = 0; i < 8; ++i) outbox.PutOutput(0, Stream::kOut, std::string(kChunk, 'x'));
  outbox.DropBacklog();
  outbox.PutResult(0, Exit(0));
  std::size_t got = 0;
  for (int turns = 0; turns < 50; ++turns) {
    const Taken taken = TakeOne(outbox);
    got += taken.out.size();
    if (taken.ended) break;
  }
  EXPECT_LE(got, 2 * kChunk) << "what was in memory";
}

}  // namespace
}  // namespace podctl::ssh
