#include "providers/os/file_system.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace podctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FileSystemTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "podctl-fs-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  void Put(const std::string& name, const std::string& text) {
    std::ofstream(Path(name), std::ios::binary) << text;
  }

  std::string folder_;
  RealFileSystem files_;
};

TEST_F(FileSystemTest, ReadsWholeFilesUpToALimit) {
  const std::string text(200'000, 'x');
  Put("a", text);
  EXPECT_EQ(*files_.Read(Path("a"), 200'000), text);
  const auto refused = files_.Read(Path("a"), 199'999);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr(Path("a")));
}

TEST_F(FileSystemTest, ReadsThroughSymbolicLinks) {
  Put("a", "text");
  std::filesystem::create_symlink("a", Path("link"));
  EXPECT_EQ(*files_.Read(Path("link"), 10), "text");
}

TEST_F(FileSystemTest, RefusesToReadWhatIsNoFile) {
  EXPECT_EQ(files_.Read(folder_, 10).error().code, ErrorCode::kInvalidArgument);
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(files_.Read(Path("pipe"), 10).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(FileSystemTest, TellsAbsenceFromOtherTrouble) {
  Put("file", "");
  const auto absent = files_.Read(Path("none"), 10);
  EXPECT_EQ(absent.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(absent.error().message, "cannot read " + Path("none") + ": No such file or directory");
  EXPECT_EQ(files_.Read(Path("file/below"), 10).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(files_.Stat(Path("none")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(files_.List(Path("none")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(files_.Remove(Path("none")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(files_.Rename(Path("none"), Path("x")).error().code, ErrorCode::kNotFound);
  if (::geteuid() != 0) {  // root may read anything
    std::filesystem::permissions(Path("file"), std::filesystem::perms::none);
    EXPECT_EQ(files_.Read(Path("file"), 10).error().code, ErrorCode::kPermissionDenied);
  }
}

TEST_F(FileSystemTest, WriteNewIsWholePrivateAndNeverOverwrites) {
  const std::string text(300'000, 'y');
  ASSERT_TRUE(files_.WriteNew(Path("new"), text, 0600).has_value());
  EXPECT_EQ(*files_.Read(Path("new"), 1 << 20), text);
  EXPECT_EQ(files_.Stat(Path("new"))->mode, 0600U);
  EXPECT_EQ(files_.Stat(Path("new"))->size, text.size());
  EXPECT_EQ(files_.WriteNew(Path("new"), "z", 0600).error().code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(*files_.Read(Path("new"), 1 << 20), text);
  EXPECT_EQ(files_.WriteNew(Path("no/new"), "z", 0600).error().code, ErrorCode::kNotFound);
}

TEST_F(FileSystemTest, WriteNewLeavesNothingHalfWritten) {
  // A file size limit stands in for a full disk: write(2) says EFBIG. The test runs in a child,
  // because the limit and the signal's disposition are the process's own.
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto written = files_.WriteNew(Path("big"), std::string(100'000, 'x'), 0600);
    ::_exit(!written && written.error().code == ErrorCode::kIo ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(files_.Stat(Path("big")).error().code, ErrorCode::kNotFound);
}

TEST_F(FileSystemTest, RenamesOverAndSyncs) {
  Put("old", "old");
  Put("new", "new");
  ASSERT_TRUE(files_.Rename(Path("new"), Path("old")).has_value());
  EXPECT_EQ(*files_.Read(Path("old"), 10), "new");
  EXPECT_TRUE(files_.SyncFolder(folder_).has_value());
  EXPECT_FALSE(files_.SyncFolder(Path("old")).has_value());
  EXPECT_FALSE(files_.SyncFolder(Path("none")).has_value());
}

TEST_F(FileSystemTest, ListsNamesSorted) {
  Put("b", "");
  Put("a", "");
  Put(".hidden", "");
  EXPECT_THAT(*files_.List(folder_), ElementsAre(".hidden", "a", "b"));
}

TEST_F(FileSystemTest, MakesFoldersOnTheWay) {
  ASSERT_TRUE(files_.MakeFolders(Path("x/y//z/")).has_value());
  EXPECT_EQ(files_.Stat(Path("x/y/z"))->kind, FileInfo::Kind::kFolder);
  EXPECT_TRUE(files_.MakeFolders(Path("x/y")).has_value());
  EXPECT_TRUE(files_.MakeFolders("/").has_value());
  Put("file", "");
  EXPECT_FALSE(files_.MakeFolders(Path("file/below")).has_value());
  EXPECT_FALSE(files_.MakeFolders(Path("file")).has_value());
}

TEST_F(FileSystemTest, OneLockAtATime) {
  auto first = files_.TryLock(Path("lock"));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->content, "");
  EXPECT_EQ(files_.Stat(Path("lock"))->mode, 0600U);
  ASSERT_TRUE(files_.ReplaceLockText(*first->lock, "a long first text").has_value());
  ASSERT_TRUE(files_.ReplaceLockText(*first->lock, "me").has_value());
  EXPECT_EQ(*files_.Read(Path("lock"), 100), "me");
  const auto second = files_.TryLock(Path("lock"));
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kLocked);
  ASSERT_TRUE(files_.Unlock(std::move(first->lock)).has_value());
  EXPECT_EQ(files_.Stat(Path("lock")).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(files_.TryLock(Path("lock")).has_value());
}

TEST_F(FileSystemTest, PrivateFoldersArePrivateWhateverTheUmask) {
  const mode_t before = ::umask(0);
  const auto made = MakePrivateFolders(files_, Path("a/b/c"));
  ::umask(before);
  ASSERT_TRUE(made) << made.error().message;
  for (const char* name : {"a", "a/b", "a/b/c"}) EXPECT_EQ(files_.Stat(Path(name))->mode, 0700U);
  EXPECT_TRUE(MakePrivateFolders(files_, Path("a/b/c")));
  Put("file", "");
  EXPECT_FALSE(MakePrivateFolders(files_, Path("file/folder")));
}

// What a repository, or whoever may write to the folder, can put in the place of a lock.
TEST_F(FileSystemTest, OnlyAFileOfItsOwnIsLocked) {
  Put("victim", "precious");
  std::filesystem::create_symlink("victim", Path("link"));
  std::filesystem::create_symlink("nothing", Path("dangling"));
  std::filesystem::create_hard_link(Path("victim"), Path("hard"));
  ASSERT_EQ(::mkfifo(Path("fifo").c_str(), 0600), 0);
  std::filesystem::create_directory(Path("folder"));
  EXPECT_THAT(files_.TryLock(Path("link")).error().message, HasSubstr("is a symbolic link"));
  EXPECT_THAT(files_.TryLock(Path("dangling")).error().message, HasSubstr("is a symbolic link"));
  EXPECT_THAT(files_.TryLock(Path("hard")).error().message, HasSubstr("is a hard link"));
  EXPECT_THAT(files_.TryLock(Path("fifo")).error().message, HasSubstr("pipe"));
  EXPECT_THAT(files_.TryLock(Path("folder")).error().message, HasSubstr("Is a directory"));
  EXPECT_FALSE(std::filesystem::exists(Path("nothing")));
  EXPECT_EQ(*files_.Read(Path("victim"), 100), "precious");
}

TEST_F(FileSystemTest, ADroppedLockIsFreeAndTellsWhoHadIt) {
  {
    auto lock = files_.TryLock(Path("lock"));
    ASSERT_TRUE(files_.ReplaceLockText(*lock->lock, "crashed").has_value());
  }
  auto next = files_.TryLock(Path("lock"));
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->content, "crashed");
}

// Somebody opened the file before the holder unlinked it: its lock would be one on a file without a
// name. Unlock leaves alone what is no longer ours.
TEST_F(FileSystemTest, UnlockLeavesAnothersFileAlone) {
  auto mine = files_.TryLock(Path("lock"));
  ASSERT_TRUE(mine.has_value());
  std::filesystem::remove(Path("lock"));  // by hand
  auto theirs = files_.TryLock(Path("lock"));
  ASSERT_TRUE(theirs.has_value());
  ASSERT_TRUE(files_.Unlock(std::move(mine->lock)).has_value());
  EXPECT_TRUE(files_.Stat(Path("lock")).has_value());
  EXPECT_EQ(files_.TryLock(Path("lock")).error().code, ErrorCode::kLocked);
}

// Holders unlink the file when they are done, and others have it open at that moment: still there
// must never be two inside. (flock(2) locks belong to an open file, so that threads will do.)
TEST_F(FileSystemTest, NeverTwoHoldersWhileTheFileComesAndGoes) {
  std::atomic<int> inside{0};
  std::atomic<int> clashes{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        for (int round = 0; round < 20'000; ++round) {
          auto lock = files_.TryLock(Path("lock"));
          if (!lock) continue;
          if (++inside != 1) ++clashes;
          // Time for others to come in, if they can.
          for (int look = 0; look < 100; ++look) (void)files_.Stat(folder_);
          if (inside-- != 1) ++clashes;
          (void)files_.Unlock(std::move(lock->lock));
        }
      });
    }
  }
  EXPECT_EQ(clashes, 0);
}

TEST_F(FileSystemTest, AKilledProcessLeavesNoLock) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto lock = files_.TryLock(Path("lock"));
    if (!lock || !files_.ReplaceLockText(*lock->lock, "child")) ::_exit(1);
    if (::write(ready[1], "x", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(files_.TryLock(Path("lock")).error().code, ErrorCode::kLocked);
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  auto lock = files_.TryLock(Path("lock"));
  ASSERT_TRUE(lock.has_value());
  EXPECT_EQ(lock->content, "child");
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(FileSystemTest, LocksAreNotInheritedByPrograms) {
  auto lock = files_.TryLock(Path("lock"));
  ASSERT_TRUE(lock.has_value());
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (std::filesystem::read_symlink(entry.path(), error) != Path("lock")) continue;
    const int fd = std::stoi(entry.path().filename().string());
    EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
    return;
  }
  FAIL() << "the lock's descriptor was not found";
}

TEST_F(FileSystemTest, AHeldFolderStaysTheOneThatWasLookedAt) {
  ASSERT_TRUE(files_.MakeFolders(Path("elsewhere")));
  auto held = files_.HoldFolder(folder_, "out/below", true);
  ASSERT_TRUE(held) << held.error().message;
  // Somebody leads the way elsewhere, between the look and the use.
  std::filesystem::rename(Path("out"), Path("moved"));
  std::filesystem::create_directory_symlink("elsewhere", Path("out"));
  std::filesystem::create_directories(Path("elsewhere/below"));
  Put("elsewhere/below/x", "theirs");
  HeldFolder& folder = **held;
  EXPECT_EQ(folder.Look("x").error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(folder.WriteNew("t", "ours", 0640, true));
  EXPECT_TRUE(folder.RenameToNew("t", "x"));
  EXPECT_TRUE(folder.Append("y", "one", false));
  EXPECT_TRUE(folder.Append("y", "two", false));
  EXPECT_TRUE(folder.Sync());
  EXPECT_EQ(folder.Read("x", 100)->bytes, "ours");
  EXPECT_EQ(folder.Read("x", 100)->info.mode, 0640U);
  EXPECT_EQ(*files_.Read(Path("moved/below/y"), 100), "onetwo");
  EXPECT_THAT(*folder.List(), ElementsAre("x", "y"));
  EXPECT_TRUE(folder.Remove("x"));
  EXPECT_EQ(*files_.Read(Path("elsewhere/below/x"), 100), "theirs");
}

TEST_F(FileSystemTest, AFolderIsHeldThroughNoLinkBelowItsBase) {
  ASSERT_TRUE(files_.MakeFolders(Path("real/a/b")));
  std::filesystem::create_directory_symlink("real", Path("link"));
  std::filesystem::create_directory_symlink("b", Path("real/a/c"));
  EXPECT_TRUE(files_.HoldFolder(Path("link"), "a/b", false)) << "the base is whoever's asks";
  for (const bool make : {false, true}) {
    for (const std::string below : {"link/a", "real/a/c", "real/a/c/d"}) {
      const auto held = files_.HoldFolder(folder_, below, make);
      ASSERT_FALSE(held) << below;
      EXPECT_EQ(held.error().code, ErrorCode::kFailedPrecondition) << held.error().message;
      EXPECT_THAT(held.error().message, HasSubstr("is a symbolic link"));
    }
  }
  EXPECT_FALSE(files_.HoldFolder(folder_, "real/../..", true));
  EXPECT_EQ(files_.HoldFolder(folder_, "real/x/y", false).error().code, ErrorCode::kNotFound);
  Put("file", "x");
  EXPECT_EQ(files_.HoldFolder(folder_, "file/x", false).error().code, ErrorCode::kNotFound);
  // Nor is a link at a name.
  std::filesystem::create_symlink("file", Path("name"));
  auto held = files_.HoldFolder(folder_, "", false);
  ASSERT_TRUE(held);
  EXPECT_EQ((*held)->Look("name")->kind, FileInfo::Kind::kLink);
  EXPECT_EQ((*held)->Read("name", 9).error().code, ErrorCode::kFailedPrecondition);
  EXPECT_FALSE((*held)->Append("name", "y", true));
  std::filesystem::create_hard_link(Path("file"), Path("twin"));
  EXPECT_FALSE((*held)->Append("twin", "y", true));
  EXPECT_EQ(*files_.Read(Path("file"), 9), "x");
}

TEST_F(FileSystemTest, AFileKeepsWhoseItWas) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  Put("theirs", "x");
  Put("ours", "y");
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(::chown(Path("theirs").c_str(), kNobody, kNobody), 0);
  files_.TakeOwner(Path("ours"), Path("theirs"));
  struct stat there {};
  ASSERT_EQ(::stat(Path("ours").c_str(), &there), 0);
  EXPECT_EQ(there.st_uid, kNobody);
  EXPECT_EQ(there.st_gid, kNobody);
}

TEST(Paths, FolderOf) {
  EXPECT_EQ(FolderOf("a/b"), "a");
  EXPECT_EQ(FolderOf("a"), ".");
  EXPECT_EQ(FolderOf(""), ".");
  EXPECT_EQ(FolderOf("/a"), "/");
  EXPECT_EQ(FolderOf("/"), "/");
  EXPECT_EQ(FolderOf("a/b/"), "a");
}

TEST(Paths, ExpandHome) {
  ::setenv("HOME", "/home/alice", 1);
  EXPECT_EQ(ExpandHome("~/x"), "/home/alice/x");
  EXPECT_EQ(ExpandHome("~"), "/home/alice");
  EXPECT_EQ(ExpandHome("~bob/x"), "~bob/x");
  EXPECT_EQ(ExpandHome("x/~"), "x/~");
  EXPECT_EQ(ExpandHome(""), "");
}

}  // namespace
}  // namespace podctl
