// The story that podctl exists for, from a spec to a running flag and back to nothing, and the
// company of other clients of the same API.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <iostream>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::MatchesRegex;
using ::testing::Not;

constexpr const char* kResearch =
    "  research:\n"
    "    acceleratorType: v3-32\n"
    "    runtimeVersion: tpu-vm-tf-2.11.0-pod\n"
    "    libtpuFlags: {xla_jf_conv_full_precision: true}\n";
// What the running process was given, not what the metadata says.
constexpr const char* kRuntimeFlags =
    "sudo cat /proc/$(systemctl show -p MainPID --value tpu-runtime)/environ | tr '\\0' '\\n' | "
    "grep ^LIBTPU_INIT_ARGS=";

class StoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    box_.StartEmulator();
    box_.WriteSpec(kResearch);
  }
  void TurnTheFlag() { box_.WriteSpec(Replace(kResearch, "true", "false")); }
  void ExpectRuntimeFlag(const std::string& value) {
    const RunResult run = box_.Run({"exec", "research", "--", kRuntimeFlags});
    EXPECT_EQ(run.code, 0) << run;
    for (int worker = 0; worker < 4; ++worker) {
      EXPECT_EQ(CountLines(run.out, "research/" + std::to_string(worker) + " | ",
                           "--xla_jf_conv_full_precision=" + value),
                1)
          << run;
    }
  }
  void ExpectNoChanges() {
    const RunResult plan = box_.Run({"plan", "--detailed-exitcode"});
    EXPECT_EQ(plan.code, 0) << plan;
    EXPECT_THAT(plan.out, HasSubstr("No changes.")) << plan;
  }

  Sandbox box_;
};

TEST_F(StoryTest, ASpecBecomesAPodAndItsFlagsReachEveryWorker) {
  // The emulator's own: light workers' programs are started by a process beside it.
  const std::size_t own = Descendants(box_.emulator_pid()).size();
  RunResult plan = box_.Run({"plan"});
  EXPECT_EQ(plan.code, 0) << plan;
  EXPECT_THAT(plan.out, HasSubstr("Plan: 1 to add, 0 to change, 0 to destroy.\n")) << plan;
  EXPECT_EQ(box_.Requests()["mutating"].AsInt(), 0);
  EXPECT_FALSE(box_.Exists("podctl.state.json")) << "plan writes nothing";

  RunResult applied = box_.Apply();
  EXPECT_THAT(applied.out, HasSubstr("Apply complete! Resources: 1 added")) << applied;
  EXPECT_THAT(applied.err, HasSubstr("pod.research: Creation complete")) << applied;
  EXPECT_EQ(box_.GetNode("research").body["state"].AsString(), "READY");
  ExpectRuntimeFlag("true");
  const std::string keys = box_.GetNode("research").body["metadata"]["ssh-keys"].AsString();
  EXPECT_THAT(keys, HasSubstr("ssh-ed25519"));

  TurnTheFlag();
  plan = box_.Run({"plan"});
  EXPECT_EQ(plan.code, 0) << plan;
  EXPECT_THAT(plan.out, AllOf(HasSubstr("pod.research will be updated in-place"),
                              HasSubstr("will restart tpu-runtime on 4 workers"),
                              HasSubstr("Plan: 0 to add, 1 to change, 0 to destroy.\n"
                                        "Bootstrap: 1 step to run on 4 workers.\n")))
      << plan;
  ExpectRuntimeFlag("true");  // a plan changes nothing
  box_.Apply();
  ExpectRuntimeFlag("false");
  EXPECT_EQ(box_.GetNode("research").body["metadata"]["ssh-keys"].AsString(), keys);

  box_.CountAnew();
  const RunResult again = box_.Apply();
  EXPECT_THAT(again.out, HasSubstr("No changes.")) << again;
  ExpectNoChanges();
  EXPECT_EQ(box_.Requests()["mutating"].AsInt(), 0) << ToJson(box_.Requests());

  const RunResult destroyed = box_.Run({"destroy", "--auto-approve"});
  EXPECT_EQ(destroyed.code, 0) << destroyed;
  EXPECT_THAT(destroyed.out, HasSubstr("1 destroyed")) << destroyed;
  EXPECT_EQ(box_.GetNode("research").status, 404);
  EXPECT_TRUE(Eventually([&] { return Descendants(box_.emulator_pid()).size() == own; }))
      << "workers are left running";
  EXPECT_TRUE(box_.State()["resources"].AsMap().empty()) << ToJson(box_.State());
}

