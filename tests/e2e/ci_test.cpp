// `podctl ci`, as a runner of each forge starts it: from a pull request's plan to the apply of its
// merge.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "plans/ci/mark.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "tests/e2e/harness.h"
#include "tests/support/forge_server.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Kind = ForgeServer::Kind;

constexpr const char* kMergeCommit = "5a0f6c1d2b3e4f5061728394a5b6c7d8e9f00112";

class Ci : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    box_.StartEmulator("none");
    port_.emplace(forge_);
    box_.WriteFile("summary.md", "");
    box_.WriteFile("step_outputs", "");
    WriteSpec("research");
    InPullRequest();
  }
  void WriteSpec(const std::string& pod) {
    box_.WriteSpec("  " + pod + ": {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0}\n");
  }
  // What the runner sets for a job of pull request 12, or for one of the branch it is merged to.
  void InPullRequest() {
    for (const auto& [name, value] : forge_.Variables(port_->url())) box_.SetVariable(name, value);
    for (const auto& [name, value] : forge_.PullVariables(12)) box_.SetVariable(name, value);
    SetCommit("0123456789abcdef0123456789abcdef01234567");
    if (GetParam() == Kind::kGitLab) return;
    box_.SetVariable("GITHUB_STEP_SUMMARY", box_.Path("summary.md"));
    box_.SetVariable("GITHUB_OUTPUT", box_.Path("step_outputs"));
  }
  void AfterMerge() {
    for (const auto& [name, value] : forge_.PullVariables(12)) box_.UnsetVariable(name);
    if (GetParam() == Kind::kGitLab) {
      box_.SetVariable("CI_COMMIT_BRANCH", "main");
    } else {
      box_.SetVariable("GITHUB_REF", "refs/heads/main");
    }
    forge_.Merge(12, kMergeCommit);
    SetCommit(kMergeCommit);
  }
  void SetCommit(const std::string& commit) {
    box_.SetVariable(GetParam() == Kind::kGitLab ? "CI_COMMIT_SHA" : "GITHUB_SHA", commit);
  }
  std::string OnlyComment() {
    const auto comments = forge_.Comments(12);
    EXPECT_EQ(comments.size(), 1U);
    return comments.empty() ? std::string() : comments.back().text;
  }
  void ExpectNoToken(const RunResult& run) {
    EXPECT_THAT(run.out + run.err, Not(HasSubstr(ForgeServer::kToken)));
  }

  Sandbox box_;
  ForgeServer forge_{GetParam()};
  std::optional<ForgeServerOnPort> port_;
};

TEST_P(Ci, AMergeAppliesWhatThePullRequestsCommentShowed) {
  const RunResult plan = box_.Run({"ci", "plan"});
  EXPECT_EQ(plan.code, 0) << plan;
  EXPECT_THAT(plan.out, HasSubstr("Plan: 1 to add, 0 to change, 0 to destroy."));
  ExpectNoToken(plan);
  const std::string planned = OnlyComment();
  EXPECT_THAT(planned, StartsWith("### podctl plan: 1 to add, 0 to change, 0 to destroy\n"));
  EXPECT_THAT(planned, HasSubstr("+   pod.research"));
  EXPECT_THAT(planned, HasSubstr("[run 31](https://git.example.com/"));
  const auto mark = FindMark(planned);
  ASSERT_TRUE(mark) << planned;
  EXPECT_EQ(mark->project, ".");
  EXPECT_THAT(planned, HasSubstr("Digest `" + mark->digest + "`"));

  AfterMerge();
  const RunResult applied = box_.Run({"ci", "apply"});
  EXPECT_EQ(applied.code, 0) << applied;
  ExpectNoToken(applied);
  EXPECT_EQ(box_.Calls("nodes.create"), 1);
  const std::string done = OnlyComment();
  EXPECT_THAT(done, StartsWith("### podctl apply: 1 added, 0 changed, 0 destroyed\n"));
  EXPECT_THAT(done, HasSubstr("✅ Applied in "));
  EXPECT_THAT(done, HasSubstr("commit 5a0f6c1d2b3e"));
  EXPECT_THAT(forge_.Commands(), ::testing::IsEmpty());

  // The job is run once more: there is nothing left to do, and nothing new to tell.
  const RunResult again = box_.Run({"ci", "apply"});
  EXPECT_EQ(again.code, 0) << again;
  EXPECT_EQ(box_.Calls("nodes.create"), 1);
}

