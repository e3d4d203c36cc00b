// Good specs: what they become. What is said about bad ones is in broken_specs_test.cpp.
#include "plans/spec/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "cmd/views/snippet.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/training_job/spec.h"
#include "providers/base/json.h"
#include "tests/support/addresses.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

class LoaderTest : public ::testing::Test {
 protected:
  Spec Load(const std::string& text) {
    files_.SetFile("podctl.yaml", text);
    return LoadFiles();
  }
  Spec LoadFiles() {
    Diagnostics diagnostics;
    Spec spec = LoadSpec(options_, files_, FixedEnvironment(environment_), diagnostics);
    report_ = FormatDiagnostics(diagnostics, {});
    return spec;
  }
  // One pod `a` with `keys` beside what every pod needs.
  PodSpec LoadPod(const std::string& keys) {
    Spec spec = Load(
        "project: p\nzone: europe-west4-a\npods:\n  a:\n    acceleratorType: v3-32\n"
        "    runtimeVersion: tpu-vm-tf-2.11.0-pod\n" +
        keys);
    return testing::PodsOf(spec).empty() ? PodSpec{} : testing::PodsOf(spec)[0];
  }

  testing::FakeFileSystem files_;
  LoadOptions options_ = testing::WithKinds();
  std::map<std::string, std::string> environment_;
  std::string report_;
};

// A spec of a pull request is planned with them, and what it says is shown.
TEST_F(LoaderTest, WhatPodctlLogsInWithIsNotForSpecs) {
  for (const char* variable :
       {"GOOGLE_OAUTH_ACCESS_TOKEN", "AWS_SECRET_ACCESS_KEY", "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
        "TF_HTTP_PASSWORD", "ETCDCTL_USER", "ETCDCTL_PASSWORD", "GITHUB_TOKEN", "CI_JOB_TOKEN",
        "CI_JOB_JWT_V2", "SSH_KEY", "COMMENT_TOKEN", "GITEA_TOKEN", "GITLAB_TOKEN",
        "PODCTL_FORGE_TOKEN"}) {
    const std::string name = variable;
    environment_ = {{name, "the-secret"}};
    for (const std::string& keys : {"    description: \"${env." + name + "}\"\n",
                                    "    metadata: {t: {env: " + name + "}}\n"}) {
      LoadPod(keys);
      EXPECT_THAT(report_, HasSubstr("the environment variable `" + name + "` is what "));
      EXPECT_THAT(report_, HasSubstr(" logs in with: a spec cannot read it"));
      EXPECT_THAT(report_, Not(HasSubstr("the-secret")));
    }
  }
}

// What is sensitive by one name is not open by another.
TEST_F(LoaderTest, TheValueOfAVariableIsReadByItsOwnName) {
  environment_ = {{"PODCTL_VAR_tok", "the-secret"}};
  LoadPod("    description: \"${env.PODCTL_VAR_tok}\"\n");
  EXPECT_THAT(report_, HasSubstr("write `${var.tok}`"));
  EXPECT_THAT(report_, Not(HasSubstr("the-secret")));
}

TEST_F(LoaderTest, WhatPodctlKeepsAndLogsInWithIsNoFileForSpecs) {
  options_.withheld = std::make_shared<WithheldFiles>();
  options_.withheld->AddCredential("../tok");
  for (const std::string path :
       {".podctl/google-token", "../tok", "podctl.state.json", "keys/mine", "/proc/self/environ"}) {
    files_.SetFile(path, "the-secret");
    for (const std::string& keys :
         {"    metadata: {t: {file: " + path + ", sensitive: true}}\n",
          "    bootstrap:\n      - {name: s, run: 'true', files: [{source: " + path +
              ", destination: ~/x}]}\n"}) {
      LoadPod("    ssh: {identityFile: keys/mine}\n" + keys);
      EXPECT_THAT(report_, HasSubstr("`" + path + "` is ")) << keys;
      EXPECT_THAT(report_, HasSubstr(": a spec cannot ")) << keys;
    }
  }
  files_.SetFile("motd", "hello");
  LoadPod("    metadata: {t: {file: motd}}\n");
  EXPECT_EQ(report_, "");
}

TEST_F(LoaderTest, ReadsTheFirstSpecOfTheReadme) {
  const Spec spec = Load(R"(
project: my-project
zone: europe-west4-a
pods:
  research:
    acceleratorType: v3-32
    runtimeVersion: tpu-vm-tf-2.11.0-pod
    libtpuFlags: {xla_jf_conv_full_precision: true}
)");
  ASSERT_EQ(report_, "");
  ASSERT_EQ(testing::PodsOf(spec).size(), 1u);
  const PodSpec& pod = testing::PodsOf(spec)[0];
  EXPECT_EQ(pod.name, "research");
  EXPECT_EQ(pod.node_id, "research");
  EXPECT_EQ(pod.project, "my-project");
  EXPECT_EQ(pod.zone, "europe-west4-a");
  EXPECT_EQ(ToJson(pod.node),
            R"({"acceleratorType":"v3-32","runtimeVersion":"tpu-vm-tf-2.11.0-pod"})");
  ASSERT_EQ(pod.metadata.size(), 1u);
  EXPECT_EQ(pod.metadata.at("tensorflow-env-vars").text,
            "-e LIBTPU_INIT_ARGS=--xla_jf_conv_full_precision=true");
  EXPECT_THAT(pod.runtime_env,
              ElementsAre(Pair("LIBTPU_INIT_ARGS", "--xla_jf_conv_full_precision=true")));
  EXPECT_TRUE(pod.publish_ssh_key);
  EXPECT_EQ(pod.place.line, 5);
  EXPECT_THAT(spec.files, ElementsAre("podctl.yaml"));
}

