#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "providers/os/file_system.h"

namespace podctl {
namespace {

class FollowLinks : public ::testing::Test {
 protected:
  FollowLinks() {
    std::string pattern = (std::filesystem::temp_directory_path() / "podctl-test-XXXXXX").string();
    PODCTL_CHECK(::mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
  }
  ~FollowLinks() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Follow(const std::string& name) {
    auto followed = files_.FollowLinks(Path(name));
    return followed ? *followed : "error: " + followed.error().message;
  }

  std::string folder_;
  RealFileSystem files_;
};

TEST_F(FollowLinks, WhatIsNoLinkStaysAsWritten) {
  EXPECT_EQ(Follow("absent"), Path("absent"));
  EXPECT_EQ(*files_.FollowLinks("plain.json"), "plain.json");
}

TEST_F(FollowLinks, ChainsAreFollowedToTheEndAlsoWhenNothingIsThere) {
  std::filesystem::create_symlink("second", Path("first"));
  std::filesystem::create_symlink(Path("end"), Path("second"));
  EXPECT_EQ(Follow("first"), Path("end"));
}

TEST_F(FollowLinks, ALoopIsAnError) {
  std::filesystem::create_symlink("b", Path("a"));
  std::filesystem::create_symlink("a", Path("b"));
  EXPECT_EQ(Follow("a"), "error: " + Path("a") + " goes through too many symbolic links");
}

}  // namespace
}  // namespace podctl
