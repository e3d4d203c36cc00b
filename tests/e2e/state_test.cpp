// Looking after the state: pods made by hand are imported, addresses moved and forgotten, whole
// states pulled, pushed and restored. The nodes never notice.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kNoChanges = "No changes. Your infrastructure matches the configuration.\n";
constexpr const char* kPods =
    "  a: {acceleratorType: v3-8, runtimeVersion: tpu-ubuntu2204-base}\n"
    "  b: {acceleratorType: v3-8, runtimeVersion: tpu-ubuntu2204-base}\n";

class StateTest : public ::testing::Test {
 protected:
  void SetUp() override { box_.StartEmulator("none", "0.1s"); }

  // A node as somebody makes it with another tool.
  void MakeByHand(const std::string& id, const std::string& body = R"({
      "acceleratorType": "v3-32", "runtimeVersion": "tpu-vm-tf-2.11.0-pod",
      "labels": {"team": "vision"}, "networkConfig": {"enableExternalIps": true},
      "metadata": {"startup-script": "#!/bin/sh\necho ${HOME}\n", "token": "hunter2",
        "tensorflow-env-vars": "-e LIBTPU_INIT_ARGS='--a=1 --b=2' -e TF=1"}})") {
    box_.Change("POST", std::string(kNodes) + "?nodeId=" + id, body);
  }
  RunResult Import(const std::string& address, const std::string& id, Arguments more = {}) {
    Arguments words = {"import", address,         id, "--project", "my-project",
                       "--zone", "europe-west4-a"};
    words.insert(words.end(), more.begin(), more.end());
    return box_.Run(words);
  }
  void ExpectNoChanges(const Arguments& more = {}) {
    Arguments words = {"plan", "--detailed-exitcode"};
    words.insert(words.end(), more.begin(), more.end());
    const RunResult plan = box_.Run(words);
    EXPECT_EQ(plan.code, 0) << plan;
    EXPECT_EQ(plan.out, kNoChanges);
  }
  std::int64_t Serial() { return box_.State()["serial"].AsInt(); }
  void ExpectOk(const RunResult& run) { EXPECT_EQ(run.code, 0) << run; }

  Sandbox box_;
};

TEST_F(StateTest, AnImportedPodIsNeverTouched) {
  MakeByHand("made");
  box_.CountAnew();
  const RunResult import = Import("pod.research", "made");
  ASSERT_EQ(import.code, 0) << import;
  EXPECT_THAT(import.err, HasSubstr("Imported pod.research: projects/my-project/locations/"
                                    "europe-west4-a/nodes/made (v3-32, READY, 4 workers).\n"));
  EXPECT_THAT(import.err, HasSubstr("Put this into the spec before the next apply"));
  EXPECT_THAT(import.out + import.err, Not(HasSubstr("hunter2")));
  EXPECT_THAT(box_.ReadFile("podctl.state.json"), Not(HasSubstr("hunter2")));
  box_.WriteFile("podctl.yaml", import.out);
  ExpectNoChanges();
  const RunResult apply = box_.Run({"apply", "--auto-approve"});
  ExpectOk(apply);
  EXPECT_EQ(box_.Requests()["mutating"].AsInt(), 0) << ToJson(box_.Requests());
  // From then on it is a pod like any other: one flag, one patch.
  box_.WriteFile("podctl.yaml", Replace(import.out, "a: \"1\"", "a: \"2\""));
  EXPECT_THAT(box_.Run({"plan"}).out, HasSubstr("Plan: 0 to add, 1 to change, 0 to destroy."));
}

// The shell empties podctl.yaml before podctl looks for it.
TEST_F(StateTest, TheSpecMayBeTheOutputItself) {
  MakeByHand("made");
  box_.WriteFile("podctl.yaml", "");
  const RunResult import = Import("pod.research", "europe-west4-a/made");
  ASSERT_EQ(import.code, 0) << import;
  box_.WriteFile("podctl.yaml", import.out);
  ExpectNoChanges();
}

TEST_F(StateTest, ImportWritesANewSpec) {
  MakeByHand("made");
  ExpectOk(Import("pod.research", "projects/my-project/locations/europe-west4-a/nodes/made",
                  {"--write-spec", "sub.yaml"}));
  EXPECT_THAT(box_.ReadFile("sub.yaml"), HasSubstr("project: my-project\nzone: europe-west4-a\n"));
  ExpectNoChanges({"-f", "sub.yaml"});
}