TEST_P(Ci, WhatWasNotReviewedIsRefusedWithANewComment) {
  EXPECT_EQ(box_.Run({"ci", "plan"}).code, 0);
  WriteSpec("another");  // is pushed between the review and the merge
  AfterMerge();
  const RunResult refused = box_.Run({"ci", "apply"});
  EXPECT_EQ(refused.code, 4) << refused;
  EXPECT_THAT(refused.err, HasSubstr("The plan is not the one that was reviewed"));
  EXPECT_EQ(box_.Calls("nodes.create"), 0);
  auto comments = forge_.Comments(12);
  ASSERT_EQ(comments.size(), 2U);
  EXPECT_THAT(comments[1].text, StartsWith("### podctl apply: refused\n"));
  EXPECT_THAT(comments[1].text, HasSubstr("pod.another"));
  if (GetParam() == Kind::kGitHub) {
    EXPECT_TRUE(comments[0].hidden);
    EXPECT_THAT(comments[0].text, HasSubstr("pod.research"));
  } else {
    EXPECT_EQ(SplitLines(comments[0].text).size(), 1U) << comments[0].text;
  }

  // Who runs the job again has reviewed nothing more.
  const RunResult again = box_.Run({"ci", "apply"});
  EXPECT_EQ(again.code, 4) << again;
  EXPECT_EQ(box_.Calls("nodes.create"), 0);
  EXPECT_EQ(forge_.Comments(12).size(), 2U);

  // A plan by hand, which somebody reads, is the way on; a digest that is given is another.
  EXPECT_EQ(box_.Run({"ci", "plan", "--pull", "12"}).code, 0);
  EXPECT_EQ(box_.Run({"ci", "apply"}).code, 0);
  EXPECT_EQ(box_.Calls("nodes.create"), 1);
}

// A double of conftest: it reads what it is given as the real one would, and denies pods by name.
TEST_P(Ci, WhatPoliciesDenyIsNeitherReviewedNorApplied) {
  box_.WriteFile(
      "programs/conftest",
      "#!/bin/sh\nfor last; do :; done\nenv >environment\necho \"$@\" >asked\n"
      "test -z \"$(find \"$last\" -perm /077)\" || exit 3\n"
      "if grep -q denied \"$last\"; then\n"
      "  echo '[{\"namespace\":\"main\",\"failures\":[{\"msg\":\"@all no <b>\"}]}]'; exit 1\nfi\n"
      "echo '[{\"namespace\":\"main\",\"warnings\":[{\"msg\":\"mind it\"}]}]'\n");
  box_.RunProgram({"chmod", "+x", "programs/conftest"});
  EXPECT_EQ(box_.Run({"ci", "plan"}).code, 0) << "there are no policies";
  box_.WriteFile("policy/some.rego", "package main\n");
  const RunResult lacking = box_.Run({"ci", "plan"});
  EXPECT_EQ(lacking.code, 1);
  EXPECT_THAT(lacking.err, HasSubstr("there is no conftest"));
  EXPECT_EQ(FindMark(OnlyComment())->state, CommentMark::State::kPlanFailed);

  box_.SetVariable("PATH", box_.Path("programs") + ":" + std::getenv("PATH"));
  const RunResult fine = box_.Run({"ci", "plan"});
  EXPECT_EQ(fine.code, 0) << fine;
  EXPECT_THAT(OnlyComment(), AllOf(HasSubstr("Policy"), HasSubstr("mind it")));
  EXPECT_EQ(FindMark(OnlyComment())->state, CommentMark::State::kPlanned);
  EXPECT_THAT(box_.ReadFile("environment"), Not(HasSubstr(ForgeServer::kToken)));
  EXPECT_THAT(box_.ReadFile("asked"), HasSubstr("--policy policy "));
  EXPECT_EQ(box_.RunProgram({"sh", "-c", "ls ${TMPDIR:-/tmp}/podctl-plan-*.json"}).code, 2);

  WriteSpec("denied");
  const RunResult denied = box_.Run({"ci", "plan", "--out", "it.plan"});
  EXPECT_EQ(denied.code, 1) << denied;
  EXPECT_THAT(denied.err, AllOf(HasSubstr("Policy `main` denies it"), HasSubstr("@all no <b>")));
  const std::string comment = OnlyComment();
  EXPECT_THAT(comment, StartsWith("### podctl plan: failed, with 1 to add"));
  EXPECT_THAT(comment, AllOf(HasSubstr("denies it"), HasSubstr("+   pod.denied"),
                             HasSubstr(": `@all no <b>`\n")));
  AfterMerge();
  EXPECT_EQ(box_.Run({"ci", "apply"}).code, 1);
  EXPECT_EQ(box_.Run({"ci", "apply", "--auto-approve"}).code, 1);
  EXPECT_EQ(box_.Calls("nodes.create"), 0);
}

