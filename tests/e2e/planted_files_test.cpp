// What somebody may have committed or left where podctl is about to open a file of its own: links
// that lead to a file of the user's, and pipes. The file keeps its bytes, nothing is waited for,
// and the error names what is in the way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kPrecious = "what the user would miss\n";
constexpr const char* kState = "podctl.state.json";
constexpr const char* kLock = "podctl.state.json.lock";

class PlantedFilesTest : public ::testing::Test {
 protected:
  PlantedFilesTest() { box_.WriteFile("victim", kPrecious); }
  void Begin() {
    box_.StartEmulator("none", "0s");
    box_.WriteSpec("  research: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0}\n");
  }
  void Link(const std::string& name, const std::string& target) const {
    std::filesystem::create_directories(std::filesystem::path(box_.Path(name)).parent_path());
    ASSERT_EQ(symlink(target.c_str(), box_.Path(name).c_str()), 0) << name;
  }
  void Pipe(const std::string& name) const {
    ASSERT_EQ(mkfifo(box_.Path(name).c_str(), 0600), 0) << name;
  }
  void ExpectRefused(const Arguments& words, const std::string& why) {
    const RunResult run = box_.Run(words);
    EXPECT_EQ(run.code, 1) << run;
    EXPECT_THAT(run.err, HasSubstr(why)) << run;
    EXPECT_EQ(box_.ReadFile("victim"), kPrecious) << run;
  }
  std::int64_t Created() { return box_.Calls("nodes.create"); }

  Sandbox box_;
};

TEST_F(PlantedFilesTest, ALockThatIsNoFileOfItsOwn) {
  Begin();
  Link(kLock, "victim");
  ExpectRefused({"apply", "--auto-approve"}, "is a symbolic link");
  std::filesystem::remove(box_.Path(kLock));
  Pipe(kLock);
  ExpectRefused({"apply", "--auto-approve"}, "is a device, pipe or socket");
  std::filesystem::remove(box_.Path(kLock));
  std::filesystem::create_hard_link(box_.Path("victim"), box_.Path(kLock));
  ExpectRefused({"apply", "--auto-approve"}, "podctl.state.json.lock");
  EXPECT_EQ(Created(), 0);
}

TEST_F(PlantedFilesTest, AStateThatLeadsElsewhere) {
  Begin();
  Link(kState, "victim");
  ExpectRefused({"apply", "--auto-approve"}, "the state podctl.state.json is damaged");
  std::filesystem::remove(box_.Path(kState));
  Link(kState, "not-there");
  ExpectRefused({"apply", "--auto-approve"}, "is a symbolic link");
  EXPECT_FALSE(box_.Exists("not-there"));
  std::filesystem::remove(box_.Path(kState));
  Pipe(kState);
  ExpectRefused({"plan"}, kState);
  EXPECT_EQ(Created(), 0);
}

TEST_F(PlantedFilesTest, APlanIsWrittenThroughNone) {
  Begin();
  Link("reviewed.plan", "victim");
  ExpectRefused({"plan", "--out", "reviewed.plan"}, "is not a saved plan");
  std::filesystem::remove(box_.Path("reviewed.plan"));
  Link("reviewed.plan", "not-there");
  ExpectRefused({"plan", "--out", "reviewed.plan"}, "it is a symbolic link to ");
  EXPECT_FALSE(box_.Exists("not-there"));
  std::filesystem::remove(box_.Path("reviewed.plan"));
  Pipe("reviewed.plan");
  ExpectRefused({"plan", "--out", "reviewed.plan"}, "reviewed.plan is not a file");
  ExpectRefused({"apply", "reviewed.plan"}, "reviewed.plan");
}

TEST_F(PlantedFilesTest, InitWritesThroughNone) {
  std::filesystem::create_directory(box_.Path("elsewhere"));
  Link("new/podctl.yaml", "../victim");
  ExpectRefused({"init", "new", "--template", "gitops"}, "is a symbolic link");
  Link("other/.github", "../elsewhere");
  ExpectRefused({"init", "other", "--template", "gitops"}, "is a symbolic link");
  Link("third/podctl.schema.json", "../elsewhere/schema");
  ExpectRefused({"init", "third"}, "is a symbolic link");
  EXPECT_TRUE(std::filesystem::is_empty(box_.Path("elsewhere")));
}

TEST_F(PlantedFilesTest, TheEmulatorKeepsItsJournalInAFileOfItsOwn) {
  const Arguments emulator = {"emulator", "--listen", "127.0.0.1:0", "--workers",
                              "none",     "--data",   "data"};
  Link("data/journal.jsonl", "../victim");
  ExpectRefused(emulator, "journal.jsonl");
  std::filesystem::remove(box_.Path("data/journal.jsonl"));
  Pipe("data/journal.jsonl");
  ExpectRefused(emulator, "journal.jsonl");
}

}  // namespace
}  // namespace podctl::testing