TEST_F(StateTest, ImportAddsToASpecAndLeavesTheRestAlone) {
  const std::string before =
      "# Ours.\nproject: my-project\nzone: europe-west4-a\n\npods:\n    # the first\n"
      "    a: {acceleratorType: v3-8, runtimeVersion: tpu-ubuntu2204-base}  # small\n";
  const std::string after =
      "\n# Who pays.\ndefaults: {labels: {team: vision}, ssh: {check: false}}\n";
  box_.WriteFile("podctl.yaml", before + after);
  box_.Apply();
  MakeByHand("made");
  // Only root can give a file away, and what root writes stays whose it was.
  constexpr uid_t kNobody = 65534;
  const std::string path = box_.Path("podctl.yaml");
  const bool is_given = ::chown(path.c_str(), kNobody, kNobody) == 0;
  const RunResult import = Import("pod.research", "made", {"--write-spec", "podctl.yaml"});
  ASSERT_EQ(import.code, 0) << import;
  EXPECT_EQ(import.out, "");
  struct stat there {};
  ASSERT_EQ(::stat(path.c_str(), &there), 0);
  EXPECT_EQ(there.st_uid, is_given ? kNobody : ::geteuid());
  const std::string spec = box_.ReadFile("podctl.yaml");
  EXPECT_TRUE(spec.starts_with(before + "    research:\n")) << spec;
  EXPECT_TRUE(spec.ends_with(after)) << spec;
  // The key that the first apply has made is not on this node.
  EXPECT_THAT(import.err, HasSubstr("Its `ssh-keys` lack a key: the next apply adds"));
  EXPECT_THAT(box_.Run({"plan"}).out, HasSubstr("+ metadata.ssh-keys["));
  ExpectOk(box_.Run({"apply", "--auto-approve"}));
  ExpectNoChanges();
  // Braces are not taken apart.
  box_.WriteFile("podctl.yaml",
                 "project: my-project\nzone: europe-west4-a\npods: {a: {acceleratorType: v3-8, "
                 "runtimeVersion: tpu-ubuntu2204-base}}\n");
  ExpectOk(box_.Run({"state", "rm", "pod.research"}));
  const RunResult refused = Import("pod.research", "made", {"--write-spec", "podctl.yaml"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("its pods stand in braces"));
  EXPECT_EQ(box_.Run({"state", "list"}).out, "pod.a\n");
}

// Nodes of two zones, two of them of the same id; then what nobody should take over.
TEST_F(StateTest, AWholeProjectIsTakenOverAndTouchedNowhere) {
  const std::string america = "/v2/projects/my-project/locations/us-central2-b";
  MakeByHand("train");
  MakeByHand("small", R"({"acceleratorType": "v3-8", "runtimeVersion": "tpu-ubuntu2204-base"})");
  box_.Change("POST", america + "/nodes?nodeId=train",
              R"({"acceleratorType": "v4-16", "runtimeVersion": "tpu-ubuntu2204-base"})");
  MakeByHand("theirs", R"({"acceleratorType": "v3-8", "runtimeVersion": "tpu-ubuntu2204-base",
      "labels": {"podctl-lineage": "11111111-1111-4111-8111-111111111111"}})");
  box_.Change(
      "POST", america + "/queuedResources?queuedResourceId=asked",
      R"({"tpu": {"nodeSpec": [{"parent": "projects/my-project/locations/us-central2-b",)"
      R"("multisliceParams": {"nodeCount": 2, "nodeIdPrefix": "many"},)"
      R"("node": {"acceleratorType": "v4-16", "runtimeVersion": "tpu-ubuntu2204-base"}}]}})");
  ASSERT_TRUE(Eventually([&] {
    return box_.Http("GET", america + "/queuedResources/asked").body["state"]["state"] ==
           Value("ACTIVE");
  }));
  box_.CountAnew();
  const Arguments all = {"import", "--all", "--project", "my-project", "--zone", "-"};
  const RunResult unasked = box_.Run(all);
  EXPECT_EQ(unasked.code, 1) << unasked;
  EXPECT_THAT(unasked.err, HasSubstr("there is nobody to ask"));
  EXPECT_FALSE(std::filesystem::exists(box_.Path("podctl.state.json")));

  Arguments approved = all;
  approved.insert(approved.end(), {"--auto-approve", "--write-spec", "podctl.yaml"});
  const RunResult import = box_.Run(approved);
  ASSERT_EQ(import.code, 0) << import;
  EXPECT_EQ(import.out, "");
  EXPECT_THAT(import.err, HasSubstr("nodes/theirs: podctl made it with another state, of lineage "
                                    "11111111-1111-4111-8111-111111111111.\n"
                                    "  To take it over: podctl import pod.theirs my-project/"));
  EXPECT_THAT(import.err, HasSubstr("\nLook for the state that made them first: `--state` names "
                                    "another.\n"));
  EXPECT_THAT(import.err, HasSubstr("Wrote the pods to podctl.yaml.\n"));
  EXPECT_EQ(box_.Run({"state", "list"}).out,
            "bootstrap.train-europe-west4-a.tpu-runtime\npod.many\npod.small\n"
            "pod.train-europe-west4-a\npod.train-us-central2-b\n");
  ExpectNoChanges();
  EXPECT_EQ(box_.Requests()["mutating"].AsInt(), 0) << ToJson(box_.Requests());

  // Nothing is left to do but what is made from now on.
  MakeByHand("late", R"({"acceleratorType": "v3-8", "runtimeVersion": "tpu-ubuntu2204-base"})");
  approved.push_back("--json");
  const RunResult again = box_.Run(approved);
  ASSERT_EQ(again.code, 0) << again;
  const Value document = ParseJson(again.out).value_or(Value());
  EXPECT_EQ(document["format_version"].AsString(), "1.0");
  ASSERT_EQ(document["imported"].AsList().size(), 1U) << again;
  EXPECT_EQ(document["imported"].AsList().front()["address"].AsString(), "pod.late");
  EXPECT_EQ(document["left_alone"].AsList().size(), 1U) << again;
  EXPECT_EQ(document["spec_file"].AsString(), "podctl.yaml");
  ExpectNoChanges();
}