TEST_F(LoaderTest, ReadsEveryKindOfField) {
  const PodSpec pod = LoadPod(R"(
    nodeId: other
    cidrBlock: 10.2.0.0/29
    description: "${HOME} is no text"
    networkConfig: {network: default, enableExternalIps: false, queueCount: 2}
    schedulingConfig: {spot: true, preemptible: false}
    serviceAccount: {email: a@b.c, scope: [https://www.googleapis.com/auth/cloud-platform]}
    shieldedInstanceConfig: {}
    dataDisks: [{sourceDisk: projects/p/zones/z/disks/d, mode: READ_ONLY}]
    tags: [a, 1]
    labels: {team: vision, beta: no, version: 1_10}
)");
  EXPECT_THAT(report_, HasSubstr("unknown expression `${HOME}`"));
  EXPECT_EQ(pod.node_id, "other");
  EXPECT_EQ(pod.node["networkConfig"]["enableExternalIps"], Value(false));
  EXPECT_EQ(pod.node["networkConfig"]["queueCount"], Value(2));
  EXPECT_EQ(ToJson(pod.node["schedulingConfig"]), R"({"preemptible":false,"spot":true})");
  EXPECT_EQ(pod.node["dataDisks"].AsList().at(0)["mode"], Value("READ_ONLY"));
  EXPECT_EQ(ToJson(pod.node["tags"]), R"(["a","1"])");
  // No Norway problem: text stays as it is written.
  EXPECT_EQ(ToJson(pod.node["labels"]), R"({"beta":"no","team":"vision","version":"1_10"})");
  EXPECT_EQ(pod.node.Find("shieldedInstanceConfig"), nullptr);
}

TEST_F(LoaderTest, MergesDefaultsDeeplyAndThePodWins) {
  const Spec spec = Load(R"(
project: p
zone: europe-west4-a
defaults:
  acceleratorType: V3-8
  runtimeVersion: base
  labels: {team: vision, stage: test}
  metadata: {startup-script: {env: SCRIPT}}
  networkConfig: {network: a}
pods:
  a: {labels: {stage: live}}
  b: {acceleratorConfig: {type: V4, topology: 2x2x2}, metadata: {startup-script: x}}
)");
  EXPECT_THAT(report_, HasSubstr("the environment variable `SCRIPT` is not set"));
  ASSERT_EQ(testing::PodsOf(spec).size(), 2u);
  EXPECT_EQ(ToJson(testing::PodsOf(spec)[0].node["labels"]), R"({"stage":"live","team":"vision"})");
  EXPECT_EQ(testing::PodsOf(spec)[0].node["acceleratorType"], Value("v3-8"));
  EXPECT_EQ(testing::PodsOf(spec)[1].node.Find("acceleratorType"), nullptr);
  EXPECT_EQ(testing::PodsOf(spec)[1].metadata.at("startup-script").text, "x");
  EXPECT_EQ(testing::PodsOf(spec)[1].node["networkConfig"]["network"], Value("a"));
}

TEST_F(LoaderTest, VariablesComeFromTheOptionThenTheEnvironmentThenAFileThenTheDefault) {
  files_.SetFile("vars.yaml", "b: file\nc: file\nd: file\nunused: x\n");
  options_.var_files = {"vars.yaml"};
  options_.vars = {{"d", "option"}};
  environment_ = {{"PODCTL_VAR_c", "environment"}, {"PODCTL_VAR_d", "environment"}};
  const Spec spec = Load(R"(
project: p
zone: europe-west4-a
variables: {a: {default: 1}, b: {default: x}, c: , d: {}}
pods:
  a:
    acceleratorType: v3-8
    runtimeVersion: ${var.a}-${var.b}-${var.c}-${var.d}
)");
  EXPECT_THAT(report_, HasSubstr("Warning: the spec has no variable `unused`"));
  EXPECT_THAT(report_, ::testing::Not(HasSubstr("Error")));
  EXPECT_EQ(testing::PodsOf(spec).at(0).node["runtimeVersion"], Value("1-file-environment-option"));
}

TEST_F(LoaderTest, AVariableThatIsGivenButNotDeclaredIsAnError) {
  options_.vars = {{"presicion", "true"}};
  Load("project: p\nzone: europe-west4-a\nvariables: {precision: {default: x}}\npods: {}\n");
  EXPECT_EQ(report_,
            "Error: --var presicion: the spec has no variable `presicion`\n"
            "  did you mean `precision`?\n");
}

TEST_F(LoaderTest, WhatIsPutInIsNeverAnExpression) {
  options_.vars = {{"x", "${pod.b.id} $${"}};
  environment_ = {{"X", "${var.x}"}};
  files_.SetFile("script.sh", "echo ${HOME}\n");
  const PodSpec pod = LoadPod(R"(
    description: "${var.x} $${HOME} $HOME"
    metadata:
      env: {env: X}
      startup-script: {file: script.sh}
    bootstrap: [{name: x, run: "${env.X}"}]
variables: {x: }
)");
  ASSERT_EQ(report_, "");
  EXPECT_EQ(pod.node["description"], Value("$${pod.b.id} $$${ $${HOME} $HOME"));
  EXPECT_EQ(pod.metadata.at("env").text, "$${var.x}");
  EXPECT_EQ(pod.metadata.at("startup-script").text, "echo $${HOME}\n");
  EXPECT_EQ(pod.bootstrap.at(0).run, "$${var.x}");
}

TEST_F(LoaderTest, FlagsAndVariablesOfTheRuntimeBecomeOneEntry) {
  const PodSpec pod = LoadPod(R"(
    libtpuFlags: {xla_b: 2, --xla_a: 1}
    runtimeEnv: {TF_CPP_MIN_LOG_LEVEL: "1", ANOTHER: it's here, LIST: "a,b"}
)");
  ASSERT_EQ(report_, "");
  EXPECT_EQ(pod.metadata.at("tensorflow-env-vars").text,
            R"(-e LIBTPU_INIT_ARGS='--xla_a=1 --xla_b=2' -e ANOTHER='it'\''s here' -e LIST=a,b )"
            R"(-e TF_CPP_MIN_LOG_LEVEL=1)");
  EXPECT_EQ(pod.runtime_env.at("LIBTPU_INIT_ARGS"), "--xla_a=1 --xla_b=2");
  EXPECT_EQ(pod.runtime_env.at("ANOTHER"), "it's here");
}

TEST_F(LoaderTest, SensitiveIsWhatIsSaidToBeOrHoldsASensitiveVariable) {
  options_.vars = {{"token", "secret"}};
  environment_ = {{"KEY", "secret"}};
  const PodSpec pod = LoadPod(R"(
    metadata:
      a: token=${var.token}
      b: {env: KEY, sensitive: true}
      c: {value: x, sensitive: true}
      d: {value: x}
    runtimeEnv: {TOKEN: "${var.token}"}
    bootstrap:
      - {name: a, run: x, env: {TOKEN: "${var.token}"}}
      - {name: b, run: x}
variables: {token: {sensitive: true}}
)");
  ASSERT_EQ(report_, "");
  EXPECT_TRUE(pod.metadata.at("a").sensitive);
  EXPECT_TRUE(pod.metadata.at("b").sensitive);
  EXPECT_TRUE(pod.metadata.at("c").sensitive);
  EXPECT_FALSE(pod.metadata.at("d").sensitive);
  EXPECT_TRUE(pod.metadata.at("tensorflow-env-vars").sensitive);
  EXPECT_TRUE(pod.bootstrap.at(0).sensitive);
  EXPECT_FALSE(pod.bootstrap.at(1).sensitive);
}

TEST_F(LoaderTest, APodWithoutAPortOfItsOwnTakesThatOfTheEnvironment) {
  environment_ = {{"PODCTL_SSH_PORT", "2222"}};
  const std::string pods = R"(
project: p
zone: europe-west4-a
pods:
  a: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0}
  b: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0, ssh: {port: 22}}
)";
  const Spec spec = Load(pods);
  EXPECT_EQ(report_, "");
  ASSERT_EQ(testing::PodsOf(spec).size(), 2U);
  EXPECT_EQ(testing::PodsOf(spec)[0].ssh.port, 2222);
  EXPECT_EQ(testing::PodsOf(spec)[1].ssh.port, 22);
  for (const char* wrong : {"0", "65536", "22x", "ssh", "-1", " 22"}) {
    environment_ = {{"PODCTL_SSH_PORT", wrong}};
    Load(pods);
    EXPECT_THAT(report_, HasSubstr(std::string("PODCTL_SSH_PORT is \"") + wrong + "\"")) << wrong;
  }
}

