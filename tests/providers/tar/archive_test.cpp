// Files are packed as they lie there, at any place of the archive, and nothing is lost on the way.
#include "providers/tar/archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <random>

#include "providers/tar/header.h"
#include "tests/support/ssh_server.h"

namespace podctl::tar {
namespace {

namespace fs = std::filesystem;
using podctl::testing::ReadAll;
using podctl::testing::RunProgram;
using podctl::testing::TempFolder;
using podctl::testing::WriteAll;
using ::testing::HasSubstr;

class ArchiveTest : public ::testing::Test {
 protected:
  std::string At(const std::string& name) const { return folder_.path() + "/" + name; }
  std::unique_ptr<Archive> Pack(const std::vector<std::string>& sources) {
    auto archive = Archive::Of(files_, sources);
    EXPECT_TRUE(archive) << archive.error().message;
    return archive ? *std::move(archive) : nullptr;
  }
  static std::string Whole(Archive& archive, std::size_t piece = 7000) {
    std::string bytes;
    std::string buffer(piece, '\0');
    while (const std::size_t got = archive.Read(bytes.size(), buffer.data(), buffer.size())) {
      bytes.append(buffer, 0, got);
    }
    EXPECT_EQ(bytes.size(), archive.size());
    return bytes;
  }

  RealFileSystem files_;
  TempFolder folder_;
};

// What a spec names is packed from the files that were looked at, and from no others.
TEST_F(ArchiveTest, WithinASourceNothingIsPackedThatIsWithheldOrElsewhere) {
  fs::create_directories(At("src/.podctl"));
  WriteAll(At("src/.podctl/key"), "the-key");
  WriteAll(At("src/a"), "harmless");
  const WithheldFiles withheld{};
  const CopySource within(withheld, At("src"));
  const auto archive = Archive::Of(files_, {At("src")}, {}, &within);
  ASSERT_TRUE(archive) << archive.error().message;
  EXPECT_EQ((*archive)->files(), 1u);
  // Exchanged in the middle.
  fs::remove(At("src/a"));
  fs::create_symlink(".podctl/key", At("src/a"));
  EXPECT_EQ(Whole(**archive).find("the-key"), std::string::npos);
  EXPECT_THAT((*archive)->trouble()->message, HasSubstr("was replaced while it was copied"));

  WriteAll(At("outside"), "x");
  fs::create_symlink("../outside", At("src/leads-out"));
  const auto refused = Archive::Of(files_, {At("src")}, {}, &within);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied);
  EXPECT_THAT(refused.error().message, HasSubstr("src/leads-out` is a link that leads out"));
}

TEST_F(ArchiveTest, TarTakesItAndFindsEverything) {
  const std::string long_name(120, 'n');
  fs::create_directories(At("src/deep/" + long_name));
  fs::create_directories(At("src/empty folder"));
  WriteAll(At("src/a.txt"), "hello\n");
  WriteAll(At("src/none"), "");
  WriteAll(At("src/block"), std::string(512, 'b'));
  WriteAll(At("src/it's"), std::string(100'000, 'x') + "end");
  WriteAll(At("src/deep/" + long_name + "/file"), "deep");
  fs::create_symlink("a.txt", At("src/link"));
  fs::permissions(At("src/a.txt"), fs::perms::owner_all);
  const auto archive = Pack({At("src/")});
  EXPECT_EQ(archive->files(), 6U);
  WriteAll(At("x.tar"), Whole(*archive));
  fs::create_directories(At("out"));
  ASSERT_EQ(RunProgram({"tar", "-x", "-p", "-f", At("x.tar"), "-C", At("out")}), 0);
  EXPECT_EQ(RunProgram({"diff", "-r", At("src"), At("out/src")}), 0);
  EXPECT_FALSE(fs::is_symlink(At("out/src/link"))) << "links are followed";
  EXPECT_EQ(fs::status(At("out/src/a.txt")).permissions() & fs::perms::all, fs::perms::owner_all);
  EXPECT_FALSE(archive->trouble());
}

TEST_F(ArchiveTest, EveryPlaceReadsAlike) {
  fs::create_directories(At("src"));
  WriteAll(At("src/a"), std::string(700, 'a'));
  WriteAll(At("src/" + std::string(130, 'b')), "b");
  const auto archive = Pack({At("src")});
  const std::string whole = Whole(*archive, 100'000);
  EXPECT_EQ(Whole(*archive, 1), whole);
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    const std::size_t at = random() % (whole.size() + 10);
    std::string buffer(1 + random() % 1500, '?');
    const std::size_t got = archive->Read(at, buffer.data(), buffer.size());
    ASSERT_EQ(buffer.substr(0, got), at < whole.size() ? whole.substr(at, got) : "");
    ASSERT_EQ(got, at < whole.size() ? std::min(buffer.size(), whole.size() - at) : 0U);
  }
}

TEST_F(ArchiveTest, AFileBeyondEightGibibytesHasItsSize) {
  WriteAll(At("huge"), "");
  ASSERT_EQ(truncate(At("huge").c_str(), off_t{9} << 30), 0);  // takes no room on the disk
  const auto archive = Pack({At("huge")});
  std::string block(kBlock, '\0');
  ASSERT_EQ(archive->Read(0, block.data(), block.size()), kBlock);
  const auto header = ReadHeader(block);
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->size, std::uint64_t{9} << 30);
  EXPECT_EQ(archive->Read(archive->size() - 10, block.data(), block.size()), 10U);
}

TEST_F(ArchiveTest, AFileThatShrinksIsTold) {
  WriteAll(At("log"), std::string(5000, 'x'));
  const auto archive = Pack({At("log")});
  WriteAll(At("log"), "short");
  const std::string whole = Whole(*archive);
  EXPECT_EQ(whole.substr(kBlock, 5), "short");
  EXPECT_EQ(whole.substr(kBlock + 5, 4995), std::string(4995, '\0'));
  ASSERT_TRUE(archive->trouble());
  EXPECT_THAT(archive->trouble()->message, HasSubstr("log became shorter"));
}

TEST_F(ArchiveTest, AFileThatGrowsIsCutWhereItEnded) {
  WriteAll(At("log"), "12345");
  const auto archive = Pack({At("log")});
  WriteAll(At("log"), "1234567890");
  EXPECT_EQ(Whole(*archive).substr(kBlock, 7), std::string("12345\0\0", 7));
  EXPECT_FALSE(archive->trouble());
}

TEST_F(ArchiveTest, WhatCannotBeCopiedIsNamedBeforeAnythingIsSent) {
  const auto error_of = [&](const std::vector<std::string>& sources) {
    const auto archive = Archive::Of(files_, sources);
    return archive ? std::string() : archive.error().message;
  };
  EXPECT_THAT(error_of({At("none")}), HasSubstr("none: No such file or directory"));
  EXPECT_THAT(error_of({"/dev/null"}), HasSubstr("neither a file nor a folder"));
  EXPECT_THAT(error_of({"/"}), HasSubstr("has no name"));
  fs::create_directories(At("one"));
  fs::create_directories(At("two"));
  WriteAll(At("one/a"), "1");
  WriteAll(At("two/a"), "2");
  EXPECT_THAT(error_of({At("one/a"), At("two/a")}), HasSubstr("two of the sources are called `a`"));
  fs::create_directory_symlink(".", At("one/loop"));
  EXPECT_THAT(error_of({At("one")}), HasSubstr("/one/loop/loop")) << "it has an end";
}

}  // namespace
}  // namespace podctl::tar
