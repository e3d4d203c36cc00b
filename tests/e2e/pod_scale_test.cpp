// The life of a pod that is as large as they are sold, on the emulator's light workers: create,
// bootstrap, a step that fails on three workers and its retry, a flag change, destroy.
//
// With PODCTL_TEST_ALL=1 a v5p-12288 with its 1,536 workers, else one of 64.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const int kWorkers = std::getenv("PODCTL_TEST_ALL") != nullptr ? 1536 : 64;

// Fails on three workers until they are mended; every run of it leaves a line.
std::string Spec(const std::string& flag) {
  return "  big:\n"
         "    acceleratorType: v5p-" +
         std::to_string(kWorkers * 8) +
         "\n"
         "    zone: us-east5-a\n"
         "    runtimeVersion: tpu-vm-tf-2.11.0-pod\n"
         "    libtpuFlags: {xla_jf_conv_full_precision: " +
         flag +
         "}\n"
         "    bootstrap:\n"
         "      - name: prepare\n"
         "        run: |\n"
         "          echo ran >> ~/runs\n"
         "          case $(hostname) in\n"
         "            *-w-7 | *-w-30 | *-w-31) [ -e ~/mended ] || { echo the disk is full; exit 3; "
         "};;\n"
         "          esac\n";
}

class PodScaleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    box_.StartEmulator("light", "0s");
    box_.WriteSpec(Spec("true"));
  }
  // Patient: 1,536 workers on a busy machine of two cores take minutes.
  RunResult Run(const Arguments& arguments) {
    const auto process = box_.Start(arguments);
    process->Wait(std::chrono::minutes(10));
    return process->Result();
  }
  // Runs a command on all workers and counts the answers that end so.
  int CountAnswers(const std::string& command, const std::string& end) {
    const RunResult run = Run({"exec", "big", "--worker", "all", "--", command});
    EXPECT_EQ(run.code, 0) << run.err;
    return CountLines(run.out, "big/", end);
  }
  std::string OnAll() const { return "on " + std::to_string(kWorkers) + " workers"; }

  Sandbox box_;
  // What the running process was given, not what the metadata says.
  const std::string runtime_flags_ =
      "sudo cat /proc/$(systemctl show -p MainPID --value tpu-runtime)/environ | tr '\\0' '\\n' | "
      "grep ^LIBTPU_INIT_ARGS=";
};

TEST_F(PodScaleTest, ALargePodLivesAsCalmlyAsASmallOne) {
  RunResult run = Run({"apply", "--auto-approve"});
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_THAT(run.err, AllOf(HasSubstr("pod.big: Creation complete"),
                             HasSubstr("failed on 3 of " + std::to_string(kWorkers) + " workers"),
                             HasSubstr("workers 7,30-31: the script ended with exit code 3: the "
                                       "disk is full")))
      << run.err;

  EXPECT_EQ(Run({"exec", "big", "--worker", "7,30-31", "--", "touch ~/mended"}).code, 0);
  run = Run({"plan"});
  EXPECT_THAT(run.out, HasSubstr("Bootstrap: 1 step to run on 3 workers.\n")) << run.out;
  EXPECT_EQ(Run({"apply", "--auto-approve"}).code, 0);
  EXPECT_EQ(CountAnswers("cat ~/runs | wc -l", " | 1"), kWorkers - 3) << "ran once where it worked";
  EXPECT_EQ(CountAnswers("cat ~/runs | wc -l", " | 2"), 3);

  EXPECT_EQ(CountAnswers(runtime_flags_, "=true"), kWorkers);
  box_.WriteSpec(Spec("false"));
  run = Run({"plan"});
  EXPECT_THAT(run.out, HasSubstr("Bootstrap: 1 step to run " + OnAll() + ".\n")) << run.out;
  EXPECT_EQ(Run({"apply", "--auto-approve"}).code, 0);
  EXPECT_EQ(CountAnswers(runtime_flags_, "=false"), kWorkers);
  run = Run({"plan", "--detailed-exitcode"});
  EXPECT_EQ(run.code, 0) << run;

  run = Run({"destroy", "--auto-approve"});
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_EQ(box_.Http("GET", "/v2/projects/my-project/locations/us-east5-a/nodes/big").status, 404);
  EXPECT_TRUE(box_.State()["resources"].AsMap().empty()) << ToJson(box_.State());
  EXPECT_TRUE(Eventually([&] { return Descendants(box_.emulator_pid()).size() == 1; }))
      << "only the process that starts the workers' commands is left";
}

TEST_F(PodScaleTest, AKilledApplyHasNotForgottenTheWorkersThatWereThrough) {
  const std::string spec = Spec("true");
  box_.WriteSpec(spec.substr(0, spec.find("          case")) +
                 "          case $(hostname) in\n"
                 "            *-w-5) while ! [ -e ~/go ]; do sleep 0.1; done;;\n"
                 "          esac\n");
  const auto applied = [this] {
    return Remembered(box_.State(), "bootstrap.big.prepare")["workers"].AsMap().size();
  };
  {
    const auto apply = box_.Start({"apply", "--auto-approve"});
    ASSERT_TRUE(Eventually([&] { return applied() == static_cast<std::size_t>(kWorkers - 1); },
                           std::chrono::minutes(10)));
    apply->Signal(SIGKILL);
    EXPECT_EQ(apply->Wait(), 128 + SIGKILL);
  }
  RunResult run = Run({"exec", "big", "--worker", "5", "--", "touch ~/go"});
  EXPECT_EQ(run.code, 0) << run;
  run = Run({"apply", "--auto-approve"});
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_THAT(run.out, HasSubstr("Bootstrap: 1 step to run on 1 worker.\n")) << run.out;
  EXPECT_EQ(CountAnswers("cat ~/runs | wc -l", " | 1"), kWorkers - 1);
}

}  // namespace
}  // namespace podctl::testing