TEST_F(LoaderTest, ReadsHowWorkersAreCheckedBeforeTheyAreReady) {
  const PodSpec usual = LoadPod("    ssh: {check: true}\n");
  EXPECT_TRUE(usual.check_ready);
  EXPECT_FALSE(usual.probe_ready);
  EXPECT_FALSE(LoadPod("    ssh: {check: false}\n").check_ready);
  const PodSpec probed = LoadPod("    ssh: {check: probe}\n");
  EXPECT_TRUE(probed.check_ready);
  EXPECT_EQ(probed.probe_ready, true);
  EXPECT_EQ(report_, "");
  LoadPod("    ssh: {check: prob}\n");
  EXPECT_THAT(report_, HasSubstr("did you mean `probe`?"));
}

TEST_F(LoaderTest, ReadsSshAndLifecycle) {
  const PodSpec pod = LoadPod(R"(
    ssh: {user: alice, port: 2222, identityFile: /k, address: internal, hostKeys: strict, transport: openssh,
          publishKey: false}
    lifecycle: {preventDestroy: true, createBeforeDestroy: true, ignoreChanges: [labels.team]}
)");
  ASSERT_EQ(report_, "");
  EXPECT_EQ(pod.ssh.user, "alice");
  EXPECT_EQ(pod.ssh.port, 2222);
  EXPECT_EQ(pod.ssh.identity_file, "/k");
  EXPECT_TRUE(pod.ssh.internal_address);
  EXPECT_TRUE(pod.ssh.strict_host_keys);
  EXPECT_EQ(pod.ssh.transport, "openssh");
  EXPECT_FALSE(pod.publish_ssh_key);
  EXPECT_TRUE(pod.lifecycle.prevent_destroy);
  EXPECT_TRUE(pod.lifecycle.create_before_destroy);
  EXPECT_THAT(pod.lifecycle.ignore_changes, ElementsAre("labels.team"));
}

