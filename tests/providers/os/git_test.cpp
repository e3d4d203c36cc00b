#include "providers/os/git.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
namespace podctl {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::SizeIs;

constexpr std::chrono::milliseconds kGitPatience{60'000};

// As RealProcessRunner, but on a busy machine git may take its time.
class PatientRunner final : public ProcessRunner {
 public:
  Result<ProcessResult> Run(const std::vector<std::string>& arguments, std::chrono::milliseconds,
                            std::stop_token stop) override {
    return real_.Run(arguments, kGitPatience, std::move(stop));
  }

 private:
  RealProcessRunner real_;
};

// Answers by git's command, "rev-parse", and remembers what was asked.
class ScriptedRunner final : public ProcessRunner {
 public:
  Result<ProcessResult> Run(const std::vector<std::string>& arguments,
                            std::chrono::milliseconds limit, std::stop_token) override {
    asked.push_back(arguments);
    longest = std::max(longest, limit);
    for (const auto& [word, answer] : answers) {
      if (std::find(arguments.begin(), arguments.end(), word) != arguments.end()) return answer;
    }
    return MakeError(ErrorCode::kNotFound, "no such program");
  }
  std::map<std::string, Result<ProcessResult>> answers;
  std::vector<std::vector<std::string>> asked;
  std::chrono::milliseconds longest{0};
};

const std::string kId(40, 'a');

class GitFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "podctl-git-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    const auto version = runner_.Run({"git", "--version"}, kGitPatience, {});
    if (!version || version->exit_code != 0) GTEST_SKIP() << "git is not installed";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Shell(const std::string& line) {
    const auto result = runner_.Run(
        {"sh", "-ec",
         "cd '" + folder_ + "'; export HOME='" + folder_ +
             "' GIT_CONFIG_NOSYSTEM=1; git() { command git -c user.name=A -c user.email=a@b "
             "-c init.defaultBranch=main \"$@\"; }; " +
             line},
        kGitPatience, {});
    EXPECT_TRUE(result && result->exit_code == 0) << line << (result ? result->err : "");
    return result ? result->out : "";
  }
  void Commit() { Shell("git init -q; echo a >spec; git add spec; git commit -qm first"); }
  GitFolder git() { return {runner_, folder_, {}}; }

  PatientRunner runner_;
  std::string folder_;
};

TEST_F(GitFolderTest, TellsTheCommitAndWhetherFilesWereChanged) {
  EXPECT_FALSE(git().Commit());  // no repository
  Commit();
  const auto clean = git().Commit();
  ASSERT_TRUE(clean);
  EXPECT_EQ(clean->id + "\n", Shell("git rev-parse HEAD"));
  EXPECT_FALSE(clean->dirty);
  Shell("echo b >untracked");
  EXPECT_FALSE(git().Commit()->dirty);
  Shell("echo b >>spec");
  EXPECT_TRUE(git().Commit()->dirty);
}

TEST_F(GitFolderTest, KnowsWhichFilesGitFollows) {
  EXPECT_EQ(git().Follows("spec"), false);  // no repository
  Commit();
  Shell("echo i >.gitignore; echo x >i; echo x >u; rm spec");
  EXPECT_EQ(git().Follows("spec"), true);
  for (const char* path : {"i", "u", "absent", "*"}) EXPECT_EQ(git().Follows(path), false) << path;
}

TEST_F(GitFolderTest, RunsNothingThatTheRepositoryNames) {
  Commit();
  Shell(
      "printf '#!/bin/sh\\ntouch \"%s/ran-$1\"; cat\\n' \"$PWD\" >evil; chmod +x evil; "
      "echo '* filter=evil' >.gitattributes; "
      "git config filter.evil.clean \"$PWD/evil clean\"; "
      "git config filter.evil.required true; "
      "git config core.fsmonitor \"$PWD/evil monitor\"; "
      "mkdir hooks; cp evil hooks/post-index-change; git config core.hooksPath \"$PWD/hooks\"; "
      "touch -d 2001-01-01 spec");
  EXPECT_TRUE(git().Commit());
  EXPECT_EQ(git().Follows("spec"), true);
  EXPECT_EQ(Shell("ls | grep ran- || true"), "");
  // What it would have run.
  Shell("touch -d 2002-01-01 spec; git status >/dev/null 2>&1 || true");
  EXPECT_NE(Shell("ls | grep ran- || true"), "");
}

TEST(Git, AFilterThatCannotBeTurnedOffMakesItDirtyUnasked) {
  ScriptedRunner runner;
  runner.answers.emplace("rev-parse", ProcessResult{0, kId + "\n", ""});
  const std::string listed("local\0filter.a=b.clean\0", 23);
  runner.answers.emplace("config", ProcessResult{0, listed, ""});
  runner.answers.emplace("status", ProcessResult{0, "", ""});
  const auto commit = GitFolder(runner, ".", {}).Commit();
  ASSERT_TRUE(commit);
  EXPECT_TRUE(commit->dirty);
  EXPECT_THAT(runner.asked, SizeIs(2));
  EXPECT_LE(runner.longest, std::chrono::seconds(5));
  EXPECT_THAT(runner.asked, ::testing::Each(AllOf(Contains("core.fsmonitor=false"),
                                                  Contains("core.hooksPath=/dev/null"),
                                                  Contains("GIT_ALLOW_PROTOCOL="))));
}

TEST(Git, WithoutGitNothingIsKnown) {
  ScriptedRunner runner;
  EXPECT_FALSE(GitFolder(runner, ".", {}).Commit());
  EXPECT_FALSE(GitFolder(runner, ".", {}).Follows("x"));
  runner.answers.emplace("rev-parse", ProcessResult{0, "--upload-pack=evil\n", ""});
  EXPECT_FALSE(GitFolder(runner, ".", {}).Commit());
}

}  // namespace
}  // namespace podctl
