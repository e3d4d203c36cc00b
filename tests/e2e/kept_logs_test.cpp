// A log that stays: what a job has written is read when its pod is gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <set>
#include <sstream>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPod =
    "  research: {acceleratorType: v3-32, runtimeVersion: tpu-vm-tf-2.11.0-pod}\n";
constexpr int kLines = 100;  // that each worker writes in an attempt

class KeptLogsStoryTest : public ::testing::Test {
 protected:
  void Begin() {
    // They share this machine's network, and so reach the emulator's buckets.
    box_.StartEmulator("light", "0s");
    box_.SetVariable("STORAGE_EMULATOR_HOST", box_.url());
    box_.WriteSpec(kPod);
    box_.Apply();
  }
  void MakeBucket() {
    box_.Http("POST", "/storage/v1/b?project=my-project", R"({"name": "my-logs"})");
  }
  void Start(const std::string& script, const std::string& restart) {
    box_.WriteFile("train.sh", script);
    box_.WriteSpec(kPod +
                   std::string("jobs:\n  train:\n    pod: research\n"
                               "    command: [bash, train.sh]\n"
                               "    terminationGracePeriod: 2s\n"
                               "    logs: gs://my-logs/kept/\n"
                               "    sync: [{source: train.sh, destination: ~/train.sh}]\n"
                               "    restart: ") +
                   restart + "\n");
    const RunResult run = box_.Run({"run", "train", "--detach"});
    ASSERT_EQ(run.code, 0) << run;
  }
  RunResult Logs(const Arguments& more = {}) {
    Arguments words = {"logs", "research", "train"};
    words.insert(words.end(), more.begin(), more.end());
    return box_.Run(words);
  }
  bool Becomes(const std::string& state) {
    return Eventually(
        [&] {
          const auto jobs = ParseJson(box_.Run({"jobs", "research", "--json"}).out);
          return jobs && (*jobs)["jobs"].AsList().at(0)["state"] == Value(state);
        },
        std::chrono::seconds(90));
  }
  // The lines of the job itself, each with its worker.
  static std::vector<std::string> LinesOf(const RunResult& run) {
    std::vector<std::string> lines;
    std::istringstream text(run.out);
    for (std::string line; std::getline(text, line);) {
      if (line.find("| line ") != std::string::npos) lines.push_back(line);
    }
    return lines;
  }

  Sandbox box_;
};