TEST_F(LoaderTest, ReadsTheWayIn) {
  EXPECT_EQ(LoadPod("\n    ssh: {proxyJump: 'alice@bastion:2200'}\n").ssh.proxy_jump,
            "alice@bastion:2200");
  ASSERT_EQ(report_, "");
  EXPECT_TRUE(LoadPod("\n    ssh: {iap: true}\n").ssh.iap);
  EXPECT_FALSE(LoadPod("\n    ssh: {iap: false}\n").ssh.iap);
  EXPECT_TRUE(LoadPod("\n    ssh: {transport: openssh, iap: true}\n").ssh.iap);
  EXPECT_TRUE(LoadPod("\n    ssh: {address: external}\n").ssh.external_address);
  EXPECT_FALSE(LoadPod("\n    ssh: {address: internal}\n").ssh.external_address);
  ASSERT_EQ(report_, "");
}

TEST_F(LoaderTest, RefusesWaysInThatAreNone) {
  LoadPod("\n    ssh: {proxyJump: '-oProxyCommand=x'}\n");
  EXPECT_NE(report_.find("is no host to jump through"), std::string::npos) << report_;
  LoadPod("\n    ssh: {proxyJump: bastion, iap: true}\n");
  EXPECT_NE(report_.find("two ways to the workers"), std::string::npos) << report_;
}

TEST_F(LoaderTest, ReadsSteps) {
  files_.SetFolder("notebooks");
  files_.SetFile("notebooks/a.ipynb", "one");
  const std::string step = R"(
    bootstrap:
      - name: first
        workers: [0, 2-3]
        run: "date"
        env: {A: 1}
        files: [{source: ./notebooks, destination: ~/notebooks}]
        timeout: 1h30m
      - {name: second, run: x, workers: all}
      - {name: third, run: x, workers: "1"}
      - {name: fourth, run: x, workers: 2}
)";
  const PodSpec pod = LoadPod(step);
  ASSERT_EQ(report_, "");
  ASSERT_EQ(pod.bootstrap.size(), 4u);
  const StepSpec& first = pod.bootstrap[0];
  EXPECT_THAT(*first.workers, ElementsAre(0, 2, 3));
  EXPECT_EQ(first.timeout, std::chrono::minutes(90));
  EXPECT_THAT(first.env, ElementsAre(Pair("A", "1")));
  EXPECT_EQ(first.files.at(0).destination, "~/notebooks");
  EXPECT_FALSE(pod.bootstrap[1].workers.has_value());
  EXPECT_THAT(*pod.bootstrap[2].workers, ElementsAre(1));
  EXPECT_THAT(*pod.bootstrap[3].workers, ElementsAre(2));

  const std::string before = first.files_digest;
  EXPECT_EQ(LoadPod(step).bootstrap.at(0).files_digest, before);
  files_.SetFile("notebooks/a.ipynb", "two");
  EXPECT_NE(LoadPod(step).bootstrap.at(0).files_digest, before);
  files_.SetFile("notebooks/a.ipynb", "one");
  files_.SetFile("notebooks/b.ipynb", "");
  EXPECT_NE(LoadPod(step).bootstrap.at(0).files_digest, before);
}

TEST_F(LoaderTest, AReferenceIsADependency) {
  const Spec spec = Load(R"(
project: p
zone: europe-west4-a
defaults: {acceleratorType: v3-8, runtimeVersion: base}
pods:
  a: {dependsOn: [pod.c], metadata: {peer: "${pod.b.networkEndpoints[0].ipAddress}"}}
  b: {labels: {x: "${ pod.c.state }"}}
  c: {}
)");
  ASSERT_EQ(report_, "");
  EXPECT_THAT(testing::PodsOf(spec)[0].depends_on,
              ::testing::UnorderedElementsAre("pod.c", "pod.b"));
  EXPECT_THAT(testing::PodsOf(spec)[1].depends_on, ElementsAre("pod.c"));
  EXPECT_EQ(testing::PodsOf(spec)[0].metadata.at("peer").text,
            "${pod.b.networkEndpoints[0].ipAddress}");
}