TEST_P(Ci, APlanFileIsAppliedWhereItIsTheOneThatTheCommentShows) {
  EXPECT_EQ(box_.Run({"ci", "plan", "--out", "old.plan"}).code, 0);
  WriteSpec("another");
  EXPECT_EQ(box_.Run({"ci", "plan", "--out", "new.plan"}).code, 0);
  AfterMerge();
  const RunResult refused = box_.Run({"ci", "apply", "old.plan"});
  EXPECT_EQ(refused.code, 4) << refused;
  EXPECT_EQ(box_.Calls("nodes.create"), 0);
  const RunResult applied = box_.Run({"ci", "apply", "new.plan"});
  EXPECT_EQ(applied.code, 0) << applied;
  EXPECT_EQ(box_.Calls("nodes.create"), 1);
  EXPECT_THAT(forge_.Comments(12).back().text, StartsWith("### podctl apply: 1 added"));
}

// As when the job of an earlier merge was late.
TEST_P(Ci, WhatWasRefusedIsAppliedOnceItIsWhatWasReviewed) {
  EXPECT_EQ(box_.Run({"ci", "plan"}).code, 0);
  WriteSpec("another");
  AfterMerge();
  EXPECT_EQ(box_.Run({"ci", "apply"}).code, 4);
  WriteSpec("research");
  EXPECT_EQ(box_.Run({"ci", "apply"}).code, 0);
  EXPECT_EQ(box_.Calls("nodes.create"), 1);
}

TEST_P(Ci, WhatNobodyHasReviewedIsRefused) {
  AfterMerge();
  SetCommit("1111111111111111111111111111111111111111");  // pushed past any pull request
  const RunResult refused = box_.Run({"ci", "apply"});
  EXPECT_EQ(refused.code, 4) << refused;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("No plan was reviewed"), HasSubstr("no pull request")));
  SetCommit(kMergeCommit);
  EXPECT_THAT(box_.Run({"ci", "apply"}).err, HasSubstr("there is no comment"));
  EXPECT_EQ(box_.Calls("nodes.create"), 0);
  EXPECT_EQ(box_.Run({"ci", "apply", "--auto-approve"}).code, 0);
  EXPECT_EQ(box_.Calls("nodes.create"), 1);
}

// As a job that waited, while what it would do was taken back: nothing of an older commit is done,
// unless what came after it is another project's.
TEST_P(Ci, AnOlderCommitIsNotApplied) {
  EXPECT_EQ(box_.Run({"ci", "plan"}).code, 0);
  AfterMerge();
  forge_.MoveOn(kMergeCommit, "podctl.yaml");
  for (int i = 0; i < 2; ++i) {
    const RunResult late = box_.Run({"ci", "apply"});
    EXPECT_EQ(late.code, 4) << late;
    EXPECT_THAT(late.err, AllOf(HasSubstr("The commit is an older one"),
                                HasSubstr("main has moved on past commit 5a0f6c1d2b3e")));
  }
  EXPECT_EQ(box_.Calls("nodes.create"), 0);
}

