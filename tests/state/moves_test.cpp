#include "state/moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/sample_state.h"

namespace podctl::testing {
namespace {

TEST(MoveAddress, APodTakesItsStepsAndItsFollowersAlong) {
  State state = SampleState();
  state.pods["pod.last"].depends_on = {"pod.other", "pod.research"};
  state.steps["bootstrap.other.research"].pod = "pod.other";
  const State before = state;
  ASSERT_TRUE(MoveAddress(state, "pod.research", "pod.lab"));

  EXPECT_FALSE(state.pods.contains("pod.research"));
  EXPECT_EQ(state.pods.at("pod.lab"), before.pods.at("pod.research"));
  EXPECT_FALSE(state.steps.contains("bootstrap.research.jupyter"));
  EXPECT_EQ(state.steps.at("bootstrap.lab.jupyter").pod, "pod.lab");
  EXPECT_EQ(state.steps.at("bootstrap.lab.jupyter").workers,
            before.steps.at("bootstrap.research.jupyter").workers);
  EXPECT_TRUE(state.steps.contains("bootstrap.other.research"));
  EXPECT_THAT(state.pods.at("pod.last").depends_on, ::testing::ElementsAre("pod.other", "pod.lab"));

  ASSERT_TRUE(MoveAddress(state, "pod.lab", "pod.research"));
  EXPECT_EQ(state, before);
}

TEST(MoveAddress, AStepStaysWithItsPod) {
  State state = SampleState();
  ASSERT_TRUE(MoveAddress(state, "bootstrap.research.jupyter", "bootstrap.research.lab"));
  EXPECT_TRUE(state.steps.contains("bootstrap.research.lab"));
  EXPECT_EQ(state.steps.size(), 1U);
  for (const char* to :
       {"bootstrap.other.lab", "bootstrap.research.", "bootstrap.", "bootstrap.x"}) {
    EXPECT_EQ(MoveAddress(state, "bootstrap.research.lab", to).error().code,
              ErrorCode::kInvalidArgument)
        << to;
  }
}

TEST(MoveAddress, RefusesWithoutAChange) {
  State state = SampleState();
  state.steps["bootstrap.free.jupyter"].pod = "pod.gone";
  const State before = state;
  const std::tuple<const char*, const char*, ErrorCode> cases[] = {
      {"pod.nobody", "pod.new", ErrorCode::kNotFound},
      {"pod.research", "pod.other", ErrorCode::kAlreadyExists},
      {"pod.research", "pod.research", ErrorCode::kAlreadyExists},
      {"pod.research", "pod.free", ErrorCode::kAlreadyExists},  // its step's name is taken
      {"pod.research", "bootstrap.research.x", ErrorCode::kInvalidArgument},
      {"pod.research", "pod.", ErrorCode::kInvalidArgument},
      {"research", "lab", ErrorCode::kInvalidArgument},
      {"bootstrap.research.none", "bootstrap.research.x", ErrorCode::kNotFound},
  };
  for (const auto& [from, to, code] : cases) {
    auto moved = MoveAddress(state, from, to);
    ASSERT_FALSE(moved) << from << " " << to;
    EXPECT_EQ(moved.error().code, code) << from << " " << to;
    EXPECT_EQ(state, before) << from << " " << to;
  }
}

TEST(MoveAddress, ATrainingJobMovesToAnotherName) {
  State state;
  state.training_jobs["trainingJob.a"].job = "x";
  EXPECT_FALSE(MoveAddress(state, "trainingJob.b", "trainingJob.c"));
  EXPECT_FALSE(MoveAddress(state, "trainingJob.a", "pod.a"));
  ASSERT_TRUE(MoveAddress(state, "trainingJob.a", "trainingJob.b"));
  EXPECT_EQ(state.training_jobs.at("trainingJob.b").job, "x");
  EXPECT_FALSE(state.training_jobs.contains("trainingJob.a"));
}

}  // namespace
}  // namespace podctl::testing
