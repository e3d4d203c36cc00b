// What the state knows of the jobs of a pod that has no workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "cmd/arguments.h"
#include "plans/kinds/pod/record.h"
#include "providers/base/json.h"
#include "state/state_json.h"

namespace podctl {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class JobsWithoutPodTest : public ::testing::Test {
 protected:
  // Of a pod whose node is gone.
  void Wanted(int attempt) {
    PodRecord pod;
    pod.project = "p";
    pod.zone = "europe-west4-a";
    pod.current = {"research", "4711", Present{}};
    if (attempt > 0) {
      WantedJob& train = pod.jobs["train"];
      train.start = "12345678";
      train.uid = "4711";
      train.attempt = attempt;
      train.since = "2026-11-27T12:00:00Z";
    }
    State state;
    state.lineage = "8f14e45f-ceea-467f-a0e6-c1a5b1b7d3aa";
    state.digest_key = "00112233445566778899aabbccddeeff";
    state.records.emplace(PodAddress("research"), pod);
    std::ofstream(state_) << StateToJson(state);
    std::ofstream(spec_) << "project: p\nzone: europe-west4-a\npods:\n"
                            "  research: {acceleratorType: v3-32, runtimeVersion: r}\n"
                            "jobs:\n  train:\n    pod: research\n    command: [t]\n"
                            "    logs: gs://my-bucket/logs\n"
                            "    restart: {attempts: 5, on: [preemption]}\n";
  }
  int Run(std::vector<std::string> more, const std::string& spec) {
    std::vector<std::string> words = {"--state", state_, "-f", spec};
    words.insert(words.end(), more.begin(), more.end());
    out_.str("");
    err_.str("");
    Streams streams{out_, err_};
    const auto parsed = ParseArguments(words);
    if (!std::holds_alternative<Invocation>(parsed)) return -1;
    return Dispatch(std::get<Invocation>(parsed), streams);
  }

  const std::string state_ = ::testing::TempDir() + "podctl-jobs-test.state.json";
  const std::string spec_ = ::testing::TempDir() + "podctl-jobs-test.yaml";
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(JobsWithoutPodTest, WhatComesBackIsTold) {
  Wanted(2);
  EXPECT_EQ(Run({"jobs", "research"}, spec_), 0) << err_.str();
  EXPECT_EQ(out_.str(),
            "train comes back with pod.research, attempt 3 of 6: it waits for its pod.\n");
  EXPECT_THAT(err_.str(), HasSubstr("Pod `research` is gone: its node was preempted, or deleted "
                                    "outside of podctl. `podctl apply"));
  EXPECT_EQ(Run({"jobs", "research"}, spec_ + ".none"), 0) << "on a machine without the spec";
  EXPECT_EQ(out_.str(), "train comes back with pod.research, attempt 3: it waits for its pod.\n");
  EXPECT_EQ(Run({"jobs", "research", "--json"}, spec_), 0);
  const auto document = ParseJson(out_.str());
  ASSERT_TRUE(document) << out_.str();
  EXPECT_THAT((*document)["no_workers"].AsString(), HasSubstr("pod `research` is gone"));
  EXPECT_TRUE((*document)["jobs"].AsList().empty());
  ASSERT_EQ((*document)["returning"].AsList().size(), 1);
  EXPECT_EQ(ToJson((*document)["returning"].AsList()[0]),
            "{\"attempt\":3,\"attempts\":6,\"name\":\"train\",\"since\":\"2026-11-27T12:00:00Z\","
            "\"used_up\":false,\"waits_for\":\"pod\"}");
}

TEST_F(JobsWithoutPodTest, WhatHasNoRestartLeftIsToldSo) {
  Wanted(6);
  EXPECT_EQ(Run({"jobs", "research"}, spec_), 0);
  EXPECT_EQ(out_.str(),
            "train does not come back with pod.research any more: its 5 restarts are used up.\n");
}

// Else whoever follows it does not know that it goes on.
TEST_F(JobsWithoutPodTest, WhoFollowsItsLogIsToldWhereItGoesOn) {
  Wanted(2);
  EXPECT_EQ(Run({"logs", "research", "train", "--follow"}, spec_), 1);
  EXPECT_THAT(err_.str(),
              EndsWith("train comes back with pod.research, attempt 3 of 6: it waits for its pod.\n"
                       "Then it is followed with: podctl logs research train --follow\n"
                       "What it has written: podctl logs research train --kept\n"));
  EXPECT_EQ(Run({"logs", "research", "other", "--follow"}, spec_), 1);
  EXPECT_THAT(err_.str(), Not(HasSubstr("comes back")));
}

TEST_F(JobsWithoutPodTest, AJobThatIsForgottenWithItsPodIsNamed) {
  Wanted(2);
  EXPECT_EQ(Run({"state", "rm", "pod.research", "--dry-run"}, spec_), 0) << err_.str();
  EXPECT_EQ(out_.str(),
            "Would remove pod.research\n"
            "Job train would not come back with pod.research any more.\n");
  EXPECT_EQ(Run({"state", "rm", "pod.research", "--dry-run", "--json"}, spec_), 0) << err_.str();
  const auto document = ParseJson(out_.str());
  ASSERT_TRUE(document) << out_.str();
  EXPECT_EQ(ToJson((*document)["forgotten_jobs"]), "[{\"job\":\"train\",\"pod\":\"research\"}]");
}

TEST_F(JobsWithoutPodTest, WhereNothingComesBackItIsAnError) {
  Wanted(0);
  EXPECT_EQ(Run({"jobs", "research"}, spec_), 1);
  EXPECT_EQ(out_.str(), "");
  EXPECT_THAT(err_.str(), HasSubstr("pod `research` is gone"));
}

}  // namespace
}  // namespace podctl
