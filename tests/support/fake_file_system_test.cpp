// The fake must be as bad as a real disk may be, or the tests that rest on it prove nothing.
#include "tests/support/fake_file_system.h"

#include <gtest/gtest.h>

namespace podctl::testing {
namespace {

using Torn = FakeFileSystem::TornBytes;

TEST(FakeFileSystem, UnsyncedNamesMayBeLost) {
  for (std::uint64_t kept : {0, 1, 2, 3}) {
    FakeFileSystem files;
    files.SetFile("/old", "old");
    ASSERT_TRUE(files.WriteNew("/new", "new", 0600));
    ASSERT_TRUE(files.Rename("/new", "/old"));
    ASSERT_EQ(files.UnsyncedNames(), 2U);
    files.CutPower(kept, Torn::kGone);
    EXPECT_EQ(files.FileText("/old"), (kept & 2) != 0 ? "new" : "old");
    EXPECT_EQ(files.FileText("/new").has_value(), kept == 1);
  }
}

TEST(FakeFileSystem, SyncedFolderKeepsItsNames) {
  FakeFileSystem files;
  ASSERT_TRUE(files.WriteNew("/a", "text", 0600));
  ASSERT_TRUE(files.SyncFolder("/"));
  EXPECT_EQ(files.UnsyncedNames(), 0U);
  files.CutPower(0, Torn::kGone);
  EXPECT_EQ(files.FileText("/a"), "text");
}

TEST(FakeFileSystem, UnsyncedBytesAreTornAsAsked) {
  const std::pair<Torn, std::string> cases[] = {{Torn::kGone, ""},
                                                {Torn::kHalf, "ab"},
                                                {Torn::kZeroed, std::string(4, '\0')},
                                                {Torn::kWhole, "abcd"}};
  for (const auto& [torn, expected] : cases) {
    FakeFileSystem files;
    files.StopAfter(3);  // created and written, not synced
    EXPECT_FALSE(files.WriteNew("/a", "abcd", 0600));
    files.CutPower(1, torn);
    EXPECT_EQ(files.FileText("/a"), expected);
  }
}

TEST(FakeFileSystem, StoppedMachineDoesNothing) {
  FakeFileSystem files;
  files.StopAfter(0);
  EXPECT_FALSE(files.WriteNew("/a", "x", 0600));
  EXPECT_FALSE(files.Read("/a", 10));
  files.Restart();
  EXPECT_EQ(files.AllFiles().size(), 0U);
  EXPECT_TRUE(files.WriteNew("/a", "x", 0600));
}

TEST(FakeFileSystem, FailsTheCallAskedFor) {
  FakeFileSystem files;
  files.SetFile("/a", "x");
  files.FailCall(2, MakeError(ErrorCode::kIo, "no"));
  EXPECT_TRUE(files.Read("/a", 10));
  EXPECT_FALSE(files.Read("/a", 10));
  EXPECT_TRUE(files.Read("/a", 10));
  files.FailCall(1, MakeError(ErrorCode::kIo, "no"), true);
  EXPECT_FALSE(files.Read("/a", 10));
  EXPECT_FALSE(files.Read("/a", 10));
}

TEST(FakeFileSystem, FullDiskWritesWhatFits) {
  FakeFileSystem files;
  files.LimitSpace(3);
  EXPECT_FALSE(files.WriteNew("/a", "abcdef", 0600));
  EXPECT_EQ(files.FileText("/a"), "abc");
}

TEST(FakeFileSystem, LocksExcludeAndOutliveNothing) {
  FakeFileSystem files;
  {
    auto first = files.TryLock("/l");
    ASSERT_TRUE(first);
    EXPECT_EQ(files.TryLock("/l").error().code, ErrorCode::kLocked);
    ASSERT_TRUE(files.ReplaceLockText(*first->lock, "me"));
  }
  auto second = files.TryLock("/l");
  ASSERT_TRUE(second);
  EXPECT_EQ(second->content, "me");
  ASSERT_TRUE(files.Unlock(std::move(second->lock)));
  EXPECT_EQ(files.AllFiles().size(), 0U);
}

}  // namespace
}  // namespace podctl::testing
