// What a spec may not read is told by what it is, whatever it is called.
#include "providers/os/withheld_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "providers/base/error.h"

namespace podctl {
namespace {

namespace fs = std::filesystem;

class WithheldFilesTest : public ::testing::Test {
 protected:
  WithheldFilesTest() {
    std::string pattern = (fs::temp_directory_path() / "podctl-test-XXXXXX").string();
    PODCTL_CHECK(::mkdtemp(pattern.data()) != nullptr);
    folder_ = fs::canonical(pattern).string();
    fs::create_directories(At("src/deep"));
  }
  ~WithheldFilesTest() override { fs::remove_all(folder_); }

  std::string At(const std::string& name) const { return folder_ + "/" + name; }
  std::string Make(const std::string& name) const {
    fs::create_directories(fs::path(At(name)).parent_path());
    std::ofstream(At(name)) << name;
    return At(name);
  }
  bool Withheld(const std::string& path) const { return !withheld_.Why(path).empty(); }
  // "yes", "no", or why it is an error.
  std::string Takes(const std::string& source, const std::string& path) const {
    const auto takes = CopySource(withheld_, At(source)).Takes(At(path));
    if (!takes) return takes.error().message;
    return *takes ? "yes" : "no";
  }

  std::string folder_;
  WithheldFiles withheld_;
};

TEST_F(WithheldFilesTest, WhatTheKernelShowsOfProcessesAndDevices) {
  EXPECT_TRUE(Withheld("/proc/self/environ"));
  EXPECT_TRUE(Withheld("/proc/self/fd/0"));
  EXPECT_TRUE(Withheld("/sys/kernel"));
  EXPECT_TRUE(Withheld("/dev/stdin"));
  EXPECT_FALSE(Withheld("/dev/shm/data"));
  EXPECT_FALSE(Withheld("/process"));
  fs::create_symlink("/proc/self/environ", At("src/harmless"));
  EXPECT_TRUE(Withheld(At("src/harmless")));
  EXPECT_TRUE(Withheld(At("src/../src/./harmless")));
}

TEST_F(WithheldFilesTest, WhatPodctlKeepsForItself) {
  for (const char* name :
       {".podctl/id_ed25519", "x/.podctl/a/b", "podctl.state.json", "podctl.state.json.lock",
        "podctl.state.json.history/1", ".podctl.state.json.1-2.tmp", "x/podctl.errored-42"}) {
    EXPECT_TRUE(Withheld(Make(name))) << name;
  }
  for (const char* name : {"podctl.yaml", "podctl.state.jsonl", "src/a", ".podctlrc"}) {
    EXPECT_FALSE(Withheld(Make(name))) << name;
  }
  fs::create_symlink("../.podctl/id_ed25519", At("src/weights.bin"));
  EXPECT_TRUE(Withheld(At("src/weights.bin")));
}

TEST_F(WithheldFilesTest, AStateOfAnotherName) {
  withheld_.AddState(At("states/mine"));
  EXPECT_TRUE(Withheld(At("states/mine")));
  EXPECT_TRUE(Withheld(Make("states/mine.history/3")));
  EXPECT_TRUE(Withheld(Make("states/.mine.tmp")));
  EXPECT_FALSE(Withheld(Make("states/mineral")));
  EXPECT_FALSE(Withheld(Make("mine")));
}

TEST_F(WithheldFilesTest, WhatPodctlAndGitLogInWith) {
  withheld_.AddCredential(Make("creds.json"));
  withheld_.AddCredential(At("gcloud"));
  EXPECT_TRUE(Withheld(At("creds.json")));
  EXPECT_TRUE(Withheld(Make("gcloud/legacy/x/adc.json")));
  fs::create_hard_link(At("creds.json"), At("src/second-name"));
  EXPECT_TRUE(Withheld(At("src/second-name")));
  EXPECT_TRUE(Withheld(Make("repo/.git/config")));
  EXPECT_FALSE(Withheld(Make("repo/.git/refs/heads/config")));
  EXPECT_FALSE(Withheld(Make("repo/config")));
}

TEST_F(WithheldFilesTest, OfASourceWhatIsWithheldIsLeftOut) {
  Make(".podctl/key");
  Make("src/a");
  EXPECT_EQ(Takes(".", "."), "yes");
  EXPECT_EQ(Takes(".", "./src/a"), "yes");
  EXPECT_EQ(Takes(".", "./.podctl"), "no");
  EXPECT_EQ(Takes(".", "./.podctl/key"), "no");
  EXPECT_EQ(Takes(".podctl", ".podctl"),
            "`" + At(".podctl") + "` is podctl's own: a spec cannot have it copied");
}

TEST_F(WithheldFilesTest, ALinkBelowASourceStaysInIt) {
  Make("src/a");
  Make("outside");
  fs::create_symlink("a", At("src/inner"));
  fs::create_symlink("../outside", At("src/outer"));
  fs::create_symlink("src", At("whole"));
  EXPECT_EQ(Takes("src", "src/inner"), "yes");
  EXPECT_EQ(Takes("src", "src/outer"),
            "`" + At("src/outer") + "` is a link that leads out of the source `" + At("src") + "`");
  EXPECT_EQ(Takes("whole", "whole/a"), "yes") << "the source itself may be a link";
  EXPECT_EQ(Takes("src", "src/not-there"), "yes");
}

}  // namespace
}  // namespace podctl
