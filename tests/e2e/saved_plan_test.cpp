// Saved plans and what other people's tools read of podctl, with the built binary.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>
#include <map>
#include <regex>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"
#include "tests/support/folders.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPods =
    "  research:\n"
    "    acceleratorType: v3-8\n"
    "    runtimeVersion: tpu-vm-tf-2.11.0\n"
    "    labels: {team: \"${var.team}\"}\n"
    "    metadata: {token: {env: TOKEN, sensitive: true}}\n"
    "  other:\n"
    "    acceleratorType: v3-8\n"
    "    runtimeVersion: tpu-vm-tf-2.11.0\n";

class SavedPlanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    box_.StartEmulator("none");
    Write(kPods);
    box_.SetVariable("TOKEN", "the-secret");
  }
  void Write(const std::string& pods) {
    box_.WriteSpec(pods);
    box_.WriteFile("podctl.yaml",
                   "variables: {team: {default: vision}}\n" + box_.ReadFile("podctl.yaml"));
  }
  void Save(const std::string& file, const Arguments& more = {}) {
    Arguments words = {"plan", "--out", file};
    words.insert(words.end(), more.begin(), more.end());
    const RunResult plan = box_.Run(words);
    ASSERT_EQ(plan.code, 0) << plan;
    EXPECT_THAT(plan.out, HasSubstr("\nSaved the plan to: " + file +
                                    "\n\nTo perform exactly these actions, run the following "
                                    "command to apply:\n    podctl apply " +
                                    file + "\n"));
  }
  RunResult ApplySaved(const std::string& file) { return box_.Run({"apply", file}); }
  void ExpectNoChanges() {
    const RunResult plan = box_.Run({"plan", "--detailed-exitcode"});
    EXPECT_EQ(plan.code, 0) << plan;
    EXPECT_THAT(plan.out,
                HasSubstr("No changes. Your infrastructure matches the configuration.\n"));
  }
  void ExpectStale(const RunResult& run, const std::string& why) {
    EXPECT_EQ(run.code, 4) << run;
    EXPECT_THAT(run.err, AllOf(HasSubstr("Error: Saved plan is stale\n"), HasSubstr(why))) << run;
  }

  Sandbox box_;
};

