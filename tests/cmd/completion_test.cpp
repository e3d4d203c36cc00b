// The completion script, run by the shell it is for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "cmd/command.h"
#include "providers/base/text.h"
#include "providers/os/process.h"

namespace podctl {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

// What bash offers for the last of `words`. `podctl` itself is a function here, which answers what
// is asked of the state.
std::vector<std::string> Complete(const std::vector<std::string>& words) {
  std::ostringstream out;
  std::ostringstream err;
  Streams streams{out, err};
  const GlobalOptions global;
  Context context(global, streams);
  EXPECT_EQ(commands::kCompletion.Run(context, commands::kCompletion.NewOptions()), 0);
  std::string script = out.str();
  script += R"sh(podctl() {
  case "$*" in
    'state list') echo pod.research; echo bootstrap.research.x ;;
    'state history --json') printf '{\n      "lineage": "1",\n      "serial": 41,\n "serial": 40}\n' ;;
  esac
}
)sh";
  script += "COMP_WORDS=(podctl";
  for (const std::string& word : words) script += " " + ShellQuote(word);
  script += ")\nCOMP_CWORD=" + std::to_string(words.size()) +
            "\n_podctl\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
  RealProcessRunner runner;
  const auto result =
      runner.Run({"bash", "--norc", "-c", script}, std::chrono::milliseconds(10'000));
  EXPECT_TRUE(result.has_value());
  if (!result) return {};
  EXPECT_EQ(result->err, "");
  std::vector<std::string> offers = SplitLines(result->out);
  std::erase(offers, "");
  return offers;
}

TEST(Completion, Commands) {
  EXPECT_THAT(Complete({"ap"}), ElementsAre("apply"));
  EXPECT_THAT(Complete({""}), Contains("emulator"));
  EXPECT_THAT(Complete({""}), Not(Contains("list")));
  EXPECT_THAT(Complete({"help", "val"}), ElementsAre("validate"));
  EXPECT_THAT(Complete({"completion", ""}), ElementsAre("bash"));
}

TEST(Completion, Templates) {
  EXPECT_THAT(Complete({"init", "--template", "col"}), ElementsAre("colab"));
  EXPECT_THAT(Complete({"init", "--template", ""}), Contains("gitops"));
}

TEST(Completion, Flags) {
  EXPECT_THAT(Complete({"plan", "--det"}), ElementsAre("--detailed-exitcode"));
  EXPECT_THAT(Complete({"apply", "--auto"}), ElementsAre("--auto-approve"));
  EXPECT_THAT(Complete({"plan", "--auto"}), IsEmpty());
  EXPECT_THAT(Complete({"--par"}), ElementsAre("--parallelism"));
  EXPECT_THAT(Complete({"state", "list", "--js"}), ElementsAre("--json"));
}

TEST(Completion, NestedCommandsPodsAndAddresses) {
  EXPECT_THAT(Complete({"state", ""}), Contains("show"));
  EXPECT_THAT(Complete({"exec", "re"}), ElementsAre("research"));
  EXPECT_THAT(Complete({"state", "show", ""}), ElementsAre("pod.research", "bootstrap.research.x"));
  EXPECT_THAT(Complete({"state", "mv", "pod.b", "po"}), ElementsAre("pod.research"));
  EXPECT_THAT(Complete({"state", "rm", "pod.b", "boot"}), ElementsAre("bootstrap.research.x"));
  EXPECT_THAT(Complete({"state", "restore", ""}), ElementsAre("41", "40"));
}

TEST(Completion, NothingAfterTheDashes) {
  EXPECT_THAT(Complete({"exec", "research", "--", "ap"}), IsEmpty());
}

TEST(Completion, AFlagsValueIsNoCommand) {
  EXPECT_THAT(Complete({"-f", "spec.yaml", "ap"}), ElementsAre("apply"));
  EXPECT_THAT(Complete({"--zone", "z", "plan", "--det"}), ElementsAre("--detailed-exitcode"));
}

}  // namespace
}  // namespace podctl
