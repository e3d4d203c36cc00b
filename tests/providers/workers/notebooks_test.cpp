#include "providers/workers/notebooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "providers/base/text.h"
#include "tests/providers/workers/worker_shell.h"

namespace podctl::workers {
namespace {

using podctl::testing::WorkerShell;
using podctl::testing::WriteAll;
using ::testing::SizeIs;

constexpr const char* kServer =
    R"({"base_url": "/", "hostname": "localhost", "password": false, "port": 8888,)"
    R"( "token": "c0ffee", "url": "http://localhost:8888/"})";

TEST(NotebooksAnswer, IsReadWholeOrRefused) {
  const auto read = ParseNotebooks({"podctl-notebooks 1", kServer, "end"});
  ASSERT_TRUE(read);
  ASSERT_THAT(*read, SizeIs(1));
  EXPECT_EQ(read->front().port, 8888);
  EXPECT_EQ(read->front().base_url, "/");
  EXPECT_EQ(read->front().token, "c0ffee");
  EXPECT_FALSE(ParseNotebooks({}));
  EXPECT_FALSE(ParseNotebooks({"podctl-notebooks 1", kServer}));
  EXPECT_FALSE(ParseNotebooks({kServer, "end"}));
}

// It becomes a part of a URL that somebody opens.
TEST(NotebooksAnswer, APathThatIsNoneIsNotUsed) {
  for (const std::string odd : {"x", "/a b/", "/a\\\"b", "/?x=", "/#", ""}) {
    const auto read =
        ParseNotebooks({"podctl-notebooks 1", R"({"port": 1, "base_url": ")" + odd + "\"}", "end"});
    ASSERT_TRUE(read);
    for (const Notebook& each : *read) EXPECT_EQ(each.base_url, "/") << odd;
  }
  const auto below =
      ParseNotebooks({"podctl-notebooks 1", R"({"port": 1, "base_url": "/user/me"})", "end"});
  EXPECT_EQ(below.value().at(0).base_url, "/user/me/");
}

TEST(NotebooksAnswer, WhatIsNoServerIsLeftOut) {
  const auto read = ParseNotebooks({"podctl-notebooks 1", "Currently running servers:", "[]",
                                    R"({"port": 0, "sock": "/x"})", R"({"port": 70000})", "end"});
  ASSERT_TRUE(read);
  EXPECT_THAT(*read, SizeIs(0));
}

class NotebooksTest : public ::testing::Test {
 protected:
  std::vector<Notebook> Ask() {
    const auto said = worker_.Run(NotebooksCommand());
    const auto read = ParseNotebooks(said.out);
    EXPECT_TRUE(read) << Join(said.out, "\n") << Join(said.err, "\n");
    return read.value_or({});
  }
  void Note(const std::string& file, const std::string& text) {
    const std::string folder = worker_.home() + "/.local/share/jupyter/runtime";
    std::filesystem::create_directories(folder);
    WriteAll(folder + "/" + file, text);
  }
  WorkerShell worker_;
};

TEST_F(NotebooksTest, FilesOfServersThatLiveAreRead) {
  const std::string mine = std::to_string(getpid());
  Note("nbserver-" + mine + ".json",
       Join({"{\n  \"port\": 8888,", "  \"token\": \"old\"\n}"}, "\n"));
  Note("jpserver-" + mine + ".json", R"({"port": 8889, "token": "new", "base_url": "/x/"})");
  // No process has this number: the kernel's largest is below.
  Note("jpserver-99999999.json", R"({"port": 8890, "token": "of a server that was killed"})");
  const auto found = Ask();
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].port, 8889);
  EXPECT_EQ(found[0].base_url, "/x/");
  EXPECT_EQ(found[1].token, "old");
}

TEST_F(NotebooksTest, WithoutFilesJupyterIsAsked) {
  worker_.Program("jupyter",
                  "[ \"$1\" = notebook ] || exit 1; echo '" + std::string(kServer) + "'\n");
  const auto found = Ask();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].token, "c0ffee");
}

TEST_F(NotebooksTest, WithoutJupyterThereIsNone) {
  EXPECT_THAT(Ask(), SizeIs(0));
}

}  // namespace
}  // namespace podctl::workers
