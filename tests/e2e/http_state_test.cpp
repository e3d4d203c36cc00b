// The state behind Terraform's http protocol, as a user meets it: the strict double of GitLab and
// Gitea on a port. What a real Gitea says is tried by tests/gitops/gitea_state.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <optional>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"
#include "tests/support/state_server.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Kind = StateServer::Kind;

class HttpState : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    box_.StartEmulator("none", "2s");
    port_.emplace(server_);
    box_.SetVariable("TF_HTTP_USERNAME", StateServer::kUser);
    box_.SetVariable("TF_HTTP_PASSWORD", StateServer::kPassword);
    box_.SetVariable("TF_HTTP_RETRY_MAX", "1");
    WriteSpec(port_->url());
  }
  void WriteSpec(const std::string& url) {
    box_.WriteSpec("  research: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0}\n");
    box_.WriteFile("podctl.yaml", "state: " + url + "\n" + box_.ReadFile("podctl.yaml"));
  }
  // An apply whose create is under way.
  std::unique_ptr<Process> Holder() {
    auto run = box_.Start({"apply", "--auto-approve"});
    EXPECT_TRUE(Eventually([&] { return box_.Calls("nodes.create") == 1; })) << run->err();
    return run;
  }
  void ExpectOneNodeAndAnEmptyPlan() {
    EXPECT_EQ(box_.Calls("nodes.create"), 1);
    const RunResult plan = box_.Run({"plan", "--detailed-exitcode"});
    EXPECT_EQ(plan.code, 0) << plan;
    EXPECT_EQ(server_.LockId(), "");
    EXPECT_FALSE(box_.Exists("podctl.state.json"));
  }

  // What could not be saved.
  std::vector<std::string> Asides() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(box_.Path("."))) {
      const std::string name = entry.path().filename();
      if (name.starts_with("podctl.errored-") && !name.ends_with(".part")) names.push_back(name);
    }
    return names;
  }

  Sandbox box_;
  StateServer server_{GetParam()};
  std::optional<StateServerOnPort> port_;
};

INSTANTIATE_TEST_SUITE_P(Servers, HttpState, ::testing::Values(Kind::kGitLab, Kind::kGitea));

TEST_P(HttpState, OfTwoAtOnceTheSecondSaysWhoWorks) {
  const auto first = Holder();
  const RunResult second = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(second.code, 3) << second;
  EXPECT_THAT(second.err, AllOf(HasSubstr("Lock Info:"), HasSubstr("Operation: apply"),
                                HasSubstr(std::to_string(first->pid()))));
  EXPECT_EQ(first->Result().code, 0);
  ExpectOneNodeAndAnEmptyPlan();
}

TEST_P(HttpState, AKilledRunIsTakenOverOnItsMachine) {
  const auto first = Holder();
  // The intent was there before its create was sent.
  EXPECT_THAT(server_.Stored().value_or(""), HasSubstr("creating"));
  first->Signal(SIGKILL);
  first->Result();
  EXPECT_NE(server_.LockId(), "");
  const RunResult next = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(next.code, 0) << next;
  EXPECT_THAT(next.out + next.err, HasSubstr("which ended without releasing it"));
  ExpectOneNodeAndAnEmptyPlan();
}

TEST_P(HttpState, WhatAnOutageKeptFromItIsPushedAfterwards) {
  auto first = Holder();
  port_.reset();
  const RunResult cut = first->Result();
  EXPECT_NE(cut.code, 0) << cut;
  EXPECT_THAT(cut.err, HasSubstr("podctl state push"));
  port_.emplace(server_);
  WriteSpec(port_->url());
  // One, though it was written more than once; the error names it.
  ASSERT_EQ(Asides().size(), 1U) << cut;
  const std::string file = Asides().front();
  EXPECT_THAT(cut.err, HasSubstr("podctl state push ./" + file));
  const RunResult pushed = box_.Run({"state", "push", file});
  EXPECT_EQ(pushed.code, 0) << pushed;
  ExpectOneNodeAndAnEmptyPlan();
}