TEST_F(StateTest, AnImportIntoASpecThatHasThePodShowsTrueDifferences) {
  MakeByHand("made");
  box_.WriteSpec(
      "  research:\n    nodeId: made\n    acceleratorType: v3-32\n    runtimeVersion: "
      "tpu-vm-tf-2.11.0-pod\n    labels: {team: speech}\n");
  const RunResult import = box_.Run({"import", "pod.research", "made", "--json"});
  ASSERT_EQ(import.code, 0) << import;
  const Value document = ParseJson(import.out).value_or(Value());
  EXPECT_EQ(document["format_version"].AsString(), "1.0");
  EXPECT_EQ(ToJson(document["differs_in"]), R"(["labels.team"])");
  EXPECT_TRUE(document["spec"].is_null());
  const RunResult plan = box_.Run({"plan"});
  EXPECT_THAT(plan.out, AllOf(HasSubstr("labels.team = \"vision\" -> \"speech\""),
                              HasSubstr("Plan: 0 to add, 1 to change, 0 to destroy."),
                              Not(HasSubstr("outside of podctl"))));
}

TEST_F(StateTest, ImportRefusesWhatIsNotThereOrSomebodyElses) {
  MakeByHand("made");
  const auto refused = [&](const std::string& address, const std::string& id,
                           const std::string& why) {
    const RunResult run = Import(address, id);
    EXPECT_EQ(run.code, 1) << run;
    EXPECT_THAT(run.err, HasSubstr(why));
    EXPECT_EQ(run.out, "");
  };
  refused("research", "made", "Did you mean `pod.research`?");
  refused("bootstrap.a.x", "made", "`bootstrap.a.x` is no address of a pod");
  refused("pod.research", "mad", "Did you mean `made`?");
  refused("pod.research", "us-central1-a/made",
          "Did you mean projects/my-project/locations/europe-west4-a/nodes/made?");
  refused("pod.research", "a/b/c/d", "`a/b/c/d` names no node");
  EXPECT_FALSE(box_.Exists("podctl.state.json"));
  ExpectOk(Import("pod.research", "made"));
  refused("pod.research", "made", "pod.research is in the state already");
  refused("pod.other", "made", "the node `made` is pod.research in the state already");
}