TEST_F(LoaderTest, AliasesAndMergeKeysWork) {
  const Spec spec = Load(R"(
project: p
zone: europe-west4-a
pods:
  a: &base
    acceleratorType: v3-8
    runtimeVersion: &version tpu-ubuntu2204-base
    labels: &labels {team: vision}
  b:
    <<: *base
    runtimeVersion: other
  c:
    <<: [{acceleratorType: v2-8}, *base]
    description: *version
)");
  ASSERT_EQ(report_, "");
  EXPECT_EQ(testing::PodsOf(spec)[1].node["acceleratorType"], Value("v3-8"));
  EXPECT_EQ(testing::PodsOf(spec)[1].node["runtimeVersion"], Value("other"));
  EXPECT_EQ(testing::PodsOf(spec)[2].node["acceleratorType"], Value("v2-8"));
  EXPECT_EQ(testing::PodsOf(spec)[2].node["description"], Value("tpu-ubuntu2204-base"));
  EXPECT_EQ(testing::PodsOf(spec)[2].node["labels"]["team"], Value("vision"));
}

TEST_F(LoaderTest, ProjectAndZoneComeFromThePodThenTheSpecThenTheOptions) {
  options_.project = "from-options";
  options_.zone = "us-central1-a";
  const Spec spec = Load(R"(
zone: europe-west4-a
defaults: {acceleratorType: v3-8, runtimeVersion: base}
pods:
  a: {}
  b: {zone: us-central1-b, project: example.com:own}
)");
  ASSERT_EQ(report_, "");
  EXPECT_EQ(testing::PodsOf(spec)[0].project, "from-options");
  EXPECT_EQ(testing::PodsOf(spec)[0].zone, "europe-west4-a");
  EXPECT_EQ(testing::PodsOf(spec)[1].project, "example.com:own");
  EXPECT_EQ(testing::PodsOf(spec)[1].zone, "us-central1-b");
}

TEST_F(LoaderTest, AZoneFromElsewhereIsCheckedAsOneOfTheSpec) {
  const std::string pods = "project: p\npods:\n  a: {acceleratorType: v3-8, runtimeVersion: r}\n";
  options_.zone = "us-central2b";
  options_.zone_from = "PODCTL_ZONE";
  Load(pods);
  EXPECT_THAT(report_, HasSubstr("Error: PODCTL_ZONE: `us-central2b` is no zone\n"));
  EXPECT_THAT(report_, HasSubstr("Did you mean `us-central2-b`?"));
  options_.zone = "mars-north1-a";
  Load(pods);
  EXPECT_THAT(report_, HasSubstr("Warning: PODCTL_ZONE: `mars-north1-a` is no zone that podctl"));
  options_.zone = "eu-west4-a";
  Load(pods);
  EXPECT_THAT(report_, HasSubstr("Did you mean `europe-west4-a`?"));
  Load("zone: us-central2-b\n" + pods);
  EXPECT_EQ(report_, "") << "nobody uses it";
}

TEST_F(LoaderTest, WhatAJobCopiesIsThereOrIsMade) {
  const std::string text =
      "project: p\nzone: us-central2-b\npods:\n  a: {acceleratorType: v4-8, runtimeVersion: r}\n"
      "jobs:\n  train: {pod: a, command: [x], sync: [{source: out, destination: ~/out}]}\n";
  Load(text);
  EXPECT_THAT(report_,
              HasSubstr("Error: `out`: there is no such file or folder\n  podctl.yaml:6:49"));
  Load(text + "files:\n  hosts: {path: out/hosts, content: x}\n");
  EXPECT_EQ(report_, "");
  files_.SetFolder("out");
  Load(text);
  EXPECT_EQ(report_, "");
}

TEST_F(LoaderTest, AFolderIsAllItsYamlFilesInNameOrder) {
  files_.SetFolder("pods");
  files_.SetFile("pods/b.yml", "pods: {b: {acceleratorType: v3-8, runtimeVersion: x}}");
  files_.SetFile("pods/a.yaml",
                 "project: p\nzone: europe-west4-a\nstate: s.json\n"
                 "pods: {a: {acceleratorType: v3-8, runtimeVersion: x, metadata: {s: {file: f}}}}");
  files_.SetFile("pods/f", "text");
  files_.SetFile("pods/notes.txt", "not: [yaml");
  options_.paths = {"pods", "pods/a.yaml"};
  const Spec spec = LoadFiles();
  ASSERT_EQ(report_, "");
  EXPECT_THAT(spec.files, ElementsAre("pods/a.yaml", "pods/b.yml"));
  ASSERT_EQ(testing::PodsOf(spec).size(), 2u);
  EXPECT_EQ(testing::PodsOf(spec)[0].metadata.at("s").text, "text");
  EXPECT_EQ(spec.state, "pods/s.json");
}

