// Completion in real shells, by keys: what they show, what they put in place, and what of that
// reaches podctl.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/e2e/harness.h"
#include "tests/support/folders.h"

namespace podctl::testing {
namespace {

struct RealShell {
  std::string name;
  Arguments words;   // without anybody's settings
  std::string tabs;  // until all names are shown
  std::string load;  // a line that loads the completion
};

void PrintTo(const RealShell& shell, std::ostream* out) {
  *out << shell.name;
}

class ShellTest : public ::testing::TestWithParam<RealShell> {
 protected:
  static void SetUpTestSuite() {
    box_ = new Sandbox;
    box_->StartEmulator("light");
    box_->SetVariable("NO_COLOR", "1");
    const char* path = std::getenv("PATH");
    box_->SetVariable("PATH", BinaryFolder() + ":" + (path == nullptr ? "/usr/bin:/bin" : path));
    box_->WriteSpec(
        "  research: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0}\n"
        "  speech: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0}\n"
        "jobs:\n  train: {pod: research, command: [echo, hi]}\n");
    box_->Apply();
    const RunResult made = box_->Run({"exec", "research", "--", "echo kept > notes.txt"});
    EXPECT_EQ(made.code, 0) << made;
  }
  static void TearDownTestSuite() { delete box_; }

  static inline Sandbox* box_ = nullptr;
};

TEST_P(ShellTest, CompletesPodsJobsAndPathsOnWorkers) {
  const RealShell& shell = GetParam();
  if (box_->RunProgram({"sh", "-c", "command -v " + shell.name}).code != 0) {
    GTEST_SKIP() << shell.name << " is not installed (apt-get install " << shell.name << ")";
  }
  auto line = box_->RunProgramInPty(shell.words);
  const auto type = [&](const std::string& keys) {
    line->Forget();
    line->SendKeys(keys);
  };
  type(shell.load + "; echo re''ady\n");
  ASSERT_TRUE(line->WaitForText("ready")) << line->shown();

  type("podctl exec " + shell.tabs);
  ASSERT_TRUE(line->WaitForText("research")) << line->shown();
  ASSERT_TRUE(line->WaitForText("speech")) << line->shown();
  type("sp\t");
  ASSERT_TRUE(line->WaitForText("eech")) << line->shown();
  type("-- echo of-it\n");
  ASSERT_TRUE(line->WaitForText("speech/0 | of-it")) << line->shown();
  type("podctl logs research tr\t");
  ASSERT_TRUE(line->WaitForText("ain")) << line->shown();
  type("--tail 1\n");
  ASSERT_TRUE(line->WaitForText("no job `train` on research")) << line->shown();

  // Tilde and all: what the shell puts there is what podctl is to get.
  type("podctl cp research:~/no\t");
  ASSERT_TRUE(line->WaitForText("tes.txt")) << line->shown();
  type(" ./got-" + shell.name + "\n");
  ASSERT_TRUE(line->WaitForText("Copied 1 file")) << line->shown();
  EXPECT_EQ(box_->ReadFile("got-" + shell.name), "kept\n");
  type("exit\n");
  EXPECT_TRUE(line->Wait().has_value());
}

INSTANTIATE_TEST_SUITE_P(
    Real, ShellTest,
    ::testing::Values(
        RealShell{"bash",
                  {"bash", "--norc", "--noprofile", "-i"},
                  "\t\t",
                  "source <(podctl completion bash)"},
        RealShell{"zsh",
                  {"zsh", "-f", "-i"},
                  "\t",
                  "autoload -U compinit && compinit -D && source <(podctl completion zsh)"},
        RealShell{"fish", {"fish", "--no-config", "-i"}, "\t", "podctl completion fish | source"}),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace podctl::testing
