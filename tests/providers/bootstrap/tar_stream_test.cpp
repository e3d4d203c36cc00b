#include "providers/bootstrap/tar_stream.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/support/ssh_server.h"

namespace podctl::testing {
namespace {

namespace fs = std::filesystem;

class TarStreamTest : public ::testing::Test {
 protected:
  TarStreamTest() {
    fs::create_directories(In("home"));
    fs::create_directories(In("src"));
  }
  std::string In(const std::string& name) const { return folder_.path() + "/" + name; }
  // Unpacks with the system's tar as a worker does, in "home".
  void Unpack() {
    WriteAll(In("archive"), stream_.Finish());
    ASSERT_EQ(RunProgram({"tar", "-xPpmf", In("archive"), "--no-same-owner", "--no-overwrite-dir",
                          "-C", In("home")}),
              0);
  }
  unsigned Mode(const std::string& path) const {
    struct stat info {};
    EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777U;
  }

  TempFolder folder_;
  RealFileSystem files_;
  TarStream stream_;
};

TEST_F(TarStreamTest, PlacesFilesUnderHomeAndElsewhere) {
  WriteAll(In("src/a"), std::string("a\0b\n", 4));
  chmod(In("src/a").c_str(), 0750);
  ASSERT_TRUE(stream_.AddLocal(files_, In("src/a"), "~/renamed"));
  ASSERT_TRUE(stream_.AddLocal(files_, In("src/a"), "~/deep/er/"));
  ASSERT_TRUE(stream_.AddLocal(files_, In("src/a"), "~"));
  ASSERT_TRUE(stream_.AddLocal(files_, In("src/a"), In("outside/a")));
  Unpack();
  for (const char* name : {"home/renamed", "home/deep/er/a", "home/a", "outside/a"}) {
    EXPECT_EQ(ReadAll(In(name)), std::string("a\0b\n", 4)) << name;
    EXPECT_EQ(Mode(In(name)), 0750U) << name;
  }
}

TEST_F(TarStreamTest, CopiesAFolderWithAllThatIsInIt) {
  fs::create_directories(In("src/sub/empty"));
  WriteAll(In("src/sub/file"), std::string(100'000, 'x'));
  WriteAll(In("src/zero"), "");
  fs::create_symlink("zero", In("src/link"));
  ASSERT_TRUE(stream_.AddLocal(files_, In("src"), "~/copy"));
  Unpack();
  EXPECT_EQ(ReadAll(In("home/copy/sub/file")), std::string(100'000, 'x'));
  EXPECT_TRUE(fs::is_directory(In("home/copy/sub/empty")));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(In("home/copy/link"))));
  EXPECT_EQ(fs::file_size(In("home/copy/zero")), 0U);
}

TEST_F(TarStreamTest, TakesNamesLongerThanTheFormatsField) {
  std::string name = "n";
  for (std::size_t size = 95; size < 110; ++size) {
    const std::string longer = std::string(size - 1, 'n') + "e";
    ASSERT_TRUE(stream_.AddFile(longer, longer, 0644));
  }
  const std::string deep = std::string(200, 'd') + "/" + std::string(200, 'f');
  ASSERT_TRUE(stream_.AddFile(deep, "deep", 0644));
  Unpack();
  for (std::size_t size = 95; size < 110; ++size) {
    const std::string longer = std::string(size - 1, 'n') + "e";
    EXPECT_EQ(ReadAll(In("home/" + longer)), longer);
  }
  EXPECT_EQ(ReadAll(In("home/" + deep)), "deep");
}

TEST_F(TarStreamTest, LeavesTheModeOfAFolderThatIsThere) {
  chmod(In("home").c_str(), 0711);
  chmod(In("src").c_str(), 0700);
  ASSERT_TRUE(stream_.AddLocal(files_, In("src"), "~"));
  Unpack();
  EXPECT_EQ(Mode(In("home")), 0711U);
}

TEST_F(TarStreamTest, OfASpecPacksNothingThatIsWithheldOrLeadsElsewhere) {
  fs::create_directories(In("src/.podctl"));
  WriteAll(In("src/.podctl/key"), "the-key");
  WriteAll(In("src/a"), "harmless");
  const WithheldFiles withheld{};
  const CopySource within(withheld, In("src"));
  ASSERT_TRUE(stream_.AddLocal(files_, In("src"), "~/copy", &within));
  Unpack();
  EXPECT_EQ(ReadAll(In("home/copy/a")), "harmless");
  EXPECT_FALSE(fs::exists(In("home/copy/.podctl")));
  fs::create_symlink("/etc/passwd", In("src/s"));
  EXPECT_EQ(stream_.AddLocal(files_, In("src"), "~/copy", &within).error().code,
            ErrorCode::kPermissionDenied);
  const CopySource kernel(withheld, "/proc/self/environ");
  EXPECT_EQ(stream_.AddLocal(files_, "/proc/self/environ", "~/env", &kernel).error().message,
            "`/proc/self/environ` is no file of a disk: a spec cannot have it copied");
}

TEST_F(TarStreamTest, RefusesWhatItCannotPack) {
  EXPECT_EQ(stream_.AddLocal(files_, In("nowhere"), "~/x").error().code, ErrorCode::kNotFound);
  ASSERT_EQ(mkfifo(In("src/pipe").c_str(), 0600), 0);
  EXPECT_EQ(stream_.AddLocal(files_, In("src/pipe"), "~/x").error().code,
            ErrorCode::kInvalidArgument);
  fs::create_directory_symlink(".", In("src/loop"));
  fs::remove(In("src/pipe"));
  EXPECT_FALSE(stream_.AddLocal(files_, In("src"), "~/x")) << "a folder that contains itself";
}

}  // namespace
}  // namespace podctl::testing
