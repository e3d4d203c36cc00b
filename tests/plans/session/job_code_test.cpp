// What a job was started with, found again.
#include "plans/session/job_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "providers/os/file_system.h"

namespace podctl {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// On a busy machine git may take its time.
class PatientGit final : public ProcessRunner {
 public:
  Result<ProcessResult> Run(const std::vector<std::string>& arguments, std::chrono::milliseconds,
                            std::stop_token stop) override {
    return real_.Run(arguments, std::chrono::minutes(1), std::move(stop));
  }

 private:
  RealProcessRunner real_;
};

class JobCodeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryFolder::Make(fs::temp_directory_path().string());
    ASSERT_TRUE(made);
    folder_.emplace(*std::move(made));
    Write("repo/src/train.py", "one");
    Git("init");
    Commit();
    job_.name = "train";
    job_.sync = {{Path("repo/src"), "~/src", {"*.pyc"}}};
  }
  std::string Path(const std::string& name) const { return folder_->path() + "/" + name; }
  void Write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(Path(name)).parent_path());
    std::ofstream(Path(name)) << text;
  }
  static std::string Text(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  void Git(const std::string& command) {
    const std::string line = "git -C '" + Path("repo") +
                             "' -c user.name=a -c user.email=a@b -c init.defaultBranch=main " +
                             command + " >/dev/null 2>&1";
    ASSERT_EQ(std::system(line.c_str()), 0) << line;  // NOLINT(concurrency-mt-unsafe)
  }
  void Commit() {
    Git("add -A");
    Git("commit -m x");
  }
  CodeDoors Doors() { return {{files_, withheld_}, git_, folder_->path(), {}}; }
  std::vector<CopiedCode> Now() {
    const auto code = CodeOf(Doors(), job_);
    EXPECT_TRUE(code) << code.error().message;
    return code.value_or(std::vector<CopiedCode>());
  }

  std::optional<TemporaryFolder> folder_;
  RealFileSystem files_;
  WithheldFiles withheld_;
  PatientGit git_;
  JobSpec job_;
};

TEST_F(JobCodeTest, WhatLiesThereUnchangedIsCopiedFromThere) {
  const auto code = Now();
  ASSERT_EQ(code.size(), 1u);
  EXPECT_EQ(code[0].commit.size(), 40u);
  const auto same = SameCode::Find(Doors(), job_, code);
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_EQ(same->sync().at(0).source, Path("repo/src"));
}

TEST_F(JobCodeTest, WhatWasChangedSinceComesFromItsCommit) {
  const auto code = Now();
  Write("repo/src/train.py", "two");
  Write("repo/src/more.py", "more");
  Commit();
  std::string exported;
  {
    const auto same = SameCode::Find(Doors(), job_, code);
    ASSERT_TRUE(same) << same.error().message;
    exported = same->sync().at(0).source;
    EXPECT_EQ(Text(exported + "/train.py"), "one");
    EXPECT_FALSE(fs::exists(exported + "/more.py"));
    EXPECT_EQ(same->sync().at(0).destination, "~/src");
  }
  EXPECT_FALSE(fs::exists(exported)) << "it is there for as long as it is needed";
  EXPECT_EQ(Text(Path("repo/src/train.py")), "two") << "the checkout is left alone";
  EXPECT_FALSE(fs::exists(Path("repo/.git/index.lock")));
}

TEST_F(JobCodeTest, AFileAndAFolderThatIsGoneAreFoundToo) {
  job_.sync.push_back({Path("repo/src/train.py"), "~/train.py", {}});
  const auto code = Now();
  fs::remove_all(Path("repo/src"));
  Write("repo/other", "x");
  Commit();
  const auto same = SameCode::Find(Doors(), job_, {code[0]});
  EXPECT_FALSE(same) << "`sync` has other entries";
  const auto both = SameCode::Find(Doors(), job_, code);
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(Text(both->sync().at(0).source + "/train.py"), "one");
  EXPECT_EQ(Text(both->sync().at(1).source), "one");
}

TEST_F(JobCodeTest, ChangesThatWereNotCommittedCannotBeHadAgain) {
  Write("repo/src/train.py", "never committed");
  const auto code = Now();
  Write("repo/src/train.py", "two");
  const auto same = SameCode::Find(Doors(), job_, code);
  ASSERT_FALSE(same);
  EXPECT_THAT(same.error().message,
              HasSubstr("it had changes that were not committed, or git writes it otherwise"));
  EXPECT_THAT(same.error().hint, HasSubstr("podctl run train --detach"));
}

TEST_F(JobCodeTest, WithoutGitOnlyWhatLiesThereHelps) {
  Write("plain/a", "one");
  job_.sync[0].source = Path("plain");
  const auto code = Now();
  EXPECT_EQ(code.at(0).commit, "");
  EXPECT_TRUE(SameCode::Find(Doors(), job_, code));
  Write("plain/a", "two");
  EXPECT_FALSE(SameCode::Find(Doors(), job_, code));
}

// A repository is often somebody else's: what it configures is not run.
TEST_F(JobCodeTest, FiltersOfTheRepositoryAreNotRun) {
  Write("repo/.gitattributes", "*.py filter=evil\n");
  Commit();
  Git("config filter.evil.smudge 'touch " + Path("ran") + "; cat'");
  const auto code = Now();
  Write("repo/src/train.py", "two");
  EXPECT_TRUE(SameCode::Find(Doors(), job_, code));
  EXPECT_FALSE(fs::exists(Path("ran")));
}

}  // namespace
}  // namespace podctl
