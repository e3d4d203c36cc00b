// What a worker sends lands where it belongs, whole or not at all, whatever it sends.
#include "providers/tar/unpacker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "tests/support/ssh_server.h"

namespace podctl::tar {
namespace {

namespace fs = std::filesystem;
using podctl::testing::ReadAll;
using podctl::testing::RunProgram;
using podctl::testing::TempFolder;
using podctl::testing::WriteAll;
using ::testing::HasSubstr;

std::string Entry(const std::string& name, const std::string& data, Kind kind = Kind::kFile) {
  std::string bytes = HeaderBlocks({name, data.size(), 0644, kind}) + data;
  return bytes.append(Padding(data.size()), '\0');
}

class UnpackerTest : public ::testing::Test {
 protected:
  std::string At(const std::string& name) const { return folder_.path() + "/" + name; }
  // All of it in pieces of `piece` bytes; the first error's message, or "". What was asked for is
  // `asked_`.
  std::string Unpack(const std::string& bytes, const std::string& rename = "",
                     std::size_t piece = 1000) {
    const auto asked = RequestedNames::Of(asked_);
    if (!asked) return asked.error().message;
    Unpacker unpacker(folder_.path(), rename, *asked);
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      if (auto taken = unpacker.Take(std::string_view(bytes).substr(at, piece)); !taken) {
        return taken.error().message;
      }
    }
    const auto whole = unpacker.Finish();
    return whole ? "" : whole.error().message;
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& each : fs::recursive_directory_iterator(folder_.path())) {
      names.push_back(fs::relative(each.path(), folder_.path()));
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  TempFolder folder_;
  std::vector<std::string> asked_ = {"*"};
};

TEST_F(UnpackerTest, TakesWhatTarWritesInPiecesOfAnyLength) {
  const TempFolder from;
  const std::string long_name(97, 'n');  // too long for the header's first field
  fs::create_directories(from.path() + "/x/" + long_name + "/y");
  WriteAll(from.path() + "/x/a", "hello");
  WriteAll(from.path() + "/x/none", "");
  WriteAll(from.path() + "/x/" + long_name + "/y/big", std::string(70'000, 'z'));
  fs::permissions(from.path() + "/x/a", fs::perms::owner_all);
  for (const std::string format : {"gnu", "ustar"}) {
    const TempFolder tar;
    ASSERT_EQ(RunProgram({"tar", "-c", "-h", "--format=" + format, "-f", tar.path() + "/x.tar",
                          "-C", from.path(), "./x"}),
              0);
    const std::string bytes = ReadAll(tar.path() + "/x.tar");
    for (const std::size_t piece : {1U, 511U, 513U, 100'000U}) {
      fs::remove_all(At("x"));
      ASSERT_EQ(Unpack(bytes, "", piece), "");
      EXPECT_EQ(RunProgram({"diff", "-r", from.path() + "/x", At("x")}), 0);
      EXPECT_EQ(fs::status(At("x/a")).permissions() & fs::perms::owner_all, fs::perms::owner_all);
    }
  }
}

TEST_F(UnpackerTest, TheFirstPartOfEachNameCanBeAnother) {
  asked_ = {"x"};
  EXPECT_EQ(Unpack(Entry("./x/", "", Kind::kFolder) + Entry("./x/a", "1") + Entry("./x/x", "2") +
                       EndBlocks(),
                   "other"),
            "");
  EXPECT_EQ(Names(), (std::vector<std::string>{"other", "other/a", "other/x"}));
}

TEST_F(UnpackerTest, NothingLandsOutsideOfTheFolder) {
  for (const std::string name : {"/etc/x", "../x", "a/../../x", "a/..", ".."}) {
    EXPECT_THAT(Unpack(Entry(name, "evil") + EndBlocks()), HasSubstr("leads out of the folder"))
        << name;
    EXPECT_THAT(Unpack(Entry(name + std::string(120, '/'), "evil") + EndBlocks()),
                HasSubstr("leads out of the folder"));
  }
  // A link, by which the next entry would lead out.
  std::string link = Entry("a", "");
  link[156] = '2';
  EXPECT_NE(Unpack(link + EndBlocks()), "");
  EXPECT_TRUE(Names().empty());
}

TEST_F(UnpackerTest, AFileHasItsNameWhenItIsWhole) {
  WriteAll(At("a"), "what was there");
  const std::string bytes = Entry("a", std::string(5000, 'x')) + EndBlocks();
  for (const std::size_t cut : {100U, 600U, 5000U, 5511U}) {
    EXPECT_THAT(Unpack(bytes.substr(0, cut)), HasSubstr("not whole")) << cut;
    EXPECT_EQ(ReadAll(At("a")), "what was there") << cut;
    EXPECT_EQ(Names(), std::vector<std::string>{"a"}) << "nothing is left beside it";
  }
  EXPECT_EQ(Unpack(bytes), "");
  EXPECT_EQ(ReadAll(At("a")), std::string(5000, 'x'));
}

TEST_F(UnpackerTest, AnArchiveThatEndsBetweenTwoFilesIsNotWhole) {
  EXPECT_THAT(Unpack(Entry("a", "1")), HasSubstr("not whole"));
}

// tar fills its last record; who sends more than that may do so for ever.
TEST_F(UnpackerTest, BehindTheEndOnlyTheRestOfARecordIsTaken) {
  const std::string bytes = Entry("a", "1") + EndBlocks();
  EXPECT_EQ(Unpack(bytes + std::string(100'000, '\0')), "");
  EXPECT_THAT(Unpack(bytes + std::string(Unpacker::kMaxRest + 5000, '\0')),
              HasSubstr("behind the end of the archive"));
  EXPECT_EQ(ReadAll(At("a")), "1") << "what came whole is there";
}

TEST_F(UnpackerTest, WhatIsInTheWayIsNamed) {
  fs::create_directories(At("folder"));
  WriteAll(At("file"), "");
  EXPECT_THAT(Unpack(Entry("folder", "x") + EndBlocks()), HasSubstr("folder"));
  EXPECT_THAT(Unpack(Entry("file/", "", Kind::kFolder) + EndBlocks()), HasSubstr("is no folder"));
  EXPECT_THAT(Unpack(Entry("none/a", "x") + EndBlocks()), HasSubstr("none"));
}

TEST_F(UnpackerTest, OnlyWhatWasAskedForLands) {
  const std::string evil = Entry("./run.log", "fine") + Entry("./.bashrc", "evil");
  asked_ = {"logs/run.log"};
  EXPECT_THAT(Unpack(evil + EndBlocks()), HasSubstr("sends `./.bashrc`, which was not asked for"));
  EXPECT_EQ(Names(), std::vector<std::string>{"run.log"});
  EXPECT_THAT(Unpack(Entry(".ssh/authorized_keys", "evil") + EndBlocks()), HasSubstr("not asked"));
  EXPECT_THAT(Unpack(Entry("RUN.LOG", "evil") + EndBlocks()), HasSubstr("not asked"));
  // A name that is longer than the header has room for is judged as a whole.
  EXPECT_THAT(Unpack(Entry("evil/" + std::string(120, 'n'), "x") + EndBlocks()),
              HasSubstr("not asked"));
  asked_ = {"*.log", "x"};
  EXPECT_THAT(Unpack(Entry(".ssh/", "", Kind::kFolder) + EndBlocks()), HasSubstr("not asked"));
  EXPECT_THAT(Unpack(Entry("a.log", "1") + EndBlocks()), HasSubstr("sends nothing for `x`"));
  EXPECT_EQ(Names(), (std::vector<std::string>{"a.log", "run.log"}));
}

TEST_F(UnpackerTest, OneNameIsOneFile) {
  asked_ = {"a", "d", "e/"};
  const std::string d = Entry("d/", "", Kind::kFolder) + Entry("d/x", "1");
  EXPECT_THAT(Unpack(Entry("a", "1") + Entry("a", "2") + EndBlocks()), HasSubstr("that are both"));
  EXPECT_EQ(ReadAll(At("a")), "1");
  EXPECT_THAT(Unpack(d + Entry("./d//x", "2") + EndBlocks()), HasSubstr("that are both"));
  EXPECT_THAT(Unpack(d + d + EndBlocks()), HasSubstr("that are both"));
  EXPECT_THAT(Unpack(d + Entry("d", "file") + EndBlocks()), HasSubstr("that are both"));
  EXPECT_THAT(Unpack(Entry("e", "file") + EndBlocks()), HasSubstr("a file where the folder `e/`"));
  EXPECT_THAT(Unpack(EndBlocks()), HasSubstr("sends nothing for `a`"));
  asked_ = {"~"};
  EXPECT_THAT(Unpack(Entry("home/a", "1") + Entry("other", "2") + EndBlocks(), "home"),
              ::testing::Ne(""));
  EXPECT_FALSE(fs::exists(At("other")));
  // Links and the like come under no name.
  for (const char kind : {'1', '2', '3', '4', '6', '7', 'x', 'g', 'S', 'K'}) {
    std::string other = Entry("home", "");
    other[156] = kind;
    other[153] = static_cast<char>(other[153] + (kind - '0') % 8);
    EXPECT_NE(Unpack(other + EndBlocks(), "home"), "") << kind;
  }
}

TEST_F(UnpackerTest, NothingIsWrittenThroughALinkThatIsThere) {
  const TempFolder outside;
  fs::create_directories(At("d"));
  fs::create_directory_symlink(outside.path(), At("link"));
  fs::create_directory_symlink(outside.path(), At("d/link"));
  EXPECT_THAT(Unpack(Entry("link/a", "x") + EndBlocks()), HasSubstr("and is a link"));
  EXPECT_THAT(Unpack(Entry("d/link/a", "x") + EndBlocks()), HasSubstr("and is a link"));
  EXPECT_THAT(Unpack(Entry("d/link/", "", Kind::kFolder) + EndBlocks()), HasSubstr("is a link"));
  WriteAll(outside.path() + "/file", "mine");
  fs::create_symlink(outside.path() + "/file", At("to-file"));
  EXPECT_EQ(Unpack(Entry("to-file", "theirs") + EndBlocks()), "");
  EXPECT_EQ(ReadAll(outside.path() + "/file"), "mine") << "the link is replaced, not followed";
  EXPECT_EQ(RunProgram({"test", "-L", At("to-file")}), 1);
}

TEST_F(UnpackerTest, NamesThatNobodyWantsAreRefused) {
  for (const std::string name :
       {"a\x1b[2J", "a\nb", "a\rb", "a\x7f", "a\xc2\x9b", "\xe2\x80\xae"}) {
    EXPECT_THAT(Unpack(Entry("d/" + name, "x") + EndBlocks()), HasSubstr("control characters"));
  }
  EXPECT_EQ(Unpack(Entry("latin-\xe9", "x") + EndBlocks()), "") << "an old name, but a name";
  std::string deep;
  for (int i = 0; i < 65; ++i) deep += "d/";
  EXPECT_THAT(Unpack(Entry(deep + "x", "x") + EndBlocks()), HasSubstr("more than 64 deep"));
  // A name of 255 bytes is written, a longer one cannot be.
  EXPECT_EQ(Unpack(Entry(std::string(255, 'n'), "x") + EndBlocks()), "");
  EXPECT_THAT(Unpack(Entry(std::string(300, 'n'), "x") + EndBlocks()), HasSubstr("too long"));
  for (const std::string& each : Names()) EXPECT_THAT(each, Not(HasSubstr(".part")));
}

TEST_F(UnpackerTest, BrokenBytesAreAnError) {
  EXPECT_THAT(Unpack(std::string(512, 'x')), HasSubstr("no tar archive"));
  EXPECT_THAT(Unpack("Welcome to this worker!\n" + Entry("a", "1") + EndBlocks()),
              HasSubstr("no tar archive"));
  std::mt19937 random(11);
  const std::string good = Entry("d/", "", Kind::kFolder) + Entry("d/a", std::string(600, 'x')) +
                           Entry("d/" + std::string(120, 'n'), "y") + EndBlocks();
  for (int i = 0; i < 3000; ++i) {
    std::string bad = good;
    for (int k = 0; k < 3; ++k) bad[random() % bad.size()] = static_cast<char>(random());
    Unpack(bad, "", 1 + random() % 2000);
  }
  for (const std::string& name : Names()) EXPECT_THAT(name, Not(HasSubstr(".part")));
}

}  // namespace
}  // namespace podctl::tar
