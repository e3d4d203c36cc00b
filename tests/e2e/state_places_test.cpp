// A state in a bucket: an outage in the middle of an apply that is killed then, and a state that
// moves there from a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"
#include "tests/support/long_case.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPlace = "gs://states/pods";
constexpr const char* kPods =
    "  research: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0}\n";

class StatePlacesTest : public ::testing::Test {
 protected:
  void Begin(const std::string& delay) {
    box_.StartEmulator("none", delay);
    box_.SetVariable("STORAGE_EMULATOR_HOST", box_.url());
    const Reply made =
        box_.Http("POST", "/storage/v1/b?project=my-project", R"({"name": "states"})");
    ASSERT_EQ(made.status, 200) << ToJson(made.body);
    box_.WriteSpec(kPods);
  }
  void UseBucket() {
    box_.WriteFile("podctl.yaml",
                   box_.ReadFile("podctl.yaml") + "state: " + std::string(kPlace) + "\n");
  }
  // What could not be saved; "": nothing lies there.
  std::string Aside() const {
    for (const auto& entry : std::filesystem::directory_iterator(box_.Path("."))) {
      const std::string name = entry.path().filename();
      if (name.starts_with("podctl.errored-") && !name.ends_with(".part")) return name;
    }
    return "";
  }
  void ExpectOneNodeAndAnEmptyPlan() {
    EXPECT_EQ(box_.Calls("nodes.create"), 1) << ToJson(box_.Requests());
    const RunResult plan = box_.Run({"plan", "--detailed-exitcode"});
    EXPECT_EQ(plan.code, 0) << plan;
  }

  Sandbox box_;
};

TEST_F(StatePlacesTest, AnOutageAndAKillLoseNothingThatWasKnown) {
  PODCTL_LONG_CASE(35);
  Begin("2s");
  UseBucket();
  auto run = box_.Start({"apply", "--auto-approve"});
  ASSERT_TRUE(Eventually([&] { return box_.Calls("nodes.create") == 1; })) << run->err();
  box_.OrderFault(R"({"path": "/storage/v1/", "status": 503, "times": 100000})");
  // Each save is tried for half a minute.
  ASSERT_TRUE(Eventually([&] { return !Aside().empty(); }, std::chrono::seconds(120)))
      << run->err();
  run->Signal(SIGKILL);
  run->Wait();
  box_.ForgetFaults();
  const std::string aside = Aside();
  EXPECT_THAT(box_.ReadFile(aside), HasSubstr("operations/"));
  EXPECT_THAT(box_.Run({"show", aside}).out, HasSubstr("pod.research {"));
  EXPECT_EQ(box_.Run({"state", "list", "--state", aside}).out, "pod.research\n");
  const std::string text = box_.ReadFile(aside);
  // What others may have laid there is not looked at.
  std::filesystem::permissions(box_.Path(aside), std::filesystem::perms(0644));
  EXPECT_THAT(box_.Run({"plan"}).err, Not(HasSubstr("could not save")));
  std::filesystem::permissions(box_.Path(aside), std::filesystem::perms(0600));
  EXPECT_THAT(box_.Run({"plan"}).err, HasSubstr("The next apply here saves it first"));
  const RunResult applied = box_.Run({"apply", "--auto-approve"});
  EXPECT_THAT(applied.err,
              HasSubstr(aside + " holds what an earlier run could not save (apply of "));
  EXPECT_THAT(applied.err, HasSubstr(": saved now, and removed here.\n")) << applied;
  EXPECT_FALSE(std::filesystem::exists(box_.Path(aside)));
  ExpectOneNodeAndAnEmptyPlan();
  // What was saved since is not given up for it.
  box_.WriteFile(aside, text);
  std::filesystem::permissions(box_.Path(aside), std::filesystem::perms(0600));
  EXPECT_THAT(box_.Run({"plan"}).err, HasSubstr("and others have saved since"));
  const RunResult again = box_.Run({"state", "push", aside});
  EXPECT_EQ(again.code, 1) << again;
  EXPECT_THAT(again.err, HasSubstr("another run has saved since")) << again;
  EXPECT_TRUE(box_.Exists(aside));
  // Once pushed, such a file goes.
  box_.WriteFile("podctl.errored-99", box_.Run({"state", "pull"}).out);
  const RunResult pushed = box_.Run({"state", "push", "podctl.errored-99"});
  EXPECT_EQ(pushed.code, 0) << pushed;
  EXPECT_THAT(pushed.out, HasSubstr("podctl.errored-99 was removed, since it is stored now"));
  EXPECT_FALSE(box_.Exists("podctl.errored-99"));
  ExpectOneNodeAndAnEmptyPlan();
}

