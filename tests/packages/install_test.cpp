// `cmake --install`: all that is laid down, and nothing else.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cmd/views/manual.h"
#include "plans/spec/shape.h"
#include "providers/os/process.h"
#include "tests/support/folders.h"

namespace podctl {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::chrono::minutes kLimit(2);

std::string ContentOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Paths below `top`, of files.
std::set<std::string> FilesBelow(const fs::path& top) {
  std::set<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(top)) {
    if (!entry.is_directory()) {
      files.insert(entry.path().lexically_relative(top).generic_string());
    }
  }
  return files;
}

class InstallTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = (fs::temp_directory_path() / "podctl-install-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string OutputOf(const std::vector<std::string>& line) {
    RealProcessRunner runner;
    const auto result = runner.Run(line, kLimit);
    EXPECT_TRUE(result) << line.front();
    if (!result) return {};
    EXPECT_EQ(result->exit_code, 0) << line.front() << ": " << result->out << result->err;
    return result->out;
  }

  fs::path folder_;
};

std::set<std::string> Expected() {
  std::set<std::string> files = {
      "bin/podctl",
      "share/bash-completion/completions/podctl",
      "share/zsh/site-functions/_podctl",
      "share/fish/vendor_completions.d/podctl.fish",
      "share/podctl/podctl.schema.json",
      "share/doc/podctl/README.md",
      "share/doc/podctl/CHANGELOG.md",
      "share/doc/podctl/LICENSE",
  };
  for (const ManualPage& page : ManualPages("2026-01-31", Shape{})) {
    files.insert(fmt::format("share/man/man{}/{}", page.section, page.FileName()));
  }
  const fs::path top = testing::SourceFolder();
  for (const std::string& file : FilesBelow(top / "docs")) {
    if (file.starts_with("site/") || file.starts_with("stylesheets/")) continue;
    files.insert("share/doc/podctl/docs/" + file);
  }
  return files;
}

TEST_F(InstallTest, LaysDownTheBinaryItsManualAndItsCompletions) {
  const std::string prefix = folder_ / "prefix";
  OutputOf({PODCTL_CMAKE, "--install", testing::BinaryFolder(), "--prefix", prefix});
  EXPECT_EQ(FilesBelow(prefix), Expected());
  EXPECT_FALSE(fs::exists(fs::path(testing::BinaryFolder()) / "packaging" / "made"))
      << "root may have installed from a folder of somebody else";

  const std::string podctl = prefix + "/bin/podctl";
  EXPECT_THAT(OutputOf({podctl, "version"}), HasSubstr("podctl "));
  EXPECT_EQ(ContentOf(prefix + "/share/bash-completion/completions/podctl"),
            OutputOf({podctl, "completion", "bash"}));
  EXPECT_EQ(ContentOf(prefix + "/share/zsh/site-functions/_podctl"),
            OutputOf({podctl, "completion", "zsh"}));
  EXPECT_EQ(ContentOf(prefix + "/share/fish/vendor_completions.d/podctl.fish"),
            OutputOf({podctl, "completion", "fish"}));
  EXPECT_EQ(ContentOf(prefix + "/share/podctl/podctl.schema.json"), OutputOf({podctl, "schema"}));
}

TEST_F(InstallTest, ThePagesTellTheDateOfTheSource) {
  const std::string prefix = folder_ / "prefix";
  OutputOf({"env", "SOURCE_DATE_EPOCH=86400", PODCTL_CMAKE, "--install", testing::BinaryFolder(),
            "--prefix", prefix});
  EXPECT_THAT(ContentOf(prefix + "/share/man/man1/podctl.1"),
              HasSubstr(".TH PODCTL 1 1970-01-02 "));
}

TEST_F(InstallTest, AStageTakesThePlaceOfTheRoot) {
  const std::string stage = folder_ / "stage";
  OutputOf({"env", "DESTDIR=" + stage, PODCTL_CMAKE, "--install", testing::BinaryFolder(),
            "--prefix", "/usr"});
  EXPECT_EQ(FilesBelow(stage + "/usr"), Expected());
}

// What is built here runs on Debian 12, Ubuntu 22.04 and what is as new: tarball and wheel promise
// that. A newer glibc gives its own versions to what is linked with it.
TEST_F(InstallTest, NoSymbolIsNewerThanGlibc234) {
  constexpr const char* kOfDebian12 = "2.36";
  if (std::string(gnu_get_libc_version()) != kOfDebian12) {
    GTEST_SKIP() << "tarball and wheel are made with glibc " << kOfDebian12 << "; here it is "
                 << gnu_get_libc_version();
  }
  const std::string podctl = testing::BinaryFolder() + "/podctl";
  RealProcessRunner runner;
  const auto result =
      runner.Run({"python3", "-B", testing::SourceFolder() + "/packaging/elf.py", podctl}, kLimit);
  ASSERT_TRUE(result) << result.error().message;
  // The one that packaging/older_libstdcxx.cpp takes back.
  EXPECT_EQ(result->out + result->err, podctl + ": GLIBCXX_3.4.30\n");
}

}  // namespace
}  // namespace podctl