TEST_F(LoaderTest, FilesThatContradictEachOtherAreShownWithBothPlaces) {
  files_.SetFile("a.yaml",
                 "project: p\nzone: europe-west4-a\ndefaults: {labels: {a: x}}\n"
                 "pods: {a: {acceleratorType: v3-8, runtimeVersion: x}}\n");
  files_.SetFile("b.yaml",
                 "project: q\nzone: europe-west4-a\ndefaults: {labels: {a: y, b: y}}\n"
                 "pods: {a: {}}\n");
  options_.paths = {"a.yaml", "b.yaml"};
  LoadFiles();
  EXPECT_EQ(report_, R"(Error: the pod `a` is defined twice
  b.yaml:4:8, in pods
   |
 4 | pods: {a: {}}
   |        ^
  a.yaml:4:8: first defined here
   |
 4 | pods: {a: {acceleratorType: v3-8, runtimeVersion: x}}
   |        ^
)");
}

TEST_F(LoaderTest, WhatAFileSaysHoldsForItsOwnPods) {
  files_.SetFile("a.yaml",
                 "project: p\nzone: europe-west4-a\ndefaults: {labels: {team: a}}\n"
                 "pods: {a: {acceleratorType: v3-8, runtimeVersion: x}}\n");
  files_.SetFile("b.yaml",
                 "project: q\nzone: us-central1-a\ndefaults: {labels: {team: b}}\n"
                 "pods: {b: {acceleratorType: v3-8, runtimeVersion: x}}\n"
                 "trainingJobs: {t: {region: us-central1, jobSpec: {}}}\n");
  for (const std::vector<std::string>& order :
       {std::vector<std::string>{"a.yaml", "b.yaml"}, {"b.yaml", "a.yaml"}}) {
    options_.paths = order;
    const Spec spec = LoadFiles();
    ASSERT_EQ(testing::PodsOf(spec).size(), 2u);
    for (const PodSpec* each : DeclaredPods(spec)) {
      const PodSpec& pod = *each;
      EXPECT_EQ(pod.project, pod.name == "a" ? "p" : "q");
      EXPECT_EQ(pod.zone, pod.name == "a" ? "europe-west4-a" : "us-central1-a");
      EXPECT_EQ(pod.node["labels"]["team"], Value(pod.name));
    }
    EXPECT_EQ(spec.project, "");
    const auto jobs = DeclaredIn(spec, *testing::KindNamed("trainingJob"));
    ASSERT_EQ(jobs.size(), 1u);
    EXPECT_EQ(jobs[0]->wanted.As<TrainingJobSpec>()->project, "q");
  }
}

TEST_F(LoaderTest, AFileWithoutPodsSpeaksForAll) {
  files_.SetFile(
      "all.yaml",
      "project: p\nzone: europe-west4-a\n"
      "defaults: {acceleratorType: v3-8, runtimeVersion: x, labels: {team: all, a: b}}\n");
  files_.SetFile("a.yaml", "zone: us-central1-a\ndefaults: {labels: {team: a}}\npods: {a: {}}\n");
  files_.SetFile("b.yaml", "pods: {b: {}}\ndefaults: {}\n");
  options_.paths = {"a.yaml", "b.yaml", "all.yaml"};
  const Spec spec = LoadFiles();
  ASSERT_EQ(report_, "");
  EXPECT_EQ(testing::PodsOf(spec)[0].zone, "us-central1-a");
  EXPECT_EQ(testing::PodsOf(spec)[0].node["labels"]["team"], Value("a"));
  EXPECT_EQ(testing::PodsOf(spec)[0].node["labels"]["a"], Value("b"));
  EXPECT_EQ(testing::PodsOf(spec)[1].zone, "europe-west4-a");
  EXPECT_EQ(testing::PodsOf(spec)[1].node["labels"]["team"], Value("all"));
  EXPECT_EQ(spec.project, "p");
}

TEST_F(LoaderTest, WhereFilesDifferNothingIsGuessed) {
  options_.zone = "us-central1-a";
  files_.SetFile("a.yaml",
                 "project: p\nzone: europe-west4-a\ndefaults: {labels: {team: a}}\n"
                 "pods: {a: {acceleratorType: v3-8, runtimeVersion: x}}\n");
  files_.SetFile("b.yaml",
                 "zone: us-central1-b\npods: {b: {acceleratorType: v3-8, runtimeVersion: x}}\n");
  files_.SetFile("c.yaml", "pods: {c: {acceleratorType: v3-8, runtimeVersion: x}}\n");
  options_.paths = {"a.yaml", "b.yaml", "c.yaml"};
  const Spec spec = LoadFiles();
  EXPECT_EQ(testing::PodsOf(spec)[2].project, "p");
  EXPECT_THAT(report_, HasSubstr("no zone for the pod `c`"));
  EXPECT_THAT(report_, HasSubstr("other files say `europe-west4-a` in a.yaml, `us-central1-b` in "
                                 "b.yaml: set `zone` in this one too"));
  EXPECT_THAT(report_, HasSubstr("the `defaults` of a.yaml hold for the pods of that file only"));
}

