// A training of a real framework, twice: once in peace, and once preempted again and again, at
// moments that nobody has chosen. Both end with the same loss, to the last digit, and what was kept
// of the second one's log reads as one story.
//
// The program is `train.py` beside `checkpoint.py` (checkpoint_program.h). What it has to print,
// the steps in its first process alone:
//   attempt A from step S
//   step N                  each of them, from S + 1 on
//   loss HEX
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "providers/base/text.h"
#include "tests/e2e/checkpoint_program.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {

class StruckTraining {
 public:
  struct Framework {
    std::string launcher;
    std::string python;
    std::string env;  // "A: b, C: d"
    std::string program;
  };

  // `box` has light workers, which reach its buckets.
  explicit StruckTraining(Sandbox& box) : box_(box) {}

  // A pod of four workers, with a job for each of the two.
  void Begin(const Framework& framework) {
    box_.SetVariable("STORAGE_EMULATOR_HOST", box_.url());
    for (const char* bucket : {"checkpoints", "logs"}) {
      const std::string name = std::string(R"({"name": ")") + bucket + "\"}";
      ASSERT_EQ(box_.Http("POST", "/storage/v1/b?project=my-project", name).status, 200);
    }
    box_.WriteFile("src/checkpoint.py", kCheckpointProgram);
    box_.WriteFile("src/train.py", framework.program);
    box_.WriteSpec(
        "  research:\n    acceleratorType: v3-32\n    runtimeVersion: tpu-ubuntu2204-base\n"
        "    schedulingConfig: {spot: true}\n    onPreemption: recreate\njobs:\n" +
        JobOf(framework, "calm") + JobOf(framework, "struck"));
    box_.Apply();
  }

  void ExpectTheSameLoss(int preemptions, std::chrono::milliseconds longest_pause) {
    const RunResult calm = box_.Run({"run", "calm"});
    ASSERT_EQ(calm.code, 0) << calm;
    ASSERT_NE(LossIn(calm.out), "") << calm;
    ASSERT_EQ(box_.Run({"run", "struck", "--detach"}).code, 0);
    const auto watch = box_.Start({"watch", "--interval", "1s"});
    ASSERT_NO_FATAL_FAILURE(Strike(preemptions, longest_pause));
    ASSERT_TRUE(Eventually(
        [&] {
          return watch->out().find("job struck on pod.research has ended well") !=
                 std::string::npos;
        },
        std::chrono::minutes(10)))
        << watch->out() << watch->err();
    watch->Signal(SIGINT);
    EXPECT_EQ(watch->Wait(), 130);
    const RunResult log = box_.Run({"logs", "research", "struck"});
    EXPECT_EQ(LossIn(log.out), LossIn(calm.out)) << log;
    for (const char* words : {"code/train.py", "gang.py", "ship.py"}) {
      EXPECT_TRUE(Eventually([&] { return box_.OnWorkers(words).empty(); })) << words;
    }
    ExpectOneStory();
  }

 private:
  struct Attempt {
    int number = 0;
    int from = 0;
    std::vector<int> steps = {};
  };

  std::string JobOf(const Framework& framework, const std::string& name) const {
    return "  " + name + ":\n    pod: research\n    launcher: " + framework.launcher +
           "\n    command: [\"" + framework.python + "\", code/train.py]\n    env: {" +
           framework.env + ", STORAGE_EMULATOR_HOST: \"" + box_.url() +
           "\"}\n    resume: gs://checkpoints/" + name + "\n    logs: gs://logs/" + name +
           "\n    terminationGracePeriod: 1s\n    restart: {attempts: 200, on: [preemption, "
           "connection, killed, failure], backoff: 0s}\n"
           "    sync: [{source: ./src, destination: ~/code}]\n";
  }

  // In a start, in a step, in a checkpoint, while it comes back.
  void Strike(int preemptions, std::chrono::milliseconds longest_pause) {
    std::mt19937 moments(20261127);
    std::uniform_int_distribution<int> pause(100, static_cast<int>(longest_pause.count()));
    for (int i = 0; i < preemptions; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(pause(moments)));
      ASSERT_TRUE(Eventually([&] {
        return box_.Http("POST", "/emulator/nodes/research:preempt").status == 200;
      })) << "preemption "
          << i;
    }
  }

  static std::string LossIn(const std::string& text) {
    const std::size_t at = text.find("| loss ");
    return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
  }

  static std::vector<Attempt> StoryIn(const std::string& text) {
    std::vector<Attempt> story;
    for (const auto& line : SplitLines(text)) {
      const std::size_t bar = line.find("| ");
      if (bar == std::string::npos) continue;
      const std::string words(line.substr(bar + 2));
      Attempt attempt;
      int step = 0;
      // One that is lost before its end was seen is begun again, and ends at once.
      if (words.starts_with("loss ")) {
        EXPECT_EQ("| " + words, LossIn(text));
      }
      if (std::sscanf(words.c_str(), "attempt %d from step %d", &attempt.number, &attempt.from) ==
          2) {
        story.push_back(attempt);
      } else if (std::sscanf(words.c_str(), "step %d", &step) == 1) {
        EXPECT_FALSE(story.empty()) << "a step of no attempt: " << words;
        if (!story.empty()) story.back().steps.push_back(step);
      }
    }
    return story;
  }

  // What a node had written in its last seconds went with it; of the rest nothing is missing, twice
  // there, or in another order.
  void ExpectOneStory() {
    RunResult kept;
    EXPECT_TRUE(Eventually([&] {
      kept = box_.Run({"logs", "research", "struck", "--kept", "--worker", "0"});
      return !LossIn(kept.out).empty();
    })) << kept;
    EXPECT_THAT(kept.err, ::testing::Not(::testing::HasSubstr("missing"))) << kept;
    const std::vector<Attempt> story = StoryIn(kept.out);
    ASSERT_FALSE(story.empty()) << kept;
    Attempt before;
    for (const Attempt& attempt : story) {
      SCOPED_TRACE("attempt " + std::to_string(attempt.number));
      EXPECT_GE(attempt.number, before.number);
      EXPECT_GE(attempt.from, before.from) << "a checkpoint was lost";
      int step = attempt.from;
      for (const int next : attempt.steps) EXPECT_EQ(next, ++step);
      before = attempt;
    }
  }

  Sandbox& box_;
};

}  // namespace podctl::testing
