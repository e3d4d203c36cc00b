// How a state is opened, locked, read and saved by who edits it.
#include "plans/session/state_edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plans/session/session_harness.h"

namespace podctl {
namespace {

using ::testing::HasSubstr;
using testing::SessionHarness;

class StateEditTest : public ::testing::Test, protected SessionHarness {
 protected:
  StateEdit Open() { return {Opener()(kStatePath), random}; }
  Result<std::string> LockIt(StateEdit& edit) {
    return edit.Lock({[] { return LockInfo{}; }, {}}, drain.get_token());
  }
};

TEST_F(StateEditTest, AStateThatIsNotThereIsAnEmptyOne) {
  StateEdit edit = Open();
  ASSERT_TRUE(edit.Load());
  EXPECT_FALSE(edit.exists());
  EXPECT_FALSE(edit.state().lineage.empty());
}

TEST_F(StateEditTest, WhatIsSavedIsReadAgain) {
  StateEdit edit = Open();
  ASSERT_EQ(*LockIt(edit), "");
  ASSERT_TRUE(edit.Load());
  podctl::Pods(edit.state())[Addr("pod.a")].project = "p";
  ASSERT_TRUE(edit.Save());
  StateEdit again = Open();
  ASSERT_TRUE(again.Load());
  EXPECT_TRUE(again.exists());
  EXPECT_EQ(podctl::Pods(again.state()).size(), 1U);
  EXPECT_EQ(again.generation(), edit.generation());
}

TEST_F(StateEditTest, OneHoldsTheLock) {
  StateEdit edit = Open();
  ASSERT_TRUE(LockIt(edit));
  StateEdit other = Open();
  EXPECT_EQ(LockIt(other).error().code, ErrorCode::kLocked);
}

TEST_F(StateEditTest, ADeadRunsLockIsTakenOverWithARemark) {
  Lock();
  holder_lives = false;
  files.EndHolder(kLockPath, true);
  StateEdit edit = Open();
  EXPECT_THAT(*LockIt(edit), HasSubstr("bob@here"));
}

TEST_F(StateEditTest, ADamagedStateIsPutAsideOnlyWhereItIsReplacedAnyway) {
  files.SetFile(kStatePath, "{");
  EXPECT_EQ(Open().Load().error().code, ErrorCode::kDataLoss);
  StateEdit edit = Open();
  const auto aside = edit.LoadOrSetAside();
  ASSERT_TRUE(aside);
  EXPECT_EQ(files.FileText(*aside), "{");
  EXPECT_FALSE(edit.exists());
  EXPECT_EQ(*Open().LoadOrSetAside(), "");
}

TEST_F(StateEditTest, WhoWasOvertakenWritesNothingBeside) {
  StateEdit edit = Open();
  ASSERT_TRUE(edit.Load());
  StateEdit other = Open();
  ASSERT_TRUE(other.Load());
  ASSERT_TRUE(other.Save());
  const auto before = files.AllFiles();
  const auto saved = edit.Save();
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(files.AllFiles(), before);
}

TEST_F(StateEditTest, WhatCannotBeSavedIsWrittenBesideWhereThatIsPossible) {
  StateEdit edit = Open();
  ASSERT_TRUE(edit.Load());
  podctl::Pods(edit.state())[Addr("pod.a")].project = "p";
  files.SetReadOnly("/project");
  const auto saved = edit.Save();
  ASSERT_FALSE(saved);
  EXPECT_THAT(saved.error().hint, HasSubstr("podctl state push /tmp/"));
}

TEST_F(StateEditTest, WhatCannotBeWrittenAnywhereIsSaidToBeLost) {
  StateEdit edit = Open();
  ASSERT_TRUE(edit.Load());
  podctl::Pods(edit.state())[Addr("pod.a")].project = "p";
  files.FailCall(1, MakeError(ErrorCode::kIo, "the disk is gone"), true);
  EXPECT_EQ(edit.Save().error().hint,
            "Nothing was changed; once the cause is mended, run the command again.");
}

}  // namespace
}  // namespace podctl
