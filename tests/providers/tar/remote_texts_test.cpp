// The texts that pack and unpack on a worker, run by this machine's shell in a home of its own.
#include "providers/tar/remote_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "providers/base/text.h"
#include "tests/support/ssh_server.h"

namespace podctl::tar {
namespace {

namespace fs = std::filesystem;
using podctl::testing::ReadAll;
using podctl::testing::RunProgram;
using podctl::testing::TempFolder;
using podctl::testing::WriteAll;
using ::testing::HasSubstr;

class RemoteTextsTest : public ::testing::Test {
 protected:
  RemoteTextsTest() {
    fs::create_directories(Home(""));
    fs::create_directories(At("programs"));
  }
  std::string Home(const std::string& name) const { return folder_.path() + "/home/" + name; }
  std::string At(const std::string& name) const { return folder_.path() + "/" + name; }
  // As sshd does: by the login shell, in the home folder.
  int Run(const std::string& command, const std::string& in, const std::string& out) {
    return RunProgram({"sh", "-c",
                       "cd " + Home("") + " && export HOME=$PWD PATH=" + At("programs") +
                           ":$PATH && exec sh -c " + ShellQuote(command) + " <" + in + " >" + out +
                           " 2>" + At("err")});
  }
  int Pack(const std::vector<std::string>& paths) {
    return Run(PackCommand(paths), "/dev/null", At("x.tar"));
  }
  // The names in what was packed.
  std::string Listed() {
    RunProgram({"sh", "-c", "tar -t -f " + At("x.tar") + " | sort >" + At("list")});
    return ReadAll(At("list"));
  }
  // Packs `sources`, which lie beside the home, and unpacks them as the worker would.
  int Unpack(const std::vector<std::string>& sources, const std::string& to, bool into = false,
             const std::string& mark = "") {
    std::vector<std::string> words = {"tar", "-c", "-f", At("in.tar"), "-C", folder_.path()};
    words.insert(words.end(), sources.begin(), sources.end());
    EXPECT_EQ(RunProgram(words), 0);
    return Run(UnpackCommand(to, into, mark), At("in.tar"), "/dev/null");
  }
  void ExpectNothingLeft() {
    for (const auto& each : fs::recursive_directory_iterator(Home(""))) {
      EXPECT_THAT(each.path().string(), Not(HasSubstr(".podctl-cp"))) << each.path();
    }
  }

