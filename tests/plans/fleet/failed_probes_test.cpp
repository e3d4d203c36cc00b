// How often in a row a worker's probe has failed, and when its node is to be made anew.
#include "plans/fleet/failed_probes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/support/fake_file_system.h"

namespace podctl {
namespace {

using testing::FakeFileSystem;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class FailedProbesTest : public ::testing::Test {
 protected:
  FailedProbesTest() { files_.SetFolder("/home/alice"); }
  KeptFile Kept() {
    return KeptFile(files_, environment_, "probes", "/home/alice/state.json", "pod.research");
  }
  std::map<int, int> Count(const std::string& uid, const std::map<int, bool>& failed) {
    return FailedProbes(Kept()).Count(uid, failed);
  }
  // Of a pod of two, the second of which has a finding with that code, if any.
  DoctorReport ReportWith(const std::string& code) {
    DoctorReport report;
    report.pod = "research";
    report.workers.resize(2);
    report.workers[1].index = 1;
    if (!code.empty()) report.workers[1].findings.push_back({code, "so", "", ""});
    report.probe.emplace();
    CountFailures(FailedProbes(Kept()), "42", &report);
    return report;
  }

  FakeFileSystem files_;
  FixedEnvironment environment_{{{"HOME", "/home/alice"}}};
};

TEST_F(FailedProbesTest, CountThoseInARow) {
  EXPECT_THAT(Count("42", {{0, false}, {7, true}}), UnorderedElementsAre(Pair(7, 1)));
  EXPECT_THAT(Count("42", {{0, true}, {7, true}}), UnorderedElementsAre(Pair(0, 1), Pair(7, 2)));
  EXPECT_THAT(Count("42", {{7, true}}), UnorderedElementsAre(Pair(0, 1), Pair(7, 3)))
      << "who was not looked at neither fails nor recovers";
  EXPECT_THAT(Count("42", {{0, false}, {7, false}}), IsEmpty());
}

TEST_F(FailedProbesTest, AnotherNodeBeginsAnew) {
  Count("42", {{7, true}});
  EXPECT_THAT(Count("43", {{7, true}}), UnorderedElementsAre(Pair(7, 1)));
}

TEST_F(FailedProbesTest, WhatIsKeptMayBeAnything) {
  const std::string path = Kept().path();
  for (const char* text :
       {"", "[]", "{\"format_version\": \"2.0\", \"uid\": \"42\"}",
        R"({"format_version": "1.0", "uid": "42", "workers": [{"worker": -1, "failures": 9}]})",
        R"({"format_version": "1.0", "uid": "42", "workers": [{"worker": 7, "failures": 1e99}]})",
        R"({"format_version": "1.0", "uid": "42", "workers": {"worker": 7}})"}) {
    Count("42", {{7, true}});  // the folder is there
    files_.SetFile(path, text);
    EXPECT_THAT(Count("42", {{7, true}}), UnorderedElementsAre(Pair(7, 1))) << text;
  }
}

TEST_F(FailedProbesTest, ThreeInARowProposeAReplacement) {
  EXPECT_THAT(ReportWith("not-joined").workers[1].findings, SizeIs(1));
  EXPECT_THAT(ReportWith("vfio-empty").workers[1].findings, SizeIs(1)) << "of whatever kind";
  const DoctorReport third = ReportWith("not-joined");
  ASSERT_THAT(third.workers[1].findings, SizeIs(2));
  EXPECT_EQ(third.workers[1].findings[1].summary, "its probe has failed 3 times in a row");
  EXPECT_EQ(third.workers[1].findings[1].to_do, "podctl apply --replace pod.{pod}");
  EXPECT_EQ(third.probe->failures.at(1), 3);
  EXPECT_THAT(third.workers[0].findings, IsEmpty());
  EXPECT_THAT(ReportWith("").workers[1].findings, IsEmpty());
  EXPECT_THAT(ReportWith("not-joined").workers[1].findings, SizeIs(1)) << "it had recovered";
}

// A new node would have the same ones.
TEST_F(FailedProbesTest, WhatIsNotTheMachinesFaultIsNotCounted) {
  for (int i = 0; i < 4; ++i) {
    EXPECT_THAT(ReportWith("package-differs").workers[1].findings, SizeIs(1));
    EXPECT_THAT(ReportWith("no-egress").workers[1].findings, SizeIs(1));
  }
}

// It is being repaired, say.
TEST_F(FailedProbesTest, WhatIsTheNodesTroubleIsNotCounted) {
  DoctorReport report;
  report.workers.resize(1);
  report.workers[0].findings.push_back({"no-ssh", "so", "", ""});
  report.findings.push_back({"node-state", "it is REPAIRING", "", ""});
  report.probe.emplace();
  CountFailures(FailedProbes(Kept()), "42", &report);
  EXPECT_FALSE(Kept().Load());
}

TEST_F(FailedProbesTest, WithoutAProbeNothingIsCounted) {
  DoctorReport report;
  CountFailures(FailedProbes(Kept()), "42", &report);
  EXPECT_FALSE(Kept().Load());
}

}  // namespace
}  // namespace podctl