TEST_P(HttpState, LockCommandsSayWhatTheServerTells) {
  const bool tells = GetParam() == Kind::kGitea;
  RunResult status = box_.Run({"lock", "status"});
  EXPECT_THAT(status.out, HasSubstr(tells ? "Nobody holds the state" : "only to who tries"));
  const auto first = Holder();
  status = box_.Run({"lock", "status"});
  EXPECT_EQ(status.out.find(std::to_string(first->pid())) != std::string::npos, tells) << status;
  const RunResult stale = box_.Run({"unlock", "--if-stale"});
  EXPECT_EQ(stale.code, 3) << stale;
  EXPECT_THAT(stale.err, HasSubstr("cannot be told from here"));
  EXPECT_EQ(first->Result().code, 0);
}

TEST_P(HttpState, ADamagedStateIsReplacedByAnEarlierOne) {
  ASSERT_EQ(box_.Run({"apply", "--auto-approve"}).code, 0);
  const std::string whole = server_.Stored().value_or("");
  server_.Overwrite(whole.substr(0, whole.size() / 2));
  const RunResult plan = box_.Run({"plan"});
  EXPECT_EQ(plan.code, 1) << plan;
  EXPECT_THAT(plan.err, HasSubstr("is damaged")) << plan;
  // The two that the error names.
  const RunResult history = box_.Run({"state", "history", "--json"});
  ASSERT_EQ(history.code, 0) << history;
  const Value::List kept = ParseJson(history.out).value_or(Value())["generations"].AsList();
  ASSERT_GE(kept.size(), 2U) << history;
  const std::int64_t serial = kept[1]["serial"].AsInt();
  const RunResult restored = box_.Run({"state", "restore", std::to_string(serial)});
  ASSERT_EQ(restored.code, 0) << restored;
  EXPECT_EQ(box_.Run({"apply", "--auto-approve"}).code, 0);
  ExpectOneNodeAndAnEmptyPlan();
}

TEST_P(HttpState, AStateMovesThereFromAFileAndBack) {
  const std::string url = port_->url();
  WriteSpec("podctl.state.json");
  ASSERT_EQ(box_.Run({"apply", "--auto-approve"}).code, 0);
  const RunResult there = box_.Run({"state", "migrate", "--to", url});
  ASSERT_EQ(there.code, 0) << there;
  EXPECT_THAT(there.out, AllOf(HasSubstr("Moved the state from podctl.state.json to " + url),
                               HasSubstr("state: " + url)));
  const RunResult refused = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(refused.code, 1) << refused;
  EXPECT_THAT(refused.err, HasSubstr("was moved to " + url));
  WriteSpec(url);
  EXPECT_EQ(box_.Run({"plan", "--detailed-exitcode"}).code, 0);
  const RunResult back = box_.Run({"state", "migrate", "--to", "podctl.state.json"});
  ASSERT_EQ(back.code, 0) << back;
  for (const Arguments& words :
       {Arguments{"plan"}, Arguments{"apply", "--auto-approve"}, Arguments{"state", "list"},
        Arguments{"state", "push", "--force", "podctl.state.json"}}) {
    const RunResult run = box_.Run(words);
    EXPECT_EQ(run.code, 1) << run;
    EXPECT_THAT(run.err, HasSubstr("was moved to /")) << run;
  }
  WriteSpec("podctl.state.json");
  EXPECT_EQ(box_.Calls("nodes.create"), 1);
  EXPECT_EQ(box_.Run({"plan", "--detailed-exitcode"}).code, 0);
  EXPECT_EQ(server_.LockId(), "");
}

TEST_P(HttpState, AMoveThatTheServerRefusesKeepsNobodyOut) {
  WriteSpec("podctl.state.json");
  ASSERT_EQ(box_.Run({"apply", "--auto-approve"}).code, 0);
  const std::string before = box_.ReadFile("podctl.state.json");
  box_.SetVariable("TF_HTTP_PASSWORD", "wrong");
  const RunResult refused = box_.Run({"state", "migrate", "--to", port_->url()});
  EXPECT_EQ(refused.code, 1) << refused;
  EXPECT_EQ(box_.ReadFile("podctl.state.json"), before);
  EXPECT_EQ(box_.Run({"plan", "--detailed-exitcode"}).code, 0);
}