TEST_F(LoaderTest, TwoFilesMayNotMeanTwoStates) {
  files_.SetFolder("a");
  files_.SetFolder("b");
  files_.SetFile("a/x.yaml", "state: s.json\npods: {}\n");
  files_.SetFile("b/x.yaml", "state: s.json\npods: {}\n");
  options_.paths = {"a", "b"};
  LoadFiles();
  EXPECT_THAT(report_, HasSubstr("`state` has two values: a/s.json and b/s.json"));
  files_.SetFile("b/x.yaml", "state: ../a/s.json\npods: {}\n");
}

TEST_F(LoaderTest, RecursionGoesDownByNameAndLeavesLinksAndHiddenFoldersAlone) {
  const std::string pod =
      ": {project: p, zone: europe-west4-a, acceleratorType: v3-8, runtimeVersion: x}}\n";
  for (const char* folder : {"d", "d/b", "d/b/c", "d/.git", "elsewhere"}) files_.SetFolder(folder);
  files_.SetFile("d/z.yaml", "pods: {z" + pod);
  files_.SetFile("d/a.yaml", "pods: {a" + pod);
  files_.SetFile("d/b/c/m.yml", "pods: {m" + pod);
  files_.SetFile("d/.git/x.yaml", "not a spec");
  files_.SetFile("elsewhere/e.yaml", "not a spec");
  files_.SetLink("d/link", "../elsewhere");
  options_.paths = {"d"};
  EXPECT_THAT(LoadFiles().files, ElementsAre("d/a.yaml", "d/z.yaml"));
  options_.recursive = true;
  EXPECT_THAT(LoadFiles().files, ElementsAre("d/a.yaml", "d/b/c/m.yml", "d/z.yaml"));
  EXPECT_EQ(report_, "");
  options_.paths = {"d/a.yaml"};
  LoadFiles();
  EXPECT_THAT(report_, HasSubstr("`--recursive` goes down into a folder, and none is named"));
}

TEST_F(LoaderTest, AFileOfVariablesIsNoSpec) {
  files_.SetFolder("d");
  files_.SetFile("d/pods.yaml",
                 "variables: {z: {}}\npods: {a: {project: p, zone: \"${var.z}\", acceleratorType: "
                 "v3-8, runtimeVersion: x}}\n");
  files_.SetFile("d/values.yaml", "z: europe-west4-a\n");
  files_.SetFile("d/other.vars.yaml", "z: us-central1-a\n");
  options_.paths = {"d"};
  options_.var_files = {"./d/values.yaml"};
  const Spec spec = LoadFiles();
  ASSERT_EQ(report_, "");
  EXPECT_EQ(testing::PodsOf(spec)[0].zone, "europe-west4-a");
}

TEST_F(LoaderTest, FilesThatCannotBeReadAreNamed) {
  LoadFiles();
  EXPECT_EQ(report_,
            "Error: there is no such file\n  podctl.yaml\n"
            "  `podctl init` writes one; -f names another\n");
  files_.SetFolder("empty");
  options_.paths = {"missing.yaml", "empty"};
  LoadFiles();
  EXPECT_EQ(report_,
            "Error: no *.yaml or *.yml in this folder\n  empty\n\n"
            "Error: there is no such file\n  missing.yaml\n");
}

TEST_F(LoaderTest, AFileWithoutPermissionIsNamed) {
  files_.SetFile("podctl.yaml", "pods: {}");
  files_.FailCall(1, MakeError(ErrorCode::kPermissionDenied, "podctl.yaml: Permission denied"));
  LoadFiles();
  EXPECT_EQ(report_, "Error: the file cannot be read: permission denied\n  podctl.yaml\n");
}

TEST_F(LoaderTest, AnEmptySetOfPodsHasToBeWritten) {
  EXPECT_TRUE(testing::PodsOf(Load("project: p\npods: {}\n")).empty());
  EXPECT_EQ(report_, "");
}

TEST_F(LoaderTest, StateIsBesideTheSpec) {
  EXPECT_EQ(Load("state: x.json\npods: {}\n").state, "x.json");
  EXPECT_EQ(Load("pods: {}\n").state, "");
}

TEST_F(LoaderTest, AFloodOfProblemsIsCountedAndWarningsHideNoError) {
  std::string text = "project: p\nzone: europe-west4-a\npods:\n";
  for (int i = 0; i < 300; ++i) {
    text += "  p" + std::to_string(i) + ": {acceleratorType: v9-8, runtimeVersion: x}\n";
  }
  EXPECT_EQ(testing::PodsOf(Load(text)).size(), 300u);
  Diagnostics warnings;
  LoadSpec(testing::WithKinds(), files_, FixedEnvironment({}), warnings);
  EXPECT_FALSE(warnings.has_errors());
  EXPECT_EQ(warnings.items().back().summary, "100 further warnings not listed");

  text += "  last: {acceleratorType: v3-8, runtimeVersion: x";
  for (int i = 0; i < 1100; ++i) text += ", k" + std::to_string(i) + ": 1";
  files_.SetFile("podctl.yaml", text + "}\n");
  Diagnostics errors;
  LoadSpec(testing::WithKinds(), files_, FixedEnvironment({}), errors);
  EXPECT_TRUE(errors.has_errors());
  EXPECT_EQ(errors.items().size(), 1000u + 200u + 2u);
  EXPECT_EQ(errors.items()[errors.items().size() - 2].summary, "100 further errors not listed");
}