TEST_F(StateTest, MovesAndForgetsAddresses) {
  box_.WriteSpec(kPods);
  box_.Apply();
  const std::int64_t serial = Serial();
  box_.CountAnew();
  const RunResult dry = box_.Run({"state", "mv", "--dry-run", "pod.a", "pod.c"});
  EXPECT_EQ(dry.out, "Would move pod.a to pod.c\n") << dry;
  EXPECT_EQ(Serial(), serial);
  EXPECT_EQ(box_.Run({"state", "mv", "pod.a", "pod.c"}).out, "Moved pod.a to pod.c\n");
  EXPECT_EQ(box_.Run({"state", "list"}).out, "pod.b\npod.c\n");
  EXPECT_EQ(Serial(), serial + 1);
  const RunResult near = box_.Run({"state", "mv", "pod.aa", "pod.d", "--json"});
  EXPECT_EQ(near.code, 1);
  const Value error = ParseJson(near.out).value_or(Value());
  EXPECT_EQ(error["type"].AsString(), "diagnostic") << near;
  EXPECT_EQ(error["diagnostic"]["summary"].AsString(), "`pod.aa` is not in the state");
  EXPECT_THAT(box_.Run({"state", "mv", "pod.b", "pod.c"}).err, HasSubstr("in the state already"));
  EXPECT_THAT(box_.Run({"state", "mv", "pod.b", "b"}).err, HasSubstr("`b` is no address"));

  // One wrong address, and nothing is forgotten.
  const RunResult half = box_.Run({"state", "rm", "pod.c", "pod.x"});
  EXPECT_EQ(half.code, 1) << half;
  EXPECT_EQ(Serial(), serial + 1);
  EXPECT_EQ(box_.Run({"state", "rm", "--dry-run", "pod.c"}).out, "Would remove pod.c\n");
  const RunResult removed = box_.Run({"state", "rm", "pod.b", "pod.c"});
  EXPECT_THAT(removed.out, HasSubstr("Removed pod.b\nRemoved pod.c\nThe nodes themselves"));
  EXPECT_EQ(box_.Requests()["mutating"].AsInt(), 0);
  EXPECT_EQ(box_.GetNode("a").status, 200);
}

// The answer to a create is lost, and then the zone closes: nobody can find out what became of it.
TEST_F(StateTest, WhatIsPendingInAClosedZoneIsNamedAndForgottenByTheLineThatIsShown) {
  box_.WriteSpec("  a: {acceleratorType: v3-8, runtimeVersion: tpu-ubuntu2204-base}\n");
  box_.OrderFault(R"({"call": "nodes.create", "nth": 1, "drop": "after"})");
  box_.OrderFault(R"({"call": "nodes.get", "every": 1, "status": 403})");
  EXPECT_EQ(box_.Run({"apply", "--auto-approve", "--state", "elsewhere.json"}).code, 1);
  box_.OrderFault(R"({"call": "nodes.list", "every": 1, "status": 403})");

  const RunResult plan = box_.Run({"plan", "--state", "elsewhere.json"});
  EXPECT_EQ(plan.code, 1);
  EXPECT_THAT(plan.err, HasSubstr("  pod.a: create of a, begun at 20")) << plan;
  EXPECT_THAT(plan.err, HasSubstr("podctl state rm --force-forget pod.a --state elsewhere.json\n"))
      << plan;
  const RunResult careful = box_.Run({"state", "rm", "pod.a", "--state", "elsewhere.json"});
  EXPECT_EQ(careful.code, 1);
  EXPECT_THAT(careful.err, AllOf(HasSubstr("pod.a has something under way: the create of a"),
                                 HasSubstr("`--force-forget`")));
  ExpectOk(box_.Run({"state", "rm", "--force-forget", "pod.a", "--state", "elsewhere.json"}));
  EXPECT_EQ(box_.Run({"state", "list", "--state", "elsewhere.json"}).out, "");
  EXPECT_EQ(box_.GetNode("a").status, 403) << "still closed";

  box_.ForgetFaults();
  EXPECT_EQ(box_.GetNode("a").status, 200) << "it was made after all, and lives on";
  const RunResult found = box_.Run({"plan", "--state", "elsewhere.json"});
  EXPECT_THAT(found.err, HasSubstr("podctl import pod.a my-project/europe-west4-a/a"));
  ExpectOk(
      box_.Run({"import", "pod.a", "my-project/europe-west4-a/a", "--state", "elsewhere.json"}));
}