TEST_F(StoryTest, CommandsAnswerFromEveryWorker) {
  box_.Apply();
  const RunResult all = box_.Run({"exec", "research", "--worker", "all", "--", "hostname"});
  EXPECT_EQ(all.code, 0) << all;
  for (int worker = 0; worker < 4; ++worker) {
    const std::string number = std::to_string(worker);
    EXPECT_EQ(CountLines(all.out, "research/" + number + " | t1v-n-", "-w-" + number), 1) << all;
  }
  EXPECT_EQ(CountLines(all.out, ""), 4) << all;
  EXPECT_EQ(all.err, "");

  const RunResult two = box_.Run({"exec", "research", "--worker", "0,2", "--", "echo", "a  b"});
  EXPECT_EQ(CountLines(two.out, "research/"), 2) << two;
  EXPECT_EQ(CountLines(two.out, "research/2 | a  b"), 1) << two;

  EXPECT_EQ(box_.Run({"exec", "research", "--", "exit 7"}).code, 7);
  const RunResult split = box_.Run({"exec", "research", "--", "[ $(hostname | tail -c 2) != 3 ]"});
  EXPECT_EQ(split.code, 1) << split;
  EXPECT_THAT(split.err,
              AllOf(HasSubstr("1 of 4 workers failed"), HasSubstr("1 worker (3): exit code 1\n")))
      << split;

  const RunResult json = box_.Run({"exec", "research", "--json", "--", "hostname"});
  std::map<std::string, int> events;
  for (const Value& event : JsonLines(json.out)) ++events[event["type"].AsString()];
  EXPECT_EQ(events["output"], 4) << json;
  EXPECT_EQ(events["result"], 4) << json;
  const RunResult unknown = box_.Run({"exec", "reserch", "--", "true"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("Did you mean `research`?")) << unknown;
}

TEST_F(StoryTest, ATunnelReachesWhatListensOnAWorker) {
  box_.Apply();
  // Port 0 asks for a free one, since plain workers share the network of this machine.
  box_.WriteFile("server.pl",
                 "use IO::Socket::INET;\n"
                 "my $s = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 5) or die;\n"
                 "$| = 1; print $s->sockport, \"\\n\";\n"
                 "while (my $c = $s->accept) {\n"
                 "  while (my $line = <$c>) { last if $line =~ /^\\r?\\n$/ }\n"
                 "  my $text = 'hello from ' . `hostname`;\n"
                 "  print $c \"HTTP/1.0 200 OK\\r\\nContent-Length: \" . length($text) .\n"
                 "           \"\\r\\n\\r\\n$text\"; close $c }\n");
  const std::string script = box_.ReadFile("server.pl");
  auto server = box_.Start({"exec", "research", "--worker", "0", "--", "perl", "-e", script});
  ASSERT_TRUE(server->WaitForOut("\n")) << server->err();
  const std::string port = std::string(server->out().substr(std::string("research/0 | ").size()));

  auto tunnel = box_.Start({"tunnel", "research", "0:" + port.substr(0, port.find('\n'))});
  ASSERT_TRUE(tunnel->WaitForOut("\n")) << tunnel->err();
  EXPECT_THAT(tunnel->out(), HasSubstr("-> research/0 port")) << tunnel->out();
  const std::string url = tunnel->out().substr(0, tunnel->out().find(' '));
  for (int time = 0; time < 3; ++time) {
    const RunResult fetched = box_.RunProgram({"curl", "-sS", "--max-time", "30", url});
    EXPECT_EQ(fetched.code, 0) << fetched;
    EXPECT_THAT(fetched.out, MatchesRegex("hello from t1v-n-[0-9a-f]+-w-0\n")) << fetched;
  }
  tunnel->Signal(SIGINT);
  EXPECT_EQ(tunnel->Wait(), 0) << tunnel->err();  // Ctrl-C is how a tunnel is closed
}

// What `gcloud … update --update-metadata=x=1` sends: the node as it was read, all of it, with one
// key more, under the mask "metadata".
TEST_F(StoryTest, AnotherClientsMetadataIsNoDriftAndSurvives) {
  box_.Apply();
  Value node = box_.GetNode("research").body;
  node.SetPath("metadata.x", "1");
  box_.Change("PATCH", std::string(kNodes) + "/research?updateMask=metadata", ToJson(node));
  ExpectNoChanges();

  TurnTheFlag();
  box_.Apply();
  const Value after = box_.GetNode("research").body["metadata"];
  EXPECT_EQ(after["x"].AsString(), "1");
  EXPECT_EQ(after["ssh-keys"], node["metadata"]["ssh-keys"]);
  EXPECT_THAT(after["tensorflow-env-vars"].AsString(), HasSubstr("=false"));
  ExpectNoChanges();
}

class GcloudTest : public StoryTest {
 protected:
  void SetUp() override {
    StoryTest::SetUp();
    box_.WriteFile("token", "ya29.none-of-your-business\n");
    box_.SetVariable("CLOUDSDK_CONFIG", box_.Path("gcloud"));
    box_.SetVariable("CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU", box_.url() + "/");
    box_.SetVariable("CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", box_.Path("token"));
    box_.SetVariable("CLOUDSDK_CORE_PROJECT", "my-project");
    box_.SetVariable("CLOUDSDK_COMPUTE_ZONE", "europe-west4-a");
    box_.SetVariable("CLOUDSDK_CORE_DISABLE_PROMPTS", "1");
    box_.SetVariable("CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK", "1");
    box_.SetVariable("CLOUDSDK_CORE_DISABLE_USAGE_REPORTING", "1");
    box_.SetVariable("CLOUDSDK_SURVEY_DISABLE_PROMPTS", "1");
    box_.UnsetVariable("PODCTL_ENDPOINT");  // podctl takes gcloud's setting
  }
  bool Gcloud(const Arguments& arguments, RunResult* run) {
    Arguments words = {"gcloud", "compute", "tpus", "tpu-vm"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    *run = box_.RunProgram(words);
    EXPECT_EQ(run->code, 0) << *run;
    return run->code == 0;
  }
};

TEST_F(GcloudTest, GcloudAndPodctlSeeTheSamePods) {
  if (box_.RunProgram({"gcloud", "version"}).code != 0) {
    std::cout << "There is no gcloud here: only the raw requests were tried.\n";
    return;
  }
  RunResult run;
  box_.Apply();
  Gcloud({"list", "--format=value(name,acceleratorType,state)"}, &run);
  EXPECT_THAT(run.out, AllOf(HasSubstr("research"), HasSubstr("v3-32"), HasSubstr("READY")));
  Gcloud({"describe", "research", "--format=value(runtimeVersion)"}, &run);
  EXPECT_EQ(run.out, "tpu-vm-tf-2.11.0-pod\n");
  Gcloud({"update", "research", "--update-metadata=x=1"}, &run);
  ExpectNoChanges();
  TurnTheFlag();
  box_.Apply();
  EXPECT_EQ(box_.GetNode("research").body["metadata"]["x"].AsString(), "1");

  Gcloud({"create", "other", "--accelerator-type=v2-8", "--version=tpu-vm-tf-2.11.0"}, &run);
  EXPECT_EQ(box_.GetNode("other").body["state"].AsString(), "READY");
  ExpectNoChanges();  // what podctl did not make is none of its business
  Gcloud({"delete", "other", "--quiet"}, &run);
  EXPECT_EQ(box_.GetNode("other").status, 404);
  Gcloud({"delete", "research", "--quiet"}, &run);
  const RunResult plan = box_.Run({"plan"});
  EXPECT_THAT(plan.out, HasSubstr("Plan: 1 to add")) << plan;
}

TEST_F(StoryTest, EventsAreOneJsonObjectALine) {
  const RunResult created = box_.Run({"apply", "--auto-approve", "--json"});
  EXPECT_EQ(created.code, 0) << created;
  std::vector<std::string> types;
  for (const Value& line : JsonLines(created.out)) {
    types.push_back(line["type"].AsString());
    EXPECT_FALSE(line["@message"].AsString().empty()) << ToJson(line);
    EXPECT_FALSE(line["@timestamp"].AsString().empty()) << ToJson(line);
  }
  EXPECT_EQ(types.front(), "version");
  EXPECT_THAT(types,
              IsSupersetOf({"planned_change", "change_summary", "apply_start", "apply_complete"}));
  EXPECT_EQ(types.back(), "change_summary");

  TurnTheFlag();
  const RunResult plan = box_.Run({"plan", "--json"});
  const Value summary = JsonLines(plan.out).back();
  EXPECT_EQ(summary["changes"]["change"].AsInt(), 1) << plan;
  EXPECT_EQ(summary["changes"]["steps"].AsInt(), 1) << plan;

  for (const Arguments& words : {Arguments{"show"}, Arguments{"status"}, Arguments{"state", "list"},
                                 Arguments{"state", "show", "pod.research"}}) {
    Arguments with_json = words;
    with_json.push_back("--json");
    const RunResult run = box_.Run(with_json);
    EXPECT_EQ(run.code, 0) << run;
    const auto document = ParseJson(run.out);
    ASSERT_TRUE(document) << run;
    EXPECT_FALSE((*document)["format_version"].is_null()) << run;
  }
}

TEST_F(StoryTest, ColoursAreForTerminalsOnly) {
  for (const Arguments& words : {Arguments{"plan"}, Arguments{"apply", "--auto-approve"},
                                 Arguments{"status"}, Arguments{"exec", "research", "--", "id"}}) {
    const RunResult run = box_.Run(words);
    EXPECT_EQ(run.code, 0) << run;
    EXPECT_THAT(run.out + run.err, Not(HasSubstr("\x1b"))) << run;
  }
  TurnTheFlag();
  auto coloured = box_.RunInPty({"plan"});
  EXPECT_EQ(coloured->Wait(), 0) << coloured->shown();
  EXPECT_THAT(coloured->shown(), HasSubstr("\x1b[")) << coloured->shown();

  box_.SetVariable("NO_COLOR", "1");
  auto plain = box_.RunInPty({"plan"});
  EXPECT_EQ(plain->Wait(), 0) << plain->shown();
  EXPECT_THAT(plain->shown(), Not(HasSubstr("\x1b["))) << plain->shown();
  box_.UnsetVariable("NO_COLOR");

  // A live line counts the workers, and is gone when the work is done.
  auto live = box_.RunInPty({"apply", "--auto-approve"});
  EXPECT_EQ(live->Wait(), 0) << live->shown();
  EXPECT_THAT(live->shown(), AllOf(HasSubstr("Restarting tpu-runtime"), HasSubstr("/4 ok"),
                                   HasSubstr("\x1b[1A\x1b[2K\r")))
      << live->shown();
}

TEST_F(StoryTest, StarterSpecsArePlanned) {
  for (const std::string name : {"minimal", "colab"}) {
    SCOPED_TRACE(name);
    const RunResult made = box_.Run({"init", "--template", name, name});
    EXPECT_EQ(made.code, 0) << made;
    const std::string spec = name + "/podctl.yaml";
    const RunResult valid = box_.Run({"validate", "-f", spec, "--project", "my-project"});
    EXPECT_EQ(valid.code, 0) << valid;
    const RunResult plan = box_.Run({"plan", "-f", spec, "--project", "my-project"});
    EXPECT_EQ(plan.code, 0) << plan;
    EXPECT_THAT(plan.out, HasSubstr("Plan: 1 to add")) << plan;
  }
  const RunResult again = box_.Run({"init", "minimal"});
  EXPECT_EQ(again.code, 1) << "a spec that is there is not overwritten\n" << again;
}

TEST_F(StoryTest, BashCompletes) {
  const RunResult script = box_.Run({"completion", "bash"});
  EXPECT_EQ(script.code, 0) << script;
  box_.WriteFile("complete.sh",
                 "PATH=\"${PODCTL%/*}:$PATH\"\n" + script.out +
                     "\nask() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMPREPLY=();\n"
                     "  local how=$(complete -p podctl); how=${how#*-F }; ${how%% *} podctl "
                     "\"${@: -1}\" \"${@: -2:1}\"; echo \"${COMPREPLY[*]}\"; }\n"
                     "ask podctl de\nask podctl apply --auto\nask podctl state l\n");
  const RunResult run = box_.RunProgram({"bash", "complete.sh"});
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_EQ(run.out, "destroy\n--auto-approve\nlist\n") << run;
}

}  // namespace
}  // namespace podctl::testing