TEST_F(LoaderTest, AChainOfPodsIsNoDanger) {
  constexpr int kPods = 5000;
  std::string text = "project: p\nzone: europe-west4-a\npods:\n";
  for (int i = 0; i < kPods; ++i) {
    const std::string next = i + 1 < kPods ? "pod.p" + std::to_string(i + 1) : "";
    text += "  p" + std::to_string(i) +
            ": {acceleratorType: v3-8, runtimeVersion: x, dependsOn: [" + next + "]}\n";
  }
  EXPECT_EQ(testing::PodsOf(Load(text)).size(), static_cast<std::size_t>(kPods));
  EXPECT_EQ(report_, "");
}

TEST_F(LoaderTest, ReadsMovesOfAnyOrderAndLength) {
  const Spec spec = Load(R"(
project: p
zone: europe-west4-a
defaults: {acceleratorType: v3-8, runtimeVersion: r}
moved:
  - {from: pod.b, to: pod.c}
  - {from: pod.a, to: pod.b}
pods: {c: {}}
)");
  ASSERT_EQ(report_, "");
  ASSERT_EQ(spec.moved.size(), 2U);
  EXPECT_EQ(spec.moved[0].from, "pod.b");
  EXPECT_EQ(spec.moved[0].to, "pod.c");
  EXPECT_EQ(spec.moved[1].place.line, 7);
  EXPECT_EQ(spec.moved[1].place.column, 12);
}

TEST_F(LoaderTest, ReadsTriggersAndDependsOnThem) {
  const Spec spec = Load(R"(
project: p
zone: europe-west4-a
defaults: {acceleratorType: v3-8, runtimeVersion: r}
pods:
  base: {bootstrap: [{name: install, run: echo}]}
  other: {}
  a:
    lifecycle:
      replaceTriggeredBy:
        [pod.base.labels.team, bootstrap.base.install, pod.other, bootstrap.other.tpu-runtime,
         pod.other.metadata.token, pod.other.networkEndpoints]
)");
  ASSERT_EQ(report_, "");
  EXPECT_THAT(testing::PodsOf(spec)[2].lifecycle.replace_triggered_by,
              ElementsAre("pod.base.labels.team", "bootstrap.base.install", "pod.other",
                          "bootstrap.other.tpu-runtime", "pod.other.metadata.token",
                          "pod.other.networkEndpoints"));
  EXPECT_THAT(testing::PodsOf(spec)[2].depends_on, ElementsAre("pod.base", "pod.other"));
}

TEST_F(LoaderTest, SaysWhetherTheNodeIdWasWritten) {
  EXPECT_FALSE(LoadPod("").node_id_given);
  EXPECT_TRUE(LoadPod("    nodeId: a\n").node_id_given);
}

TEST_F(LoaderTest, HandsOverVariablesAndADigestOfTheFiles) {
  const std::string text =
      "project: p\nzone: europe-west4-a\npods: {}\n"
      "variables: {plain: {default: x}, token: {sensitive: true, default: y}}\n";
  options_.vars = {{"plain", "given"}};
  const Spec spec = Load(text);
  ASSERT_EQ(report_, "");
  EXPECT_EQ(spec.variables.at("plain").text, "given");
  EXPECT_FALSE(spec.variables.at("plain").sensitive);
  EXPECT_TRUE(spec.variables.at("token").sensitive);
  EXPECT_EQ(spec.digest.size(), 64U);
  EXPECT_EQ(Load(text).digest, spec.digest);
  EXPECT_NE(Load(text + "# edited\n").digest, spec.digest);

  // The same file in another checkout.
  files_.SetFile("/elsewhere/podctl.yaml", text);
  options_.paths = {"/elsewhere/podctl.yaml"};
  EXPECT_EQ(LoadFiles().digest, spec.digest);
}

TEST_F(LoaderTest, OfASectionThatIsMisspeltItIsNotSaidThatItIsMissing) {
  Load("project: p\nzone: europe-west4-a\npod:\n  a: {acceleratorType: v3-8}\n");
  EXPECT_THAT(report_, HasSubstr("Error: unknown key `pod`\n  podctl.yaml:3:1"));
  EXPECT_THAT(report_, HasSubstr("did you mean `pods`?"));
  EXPECT_THAT(report_, Not(HasSubstr("there is no `pods`")));
}

TEST_F(LoaderTest, OnlyWhoAddsAPodMayLackThem) {
  Load("project: p\n");
  EXPECT_THAT(report_, HasSubstr("there is no `pods`"));
  options_.may_lack_pods = true;
  Load("project: p\n");
  EXPECT_EQ(report_, "");
}

}  // namespace
}  // namespace podctl
