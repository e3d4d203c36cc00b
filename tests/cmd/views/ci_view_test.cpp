// What a pipeline is told: comments, annotations, reports.
#include "cmd/views/ci_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "tests/plans/harness.h"
#include "tests/support/golden.h"

namespace podctl {
namespace {

using ::testing::AllOf;
using testing::ExpectGolden;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class CiView : public ::testing::Test {
 protected:
  void SetUp() override {
    harness_.Pods(Harness::Pod("a"));
    account_.plan = harness_.MakePlan();
    account_.digest = "sha256:" + std::string(64, 'a');
  }

  Harness harness_;
  RunAccount account_;
  const RunWords words_{"", "https://git.example.com/o/r/actions/runs/7", "7", "0a1b2c3d4e5f60"};
};

TEST_F(CiView, EachEndOfARunHasItsComment) {
  std::string all = PlanComment(account_, words_) + "\n---\n\n";
  ExecuteResult result;
  result.added = 1;
  account_.result = result;
  const auto took = std::chrono::milliseconds(182'000);
  for (const CiApplyEnd end : {CiApplyEnd::kApplied, CiApplyEnd::kNothingToDo, CiApplyEnd::kFailed,
                               CiApplyEnd::kRefused, CiApplyEnd::kInterrupted}) {
    all += ApplyComment(account_, end, took, words_) + "\n---\n\n";
  }
  ExpectGolden("cmd/ci/comments.md", all);
}

TEST_F(CiView, DriftIsAnIssueWithTheCountsAsItsTitle) {
  EXPECT_EQ(DriftTitle(*account_.plan, words_),
            "podctl: drift: 1 to add, 0 to change, 0 to destroy");
  RunWords of_one = words_;
  of_one.project = "pods/a";
  EXPECT_EQ(DriftTitle(*account_.plan, of_one),
            "podctl: drift of pods/a: 1 to add, 0 to change, 0 to destroy");
  EXPECT_THAT(DriftText(account_, of_one), StartsWith("### Drift of `pods/a`: 1 to add"));
}

TEST_F(CiView, NothingOfWhatOthersSayBreaksOut) {
  RunWords hostile;
  hostile.project = "x` @team <!-- --> [a](b)\n### more";
  hostile.run_url = "https://git.example.com/) ![x](https://evil.example.com/?";
  hostile.run_id = "7](x) @team";
  hostile.commit = "abc\n/close";
  Diagnostic problem;
  problem.summary = "no @team `x` <b>\n/close";
  account_.problems.Add(problem);
  for (const std::string& text :
       {PlanComment(account_, hostile), DriftText(account_, hostile),
        ApplyComment(account_, CiApplyEnd::kFailed, std::chrono::seconds(1), hostile)}) {
    EXPECT_THAT(text, AllOf(Not(HasSubstr("evil")), Not(HasSubstr("\n/close")),
                            Not(HasSubstr("\n### more")), Not(HasSubstr("abc"))));
    EXPECT_THAT(text, HasSubstr("``x` @team <!-- --> [a](b) ### more``"));
  }
}

TEST_F(CiView, AnAnnotationIsOneLineAndStandsAtItsPlace) {
  Diagnostic problem;
  problem.summary = "unknown key, `a: b` 100%";
  problem.detail = "two\nlines\n::error::not mine";
  problem.context = "pods.research";
  problem.place = {"specs/a,b:c.yaml", 7, 5, 13, 0};
  std::ostringstream out;
  WriteAnnotation(out, problem, problem.place.file);
  EXPECT_EQ(out.str(),
            "::error file=specs/a%2Cb%3Ac.yaml,line=7,col=5,endColumn=18,title=podctl%3A "
            "pods.research::unknown key, `a: b` 100%25%0Atwo%0Alines%0A::error::not mine\n");
  out.str("");
  problem = Diagnostic();
  problem.severity = Severity::kWarning;
  problem.summary = "there is no place";
  WriteAnnotation(out, problem, "");
  EXPECT_EQ(out.str(), "::warning title=podctl::there is no place\n");
}

TEST_F(CiView, ACodeQualityReportTellsProblemsApart) {
  Diagnostics problems;
  Diagnostic problem;
  problem.summary = "unknown key";
  problem.place = {"a.yaml", 7, 5, 1, 0};
  problems.Add(problem);
  problem.place.line = 9;
  problems.Add(problem);
  problem.severity = Severity::kWarning;
  problem.place = {};
  problems.Add(problem);
  const Value report = CodeQuality(
      problems, [](const std::string& file) { return file.empty() ? "" : "x/" + file; });
  ASSERT_EQ(report.AsList().size(), 3U);
  const auto& list = report.AsList();
  EXPECT_EQ(list[0]["location"]["path"].AsString(), "x/a.yaml");
  EXPECT_EQ(list[0]["location"]["lines"]["begin"].AsInt(), 7);
  EXPECT_EQ(list[0]["severity"].AsString(), "major");
  EXPECT_EQ(list[2]["severity"].AsString(), "minor");
  EXPECT_EQ(list[2]["location"]["path"].AsString(), "podctl.yaml");
  EXPECT_NE(list[0]["fingerprint"].AsString(), list[1]["fingerprint"].AsString());
}

TEST_F(CiView, PathsBeginAtTheRootOfTheRepository) {
  EXPECT_EQ(PathInRepository("podctl.yaml", "/src/r/pods", "/src/r"), "pods/podctl.yaml");
  EXPECT_EQ(PathInRepository("../b/x.yaml", "/src/r/pods", "/src/r/"), "b/x.yaml");
  EXPECT_EQ(PathInRepository("/src/r/a.yaml", "/src/r/pods", "/src/r"), "a.yaml");
  EXPECT_EQ(PathInRepository("/etc/a.yaml", "/src/r", "/src/r"), "/etc/a.yaml");
  EXPECT_EQ(PathInRepository("a.yaml", "/src/r/pods", ""), "a.yaml");
  EXPECT_EQ(PathInRepository(".", "/src/r", "/src/r"), ".");
}

TEST_F(CiView, TheReportOfGitLabsWidgetCountsNoSteps) {
  harness_.Pods(Harness::Pod("a", "    bootstrap: [{name: s, run: echo}]\n"));
  EXPECT_EQ(ToJson(TerraformReport(harness_.MakePlan())),
            "{\"create\":1,\"delete\":0,\"update\":0}");
}

}  // namespace
}  // namespace podctl