TEST_F(StatePlacesTest, AStateMovesToTheBucketAndTheFileSaysSo) {
  Begin("0.1s");
  box_.Apply();
  const RunResult commit = box_.RunProgram(
      {"sh", "-c",
       "git init -q . && git add podctl.yaml && git -c user.name=a -c user.email=a@b commit -qm x "
       "&& git rev-parse HEAD"});
  const RunResult moved = box_.Run({"state", "migrate", "--to", kPlace});
  ASSERT_EQ(moved.code, 0) << moved;
  EXPECT_THAT(moved.out,
              AllOf(HasSubstr("Moved the state from podctl.state.json to gs://states/pods: serial"),
                    HasSubstr("Now write into the spec:\n  state: gs://states/pods\n")))
      << moved;
  for (const Arguments& words :
       {Arguments{"plan"}, Arguments{"apply", "--auto-approve"}, Arguments{"show"},
        Arguments{"state", "push", "--force", "podctl.state.json"}}) {
    const RunResult refused = box_.Run(words);
    EXPECT_EQ(refused.code, 1) << refused;
    EXPECT_THAT(refused.err, HasSubstr("was moved to gs://states/pods")) << refused;
  }
  UseBucket();
  ExpectOneNodeAndAnEmptyPlan();
  const RunResult history = box_.Run({"state", "history", "--json"});
  ASSERT_EQ(history.code, 0) << history;
  const Value run = ParseJson(history.out).value_or(Value())["generations"].AsList()[0]["run"];
  EXPECT_EQ(run["operation"], Value("state migrate")) << history;
  if (commit.code == 0) {
    EXPECT_EQ(run["commit"], Value(Replace(commit.out, "\n", ""))) << history;
    EXPECT_EQ(run["dirty"], Value(false)) << history;
  }
  const RunResult same = box_.Run({"state", "diff", "present", "present"});
  EXPECT_EQ(same.code, 0) << same;
  // And back, where the line in the spec is named.
  const RunResult back = box_.Run({"state", "migrate", "--to", "podctl.state.json"});
  ASSERT_EQ(back.code, 0) << back;
  EXPECT_THAT(back.out, AllOf(HasSubstr("Now change podctl.yaml:"),
                              HasSubstr("into:\n  state: podctl.state.json\n")))
      << back;
}

TEST_F(StatePlacesTest, APipelineIsWarnedOfAStateThatItWouldLose) {
  Begin("0.1s");
  constexpr const char* kWarning = "The state would be lost with this pipeline's machine";
  EXPECT_THAT(box_.Run({"plan"}).err, Not(HasSubstr(kWarning)));
  box_.SetVariable("CI", "true");
  const RunResult plan = box_.Run({"plan"});
  EXPECT_EQ(plan.code, 0) << plan;
  EXPECT_THAT(plan.out + plan.err, HasSubstr(kWarning)) << plan;
  const RunResult applied = box_.Run({"apply", "--auto-approve"});
  EXPECT_THAT(applied.out + applied.err, HasSubstr(kWarning)) << applied;
  // The file is there then.
  const RunResult again = box_.Run({"plan"});
  EXPECT_THAT(again.out + again.err, Not(HasSubstr(kWarning))) << again;
  UseBucket();
  const RunResult bucket = box_.Run({"plan"});
  EXPECT_THAT(bucket.out + bucket.err, Not(HasSubstr(kWarning))) << bucket;
}

}  // namespace
}  // namespace podctl::testing