TEST_P(Ci, WhatOthersPushedElsewhereKeepsNobodyFromApplying) {
  std::filesystem::create_directories(box_.Path("team"));
  box_.WriteFile("team/podctl.yaml", box_.ReadFile("podctl.yaml"));
  const char* const checkout = GetParam() == Kind::kGitLab ? "CI_PROJECT_DIR" : "GITHUB_WORKSPACE";
  box_.SetVariable(checkout, box_.Path(""));
  EXPECT_EQ(box_.Run({"ci", "plan", "-f", "team/podctl.yaml"}).code, 0);
  AfterMerge();
  forge_.MoveOn(kMergeCommit, "other/podctl.yaml");
  forge_.MoveOn(kMergeCommit, "team/README.md");
  forge_.MoveOn(kMergeCommit, ".github/workflows/podctl.yml");
  forge_.MoveOn(kMergeCommit, "team2/podctl.yaml");
  const RunResult applied = box_.Run({"ci", "apply", "-f", "team/podctl.yaml"});
  EXPECT_EQ(applied.code, 0) << applied;
  EXPECT_EQ(box_.Calls("nodes.create"), 1);
  EXPECT_THAT(OnlyComment(), HasSubstr(" of `team`"));
}

TEST_P(Ci, APlanFileThatNoCommentShowsIsRefused) {
  EXPECT_EQ(box_.Run({"ci", "plan", "--comment", "never", "--out", "any.plan"}).code, 0);
  AfterMerge();
  const RunResult refused = box_.Run({"ci", "apply", "any.plan"});
  EXPECT_EQ(refused.code, 4) << refused;
  EXPECT_THAT(refused.err, HasSubstr("there is no comment"));
  SetCommit("1111111111111111111111111111111111111111");
  EXPECT_EQ(box_.Run({"ci", "apply", "any.plan"}).code, 4);
  EXPECT_EQ(box_.Calls("nodes.create"), 0);
  EXPECT_EQ(box_.Run({"ci", "apply", "--auto-approve", "any.plan"}).code, 0);
  EXPECT_EQ(box_.Calls("nodes.create"), 1);
}

TEST_P(Ci, WhatWasReviewedForAnotherBranchIsRefused) {
  EXPECT_EQ(box_.Run({"ci", "plan"}).code, 0);
  AfterMerge();
  forge_.Merge(12, kMergeCommit, "side");
  const RunResult refused = box_.Run({"ci", "apply"});
  EXPECT_EQ(refused.code, 4) << refused;
  EXPECT_THAT(refused.err, HasSubstr("came by no pull request"));
  EXPECT_EQ(box_.Calls("nodes.create"), 0);
}

// A plan does not show them, and an apply takes them over.
TEST_P(Ci, SettingsThatNobodyHasReviewedAreNotTakenOver) {
  const auto spec = [&](const std::string& more) {
    box_.WriteSpec("  research: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0, " + more +
                   "}\n");
  };
  spec("lifecycle: {preventDestroy: true}");
  EXPECT_EQ(box_.Run({"ci", "plan"}).code, 0);
  AfterMerge();
  EXPECT_EQ(box_.Run({"ci", "apply"}).code, 0);
  const std::string state = box_.ReadFile("podctl.state.json");
  spec("ssh: {proxyJump: evil.example.com}");
  const RunResult nothing = box_.Run({"ci", "apply"});
  EXPECT_EQ(nothing.code, 0) << nothing;
  EXPECT_THAT(nothing.out + nothing.err, HasSubstr("not taken over"));
  EXPECT_EQ(box_.ReadFile("podctl.state.json"), state);
}

TEST_P(Ci, ACommentOfSomebodyElseIsNoReview) {
  EXPECT_EQ(box_.Run({"ci", "plan"}).code, 0);
  const std::string text = OnlyComment();
  AfterMerge();
  // The bot's own is of a plan that failed since; a user has kept a copy of the older one.
  box_.WriteFile("podctl.yaml", "pods: {a: {}}\n");
  box_.SetVariable("CI_MERGE_REQUEST_IID", "12");
  EXPECT_EQ(box_.Run({"ci", "plan", "--pull", "12"}).code, 1);
  box_.UnsetVariable("CI_MERGE_REQUEST_IID");
  forge_.AddComment(12, text, "mallory");
  WriteSpec("research");
  const RunResult refused = box_.Run({"ci", "apply"});
  EXPECT_EQ(refused.code, 4) << refused;
  EXPECT_THAT(refused.err, HasSubstr("has failed"));
}