  TempFolder folder_;
};

// For a completion: what a line cannot tell is left out.
TEST_F(RemoteTextsTest, ANameIsALine) {
  fs::create_directories(Home("logs/old"));
  for (const char* name : {"logs/-rf", "logs/a b", "logs/.hidden", "logs/nl\nx", "logs/e\x1b[m"}) {
    WriteAll(Home(name), "");
  }
  EXPECT_EQ(Run(ListCommand("~/logs/"), "/dev/null", At("list")), 0);
  EXPECT_EQ(ReadAll(At("list")), "-rf\na b\nold/\n.hidden\n");
  EXPECT_EQ(Run(ListCommand("gone"), "/dev/null", At("list")), 0);
  EXPECT_EQ(ReadAll(At("list")), "");
}

TEST_F(RemoteTextsTest, PathsMeanWhatTheyMeanToAShell) {
  fs::create_directories(Home("logs/deep"));
  WriteAll(Home("logs/a.txt"), "a");
  WriteAll(Home("logs/b.txt"), "b");
  WriteAll(Home("logs/c d'$x.txt"), "c");
  WriteAll(Home("-f"), "dash");
  fs::create_symlink("a.txt", Home("logs/link"));
  const auto listed = [&](const std::vector<std::string>& paths) {
    EXPECT_EQ(Pack(paths), 0) << ReadAll(At("err"));
    return Listed();
  };
  EXPECT_EQ(listed({"~/logs/[ab].txt"}), "./a.txt\n./b.txt\n");
  EXPECT_EQ(listed({"logs/c d'$x.txt"}), "./c d'$x.txt\n");
  EXPECT_EQ(listed({"logs/link", "-f"}), "./-f\n./link\n");
  EXPECT_EQ(listed({Home("logs/deep/")}), "./deep/\n");
  EXPECT_EQ(listed({"logs/deep/.."}),
            "./logs/\n./logs/a.txt\n./logs/b.txt\n./logs/c d'$x.txt\n./logs/deep/\n./logs/link\n");
  EXPECT_THAT(listed({""}), HasSubstr("./home/logs/a.txt"));
}

TEST_F(RemoteTextsTest, WhatIsNotThereIsNamed) {
  EXPECT_EQ(Pack({"~/$(touch evil)/*.txt"}), kNothingToPack);
  EXPECT_THAT(ReadAll(At("err")), HasSubstr("there is no such file or folder"));
  EXPECT_FALSE(fs::exists(Home("evil")));
}

TEST_F(RemoteTextsTest, AFileGetsTheNameOrGoesIntoTheFolder) {
  WriteAll(At("a"), "new");
  EXPECT_EQ(Unpack({"a"}, "~/b"), 0) << ReadAll(At("err"));
  EXPECT_EQ(ReadAll(Home("b")), "new");
  fs::create_directories(Home("folder"));
  EXPECT_EQ(Unpack({"a"}, "folder"), 0);
  EXPECT_EQ(ReadAll(Home("folder/a")), "new");
  EXPECT_EQ(Unpack({"a"}, "made/for it/"), 0);
  EXPECT_EQ(ReadAll(Home("made/for it/a")), "new");
  EXPECT_EQ(Unpack({"a"}, ""), 0);
  EXPECT_EQ(ReadAll(Home("a")), "new");
  EXPECT_EQ(Unpack({"a"}, "none/b"), 1);
  EXPECT_THAT(ReadAll(At("err")), HasSubstr("./none: there is no such folder"));
  ExpectNothingLeft();
}

TEST_F(RemoteTextsTest, AFolderIsMadeOrFilledUp) {
  fs::create_directories(At("src/sub"));
  WriteAll(At("src/sub/a"), "1");
  WriteAll(At("src/.hidden"), "2");
  EXPECT_EQ(Unpack({"src"}, "code"), 0) << ReadAll(At("err"));
  EXPECT_EQ(RunProgram({"diff", "-r", At("src"), Home("code")}), 0);
  WriteAll(Home("code/own"), "stays");
  WriteAll(At("src/sub/a"), "newer");
  EXPECT_EQ(Unpack({"src"}, "code/"), 0);
  EXPECT_EQ(ReadAll(Home("code/src/sub/a")), "newer") << "as cp: into a folder that is there";
  WriteAll(Home("code/src/own"), "stays too");
  WriteAll(At("src/sub/a"), "newest");
  EXPECT_EQ(Unpack({"src"}, "code"), 0);
  EXPECT_EQ(ReadAll(Home("code/src/sub/a")), "newest");
  EXPECT_EQ(ReadAll(Home("code/src/own")), "stays too");
  EXPECT_EQ(ReadAll(Home("code/own")), "stays");
  ExpectNothingLeft();
}

// Workers with one file system: each does the same, and the first may have done it already.
TEST_F(RemoteTextsTest, WhatAnotherWorkerHasJustMadeIsNoFolderToCopyInto) {
  const std::string mark = "1700000000.123456789";
  fs::create_directories(At("src/sub"));
  WriteAll(At("src/sub/a"), "1");
  const auto expect_made = [&](const std::string& name) {
    EXPECT_EQ(RunProgram({"diff", "-r", At("src"), Home(name)}), 0) << name;
    ExpectNothingLeft();
  };
  for (int worker = 0; worker < 3; ++worker) {
    EXPECT_EQ(Unpack({"src"}, "code", false, mark), 0) << ReadAll(At("err"));
    expect_made("code");
    EXPECT_EQ(Unpack({"src"}, "more/", false, mark), 0) << ReadAll(At("err"));
    expect_made("more/src");
  }
  EXPECT_EQ(Unpack({"src"}, "code", false, "1700000000.987654321"), 0);
  EXPECT_TRUE(fs::exists(Home("code/src"))) << "a copy of its own: as cp, into what is there";

  // And where the other one comes in between.
  WriteAll(At("programs/mv"), "#!/bin/sh\ncp -a \"$2\" \"$3\"\nexec /bin/mv \"$@\"\n");
  fs::permissions(At("programs/mv"), fs::perms::owner_all);
  EXPECT_EQ(Unpack({"src"}, "late", false, mark), 0) << ReadAll(At("err"));
  expect_made("late");
  EXPECT_EQ(Unpack({"src"}, "sync", true), 0) << ReadAll(At("err"));
  expect_made("sync/src");
}

TEST_F(RemoteTextsTest, ACutArchiveReplacesNothing) {
  WriteAll(At("a"), std::string(100'000, 'x'));
  WriteAll(Home("a"), "old");
  ASSERT_EQ(RunProgram({"sh", "-c",
                        "tar -c -C " + folder_.path() + " a | head -c 50000 >" + At("cut.tar")}),
            0);
  EXPECT_NE(Run(UnpackCommand("~", false), At("cut.tar"), "/dev/null"), 0);
  EXPECT_EQ(ReadAll(Home("a")), "old");
  ExpectNothingLeft();
}

TEST_F(RemoteTextsTest, AFolderInTheWayIsNotReplaced) {
  WriteAll(At("a"), "x");
  fs::create_directories(Home("a/b"));
  EXPECT_EQ(Unpack({"a"}, "~"), 1);
  EXPECT_THAT(ReadAll(At("err")), HasSubstr("./a: a folder is in the way"));
  EXPECT_TRUE(fs::exists(Home("a/b")));
  ExpectNothingLeft();
}

}  // namespace
}  // namespace podctl::tar