TEST_F(StateTest, APulledStateCanBePushedBackByTerraformsRules) {
  EXPECT_EQ(box_.Run({"state", "pull"}).out, "");
  const RunResult none = box_.Run({"state", "pull", "--json"});
  EXPECT_EQ(none.code, 0) << none;
  EXPECT_EQ(ToJson(*ParseJson(none.out)), R"({"format_version":"1.0","state":null})");
  box_.WriteSpec(kPods);
  box_.Apply();
  const RunResult pulled = box_.Run({"state", "pull"});
  EXPECT_EQ(pulled.out, box_.ReadFile("podctl.state.json"));
  box_.WriteFile("old.json", pulled.out);
  ExpectOk(box_.Run({"state", "push", "old.json"}));  // the same: nothing to do
  ExpectOk(box_.Run({"state", "rm", "pod.a"}));
  const std::string now = box_.ReadFile("podctl.state.json");
  const RunResult older = box_.Run({"state", "push", "old.json"});
  EXPECT_EQ(older.code, 1);
  EXPECT_THAT(older.err, HasSubstr("cannot import state with serial"));
  EXPECT_EQ(box_.ReadFile("podctl.state.json"), now);
  ExpectOk(box_.Run({"state", "push", "--force", "old.json"}));
  EXPECT_EQ(box_.Run({"state", "list"}).out, "pod.a\npod.b\n");
  ExpectNoChanges();

  // A state of something else.
  std::filesystem::create_directory(box_.Path("other"));
  box_.WriteFile("other/podctl.yaml", box_.ReadFile("podctl.yaml"));
  MakeByHand("made");
  ExpectOk(Import("pod.made", "made", {"--state", "other/s.json"}));
  const RunResult unrelated = box_.Run({"state", "push", "other/s.json"});
  EXPECT_EQ(unrelated.code, 1);
  EXPECT_THAT(unrelated.err, HasSubstr("cannot import state with lineage"));
  // What is no state is refused whatever the flags.
  box_.WriteFile("cut.json", pulled.out.substr(0, pulled.out.size() / 2));
  EXPECT_EQ(box_.Run({"state", "push", "--force", "cut.json"}).code, 1);
  EXPECT_EQ(box_.Run({"state", "push", "missing.json"}).code, 1);
  EXPECT_EQ(box_.Run({"state", "list"}).out, "pod.a\npod.b\n");
}

TEST_F(StateTest, WhatIsNoStateIsNeitherPushedNorMovedTo) {
  box_.WriteFile("cut.json", "{");
  const RunResult push = box_.Run({"state", "push", "cut.json"});
  EXPECT_EQ(push.code, 1);
  EXPECT_THAT(push.err, AllOf(HasSubstr("cut.json"), HasSubstr("`podctl state pull` prints such"),
                              Not(HasSubstr("state restore"))))
      << push;
  const RunResult move = box_.Run({"state", "migrate", "--to", "gs:/bucket/pods"});
  EXPECT_EQ(move.code, 1);
  EXPECT_THAT(move.err, HasSubstr("Did you mean `gs://bucket/pods`?")) << move;
}

TEST_F(StateTest, AGenerationIsRestoredAsTheNewestOne) {
  box_.WriteSpec(kPods);
  box_.Apply();
  const std::int64_t whole = Serial();
  ExpectOk(box_.Run({"state", "rm", "pod.a"}));
  const RunResult history = box_.Run({"state", "history"});
  EXPECT_THAT(history.out, HasSubstr("SERIAL  SAVED"));
  EXPECT_THAT(history.out, HasSubstr(std::to_string(whole + 1) + "  present"));
  const Value document = ParseJson(box_.Run({"state", "history", "--json"}).out).value_or(Value());
  EXPECT_EQ(document["generations"].AsList().at(1)["serial"].AsInt(), whole);
  EXPECT_EQ(document["generations"].AsList().at(1)["pods"].AsInt(), 2);

  const RunResult restored = box_.Run({"state", "restore", std::to_string(whole)});
  ASSERT_EQ(restored.code, 0) << restored;
  EXPECT_EQ(Serial(), whole + 2);
  EXPECT_EQ(box_.Run({"state", "list"}).out, "pod.a\npod.b\n");
  ExpectNoChanges();
  // And back again: what was there before the restore is kept too.
  const RunResult back = box_.Run({"state", "restore", std::to_string(whole + 1)});
  EXPECT_THAT(back.out, HasSubstr("No longer in the state, though the nodes may be there "
                                  "(`podctl import` takes one back): pod.a\n"));
  EXPECT_EQ(box_.Run({"state", "list"}).out, "pod.b\n");
  EXPECT_THAT(box_.Run({"state", "restore", "999"}).err, HasSubstr("is not kept"));
  EXPECT_EQ(box_.Run({"state", "restore", "x"}).code, 1);
  EXPECT_THAT(box_.Run({"state", "restore", std::to_string(Serial())}).err,
              HasSubstr("is the present one"));
}