TEST_P(Ci, APlanThatFailsIsACommentToo) {
  EXPECT_EQ(box_.Run({"ci", "plan"}).code, 0);
  box_.WriteFile("podctl.yaml",
                 "project: my-project\nzone: europe-west4-a\npods:\n  a: {runtimeVerson: x}\n");
  const RunResult plan = box_.Run({"ci", "plan"});
  EXPECT_EQ(plan.code, 1) << plan;
  const std::string text = OnlyComment();
  EXPECT_THAT(text, StartsWith("### podctl plan: failed\n"));
  EXPECT_THAT(text, HasSubstr("runtimeVerson"));
  EXPECT_EQ(FindMark(text)->digest, "");
  if (GetParam() == Kind::kGitLab) return;
  EXPECT_THAT(plan.err, HasSubstr("\n::error file=podctl.yaml,line=4,col=7"));
  EXPECT_THAT(box_.ReadFile("summary.md"), HasSubstr("### podctl plan: failed"));
}

TEST_P(Ci, TheRunnerIsToldInItsOwnForms) {
  const RunResult plan = box_.Run({"ci", "plan", "--report", "report.json"});
  EXPECT_EQ(plan.code, 0) << plan;
  EXPECT_EQ(box_.ReadFile("report.json"), "{\"create\":1,\"delete\":0,\"update\":0}\n");
  EXPECT_EQ(box_.Run({"ci", "plan", "--report", "report.json"}).code, 0);  // over an earlier one
  const std::string spec = box_.ReadFile("podctl.yaml");
  const RunResult over = box_.Run({"ci", "plan", "--report", "podctl.yaml"});
  EXPECT_EQ(over.code, 1) << over;
  EXPECT_THAT(over.err, HasSubstr("`podctl.yaml` is there, and is no report"));
  EXPECT_EQ(box_.ReadFile("podctl.yaml"), spec);
  std::filesystem::create_directories(box_.Path("outside"));
  std::filesystem::create_directory_symlink(box_.Path("outside"), box_.Path("planted"));
  EXPECT_EQ(box_.Run({"ci", "plan", "--report", "planted/report.json"}).code, 1);
  EXPECT_FALSE(box_.Exists("outside/report.json"));
  if (GetParam() == Kind::kGitLab) return;
  EXPECT_THAT(box_.ReadFile("summary.md"), StartsWith("### podctl plan: 1 to add"));
  const std::string outputs = box_.ReadFile("step_outputs");
  EXPECT_THAT(outputs, HasSubstr("\ntrue\n"));
  const auto lines = SplitLines(outputs);
  ASSERT_GT(lines.size(), 3U);
  EXPECT_THAT(lines[0], StartsWith("exit-code<<podctl-"));
  EXPECT_EQ(lines[1], "0");
  EXPECT_EQ("exit-code<<" + lines[2], lines[0]);
}

TEST_P(Ci, APlanOfNoPullRequestSaysThatNobodyWasTold) {
  AfterMerge();
  const RunResult plan = box_.Run({"ci", "plan"});
  EXPECT_EQ(plan.code, 0) << plan;
  EXPECT_THAT(plan.out + plan.err, HasSubstr("this run is about no pull request"));
}

TEST_P(Ci, AForgeThatRefusesIsToldWithoutTheToken) {
  box_.SetVariable(GetParam() == Kind::kGitLab ? "GITLAB_TOKEN" : "GITHUB_TOKEN", "a-wrong-token");
  const RunResult plan = box_.Run({"ci", "plan"});
  EXPECT_EQ(plan.code, 1) << plan;
  EXPECT_THAT(plan.err, AllOf(HasSubstr("the comment could not be written"), HasSubstr("401")));
  EXPECT_THAT(plan.out + plan.err, Not(HasSubstr("a-wrong-token")));
  box_.UnsetVariable(GetParam() == Kind::kGitLab ? "GITLAB_TOKEN" : "GITHUB_TOKEN");
  const RunResult none = box_.Run({"ci", "plan"});
  EXPECT_EQ(none.code, 1) << none;
  EXPECT_THAT(none.err, HasSubstr("there is no token to write a comment with"));
  EXPECT_EQ(box_.Run({"ci", "plan", "--comment", "never"}).code, 0);
}

