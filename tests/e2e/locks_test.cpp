// Many runs on one state: one works, the others say who holds the lock or wait for it; and who was
// overtaken does no harm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kRuns = 20;
constexpr const char* kLock = "podctl.state.json.lock";

class LocksTest : public ::testing::Test {
 protected:
  void Begin(const std::string& delay) {
    box_.StartEmulator("none", delay);
    box_.WriteSpec("  research: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0}\n");
  }
  std::vector<std::unique_ptr<Process>> StartMany(const Arguments& words) {
    std::vector<std::unique_ptr<Process>> runs;
    for (int i = 0; i < kRuns; ++i) runs.push_back(box_.Start(words));
    return runs;
  }
  // An apply whose create is under way.
  std::unique_ptr<Process> Holder(Arguments words = {"apply", "--auto-approve"}) {
    auto run = box_.Start(words);
    EXPECT_TRUE(Eventually([&] {
      return !UnderWay(box_.State(), "pod.research")["operation"].AsString().empty();
    })) << run->err();
    return run;
  }
  Value LockText() const { return ParseJson(box_.ReadFile(kLock)).value_or(Value()); }
  // As if a run had left it.
  void LeaveLock(const std::string& host, pid_t pid, const std::string& created) const {
    Value text = Value::EmptyMap();
    text.Set("ID", "33333333-3333-4333-8333-333333333333");
    text.Set("Operation", "apply");
    text.Set("Info", "podctl apply");
    text.Set("Who", "bob@" + host);
    text.Set("Version", "0.1.0");
    text.Set("Created", created);
    text.Set("Path", "podctl.state.json");
    text.Set("Host", host);
    text.Set("Pid", static_cast<int>(pid));
    box_.WriteFile(kLock, ToJson(text) + "\n");
  }
  std::string ThisHost() { return Replace(box_.RunProgram({"uname", "-n"}).out, "\n", ""); }
  void ExpectOneNodeAndAnEmptyPlan() {
    EXPECT_EQ(box_.Calls("nodes.create"), 1) << ToJson(box_.Requests());
    const RunResult plan = box_.Run({"plan", "--detailed-exitcode"});
    EXPECT_EQ(plan.code, 0) << plan;
    EXPECT_FALSE(box_.Exists(kLock));
  }

  Sandbox box_;
};

TEST_F(LocksTest, OfTwentyOneWorksAndNineteenSayWhoDoes) {
  Begin("8s");  // longer than twenty processes take to start
  const auto runs = StartMany({"apply", "--auto-approve"});
  std::vector<Process*> winners;
  std::vector<RunResult> losers;
  for (const auto& run : runs) {
    const RunResult result = run->Result();
    if (result.code == 0) {
      winners.push_back(run.get());
    } else {
      losers.push_back(result);
    }
  }
  ASSERT_EQ(winners.size(), 1U);
  for (const RunResult& run : losers) {
    EXPECT_EQ(run.code, 3) << run;
    EXPECT_THAT(run.err, AllOf(HasSubstr("Error acquiring the state lock"),
                               HasSubstr("Lock Info:\n"), HasSubstr("Operation: apply\n"),
                               HasSubstr("Who:       "), HasSubstr("Created:   20"),
                               HasSubstr("Info:      podctl apply --auto-approve\n"),
                               HasSubstr("Host:      " + ThisHost() + "\n"),
                               HasSubstr("Process:   " + std::to_string(winners[0]->pid()))))
        << run;
  }
  ExpectOneNodeAndAnEmptyPlan();
}

TEST_F(LocksTest, TwentyThatWaitAllEndWell) {
  Begin("2s");
  const auto runs = StartMany({"apply", "--auto-approve", "--lock-timeout", "60s"});
  int waited = 0;
  for (const auto& run : runs) {
    const RunResult result = run->Result();
    EXPECT_EQ(result.code, 0) << result;
    const int words =
        CountLines(result.err, "Acquiring state lock. This may take a few moments...");
    EXPECT_LE(words, 1) << result;
    if (words == 1) {
      EXPECT_THAT(result.err, HasSubstr("Waiting for ")) << result;
      ++waited;
    }
  }
  EXPECT_GT(waited, 0);
  ExpectOneNodeAndAnEmptyPlan();
}

