// The template `gitops`: its pipeline, run as runners of GitHub and GitLab would run it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "providers/base/text.h"
#include "tests/e2e/template_fixture.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

// `gcloud storage` on a folder, for the plans that were shown.
constexpr const char* kCloudStorage = R"sh(#!/bin/sh
echo "$*" >>"$BUCKET/asked"
at() { case $1 in gs://*) echo "$BUCKET/${1#gs://}" ;; *) echo "$1" ;; esac; }
case "$1 $2" in
  "iam "* | "auth "*) ;;
  "storage rm") rm "$(at "$3")" ;;
  "storage cp")
    case $4 in
      gs://my-project-podctl/*) mkdir -p "$(dirname "$(at "$4")")" ;;
      gs://*) echo "404" >&2; exit 1 ;;
    esac
    cp "$(at "$3")" "$(at "$4")" ;;
  *) exit 9 ;;
esac
)sh";

// The pipeline of the template, run as a runner would run it. The state is in the emulator's
// storage, the plans that were shown are in a folder.
class GitopsTest : public TemplateTest {
 protected:
  void SetUp() override {
    TemplateTest::SetUp();
    Init("gitops");
    box_.WriteFile("programs/gcloud", kCloudStorage);
    box_.WriteFile("programs/podctl", "#!/bin/sh\nexec \"$PODCTL\" \"$@\"\n");
    for (const char* program : {"gcloud", "podctl"}) {
      chmod(box_.Path(std::string("programs/") + program).c_str(), 0755);
    }
    box_.WriteFile("bucket/asked", "");
    box_.SetVariable("PATH", box_.Path("programs") + ":" + std::getenv("PATH"));
    box_.SetVariable("BUCKET", box_.Path("bucket"));
    box_.SetVariable("PLANS", "gs://my-project-podctl/plans");
    box_.SetVariable("STORAGE_EMULATOR_HOST", box_.url());
    SayRun("7");
    EXPECT_EQ(box_.RunProgram({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key"}).code,
              0);
    box_.SetVariable("SSH_KEY", std::string(TrimBlanks(box_.ReadFile("key"))));
    std::string spec = box_.ReadFile("gitops/podctl.yaml");
    for (const char* end : {"\n", "}"}) {
      spec = Replace(spec, std::string("user: pipeline") + end, "user: " + UserName() + end);
    }
    box_.WriteFile("gitops/podctl.yaml", spec);
    box_.WriteFile("gitops/pipeline.pub", box_.ReadFile("key.pub"));
    ExpectOk(Run("gitops/podctl.yaml", {"state", "init"}));
  }
  // As GitHub does for what is started from now on.
  void SayRun(const std::string& id) {
    box_.SetVariable("GITHUB_ACTIONS", "true");
    box_.SetVariable("GITHUB_SERVER_URL", "https://github.com");
    box_.SetVariable("GITHUB_REPOSITORY", "o/r");
    box_.SetVariable("GITHUB_RUN_ID", id);
  }
  // Workers that share this machine have its users only.
  std::string UserName() const {
    if (box_.WorkersAreMachines()) return "pipeline";
    const passwd* user = getpwuid(geteuid());
    return user == nullptr ? "root" : user->pw_name;
  }
  // A fresh clone of what the template's folder holds, as each run of a pipeline has one.
  static constexpr const char* kClone =
      "cd gitops && git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -q "
      "--allow-empty -m x && cd .. && rm -rf \"$0\" && git clone -q gitops \"$0\"";
  std::vector<std::string> PipelineCommand(const std::string& what, const std::string& clone) {
    EXPECT_EQ(box_.RunProgram({"sh", "-c", kClone, clone}).code, 0);
    return {"sh", "-c", "cd \"$1\" && exec sh pipeline.sh \"$0\"", what, clone};
  }
  RunResult Pipeline(const std::string& what, const std::string& clone = "clone") {
    return box_.RunProgram(PipelineCommand(what, clone));
  }
  // To its pod, which is not what ends the file where workers are not on port 22.
  void AddToSpec(const std::string& text) {
    box_.WriteFile("gitops/podctl.yaml", Replace(box_.ReadFile("gitops/podctl.yaml"),
                                                 "\n    lifecycle:", text + "    lifecycle:"));
  }
  // A step that does not end before LetItEnd, and an apply whose step is at work.
  void AddEndlessStep() {
    AddToSpec(
        "\n    bootstrap: [{name: slow, run: 'touch ~/begun; until [ -e ~/end ]; do sleep 0.1; "
        "done'}]\n");
  }
  RunResult OnThePod(const std::string& command) {
    return box_.RunProgram(
        {"sh", "-c", "cd clone && exec \"$PODCTL\" exec research -- \"$0\"", command});
  }
  void LetItEnd() { ExpectOk(OnThePod("touch ~/end")); }
  std::unique_ptr<Process> InTheMiddle() {
    auto apply = box_.StartProgram(PipelineCommand("apply", "clone"));
    EXPECT_TRUE(apply->WaitForErr("bootstrap.research.slow: Running")) << apply->err();
    // Only then is what was made before it saved.
    EXPECT_TRUE(Eventually([&] { return OnThePod("test -e ~/begun").code == 0; })) << apply->err();
    return apply;
  }
  // Of the folder that its clone has for itself.
  bool Left(const std::string& name) const { return box_.Exists("clone/.podctl/" + name); }
  // What podctl could not save, and left where the job uploads it from.
  std::string Unsaved() {
    return std::string(
        TrimBlanks(box_.RunProgram({"sh", "-c", "cd clone && ls podctl.errored-* || :"}).out));
  }
  std::string Stored() { return Run("gitops/podctl.yaml", {"state", "pull"}).out; }
  bool Locked() {
    return box_.Http("GET", "/storage/v1/b/my-project-podctl/o/state%2Flock.json").status == 200;
  }
};

TEST_F(GitopsTest, APullRequestIsPlannedAndAMergeIsApplied) {
  const RunResult plan = Pipeline("plan");
  EXPECT_EQ(plan.code, 0) << plan;
  EXPECT_THAT(box_.ReadFile("clone/.podctl/plan.md"), HasSubstr("pod.research"));
  EXPECT_EQ(Stored(), "");

  const RunResult applied = Pipeline("apply");
  EXPECT_EQ(applied.code, 0) << applied;
  EXPECT_THAT(Stored(), HasSubstr("pod.research"));
  EXPECT_FALSE(Locked());
  EXPECT_EQ(box_.RunProgram({"sh", "-c", "cd clone && git status --short && ls .podctl"}).out,
            "id_ed25519.pub\nplan\nplan.md\nplan.txt\nshown.txt\n")
      << "neither a state nor a key is left with the runner";
  const RunResult again = Pipeline("plan");
  EXPECT_EQ(again.code, 0) << again;
  EXPECT_THAT(box_.ReadFile("clone/.podctl/plan.md"), HasSubstr("No changes")) << again;
}

// What `file` of the template runs, as its runner's shell is given it: GitHub's `run:` lines, and
// the items of GitLab's `section`, folded (`>`) ones in one line.
std::vector<std::string> RunLines(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string& line : SplitLines(text)) {
    const auto at = line.find("run: ");
    if (at != std::string::npos && TrimBlanks(line.substr(0, at)).empty()) {
      lines.push_back(line.substr(at + 5));
    }
  }
  return lines;
}
std::vector<std::string> ScriptItems(const std::string& text, const std::string& section) {
  std::vector<std::string> items;
  std::size_t depth = std::string::npos;  // of the items
  for (const std::string& line : SplitLines(text.substr(text.find("\n" + section)))) {
    const std::string_view words = TrimBlanks(line);
    const std::size_t blanks = line.find_first_not_of(' ');
    if (words.starts_with("- ") && depth == std::string::npos) depth = blanks;
    if (depth == std::string::npos || words.empty()) continue;
    if (blanks < depth) break;
    if (blanks == depth) {
      items.emplace_back(words == "- >" ? "" : words.substr(2));
    } else {
      items.back() += std::string(words) + " ";
    }
  }
  return items;
}

// `curl` before GitLab: says what it was asked, and has the notes of a file.
constexpr const char* kForge = R"sh(#!/bin/sh
[ "$1 $2 $3 $4 $5" = "--config - --fail --silent --show-error" ] || exit 9
shift 5
{ cat; echo "$*"; } >>"$BUCKET/posted"
case $* in *per_page*) cat "$BUCKET/../notes" ;; esac
)sh";