TEST_P(Ci, DriftIsOneIssueThatOpensIsRenewedAndCloses) {
  box_.Apply();
  const RunResult none = box_.Run({"ci", "drift"});
  EXPECT_EQ(none.code, 0) << none;
  EXPECT_THAT(forge_.Issues(), ::testing::IsEmpty());
  box_.Change("DELETE", std::string(kNodes) + "/research");
  const RunResult drifted = box_.Run({"ci", "drift", "--detailed-exitcode"});
  EXPECT_EQ(drifted.code, 2) << drifted;
  ASSERT_EQ(forge_.Issues().size(), 1U);
  EXPECT_EQ(forge_.Issues()[0].title, "podctl: drift: 1 to add, 0 to change, 0 to destroy");
  EXPECT_THAT(forge_.Issues()[0].text, HasSubstr("pod.research"));
  EXPECT_EQ(box_.Run({"ci", "drift"}).code, 0);
  EXPECT_EQ(forge_.Issues().size(), 1U);
  box_.Apply();
  EXPECT_EQ(box_.Run({"ci", "drift"}).code, 0);
  ASSERT_EQ(forge_.Issues().size(), 1U);
  EXPECT_FALSE(forge_.Issues()[0].open);
}

// A pull request could bring one, and who may read the comment may not read what it leads to.
TEST_P(Ci, ALinkIsNotPostedNorTheToken) {
  std::filesystem::create_symlink("/proc/self/environ", box_.Path("note.md"));
  EXPECT_EQ(box_.Run({"ci", "comment", "note.md"}).code, 1);
  EXPECT_TRUE(forge_.Comments(12).empty());
  box_.WriteFile("own.md", std::string("it is ") + ForgeServer::kToken + ".\n");
  EXPECT_EQ(box_.Run({"ci", "comment", "own.md"}).code, 0);
  EXPECT_THAT(OnlyComment(),
              AllOf(HasSubstr("it is (token)."), Not(HasSubstr(ForgeServer::kToken))));
}

