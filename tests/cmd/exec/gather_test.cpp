// --gather and --diff, as they are read.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "cmd/views/gather_view.h"
#include "cmd/views/text_diff.h"
#include "tests/support/golden.h"

namespace podctl {
namespace {

using ssh::Outcome;
using ssh::Stream;
using testing::ExpectGolden;

class GatherTest : public ::testing::Test {
 protected:
  static std::vector<ssh::Job> Jobs() {
    std::vector<ssh::Job> jobs(256);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      jobs[i].worker.pod = "research";
      jobs[i].worker.index = static_cast<int>(i);
    }
    return jobs;
  }
  void End(std::size_t job, const std::string& out, const std::string& err = "", int code = 0) {
    gatherer_.OnBytes(job, Stream::kOut, out);
    gatherer_.OnBytes(job, Stream::kErr, err);
    ssh::WorkerResult result;
    result.outcome = Outcome::kExited;
    result.exit_code = code;
    gatherer_.OnEnd(job, result);
  }
  void EndOtherwise(std::size_t job, Outcome outcome, const std::string& message) {
    ssh::WorkerResult result;
    result.outcome = outcome;
    result.message = message;
    gatherer_.OnEnd(job, result);
  }
  std::string Shown(bool diff = false) {
    std::ostringstream out;
    std::ostringstream err;
    Streams streams{out, err};
    EXPECT_TRUE(ShowGathered(streams, gatherer_, diff, [] { return false; }));
    EXPECT_EQ(err.str(), "");
    return out.str();
  }
  // Most say the same; some differ in a line, in what they complain of, or in how they ended.
  void Story() {
    std::string text;
    for (int line = 1; line <= 20; ++line) text += "line " + std::to_string(line) + "\n";
    std::string other = text;
    other.replace(other.find("line 10\n"), 8, "line ten\nand more\n");
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (i == 3 || i == 9) {
        End(i, other);
      } else if (i == 7) {
        End(i, text, "cannot open /dev/accel0\n", 3);
      } else if (i == 11) {
        End(i, text, "", 1);
      } else if (i == 13) {
        EndOtherwise(i, Outcome::kUnreachable, "connection refused");
      } else if (i == 17) {
        EndOtherwise(i, Outcome::kTimedOut, "the command ran longer than 5s");
      } else if (i == 19) {
        EndOtherwise(i, Outcome::kSkipped, "not started: 3 workers failed before");
      } else {
        End(i, text);
      }
    }
  }

  std::vector<ssh::Job> jobs_ = Jobs();
  Gatherer gatherer_{jobs_, ::testing::TempDir()};
};

TEST_F(GatherTest, EndsWithinAnOutputWhenItIsEnough) {
  std::string text;
  for (int line = 0; line < 100'000; ++line) text += "line " + std::to_string(line) + "\n";
  End(0, text);
  std::ostringstream out;
  Streams streams{out, out};
  int asked = 0;
  EXPECT_FALSE(ShowGathered(streams, gatherer_, false, [&] { return ++asked > 10; }));
  EXPECT_EQ(asked, 11) << "not asked again";
  const std::string shown = out.str();
  EXPECT_LE(std::count(shown.begin(), shown.end(), '\n'), 12);
}

TEST_F(GatherTest, ShowsEqualOutputsOnceTheBiggestGroupFirst) {
  Story();
  ExpectGolden("cmd/exec/gather.txt", Shown());
}

TEST_F(GatherTest, ShowsTheOthersAsDifferences) {
  Story();
  ExpectGolden("cmd/exec/gather_diff.txt", Shown(true));
}

TEST_F(GatherTest, WhatWorkersWriteIsSeenAndNotObeyed) {
  for (std::size_t i = 0; i < jobs_.size(); ++i) End(i, "\x1b]0;owned\x07");
  EXPECT_EQ(Shown(), "research/[0-255] (256 workers)\n  | \\x1b]0;owned\\x07\n");
}

TEST_F(GatherTest, WhatDiffersInTooMuchIsShownWhole) {
  std::string one;
  std::string two;
  for (int i = 0; i < 2'000; ++i) {
    one += "a" + std::to_string(i) + "\n";
    two += "b" + std::to_string(i) + "\n";
  }
  for (std::size_t i = 0; i < jobs_.size(); ++i) End(i, i == 0 ? two : one);
  const std::string shown = Shown(true);
  EXPECT_NE(shown.find("research/0 (1 worker)\n  (differs in too much to compare line by line)\n"
                       "  | b0\n"),
            std::string::npos);
}

std::string Diff(const std::string& before, const std::string& after) {
  const auto lines = UnifiedDiff({"a", before}, {"b", after});
  if (!lines) return "too much";
  std::string text;
  for (const std::string& line : *lines) text += line + "\n";
  return text;
}

TEST(UnifiedDiff, IsWhatDiffPrints) {
  EXPECT_EQ(Diff("x\n", "x\n"), "");
  EXPECT_EQ(Diff("", ""), "");
  EXPECT_EQ(Diff("", "x\n"), "--- a\n+++ b\n@@ -0,0 +1 @@\n+x\n");
  EXPECT_EQ(Diff("x\n", ""), "--- a\n+++ b\n@@ -1 +0,0 @@\n-x\n");
  EXPECT_EQ(Diff("x\n", "x"), "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+x\n\\ No newline at end of file\n");
  EXPECT_EQ(Diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"),
            "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

TEST(UnifiedDiff, JoinsChangesThatAreNearAndPartsThoseThatAreNot) {
  std::string before;
  for (int i = 1; i <= 30; ++i) before += std::to_string(i) + "\n";
  std::string after = before;
  const auto change = [&](const std::string& line) {
    after.replace(after.find("\n" + line + "\n"), line.size() + 2, "\nx" + line + "\n");
  };
  change("5");
  change("12");
  change("20");
  const std::string diff = Diff(before, after);
  EXPECT_NE(diff.find("@@ -2,14 +2,14 @@\n"), std::string::npos) << diff;
  EXPECT_NE(diff.find("@@ -17,7 +17,7 @@\n"), std::string::npos) << diff;
}

TEST(UnifiedDiff, GivesUpWhereItWouldCostMoreThanItTells) {
  std::string one;
  std::string two;
  for (int i = 0; i < 100'000; ++i) {
    one += "line\n";
    two += i % 2 == 0 ? "line\n" : "other\n";
  }
  EXPECT_EQ(Diff(one, two), "too much");
  EXPECT_EQ(Diff(one, one + "end\n"),
            "--- a\n+++ b\n@@ -99998,3 +99998,4 @@\n line\n line\n line\n+end\n");
}

}  // namespace
}  // namespace podctl