// Nobody's runner is here: each line is run by the shell that a runner starts, in one clone, with
// the variables that pipeline.md lists.
TEST_F(GitopsTest, EachLineOfTheTwoPipelinesRuns) {
  const auto in_clone = [&](const std::string& shell, const std::string& script) {
    return box_.RunProgram({"sh", "-c", "cd clone && exec " + shell + " \"$0\"", script});
  };
  ExpectOk(box_.RunProgram({"sh", "-c", kClone, "clone"}));
  box_.SetVariable("GITHUB_STEP_SUMMARY", box_.Path("summary"));
  const auto github = RunLines(box_.ReadFile("gitops/.github/workflows/podctl.yml"));
  const std::string fresh = "rm -rf .podctl && mkdir -m 700 .podctl";
  ASSERT_EQ(github,
            (std::vector<std::string>{fresh, "sh .podctl/base/pipeline.sh plan",
                                      "cat .podctl/plan.md >> \"$GITHUB_STEP_SUMMARY\"", fresh,
                                      "exec sh pipeline.sh apply", "sh pipeline.sh stop"}));
  for (const std::string& line : github) {
    ExpectOk(in_clone("bash -e -c", line));
    if (line != fresh) continue;
    ExpectOk(box_.RunProgram({"git", "clone", "-q", "gitops", "clone/.podctl/base"}));
  }
  EXPECT_THAT(box_.ReadFile("summary"), HasSubstr("<!-- podctl plan -->"));
  EXPECT_THAT(Stored(), HasSubstr("pod.research"));

  // GitLab: other programs of the image, and a token where the runner leaves one.
  ExpectOk(box_.RunProgram({"sh", "-c", kClone, "clone"}));
  box_.WriteFile("programs/curl", kForge);
  box_.WriteFile("notes", R"([{"id": 4, "system": false, "body": "looks good"}])");
  chmod(box_.Path("programs/curl").c_str(), 0755);
  box_.SetVariable("GOOGLE_TOKEN", "a-token");
  box_.SetVariable("WORKLOAD_IDENTITY_PROVIDER", "projects/1/locations/global/x");
  box_.SetVariable("ACCOUNT", "a@b.c");
  box_.SetVariable("CI_DEFAULT_BRANCH", "HEAD");
  box_.SetVariable("COMMENT_TOKEN", "another-token");
  box_.SetVariable("CI_API_V4_URL", "https://gitlab.invalid/api/v4");
  box_.SetVariable("CI_PROJECT_ID", "7");
  box_.SetVariable("CI_MERGE_REQUEST_IID", "8");
  const std::string gitlab = box_.ReadFile("gitops/.gitlab-ci.yml");
  for (const std::string job : {"plan:", "apply:"}) {
    auto script = ScriptItems(gitlab, "  before_script:");
    EXPECT_EQ(script.size(), 5U);
    EXPECT_EQ(script.at(0), fresh) << "before anything is written there";
    for (std::string& item : ScriptItems(gitlab.substr(gitlab.find("\n" + job)), "  script:")) {
      script.push_back(std::move(item));
    }
    const RunResult run = in_clone("sh -e -c", Join(script, "\n"));
    EXPECT_EQ(run.code, 0) << job << run;
  }
  EXPECT_THAT(box_.ReadFile("bucket/asked"),
              AllOf(HasSubstr("iam workload-identity-pools create-cred-config "
                              "projects/1/locations/global/x --service-account=a@b.c "
                              "--credential-source-file=" +
                              box_.Path("clone") +
                              "/.podctl/google-token "
                              "--output-file=.podctl/google-credentials.json"),
                    HasSubstr("auth login --quiet --cred-file=" + box_.Path("clone") +
                              "/.podctl/google-credentials.json")));
  EXPECT_EQ(box_.ReadFile("clone/.podctl/google-token"), "a-token");
  const std::string notes = "https://gitlab.invalid/api/v4/projects/7/merge_requests/8/notes";
  EXPECT_EQ(box_.ReadFile("bucket/posted"),
            "header = \"PRIVATE-TOKEN: another-token\"\n" + notes + "?per_page=100&page=1\n" +
                "header = \"PRIVATE-TOKEN: another-token\"\n" +
                "--output /dev/null --data-urlencode body@.podctl/plan.md " + notes + "\n");

  box_.WriteFile("notes",
                 R"([{"id": 4, "body": "looks good"}, {"id": 5, "body": "<!-- podctl plan -->"}])");
  ExpectOk(in_clone("sh -e -c", "sh pipeline.sh note"));
  EXPECT_THAT(box_.ReadFile("bucket/posted"),
              EndsWith("--request PUT --data-urlencode body@.podctl/plan.md " + notes + "/5\n"))
      << "the note of the last plan is renewed";
}