TEST_F(StateTest, AsManyGenerationsAreKeptAsIsSaid) {
  box_.WriteSpec(kPods);
  box_.Apply();
  const auto generations = [&] {
    const auto document = ParseJson(box_.Run({"state", "history", "--json"}).out);
    return document.value_or(Value())["generations"].AsList().size();
  };
  for (const char* address : {"pod.a", "pod.b"}) ExpectOk(box_.Run({"state", "rm", address}));
  EXPECT_EQ(generations(), 3U);  // the present one with two before it
  const std::int64_t first = Serial() - 2;
  ExpectOk(box_.Run({"state", "restore", std::to_string(first), "--state-history", "1"}));
  EXPECT_EQ(generations(), 2U);
}

TEST_F(StateTest, ADamagedStateIsPutAsideAndAGoodOneRestored) {
  box_.WriteSpec(kPods);
  box_.Apply();
  const std::int64_t whole = Serial();
  const std::string good = box_.ReadFile("podctl.state.json");
  ExpectOk(box_.Run({"state", "rm", "pod.a"}));
  box_.WriteFile("podctl.state.json", "");
  EXPECT_EQ(box_.Run({"plan"}).code, 1);
  EXPECT_EQ(box_.Run({"state", "pull"}).code, 1);
  const RunResult restored = box_.Run({"state", "restore", std::to_string(whole)});
  ASSERT_EQ(restored.code, 0) << restored;
  EXPECT_THAT(restored.err, HasSubstr("The damaged state was put aside: it is now "));
  ExpectNoChanges();
  // The same with a copy from elsewhere.
  box_.WriteFile("good.json", good);
  box_.WriteFile("podctl.state.json", "{");
  EXPECT_EQ(box_.Run({"state", "push", "good.json"}).code, 1);
  ExpectOk(box_.Run({"state", "push", "--force", "good.json"}));
  ExpectNoChanges();
}

TEST_F(StateTest, NobodyChangesALockedState) {
  box_.WriteSpec(kPods);
  box_.Apply();
  box_.WriteFile("podctl.state.json.lock",
                 R"({"ID":"11111111-2222-3333-4444-555555555555","Operation":"apply",)"
                 R"("Who":"bob@elsewhere","Version":"0.1.0","Created":"2026-11-20T14:30:00Z",)"
                 R"("Path":"podctl.state.json","Host":"elsewhere","Pid":1})");
  MakeByHand("made");
  box_.WriteFile("good.json", box_.ReadFile("podctl.state.json"));
  const std::vector<Arguments> commands = {{"state", "mv", "pod.a", "pod.c"},
                                           {"state", "rm", "pod.a"},
                                           {"state", "push", "good.json"},
                                           {"state", "restore", "1"},
                                           {"import", "pod.made", "made"}};
  for (const Arguments& command : commands) {
    const RunResult run = box_.Run(command);
    EXPECT_EQ(run.code, 3) << run;
    EXPECT_THAT(run.err,
                AllOf(HasSubstr("Error acquiring the state lock"), HasSubstr("bob@elsewhere")));
  }
  const RunResult wrong = box_.Run({"unlock", "1", "--json"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.out, HasSubstr("has another ID"));
  const RunResult unlocked = box_.Run({"unlock", "11111111-2222-3333-4444-555555555555"});
  EXPECT_EQ(unlocked.out,
            "The state has been unlocked: podctl commands can take the lock again.\n");
  EXPECT_THAT(box_.Run({"unlock", "x"}).err, HasSubstr("is not locked"));
  ExpectOk(box_.Run({"state", "mv", "pod.a", "pod.c"}));
}

// Of podctl itself: before its exec the process has the handlers of whom it was forked from.
bool Catches(pid_t pid, int signal) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Name:") && !line.ends_with("podctl")) return false;
    if (!line.starts_with("SigCgt:")) continue;
    return (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1) != 0;
  }
  return false;
}

// Whatever it is pushed from may never end.
TEST_F(StateTest, AnInterruptEndsAPushThatWaitsForItsInput) {
  ASSERT_EQ(mkfifo(box_.Path("input").c_str(), 0600), 0);
  for (const int signal : {SIGINT, SIGTERM}) {
    const auto push = box_.StartProgram({"sh", "-c", "exec \"$PODCTL\" state push - <> input"});
    ASSERT_TRUE(Eventually([&] { return Catches(push->pid(), signal); }));
    push->Signal(signal);
    EXPECT_EQ(push->Wait(), 130);
    // Not by the watchdog of what does not end by itself, which says nothing.
    EXPECT_EQ(push->err(), "Interrupted. Nothing was changed.\n");
  }
}

}  // namespace
}  // namespace podctl::testing
