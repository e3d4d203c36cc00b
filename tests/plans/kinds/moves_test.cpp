#include "plans/kinds/moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plans/kinds/file/record.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/record.h"
#include "plans/kinds/training_job/record.h"
#include "tests/support/addresses.h"
#include "tests/support/sample_state.h"

namespace podctl::testing {
namespace {

TEST(MoveAddress, APodTakesItsStepsAndItsFollowersAlong) {
  State state = SampleState();
  Pods(state)[Addr("pod.last")].depends_on = {Addr("pod.other"), Addr("pod.research")};
  TrainingJobs(state)[Addr("trainingJob.late")].depends_on = {Addr("pod.research")};
  EditableRecordsOf<FileRecord>(state)[Addr("file.hosts")].depends_on = {Addr("pod.research")};
  Steps(state)[Addr("bootstrap.other.research")].pod = Addr("pod.other");
  const State before = state;
  ASSERT_TRUE(MoveAddress(state, Addr("pod.research"), Addr("pod.lab")));

  EXPECT_FALSE(Pods(state).contains(Addr("pod.research")));
  EXPECT_EQ(Pods(state).at(Addr("pod.lab")), Pods(before).at(Addr("pod.research")));
  EXPECT_FALSE(Steps(state).contains(Addr("bootstrap.research.jupyter")));
  EXPECT_EQ(Steps(state).at(Addr("bootstrap.lab.jupyter")).pod, "pod.lab");
  EXPECT_EQ(Steps(state).at(Addr("bootstrap.lab.jupyter")).workers,
            Steps(before).at(Addr("bootstrap.research.jupyter")).workers);
  EXPECT_TRUE(Steps(state).contains(Addr("bootstrap.other.research")));
  EXPECT_THAT(Pods(state).at(Addr("pod.last")).depends_on,
              ::testing::ElementsAre("pod.other", "pod.lab"));
  EXPECT_THAT(TrainingJobs(state).at(Addr("trainingJob.late")).depends_on,
              ::testing::ElementsAre("pod.lab"));
  EXPECT_THAT(RecordsOf<FileRecord>(state).at(Addr("file.hosts")).depends_on,
              ::testing::ElementsAre("pod.lab"));

  ASSERT_TRUE(MoveAddress(state, Addr("pod.lab"), Addr("pod.research")));
  EXPECT_EQ(state, before);
}

// Files and outputs may show what a training job has.
TEST(MoveAddress, ATrainingJobsFollowersGoWithIt) {
  State state = SampleState();
  TrainingJobs(state)[Addr("trainingJob.a")].depends_on = {Addr("pod.research")};
  EditableRecordsOf<FileRecord>(state)[Addr("file.report")].depends_on = {Addr("trainingJob.a")};
  ASSERT_TRUE(MoveAddress(state, Addr("trainingJob.a"), Addr("trainingJob.b")));
  EXPECT_THAT(RecordsOf<FileRecord>(state).at(Addr("file.report")).depends_on,
              ::testing::ElementsAre("trainingJob.b"));
  EXPECT_THAT(TrainingJobs(state).at(Addr("trainingJob.b")).depends_on,
              ::testing::ElementsAre("pod.research"));
}

TEST(MoveAddress, AStepStaysWithItsPod) {
  State state = SampleState();
  ASSERT_TRUE(
      MoveAddress(state, Addr("bootstrap.research.jupyter"), Addr("bootstrap.research.lab")));
  EXPECT_TRUE(Steps(state).contains(Addr("bootstrap.research.lab")));
  EXPECT_EQ(Steps(state).size(), 1U);
  for (const char* to : {"other.lab", "research.", "x"}) {
    const Address address("bootstrap", to);
    EXPECT_EQ(MoveAddress(state, Addr("bootstrap.research.lab"), address).error().code,
              ErrorCode::kInvalidArgument)
        << to;
  }
}

TEST(MoveAddress, RefusesWithoutAChange) {
  State state = SampleState();
  Steps(state)[Addr("bootstrap.free.jupyter")].pod = Addr("pod.gone");
  const State before = state;
  const std::tuple<const char*, const char*, ErrorCode> cases[] = {
      {"pod.nobody", "pod.new", ErrorCode::kNotFound},
      {"pod.research", "pod.other", ErrorCode::kAlreadyExists},
      {"pod.research", "pod.research", ErrorCode::kAlreadyExists},
      {"pod.research", "pod.free", ErrorCode::kAlreadyExists},  // its step's name is taken
      {"pod.research", "bootstrap.research.x", ErrorCode::kInvalidArgument},
      {"bootstrap.research.none", "bootstrap.research.x", ErrorCode::kNotFound},
  };
  for (const auto& [from, to, code] : cases) {
    auto moved = MoveAddress(state, Addr(from), Addr(to));
    ASSERT_FALSE(moved) << from << " " << to;
    EXPECT_EQ(moved.error().code, code) << from << " " << to;
    EXPECT_EQ(state, before) << from << " " << to;
  }
}

TEST(MoveAddress, ATrainingJobMovesToAnotherName) {
  State state;
  TrainingJobs(state)[Addr("trainingJob.a")].current.locator = "x";
  EXPECT_FALSE(MoveAddress(state, Addr("trainingJob.b"), Addr("trainingJob.c")));
  EXPECT_FALSE(MoveAddress(state, Addr("trainingJob.a"), Addr("pod.a")));
  ASSERT_TRUE(MoveAddress(state, Addr("trainingJob.a"), Addr("trainingJob.b")));
  EXPECT_EQ(TrainingJobs(state).at(Addr("trainingJob.b")).current.locator, "x");
  EXPECT_FALSE(TrainingJobs(state).contains(Addr("trainingJob.a")));
}

}  // namespace
}  // namespace podctl::testing