TEST_F(SavedPlanTest, IsAppliedAsItWasReviewedAndOnce) {
  Save("first.plan", {"--var", "team=speech"});
  struct stat info {};
  ASSERT_EQ(stat(box_.Path("first.plan").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
  EXPECT_THAT(box_.ReadFile("first.plan"), Not(HasSubstr("the-secret")));
  EXPECT_EQ(box_.Requests()["mutating"].AsInt(), 0);
  EXPECT_FALSE(box_.Exists("podctl.state.json"));
  EXPECT_THAT(box_.Run({"show", "first.plan"}).out,
              HasSubstr("Plan: 2 to add, 0 to change, 0 to destroy.\n"));

  // Nobody is asked, and the variable of that time counts.
  const RunResult applied = ApplySaved("first.plan");
  EXPECT_EQ(applied.code, 0) << applied;
  EXPECT_THAT(applied.out,
              HasSubstr("Apply complete! Resources: 2 added, 0 changed, 0 destroyed."));
  EXPECT_EQ(box_.GetNode("research").body["labels"]["team"].AsString(), "speech");
  EXPECT_EQ(box_.GetNode("research").body["metadata"]["token"].AsString(), "the-secret");
  ExpectStale(ApplySaved("first.plan"),
              "The given plan file can no longer be applied because the state was changed by "
              "another operation after the plan was created.");
}

TEST_F(SavedPlanTest, OfTwoFirstPlansOneIsApplied) {
  Save("a.plan");
  Save("b.plan");
  EXPECT_EQ(ApplySaved("b.plan").code, 0);
  ExpectStale(ApplySaved("a.plan"), "There was no state when it was created");
}

TEST_F(SavedPlanTest, ANodeThatChangedMakesItStale) {
  box_.Apply();
  Write(Replace(kPods, "${var.team}", "speech"));
  Save("change.plan");
  box_.Change("PATCH", std::string(kNodes) + "/other?updateMask=labels", R"({"labels":{"x":"y"}})");
  EXPECT_EQ(ApplySaved("change.plan").code, 0) << "the plan does not touch that one";
  Write(kPods);
  Save("back.plan");
  box_.Change("PATCH", std::string(kNodes) + "/research?updateMask=labels",
              R"({"labels":{"team":"speech","x":"y"}})");
  box_.CountAnew();
  ExpectStale(ApplySaved("back.plan"), "pod.research: labels.x was changed");
  EXPECT_EQ(box_.Requests()["mutating"].AsInt(), 0);
  box_.Change("DELETE", std::string(kNodes) + "/research");
  ExpectStale(ApplySaved("back.plan"), "pod.research: the node `research` was deleted");
}

TEST_F(SavedPlanTest, SensitiveValuesAreTakenAgain) {
  Save("secret.plan");
  box_.SetVariable("TOKEN", "another");
  RunResult applied = ApplySaved("secret.plan");
  EXPECT_EQ(applied.code, 1);
  EXPECT_THAT(applied.err, HasSubstr("the sensitive value of metadata.token of pod.research is "
                                     "another one than the plan was made with"));
  box_.UnsetVariable("TOKEN");
  applied = ApplySaved("secret.plan");
  EXPECT_EQ(applied.code, 1);
  EXPECT_THAT(applied.err, HasSubstr("TOKEN"));
  box_.SetVariable("TOKEN", "the-secret");
  EXPECT_EQ(ApplySaved("secret.plan").code, 0);
  ExpectNoChanges();  // the state holds the digest of the value itself
}

TEST_F(SavedPlanTest, NothingMayChangeWhatItSays) {
  Save("a.plan");
  const RunResult variable = box_.Run({"apply", "--var", "team=other", "a.plan"});
  EXPECT_EQ(variable.code, 1);
  EXPECT_THAT(variable.err, HasSubstr("Error: Can't set variables when applying a saved plan"));
  box_.WriteFile("other.yaml", "team: other\n");
  const RunResult file = box_.Run({"apply", "--var-file", "other.yaml", "a.plan"});
  EXPECT_EQ(file.code, 1);
  EXPECT_THAT(file.err, HasSubstr("Error: Can't set variables when applying a saved plan"));
  const RunResult target = box_.Run({"apply", "--target", "pod.other", "a.plan"});
  EXPECT_EQ(target.code, 1);
  EXPECT_THAT(target.err, HasSubstr("Error: Can't use --target when applying a saved plan"));
  const RunResult elsewhere = box_.Run({"apply", "--endpoint", "http://127.0.0.1:1", "a.plan"});
  EXPECT_EQ(elsewhere.code, 1);
  EXPECT_THAT(elsewhere.err, HasSubstr("Error: Saved plan is for another API"));

  // Another spec is said, and the plan is applied.
  Write(std::string(kPods) + "  third: {acceleratorType: v3-8, runtimeVersion: x}\n");
  box_.WriteFile("same.yaml", "team: vision\n");
  const RunResult applied = box_.Run({"apply", "--var-file", "same.yaml", "a.plan"});
  EXPECT_EQ(applied.code, 0) << applied;
  EXPECT_THAT(applied.err, HasSubstr("Warning: the spec was edited after the plan was created"));
  EXPECT_EQ(box_.GetNode("third").status, 404);
}

TEST_F(SavedPlanTest, ADestroyPlanAndAnotherFolder) {
  box_.Apply();
  Save("end.plan", {"--destroy"});
  box_.WriteFile("sub/empty", "");
  const RunResult applied = box_.RunProgram(
      {"sh", "-c", "cd sub && '" + podctl::testing::BinaryFolder() + "/podctl' apply ../end.plan"});
  EXPECT_EQ(applied.code, 0) << applied;
  EXPECT_THAT(applied.out, HasSubstr("Destroy complete! Resources: 2 destroyed."));
  EXPECT_FALSE(box_.Exists("sub/podctl.state.json"));
  ExpectStale(ApplySaved("end.plan"), "is at serial");
}

TEST_F(SavedPlanTest, WhatIsNoPlanIsLeftAlone) {
  const RunResult over = box_.Run({"plan", "--out", "podctl.yaml"});
  EXPECT_EQ(over.code, 1);
  EXPECT_THAT(over.err, HasSubstr("podctl.yaml is there already, and is not a saved plan"));
  EXPECT_THAT(box_.ReadFile("podctl.yaml"), HasSubstr("pods:"));
  const RunResult foreign = box_.Run({"apply", "podctl.yaml"});
  EXPECT_EQ(foreign.code, 1);
  EXPECT_THAT(foreign.err, HasSubstr("podctl.yaml is not a saved plan"));
  box_.UnsetVariable("TOKEN");
  EXPECT_EQ(box_.Run({"plan", "--out", "broken.plan"}).code, 1);
  EXPECT_FALSE(box_.Exists("broken.plan")) << "a plan with errors cannot be saved";
}

// Whoever may write where a pipeline keeps its plans can alter one, and make its checksum anew.
TEST_F(SavedPlanTest, AForgedPlanIsNeitherShownNorApplied) {
  const auto forge = [&](const std::string& path, const std::function<void(Value&)>& alter) {
    Value document = *ParseJson(box_.ReadFile(path));
    alter(document);
    document.Set("checksum", "");
    box_.WriteFile("compact", ToJson(document));
    const std::string sum = box_.RunProgram({"sha256sum", box_.Path("compact")}).out;
    document.Set("checksum", "sha256:" + sum.substr(0, 64));
    box_.WriteFile("forged.plan", ToJson(document));
  };
  const auto alter_first = [](const std::string& path, const Value& value) {
    return [=](Value& document) {
      Value::List changes = document["plan"]["changes"].AsList();
      changes.front().SetPath(path, value);
      document.SetPath("plan.changes", Value(std::move(changes)));
    };
  };
  Save("first.plan");
  forge("first.plan", alter_first("pod.wanted.node.acceleratorType", Value("v2-8")));
  for (const Arguments& words :
       {Arguments{"show", "forged.plan"}, Arguments{"apply", "forged.plan"}}) {
    const RunResult refused = box_.Run(words);
    EXPECT_EQ(refused.code, 4) << refused;
    EXPECT_THAT(refused.err,
                HasSubstr("forged.plan was altered: what it shows of pod.research is not "
                          "what it does: acceleratorType"));
  }
  forge("first.plan", [&](Value& document) { document.Set("state_path", "/nowhere/x.json"); });
  EXPECT_THAT(box_.Run({"show", "forged.plan"}).out,
              HasSubstr("\nState: `podctl apply` writes /nowhere/x.json.\n"));
  EXPECT_THAT(box_.Run({"show", "first.plan"}).out, Not(HasSubstr("State:")));
  forge("first.plan", alter_first("pod.wanted.ssh.proxy_jump", Value("evil.example")));
  EXPECT_THAT(box_.Run({"show", "forged.plan"}).out,
              AllOf(HasSubstr("Seal: none. The plan says that it was made before there was a "
                              "state; nobody vouches for what it says.\n"),
                    HasSubstr("\npod.research goes by these, too:\n"),
                    HasSubstr("\n    ssh.proxyJump = \"evil.example\"\n")));
  forge("first.plan", alter_first("waits_for", Value(Value::List{Value("pod.other")})));
  EXPECT_THAT(box_.Run({"show", "forged.plan"}).out,
              HasSubstr("\n    waits for = \"pod.other\"\n"));
  forge("first.plan", alter_first("pod.wanted.depends_on", Value(Value::List{Value("pod.other")})));
  EXPECT_THAT(box_.Run({"show", "forged.plan"}).out,
              HasSubstr("\n    dependsOn = \"pod.other\"\n"));
  forge("first.plan", [&](Value& document) { document.SetPath("variables.team", "evil"); });
  EXPECT_THAT(box_.Run({"show", "forged.plan"}).out, HasSubstr("\nVariables: team = \"evil\""));
  forge("first.plan", [&](Value& document) {
    document.Set("spec_paths", Value(Value::List{Value("evil.yaml")}));
  });
  EXPECT_THAT(box_.Run({"show", "forged.plan"}).out,
              HasSubstr("\nSpec: sensitive values and jobs are read from evil.yaml.\n"));
  box_.WriteFile("evil/podctl.yaml", "project: p\n");
  forge("first.plan", [&](Value& document) { document.Set("folder", box_.Path("evil")); });
  EXPECT_THAT(box_.Run({"show", "forged.plan"}).out,
              HasSubstr("\nFolder: relative paths start in " + box_.Path("evil") + ".\n"));

  box_.Apply();
  Write(Replace(kPods, "${var.team}", "speech"));
  Save("change.plan");
  EXPECT_EQ(box_.Run({"show", "change.plan"}).code, 0);
  for (const auto& [path, value] :
       std::map<std::string, Value>{{"pod.wanted.metadata.startup-script.text", Value("evil")},
                                    {"pod.wanted.ssh.proxy_jump", Value("evil.example")},
                                    {"reason", Value("all is well")}}) {
    forge("change.plan", alter_first(path, value));
    // An entry of which members are missing cannot be read; the rest the seal tells.
    const int code = path.ends_with("startup-script.text") ? 1 : 4;
    EXPECT_EQ(box_.Run({"show", "forged.plan"}).code, code) << path;
    EXPECT_EQ(ApplySaved("forged.plan").code, code) << path;
  }
  forge("change.plan", alter_first("reason", Value("all is well")));
  EXPECT_THAT(box_.Run({"show", "forged.plan"}).err,
              HasSubstr("does not bear the seal of its state"));
  EXPECT_THAT(ApplySaved("forged.plan").err, HasSubstr("Error: Saved plan was altered\n"));
  // Where its state is not, nobody can tell; and that is said.
  box_.WriteFile("else/forged.plan", box_.ReadFile("forged.plan"));
  const RunResult blind = box_.Run({"--state", "else/none.json", "show", "else/forged.plan"});
  EXPECT_EQ(blind.code, 0) << blind;
  EXPECT_THAT(blind.out, HasSubstr("Seal: not looked at, since its state is not here."));
  forge("change.plan", [&](Value& document) { document.Set("seal", ""); });
  box_.WriteFile("else/forged.plan", box_.ReadFile("forged.plan"));
  EXPECT_THAT(box_.Run({"--state", "else/none.json", "show", "else/forged.plan"}).out,
              HasSubstr("Seal: none, and nobody vouches for what it says."));
  EXPECT_EQ(ApplySaved("change.plan").code, 0);
}

// Exit code 4: it is not the plan that was reviewed. What cannot be read is no plan at all.
TEST_F(SavedPlanTest, AnEditedPlanIsNotTheOneThatWasReviewed) {
  Save("a.plan");
  const std::string text = box_.ReadFile("a.plan");
  box_.WriteFile("edited.plan", Replace(text, "v3-8", "v3-9"));
  box_.WriteFile("cut.plan", text.substr(0, text.size() / 2));
  for (const char* command : {"show", "apply"}) {
    const RunResult edited = box_.Run({command, "edited.plan"});
    EXPECT_EQ(edited.code, 4) << edited;
    EXPECT_THAT(edited.err, HasSubstr("edited.plan was altered: its content does not match its "
                                      "checksum"));
    const RunResult cut = box_.Run({command, "cut.plan"});
    EXPECT_EQ(cut.code, 1) << cut;
    EXPECT_THAT(cut.err, HasSubstr("cut.plan is damaged"));
  }
}

// The state that it would lead to could not be read again.
TEST_F(SavedPlanTest, APlanOfWhatNoStateCanSayIsRefused) {
  box_.WriteSpec(
      "  research: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0, "
      "queuedResource: {spot: true}}\n");
  Save("a.plan");
  Value document = *ParseJson(box_.ReadFile("a.plan"));
  Value::List changes = document["plan"]["changes"].AsList();
  changes.front().SetPath("pod.wanted.queued.slices", Value(-1));
  document.SetPath("plan.changes", Value(std::move(changes)));
  document.Set("checksum", "");
  box_.WriteFile("compact", ToJson(document));
  const std::string sum = box_.RunProgram({"sha256sum", box_.Path("compact")}).out;
  document.Set("checksum", "sha256:" + sum.substr(0, 64));
  box_.WriteFile("forged.plan", ToJson(document));
  const RunResult refused = ApplySaved("forged.plan");
  EXPECT_EQ(refused.code, 1) << refused;
  EXPECT_THAT(refused.err, HasSubstr("`plan.changes[0].pod.wanted.queued.slices` is out of range"));
  EXPECT_FALSE(box_.Exists("podctl.state.json"));
}

// Neither in the file nor in what is made of it for other tools.
TEST_F(SavedPlanTest, WhatBecomesSensitiveIsHiddenAsItWas) {
  Write(Replace(kPods, "{env: TOKEN, sensitive: true}", "{env: TOKEN}"));
  box_.Apply();
  EXPECT_THAT(box_.ReadFile("podctl.state.json"), HasSubstr("the-secret"));
  Write(kPods);
  box_.SetVariable("TOKEN", "the-next-secret");
  Save("hides.plan");
  EXPECT_THAT(box_.ReadFile("hides.plan"), Not(HasSubstr("secret\"")));
  for (const Arguments& words :
       {Arguments{"show", "hides.plan"}, Arguments{"show", "--json", "hides.plan"},
        Arguments{"show", "--markdown", "hides.plan"}, Arguments{"plan"},
        Arguments{"plan", "--json"}, Arguments{"plan", "--markdown"}}) {
    const RunResult shown = box_.Run(words);
    EXPECT_EQ(shown.code, 0) << shown;
    EXPECT_THAT(shown.out, Not(HasSubstr("-secret"))) << shown;
  }
  EXPECT_EQ(ApplySaved("hides.plan").code, 0);
  EXPECT_THAT(box_.ReadFile("podctl.state.json"), Not(HasSubstr("-secret\"")));
  ExpectNoChanges();
}

TEST_F(SavedPlanTest, ShowsTheTextOfAFileWithItsReferences) {
  box_.WriteFile("podctl.yaml", box_.ReadFile("podctl.yaml") +
                                    "files: {hosts: {path: hosts, content: \"[tpu]\\n"
                                    "${pod.research.networkEndpoints[0].ipAddress} x=1\\n\"}}\n");
  Save("a.plan");
  EXPECT_THAT(box_.Run({"show", "a.plan"}).out,
              HasSubstr("\nfile.hosts goes by these, too:\n    content = (2 lines)\n"
                        "      | [tpu]\n"
                        "      | ${pod.research.networkEndpoints[0].ipAddress} x=1\n"));
}

TEST_F(SavedPlanTest, AnAddressIsNoPlan) {
  const RunResult shown = box_.Run({"show", "pod.research"});
  EXPECT_EQ(shown.code, 1);
  EXPECT_THAT(shown.err, HasSubstr("podctl state show pod.research"));
}

// The filter that GitLab documents for its merge-request widget (artifacts:reports:terraform).
TEST_F(SavedPlanTest, GitLabCountsIt) {
  box_.Apply();
  Write(Replace(Replace(kPods, "${var.team}", "speech"), "  other:", "  next:"));
  Save("mr.plan");
  const RunResult json = box_.Run({"show", "--json", "mr.plan"});
  ASSERT_EQ(json.code, 0) << json;
  EXPECT_THAT(json.out, Not(HasSubstr("the-secret")));
  box_.WriteFile("plan.json", json.out);
  const RunResult counted = box_.RunProgram(
      {"jq", "-r", "-c",
       R"(([.resource_changes[]?.change.actions?]|flatten)|{"create":(map(select(.=="create"))|length),"update":(map(select(.=="update"))|length),"delete":(map(select(.=="delete"))|length)})",
       box_.Path("plan.json")});
  EXPECT_EQ(counted.code, 0) << counted;
  EXPECT_EQ(counted.out, "{\"create\":1,\"update\":1,\"delete\":1}\n");
}

TEST_F(SavedPlanTest, ACommentForAPullRequest) {
  const RunResult plan = box_.Run({"plan", "--markdown", "--out", "pr.plan"});
  EXPECT_EQ(plan.code, 0) << plan;
  EXPECT_TRUE(plan.out.starts_with("### podctl plan: 2 to add, 0 to change, 0 to destroy\n"));
  EXPECT_THAT(plan.err, HasSubstr("Saved the plan to: pr.plan"));
  const RunResult shown = box_.Run({"show", "--markdown", "pr.plan"});
  // The same, with notes on the file.
  const auto notes = shown.out.find("\n**Notes**\n");
  ASSERT_NE(notes, std::string::npos) << shown;
  EXPECT_TRUE(plan.out.starts_with(shown.out.substr(0, notes))) << shown;
  EXPECT_THAT(shown.out,
              AllOf(HasSubstr("\n- Seal: none."),
                    HasSubstr("\n- pod.research, pod.other go by these, too: project = ")));
  box_.WriteFile("podctl.yaml", "pods: {x: {}}\n");
  const RunResult failed = box_.Run({"plan", "--markdown"});
  EXPECT_EQ(failed.code, 1);
  EXPECT_TRUE(failed.out.starts_with("### podctl plan: failed\n")) << failed;
}

// How terraform-exec finds out that a state is locked, and by whom.
TEST_F(SavedPlanTest, TerraformExecReadsTheLock) {
  box_.StopEmulator();
  box_.StartEmulator("none", "30s");
  const auto holder = box_.Start({"apply", "--auto-approve"});
  ASSERT_TRUE(Eventually([&] { return box_.Calls("nodes.create") > 0; }));
  const RunResult second = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(second.code, 3);
  EXPECT_THAT(second.err, HasSubstr("Error acquiring the state lock"));
  const std::regex info(
      "Lock Info:\\n\\s*ID:\\s*([^\\n]+)\\n\\s*Path:\\s*([^\\n]+)\\n\\s*Operation:\\s*([^\\n]+)\\n"
      "\\s*Who:\\s*([^\\n]+)\\n\\s*Version:\\s*([^\\n]+)\\n\\s*Created:\\s*([^\\n]+)\\n");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(second.err, found, info)) << second;
  EXPECT_THAT(found[2].str(), HasSubstr("podctl.state.json"));
  EXPECT_EQ(found[3].str(), "apply");
}

}  // namespace
}  // namespace podctl::testing