TEST_F(KeptLogsStoryTest, AJobIsReadWhenItsPodIsGone) {
  Begin();
  MakeBucket();
  Start(
      "for i in $(seq 100); do echo line $PODCTL_ATTEMPT-$i-; sleep 0.02; done\n"
      "[ $PODCTL_ATTEMPT = 2 ] || [ $PODCTL_WORKER = 2 ] || sleep 1000\n"
      "[ $PODCTL_ATTEMPT = 2 ] || { sleep 4; exit 7; }\n",
      "{attempts: 1, on: [failure], backoff: 0s}");
  // Somebody kills what brings it, in the middle.
  ASSERT_TRUE(Eventually([&] { return box_.OnWorkers("ship.py").size() >= 4; }));
  for (const pid_t pid : box_.OnWorkers("ship.py")) kill(pid, SIGKILL);
  ASSERT_TRUE(Becomes("done"));
  constexpr std::size_t kAll = std::size_t{4} * 2 * kLines;
  EXPECT_TRUE(Eventually([&] { return LinesOf(Logs({"--kept"})).size() >= kAll; })) << Logs();
  // Who brings it ends with it.
  EXPECT_TRUE(Eventually([&] { return box_.OnWorkers("ship.py").empty(); }));
  const RunResult gone = box_.Run({"destroy", "--auto-approve"});
  ASSERT_EQ(gone.code, 0) << gone;

  const RunResult read = Logs();
  EXPECT_EQ(read.code, 0) << read;
  EXPECT_THAT(read.err,
              AllOf(HasSubstr(" What was kept of train in gs://my-logs/kept follows.\n"),
                    HasSubstr("train: attempt 1, first line at 20"),
                    HasSubstr("train: attempt 2, first line at 20"), Not(HasSubstr("missing"))))
      << read;
  const std::vector<std::string> lines = LinesOf(read);
  EXPECT_EQ(lines.size(), kAll);
  EXPECT_EQ(std::set<std::string>(lines.begin(), lines.end()).size(), kAll) << "none twice";
  EXPECT_THAT(read.out, HasSubstr("podctl: "));  // what the workers said of each other

  const RunResult some =
      Logs({"--kept", "--attempt", "2", "--worker", "1,3", "--grep", "-9[0-9]-$", "--since", "1h"});
  EXPECT_EQ(some.code, 0) << some;
  EXPECT_EQ(LinesOf(some).size(), std::size_t{2} * 10) << some;
  EXPECT_THAT(some.out,
              AllOf(HasSubstr("research/1 | line 2-90-\n"), HasSubstr("research/3 | line 2-99-\n"),
                    Not(HasSubstr("research/0"))));
  EXPECT_THAT(some.err, Not(HasSubstr("attempt 1")));

  const RunResult last = Logs({"--from", "gs://my-logs/kept", "--tail", "1", "--timestamps"});
  EXPECT_EQ(LinesOf(last).size(), 0U) << "the time stands before it: " << last;
  EXPECT_THAT(last.out, HasSubstr("Z line 2-100-\n")) << last;

  const RunResult events = Logs({"--kept", "--json", "--worker", "0"});
  EXPECT_THAT(events.out, AllOf(HasSubstr(R"("type":"attempt")"), HasSubstr(R"("time":"20)"),
                                HasSubstr(R"("line":"line 1-1-")")))
      << events;
}

TEST_F(KeptLogsStoryTest, ABucketThatIsNotThereIsToldInTheLogAndTriedAgain) {
  Begin();
  Start("echo line early; until [ -e ~/over ]; do sleep 0.1; done; echo line late\n",
        "{attempts: 0}");
  ASSERT_TRUE(Eventually([&] {
    const RunResult read = Logs({"--worker", "0"});
    return read.out.find("Z the log is not kept in gs://my-logs/kept/research/train/: 404") !=
           std::string::npos;
  })) << Logs();
  const RunResult none = Logs({"--kept"});
  EXPECT_EQ(none.code, 1);
  MakeBucket();
  ASSERT_TRUE(Eventually([&] { return LinesOf(Logs({"--kept"})).size() == 4; }))
      << Logs({"--kept"});
  EXPECT_EQ(box_.Run({"exec", "research", "--", "touch ~/over"}).code, 0);
  ASSERT_TRUE(Becomes("done"));
  EXPECT_TRUE(Eventually([&] { return LinesOf(Logs({"--kept"})).size() == 8; }))
      << Logs({"--kept"});
  EXPECT_THAT(Logs({"--kept", "--worker", "0"}).out,
              HasSubstr("Z the log is kept in gs://my-logs/kept/research/train/ again\n"));
  // On the workers too, lines can be chosen.
  EXPECT_EQ(LinesOf(Logs({"--grep", "late$"})).size(), 4U);
}

TEST_F(KeptLogsStoryTest, AJobThatKeepsNothing) {
  Begin();
  MakeBucket();
  box_.WriteSpec(kPod + std::string("jobs:\n  train: {pod: research, command: [\"true\"]}\n"));
  const RunResult none = Logs({"--kept"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, AllOf(HasSubstr("the job `train` of the spec keeps no log"),
                              HasSubstr("--from gs://BUCKET/PREFIX")))
      << none;
  const RunResult empty = Logs({"--from", "gs://my-logs"});
  EXPECT_EQ(empty.code, 1);
  EXPECT_THAT(empty.err, HasSubstr("nothing of the job train of research is kept in gs://my-logs"))
      << empty;
}

}  // namespace
}  // namespace podctl::testing