// It sleeps while the lock is broken and another run finishes its work; when it goes on, its state
// is an old one, and must not win.
TEST_F(LocksTest, AStoppedHolderThatWasOvertakenLosesNothingAndDestroysNothing) {
  Begin("3s");
  auto sleeper = Holder();
  sleeper->Signal(SIGSTOP);
  const RunResult refused = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(refused.code, 3) << refused;
  EXPECT_THAT(refused.err, HasSubstr("Process:   " + std::to_string(sleeper->pid()))) << refused;
  const std::string id = LockText()["ID"].AsString();
  const RunResult alive = box_.Run({"unlock", id});
  EXPECT_EQ(alive.code, 3) << alive;
  EXPECT_THAT(alive.err, HasSubstr("is alive")) << alive;

  std::filesystem::remove(box_.Path(kLock));
  const RunResult next = box_.Apply();
  const std::string stored = box_.ReadFile("podctl.state.json");
  sleeper->Signal(SIGCONT);
  EXPECT_EQ(sleeper->Wait(), 3) << sleeper->err();
  EXPECT_EQ(box_.ReadFile("podctl.state.json"), stored);
  EXPECT_THAT(sleeper->err(),
              AllOf(HasSubstr("the state could not be saved"),
                    HasSubstr("was changed by somebody else"), HasSubstr("is written to ")))
      << sleeper->err();
  int aside = 0;
  for (const auto& entry : std::filesystem::directory_iterator(box_.Path("."))) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("podctl.state.json.errored-")) continue;
    EXPECT_THAT(sleeper->err(), HasSubstr("is written to " + name));
    struct stat info {};
    EXPECT_EQ(stat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U) << name;
    EXPECT_TRUE(ParseJson(box_.ReadFile(name))) << name;
    ++aside;
  }
  EXPECT_EQ(aside, 1) << sleeper->err();
  ExpectOneNodeAndAnEmptyPlan();
}

TEST_F(LocksTest, AKilledHolderIsTakenOverWithANote) {
  Begin("2s");
  auto killed = Holder();
  killed->Signal(SIGKILL);
  killed->Wait();
  const RunResult status = box_.Run({"lock", "status"});
  EXPECT_THAT(status.out,
              AllOf(HasSubstr("Nobody holds the state podctl.state.json.\nThe lock of "),
                    HasSubstr("process " + std::to_string(killed->pid())),
                    HasSubstr("the next one takes it over")))
      << status;
  const Value document = *ParseJson(box_.Run({"lock", "status", "--json"}).out);
  EXPECT_FALSE(document["locked"].AsBool());
  EXPECT_EQ(document["left_behind"]["pid"].AsInt(), killed->pid());
  const RunResult next = box_.Apply();
  EXPECT_THAT(next.err, AllOf(HasSubstr("took over the state lock of "),
                              HasSubstr("process " + std::to_string(killed->pid()))))
      << next;
  ExpectOneNodeAndAnEmptyPlan();
}

TEST_F(LocksTest, TheLockOfAnotherHostStandsUntilItIsBroken) {
  Begin("0.1s");
  LeaveLock("elsewhere", 4711, "2026-11-20T14:00:00Z");
  const RunResult refused = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(refused.code, 3) << refused;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("a run on host elsewhere did not release it"),
                                 HasSubstr("podctl unlock 33333333-")))
      << refused;
  EXPECT_EQ(box_.Run({"unlock", "33333333-3333-4333-8333-333333333333"}).code, 0);
  box_.Apply();
  ExpectOneNodeAndAnEmptyPlan();
}

// The number of a dead run, given to another process since.
TEST_F(LocksTest, AProcessThatIsYoungerThanTheLockDoesNotHoldIt) {
  Begin("0.1s");
  LeaveLock(ThisHost(), getpid(), "2126-01-01T00:00:00Z");
  EXPECT_EQ(box_.Run({"apply", "--auto-approve"}).code, 3) << "it was there then";
  LeaveLock(ThisHost(), getpid(), "2020-01-01T00:00:00Z");
  const RunResult run = box_.Apply();
  EXPECT_THAT(run.err, HasSubstr("took over the state lock of bob@")) << run;
  ExpectOneNodeAndAnEmptyPlan();
}

TEST_F(LocksTest, TheLockNamesTheCommandWithoutItsSecrets) {
  box_.StartEmulator("none", "2s");
  box_.WriteFile("podctl.yaml",
                 "project: my-project\nzone: europe-west4-a\nvariables: {token: {default: ''}}\n"
                 "defaults: {ssh: {check: false}}\n"
                 "pods:\n  research:\n    acceleratorType: v3-8\n"
                 "    runtimeVersion: tpu-vm-tf-2.11.0\n"
                 "    metadata: {token: {value: '${var.token}', sensitive: true}}\n");
  auto holder = Holder({"apply", "--auto-approve", "--var", "token=hunter2"});
  EXPECT_EQ(LockText()["Info"].AsString(), "podctl apply --auto-approve --var token=…");
  const RunResult refused = box_.Run({"apply", "--auto-approve", "--var", "token=hunter2"});
  EXPECT_THAT(refused.err, AllOf(HasSubstr("Lock Info:"), Not(HasSubstr("hunter2")))) << refused;
  EXPECT_EQ(holder->Wait(), 0) << holder->err();
}

}  // namespace
}  // namespace podctl::testing