// The server is away for longer than a save is tried again, and comes back before the run ends.
TEST_P(HttpState, AnOutageThatIsOverAtTheEndIsAWarning) {
  auto run = Holder();
  server_.GoAway(true);
  ASSERT_TRUE(Eventually([&] { return !Asides().empty(); }, std::chrono::seconds(60)))
      << run->err();
  server_.GoAway(false);
  const RunResult end = run->Result();
  // Whatever was under way when it began: the run either did all, or says that it did not.
  EXPECT_THAT(end.err, HasSubstr(end.code == 0 ? "Warning: the state could not be saved for a while"
                                               : "Error: nothing was begun while the state could "
                                                 "not be saved"))
      << end;
  EXPECT_THAT(end.err, Not(HasSubstr("Error: the state could not be saved"))) << end;
  EXPECT_TRUE(Asides().empty()) << end;
  ExpectOneNodeAndAnEmptyPlan();
}

// The look and the lock are let in, as by a proxy that sends away what writes.
TEST_P(HttpState, AFirstSaveThatIsSentElsewhereBeginsNothingAndNamesTheAddress) {
  server_.MoveAway("/elsewhere");
  const RunResult run = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(run.code, 1) << run;
  EXPECT_THAT(run.err, AllOf(HasSubstr("/elsewhere: correct `state` in the spec"),
                             HasSubstr("Nothing was begun"), Not(HasSubstr("What was begun"))));
  EXPECT_EQ(box_.Calls("nodes.create"), 0);
  EXPECT_EQ(server_.LockId(), "");
}

TEST_P(HttpState, WithoutTheLockARunWarnsAndSaves) {
  const RunResult run = box_.Run({"apply", "--auto-approve", "--lock=false"});
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_THAT(run.out + run.err, HasSubstr("`apply` does not lock the state"));
  ExpectOneNodeAndAnEmptyPlan();
  EXPECT_THAT(box_.Run({"plan", "--lock=false"}).err, Not(HasSubstr("does not lock")));
}

TEST_P(HttpState, NoPasswordIsEverShown) {
  box_.SetVariable("TF_HTTP_PASSWORD", "hunter2");
  for (const Arguments& words : {Arguments{"plan"}, Arguments{"apply", "--auto-approve"},
                                 Arguments{"state", "list"}, Arguments{"unlock", "x"}}) {
    const RunResult run = box_.Run(words);
    EXPECT_NE(run.code, 0) << run;
    EXPECT_THAT(run.err, AllOf(HasSubstr("401"), Not(HasSubstr("hunter2"))));
  }
  WriteSpec("https://u:hunter2@git.example/x");
  const RunResult run = box_.Run({"plan"});
  EXPECT_NE(run.code, 0);
  EXPECT_THAT(run.err, HasSubstr("would stand in logs"));
}

// A server that has no lock, and takes any serial: only who says so saves there.
TEST(PlainHttpState, WithoutALockOneMustSaySo) {
  Sandbox box;
  box.StartEmulator("none", "0.1s");
  StateServer server(Kind::kPlain);
  StateServerOnPort port(server);
  box.SetVariable("TF_HTTP_USERNAME", StateServer::kUser);
  box.SetVariable("TF_HTTP_PASSWORD", StateServer::kPassword);
  box.WriteSpec("  research: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0}\n");
  box.WriteFile("podctl.yaml", "state: " + port.url() + "\n" + box.ReadFile("podctl.yaml"));
  const RunResult refused = box.Run({"apply", "--auto-approve"});
  EXPECT_EQ(refused.code, 1) << refused;
  EXPECT_THAT(refused.err, HasSubstr("--lock=false"));
  EXPECT_EQ(box.Calls("nodes.create"), 0);
  const RunResult run = box.Run({"apply", "--auto-approve", "--lock=false"});
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_EQ(box.Run({"plan", "--detailed-exitcode"}).code, 0);
}

}  // namespace
}  // namespace podctl::testing