TEST_F(GitopsTest, AFailedApplyKeepsWhatItHasMade) {
  AddToSpec("\n    bootstrap: [{name: fails, run: exit 3}]\n");
  ExpectOk(Pipeline("plan"));
  const RunResult failed = Pipeline("apply");
  EXPECT_EQ(failed.code, 1) << failed;
  EXPECT_THAT(Stored(), HasSubstr("pod.research"));
  EXPECT_FALSE(Locked());
  EXPECT_EQ(Unsaved(), "") << "an artifact of the failed job would show it to all";
}

TEST_F(GitopsTest, WhatWasReviewedIsAppliedAndNothingElse) {
  ExpectOk(Pipeline("plan"));
  const std::string more = "\n    labels: {team: vision}\n";
  AddToSpec(more);
  const RunResult unseen = Pipeline("apply");
  EXPECT_EQ(unseen.code, 1) << unseen;
  EXPECT_THAT(unseen.err, HasSubstr("nobody has reviewed a plan for these files")) << unseen;
  EXPECT_EQ(box_.GetNode("research").status, 404) << "main was planned anew, and applied";

  ExpectOk(Pipeline("plan"));
  ExpectOk(Pipeline("apply", "elsewhere"));
  EXPECT_EQ(box_.GetNode("research").body["labels"]["team"].AsString(), "vision");
  const RunResult twice = Pipeline("apply");
  EXPECT_EQ(twice.code, 1) << "the plan is used up\n" << twice;
}