TEST_P(Ci, ATextOfOnesOwnIsOneCommentToo) {
  box_.WriteFile("note.md", "### by hand\n\n/close\n");
  EXPECT_EQ(box_.Run({"ci", "comment", "note.md"}).code, 0);
  EXPECT_EQ(box_.Run({"ci", "comment", "note.md"}).code, 0);
  EXPECT_THAT(OnlyComment(), StartsWith("### by hand\n"));
  EXPECT_THAT(forge_.Commands(), ::testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Forges, Ci, ::testing::Values(Kind::kGitHub, Kind::kGitea, Kind::kGitLab),
                         [](const auto& each) {
                           return each.param == Kind::kGitHub  ? "GitHub"
                                  : each.param == Kind::kGitea ? "Gitea"
                                                               : "GitLab";
                         });

class CiElsewhere : public ::testing::Test {
 protected:
  Sandbox box_;
};

TEST_F(CiElsewhere, NobodysPipelineIsAnErrorThatSaysWhatToDo) {
  const RunResult run = box_.Run({"ci", "plan"});
  EXPECT_EQ(run.code, 1) << run;
  EXPECT_THAT(run.err, AllOf(HasSubstr("GITHUB_ACTIONS"), HasSubstr("podctl plan --markdown")));
}

TEST_F(CiElsewhere, WhatAtlantisRunsPrintsWhatAtlantisPosts) {
  box_.StartEmulator("none");
  box_.WriteSpec("  research: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0}\n");
  box_.SetVariable("PULL_NUM", "3");
  const RunResult plan = box_.Run({"ci", "plan", "--out", "it.plan"});
  EXPECT_EQ(plan.code, 0) << plan;
  EXPECT_THAT(plan.out, HasSubstr("Plan: 1 to add, 0 to change, 0 to destroy."));
  EXPECT_THAT(box_.Run({"ci", "apply"}).err, HasSubstr("podctl ci apply \"$PLANFILE\""));
  const RunResult applied = box_.Run({"ci", "apply", "it.plan"});
  EXPECT_EQ(applied.code, 0) << applied;
  EXPECT_EQ(box_.Calls("nodes.create"), 1);
}

// Whoever opens a pull request has Atlantis plan it, where its own keys lie.
TEST_F(CiElsewhere, ASpecReadsNoKeyOfAtlantis) {
  box_.StartEmulator("none");
  box_.SetVariable("PULL_NUM", "3");
  for (const char* variable : {"ATLANTIS_GH_APP_KEY_FILE", "ATLANTIS_CONFIG"}) {
    box_.WriteFile("its.txt", "hunter2\n");
    box_.SetVariable(variable, box_.Path("its.txt"));
    box_.WriteSpec(
        "  research: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0, "
        "metadata: {m: {file: its.txt}}}\n");
    const RunResult plan = box_.Run({"ci", "plan"});
    EXPECT_EQ(plan.code, 1) << plan;
    EXPECT_THAT(plan.out + plan.err, Not(HasSubstr("hunter2")));
    box_.UnsetVariable(variable);
  }
}

// What the action's step runs, as its runner's shell is given it.
TEST_F(CiElsewhere, TheActionHandsItsInputsToPodctl) {
  ASSERT_EQ(box_.Run({"init", "--template", "gitops", "--for", "github", "r"}).code, 0);
  const std::string action = box_.ReadFile("r/.github/actions/podctl/action.yml");
  std::string script;
  for (const std::string& line : SplitLines(action.substr(action.rfind("run: |\n") + 7))) {
    script += std::string(TrimBlanks(line)) + "\n";
  }
  box_.WriteFile("programs/podctl", "#!/bin/sh\nfor each; do echo \"<$each>\"; done\nexit 4\n");
  const auto run = [&](const std::string& command, const std::string& args) {
    return box_.RunProgram({"bash", "-c",
                            "chmod +x programs/podctl; PATH=$PWD/programs:$PATH COMMAND=$1 ARGS=$2 "
                            "COMMENT=on-change exec bash -e -o pipefail -c \"$0\"",
                            script, command, args});
  };
  const RunResult plan = run("plan", "--pull=12\n\n  \n--name=a b\n");
  EXPECT_EQ(plan.code, 4) << plan;
  EXPECT_EQ(plan.out, "<ci>\n<plan>\n<--comment>\n<on-change>\n<--pull=12>\n<--name=a b>\n")
      << plan;
  EXPECT_EQ(run("drift", "").out, "<ci>\n<drift>\n");
  EXPECT_EQ(run("comment note.md", "").out, "<ci>\n<comment>\n<note.md>\n");
}

TEST_F(CiElsewhere, ADigestIsTheSameInTwoCheckoutsAndAnotherPlanIsRefused) {
  box_.StartEmulator("none");
  box_.WriteSpec("  research: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0}\n");
  EXPECT_EQ(box_.RunProgram({"sh", "-c", "mkdir a b && cp podctl.yaml a && cp podctl.yaml b"}).code,
            0);
  const auto digest = [&](const std::string& folder) {
    const RunResult run =
        box_.RunProgram({"sh", "-c", "cd \"$0\" && exec \"$PODCTL\" plan --out it.plan", folder});
    EXPECT_EQ(run.code, 0) << run;
    const std::string mark = "\nDigest: ";
    const auto at = run.out.find(mark);
    return at == std::string::npos ? run.out : run.out.substr(at + mark.size(), 71);
  };
  const std::string first = digest("a");
  EXPECT_EQ(first, digest("b"));
  EXPECT_THAT(box_.Run({"show", "b/it.plan"}).out, HasSubstr("Digest: " + first));
  EXPECT_THAT(box_.Run({"show", "--json", "b/it.plan"}).out,
              HasSubstr("\"podctl_digest\":\"" + first + "\""));
  EXPECT_THAT(box_.Run({"plan", "--json"}).out, HasSubstr("\"digest\":\"" + first + "\""));
  const std::string other = "sha256:" + std::string(64, '0');
  const RunResult refused = box_.Run({"apply", "--auto-approve", "--expect-digest", other});
  EXPECT_EQ(refused.code, 4) << refused;
  EXPECT_EQ(box_.Run({"apply", "--expect-digest", other, "a/it.plan"}).code, 4);
  EXPECT_EQ(box_.Run({"apply", "--auto-approve", "--expect-digest", ""}).code, 1);
  EXPECT_EQ(box_.Calls("nodes.create"), 0);
  EXPECT_EQ(box_.Run({"apply", "--auto-approve", "--expect-digest", first}).code, 0);
  EXPECT_EQ(box_.Calls("nodes.create"), 1);
}

}  // namespace
}  // namespace podctl::testing