// Who may plan is not who may apply: he holds no key, may not write where the state is, and what he
// keeps for the apply is compared with what main's own files give.
TEST_F(GitopsTest, WhoPlansHoldsNoKeyAndAnApplyGoesByMainsOwnPlan) {
  const std::string key = std::string(TrimBlanks(box_.ReadFile("key")));
  box_.SetVariable("SSH_KEY", "");
  for (const std::string method : {"POST", "PUT", "PATCH", "DELETE"}) {
    box_.OrderFault(R"({"path": "*/storage/*", "every": 1, "status": 403, "message": "denied",
                        "method": ")" +
                    method + "\"}");
  }
  ExpectOk(Pipeline("plan"));
  EXPECT_EQ(
      box_.RunProgram({"sh", "-c", "ls bucket/my-project-podctl/plans | grep -v '[.]txt$'"}).out,
      "")
      << "nothing that could be carried out";
  box_.SetVariable("SSH_KEY", key);
  const RunResult may_not = Pipeline("apply");
  EXPECT_EQ(may_not.code, 1) << may_not;
  EXPECT_THAT(may_not.err, HasSubstr("roles/storage.objectUser")) << may_not;
  EXPECT_EQ(box_.GetNode("research").status, 404);
  box_.ForgetFaults();
  ExpectOk(Pipeline("apply"));

  AddToSpec("\n    labels: {team: vision}\n");
  box_.SetVariable("SSH_KEY", "");
  ExpectOk(Pipeline("plan"));
  ExpectOk(
      box_.RunProgram({"sh", "-c", "sed -i s/vision/other/ bucket/my-project-podctl/plans/*.txt"}));
  box_.SetVariable("SSH_KEY", key);
  const RunResult forged = Pipeline("apply");
  EXPECT_EQ(forged.code, 4) << forged;
  EXPECT_THAT(forged.err,
              AllOf(HasSubstr("Saved plan is stale: "), HasSubstr("start this pipeline by hand")))
      << forged;
  EXPECT_TRUE(box_.GetNode("research").body["labels"]["team"].is_null());

  ExpectOk(box_.RunProgram({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "other"}));
  box_.WriteFile("gitops/pipeline.pub", box_.ReadFile("other.pub"));
  const RunResult other = Pipeline("apply");
  EXPECT_EQ(other.code, 1) << other;
  EXPECT_THAT(other.err, HasSubstr("the public half of SSH_KEY is not in pipeline.pub")) << other;
}

// What makes a pod or a step stands in the plan's text, and not in the lines above it, which say
// only that it is new.
TEST_F(GitopsTest, WhatANewPodIsMadeOfIsComparedToo) {
  box_.WriteFile("gitops/podctl.yaml",
                 box_.ReadFile("gitops/podctl.yaml") + "\nvariables: {team: {}, step: {}}\n");
  AddToSpec(
      "\n    labels: {team: \"${var.team}\"}\n"
      "    bootstrap: [{name: hello, run: \"echo ${var.step}\"}]\n");
  box_.SetVariable("PODCTL_VAR_team", "vision");
  box_.SetVariable("PODCTL_VAR_step", "one");
  ExpectOk(Pipeline("plan"));
  for (const std::string name : {"team", "step"}) {
    box_.SetVariable("PODCTL_VAR_" + name, "other");
    const RunResult stale = Pipeline("apply");
    EXPECT_EQ(stale.code, 4) << name << stale;
    EXPECT_EQ(box_.GetNode("research").status, 404) << name << " was applied unseen";
    EXPECT_FALSE(Left("id_ed25519")) << "the key of the workers is for podctl only";
    box_.SetVariable("PODCTL_VAR_" + name, name == "team" ? "vision" : "one");
  }
  ExpectOk(Pipeline("apply"));
  EXPECT_EQ(box_.GetNode("research").body["labels"]["team"].AsString(), "vision");
}

TEST_F(GitopsTest, ANewerVersionOfASecretIsNotAppliedUnseen) {
  const std::string secrets = "/v1/projects/my-project/secrets";
  const std::string body = R"({"replication": {"automatic": {}}})";
  ASSERT_EQ(box_.Http("POST", secrets + "?secretId=token", body).status, 200);
  const auto add = [&](const std::string& base64) {
    const std::string version = R"({"payload": {"data": ")" + base64 + "\"}}";
    ASSERT_EQ(box_.Http("POST", secrets + "/token:addVersion", version).status, 200);
  };
  add("b25l");
  AddToSpec("\n    metadata: {token: {secret: projects/my-project/secrets/token}}\n");
  ExpectOk(Pipeline("plan"));
  add("dHdv");
  const RunResult stale = Pipeline("apply");
  EXPECT_EQ(stale.code, 4) << stale;
  EXPECT_EQ(box_.GetNode("research").status, 404);
  ExpectOk(Pipeline("plan"));
  ExpectOk(Pipeline("apply"));
}

// `.podctl` has the key of a run: what was committed there, or is left there, does not lead it
// elsewhere. Nor does what is called as a file that the job uploads.
TEST_F(GitopsTest, NothingUnderPodctlComesFromABranch) {
  const auto in_clone = [&](const std::string& script) {
    return box_.RunProgram({"sh", "-c", "cd clone && " + script});
  };
  ExpectOk(box_.RunProgram({"sh", "-c", kClone, "clone"}));
  ExpectOk(in_clone("ln -s ../../leak .podctl/id_ed25519 && ln -s ../../leak .podctl/plan.md"));
  const RunResult left = in_clone("umask 0; sh pipeline.sh plan && sh pipeline.sh apply");
  EXPECT_EQ(left.code, 0) << left;
  EXPECT_FALSE(box_.Exists("leak"));
  struct stat folder {};
  ASSERT_EQ(stat(box_.Path("clone/.podctl").c_str(), &folder), 0);
  EXPECT_EQ(folder.st_mode & 0777, 0700U);

  for (const std::string name : {"id_ed25519", "plan", "more/deep"}) {
    ExpectOk(box_.RunProgram({"sh", "-c",
                              "cd gitops && mkdir -p .podctl/more && ln -s ../../leak .podctl/$0 "
                              "&& git add -f .podctl/$0",
                              name}));
    for (const std::string what : {"plan", "apply"}) {
      const RunResult refused = Pipeline(what);
      EXPECT_EQ(refused.code, 1) << name << refused;
      EXPECT_THAT(refused.err, HasSubstr("files are committed under .podctl/")) << refused;
      EXPECT_THAT(box_.ReadFile("clone/.podctl/plan.md"), HasSubstr("files are committed under"));
    }
    ExpectOk(box_.RunProgram({"sh", "-c", "cd gitops && git rm -qf .podctl/$0", name}));
  }
  EXPECT_FALSE(box_.Exists("leak"));

  ExpectOk(box_.RunProgram(
      {"sh", "-c", "cd gitops && ln -s .podctl/id_ed25519 podctl.errored-1 && git add ."}));
  for (const std::string what : {"plan", "apply"}) {
    const RunResult refused = Pipeline(what);
    EXPECT_EQ(refused.code, 1) << refused;
    EXPECT_THAT(refused.err, HasSubstr("podctl.errored-1 is here already")) << refused;
    EXPECT_FALSE(Left("id_ed25519"));
  }
  ExpectOk(box_.RunProgram({"rm", "gitops/podctl.errored-1"}));

  ExpectOk(box_.RunProgram({"sh", "-c", kClone, "clone"}));
  ExpectOk(in_clone("rm -rf .podctl && mkdir ../theirs && ln -s ../theirs .podctl"));
  const RunResult link = in_clone("sh pipeline.sh apply");
  EXPECT_EQ(link.code, 1) << link;
  EXPECT_THAT(link.err, HasSubstr(".podctl is a link"));
  EXPECT_EQ(box_.RunProgram({"ls", "theirs"}).out, "");
}

TEST_F(GitopsTest, TheTwoAccountsAreHeldApart) {
  const std::string github = box_.ReadFile("gitops/.github/workflows/podctl.yml");
  const std::string plan = github.substr(0, github.find("\n  apply:"));
  const std::string apply = github.substr(plan.size());
  EXPECT_THAT(plan, AllOf(HasSubstr("vars.PLAN_SERVICE_ACCOUNT"), Not(HasSubstr("SSH_KEY")),
                          Not(HasSubstr("vars.SERVICE_ACCOUNT"))));
  EXPECT_THAT(apply, AllOf(HasSubstr("environment: podctl"), HasSubstr("vars.SERVICE_ACCOUNT"),
                           Not(HasSubstr("pull-requests"))));
  for (const std::string& line : SplitLines(github)) {
    const auto at = line.find("uses: ");
    if (at == std::string::npos) continue;
    EXPECT_THAT(line.substr(at), ::testing::ContainsRegex("@[0-9a-f]{40}  # v[0-9]"));
  }
  // What is uploaded is what podctl alone writes; another pattern could take the key along.
  const std::string gitlab = box_.ReadFile("gitops/.gitlab-ci.yml");
  EXPECT_THAT(apply, HasSubstr("\n          path: podctl.errored-*\n"));
  EXPECT_THAT(gitlab, EndsWith("\n    paths: [podctl.errored-*]\n"));

  // A subject can be had by who may not apply; so federation asks for more.
  const std::string page = box_.ReadFile("gitops/pipeline.md");
  for (const char* part :
       {"assertion.repository_id == 'ID' && assertion.repository_owner_id == 'ID'",
        "assertion.project_id == 'ID' && assertion.namespace_id == 'ID'",
        "assertion.ref_protected == 'true' && assertion.pipeline_source == 'push'",
        "assertion.sub == 'repo:OWNER/REPOSITORY:environment:podctl'", "/attribute.job/apply`",
        "startsWith(\"projects/_/buckets/BUCKET/objects/plans/\")"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  EXPECT_THAT(page, Not(HasSubstr("POOL/subject/")));
}

TEST_F(GitopsTest, AFailedPlanHasSomethingToShowToo) {
  const std::string spec = box_.ReadFile("gitops/podctl.yaml");
  box_.WriteFile("gitops/podctl.yaml", Replace(spec, "gs://my-project-podctl", "gs://nowhere-x"));
  const RunResult nowhere = Pipeline("plan");
  EXPECT_EQ(nowhere.code, 1) << nowhere;
  EXPECT_THAT(box_.ReadFile("clone/.podctl/plan.md"),
              AllOf(HasSubstr("podctl state init"), HasSubstr("<!-- podctl plan -->")))
      << nowhere;
  box_.WriteFile("gitops/podctl.yaml", spec);

  box_.SetVariable("PLANS", "gs://elsewhere/plans");
  const RunResult unkept = Pipeline("plan");
  EXPECT_EQ(unkept.code, 1) << unkept;
  EXPECT_THAT(unkept.err, HasSubstr("cannot keep what was shown")) << unkept;
  EXPECT_THAT(box_.ReadFile("clone/.podctl/plan.md"), HasSubstr("<!-- podctl plan -->"));

  AddToSpec("\n    lables: {team: vision}\n");
  EXPECT_EQ(Pipeline("plan").code, 1);
  EXPECT_THAT(box_.ReadFile("clone/.podctl/plan.md"),
              AllOf(HasSubstr("did you mean \\`labels\\`?"), HasSubstr("<!-- podctl plan -->")));
}

TEST_F(GitopsTest, OfTwoThatApplyAtOnceOneIsTurnedAway) {
  AddEndlessStep();
  ExpectOk(Pipeline("plan"));
  const auto first = InTheMiddle();
  SayRun("8");
  ExpectOk(Pipeline("plan", "elsewhere"));
  box_.SetVariable("LOCK_TIMEOUT", "0s");
  const RunResult second = Pipeline("apply", "elsewhere");
  EXPECT_EQ(second.code, 3) << second;
  EXPECT_THAT(second.err, AllOf(HasSubstr("Error acquiring the state lock"),
                                HasSubstr("CI run:    https://github.com/o/r/actions/runs/7\n")))
      << second;
  EXPECT_TRUE(Locked()) << "it is the other's";

  // One that waits, and is cancelled meanwhile.
  box_.SetVariable("LOCK_TIMEOUT", "");
  const auto waiting = box_.StartProgram(PipelineCommand("apply", "elsewhere"));
  EXPECT_TRUE(waiting->WaitForErr("Waiting for ")) << waiting->err();
  ExpectOk(box_.RunProgram({"sh", "-c", "cd elsewhere && sh -e pipeline.sh stop"}));
  EXPECT_EQ(waiting->Wait(), 130) << waiting->err();
  EXPECT_TRUE(Locked());

  LetItEnd();
  EXPECT_EQ(first->Wait(), 0) << first->err();
  EXPECT_FALSE(Locked());
  EXPECT_EQ(box_.Calls("nodes.create"), 1);
}

// As a runner ends it: by a signal, at whatever it is.
TEST_F(GitopsTest, ACancelledApplyGivesItsLockBack) {
  AddEndlessStep();
  ExpectOk(Pipeline("plan"));
  const auto apply = InTheMiddle();
  EXPECT_TRUE(Locked());
  const RunResult stopped =
      box_.RunProgram({"sh", "-c", "cd clone && sh -e pipeline.sh stop"});  // in its container
  EXPECT_EQ(stopped.code, 0) << stopped;
  EXPECT_THAT(stopped.out, HasSubstr("cancelled: podctl ends")) << "told to who reads";
  EXPECT_EQ(apply->Wait(), 130);
  EXPECT_FALSE(Locked()) << "the next pipeline is turned away";
  EXPECT_FALSE(Left("id_ed25519"));
  EXPECT_THAT(Stored(), HasSubstr("pod.research"));
}

TEST_F(GitopsTest, ARunnerThatIsLostIsOvertakenByTheNextApply) {
  AddEndlessStep();
  ExpectOk(Pipeline("plan"));
  auto lost = InTheMiddle();
  lost.reset();  // the whole group, by SIGKILL
  EXPECT_TRUE(Locked());
  LetItEnd();

  SayRun("8");
  const RunResult stale = Pipeline("apply");
  EXPECT_EQ(stale.code, 4) << "what was reviewed is half done\n" << stale;
  ExpectOk(Pipeline("plan"));
  const RunResult next = Pipeline("apply");
  EXPECT_EQ(next.code, 0) << next;
  EXPECT_THAT(next.err, AllOf(HasSubstr("took over the state lock of "),
                              HasSubstr("(apply, https://github.com/o/r/actions/runs/7), which "
                                        "ended without releasing it")))
      << next;
  EXPECT_EQ(box_.Calls("nodes.create"), 1);
  EXPECT_FALSE(Locked());
  ExpectOk(Pipeline("plan"));
  EXPECT_THAT(box_.ReadFile("clone/.podctl/plan.md"), HasSubstr("No changes"));
}

// The account loses its role in the middle, at first over the state alone: what podctl knows is
// kept where its error says, and is taken back from there.
TEST_F(GitopsTest, WhatCannotBeSavedIsKeptAndPushedLater) {
  AddEndlessStep();
  ExpectOk(Pipeline("plan"));
  const auto apply = InTheMiddle();
  const std::string denied = R"("every": 1, "status": 403, "message": "denied"})";
  for (const std::string path : {"o/state/journal", "o/state/state.json", "o/state/errored"}) {
    box_.OrderFault(R"({"call": "storage.objects.insert", "path": ")" + path + "\", " + denied);
  }
  LetItEnd();
  EXPECT_EQ(apply->Wait(), 1) << apply->err();
  const std::string unsaved = Unsaved();
  EXPECT_THAT(unsaved, ::testing::StartsWith("podctl.errored-"));
  EXPECT_THAT(apply->err(), AllOf(HasSubstr("the state could not be saved"),
                                  HasSubstr("podctl state push ./" + unsaved)));
  box_.ForgetFaults();
  EXPECT_FALSE(Locked());
  EXPECT_EQ(box_.Calls("nodes.create"), 1);

  ExpectOk(Run("gitops/podctl.yaml", {"state", "push", "clone/" + unsaved}));
  ExpectOk(Pipeline("plan"));
  EXPECT_THAT(box_.ReadFile("clone/.podctl/plan.md"), HasSubstr("No changes"))
      << "the step is known to have run";
}

}  // namespace
}  // namespace podctl::testing
