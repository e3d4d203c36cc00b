// What each launcher makes of a job, as `podctl run JOB --print` shows it: golden files, one for
// each launcher and kind of pod.
#include "plans/jobs/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "cmd/views/launch_view.h"
#include "cmd/views/snippet.h"
#include "plans/jobs/command_text.h"
#include "plans/jobs/ranks.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/devices.h"
#include "plans/spec/job_reader.h"
#include "plans/spec/loader.h"
#include "plans/spec/yaml_tree.h"
#include "providers/base/json.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/golden.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

constexpr const char* kPods = R"(
project: p
zone: europe-west4-a
variables:
  key: {default: swordfish, sensitive: true}
pods:
  one: {acceleratorType: v3-8, runtimeVersion: v2-alpha, libtpuFlags: {xla_a: true}}
  four: {acceleratorType: v3-32, runtimeVersion: v2-alpha, libtpuFlags: {xla_a: true}}
  wide:
    acceleratorType: v5litepod-16
    runtimeVersion: v2-alpha-tpuv5-lite
    slices: 2
    queuedResource: {}
jobs:
  train:
)";

// A node as the service shows it, with `workers` endpoints.
PodRecord RecordOf(const std::string& type, int workers, int slices = 0) {
  PodRecord record;
  record.current.life = Present{};
  record.current.locator = "node-1";
  record.observed.Set("state", "READY");
  record.observed.Set("acceleratorType", type);
  Value endpoints = Value::EmptyList();
  for (int i = 0; i < workers; ++i) {
    Value endpoint = Value::EmptyMap();
    endpoint.Set("ipAddress", "10.0.0." + std::to_string(i + 1));
    endpoints.MutableList().push_back(endpoint);
  }
  record.observed.Set("networkEndpoints", endpoints);
  if (slices > 0) {
    Value list = Value::EmptyList();
    for (int i = 0; i < slices; ++i) list.MutableList().emplace_back(Value::EmptyMap());
    record.observed.Set("slices", list);
  }
  return record;
}

class LaunchTest : public ::testing::Test {
 protected:
  // The spec's job, whose keys are `job`, indented by four.
  const JobSpec& Load(const std::string& job) {
    testing::FakeFileSystem files;
    files.SetFile("podctl.yaml", kPods + job);
    files.SetFolder("src");
    Diagnostics diagnostics;
    spec_ = LoadSpec(testing::WithKinds(), files, FixedEnvironment({}), diagnostics);
    EXPECT_EQ(FormatDiagnostics(diagnostics, {}), "");
    return spec_.jobs.at(0);
  }
  const PodSpec& Pod() const {
    for (const PodSpec* each : DeclaredPods(spec_)) {
      const PodSpec& pod = *each;
      if (pod.name == spec_.jobs.at(0).pod) return pod;
    }
    return testing::PodsOf(spec_).at(0);
  }
  static PodRecord Record(const std::string& pod) {
    if (pod == "wide") return RecordOf("v5litepod-16", 8, 2);
    PodRecord record = pod == "one" ? RecordOf("v3-8", 1) : RecordOf("v3-32", 4);
    record.metadata["tensorflow-env-vars"] = "-e LIBTPU_INIT_ARGS=--xla_a=true";
    return record;
  }
  std::string Print(const std::string& job, const LaunchRequest& request = {}) {
    const JobSpec& spec = Load(job);
    const PodRecord record = Record(spec.pod);
    const auto pod = LaunchPodOf(Pod(), &record);
    const auto launch = MakeLaunch(spec, *pod, request);
    return launch ? ShowLaunch(spec, &*pod, *launch) : launch.error().message;
  }
  std::string PrintLocal(const std::string& job) {
    const JobSpec& spec = Load(job);
    return ShowLaunch(spec, nullptr, *MakeLocalLaunch(spec, {}));
  }

  Spec spec_;
};

constexpr const char* kTrain =
    "    command: [python3, train.py, --fake_data]\n"
    "    flags: {batch_size: 128, use_bf16: true, layers: [1, 2], fast: null}\n"
    "    env: {WANDB_MODE: offline, WANDB_API_KEY: \"${var.key}\"}\n"
    "    sync: [{source: ./src, destination: ~/src, exclude: [.git]}]\n"
    "    restart: {attempts: 50, on: [maintenance, preemption, connection]}\n";

TEST_F(LaunchTest, PjrtRunsEverywhereAlike) {
  testing::ExpectGolden("jobs/pjrt_pod.txt", Print(std::string("    pod: four\n") + kTrain));
  testing::ExpectGolden(
      "jobs/pjrt_conda.txt",
      Print(std::string("    pod: one\n    condaEnv: torch-xla\n    devices: [1]\n") + kTrain));
}

TEST_F(LaunchTest, TellsWhenItIsStartedAgainAndWhenItIsEnded) {
  const auto print = [this](const std::string& restart) {
    return Print("    pod: four\n    command: [a]\n    restart: " + restart + "\n");
  };
  EXPECT_THAT(
      print("{attempts: 3, on: [failure, hang], backoff: 5s, hang: 10m}"),
      HasSubstr("\nIt is started again at most 3 times, on failure, hang; after 5s, twice as "
                "long each time where they follow within a minute, up to 1m.\n"
                "\nWithout a line of any worker for 10m it is ended.\n"));
  EXPECT_THAT(print("{attempts: 3, on: [failure], backoff: 0s}"),
              HasSubstr("on failure; at once.\n"));
  EXPECT_THAT(print("{attempts: 3, on: [failure], backoff: 5m}"),
              HasSubstr("on failure; after 5m.\n"));
}

TEST_F(LaunchTest, SeveralSlicesFindOneAnother) {
  testing::ExpectGolden(
      "jobs/jax_multislice.txt",
      Print(std::string("    pod: wide\n    launcher: jax\n    docker: {image: gcr.io/p/i, flags: "
                        "[--ipc=host]}\n") +
            kTrain));
}

TEST_F(LaunchTest, TensorflowRunsOnWorkerZero) {
  const std::string job = std::string("    launcher: tensorflow\n") + kTrain;
  testing::ExpectGolden("jobs/tensorflow_pod.txt", Print("    pod: four\n" + job));
  testing::ExpectGolden("jobs/tensorflow_host.txt", Print("    pod: one\n" + job));
  EXPECT_EQ(Print("    pod: four\n" + job, {{}, "1", 1, ""}), "`tensorflow` runs on worker 0 only");
}

TEST_F(LaunchTest, XlaDistSetsWhatXlaDistSet) {
  const std::string job = std::string("    pod: four\n    launcher: xla_dist\n") +
                          "    condaEnv: torch-xla-1.13\n    command: [python, a.py]\n";
  testing::ExpectGolden("jobs/xla_dist.txt", Print(job));
  EXPECT_THAT(Print(job, {{}, "", 2, ""}), HasSubstr("PODCTL_ATTEMPT=2"));
  EXPECT_EQ(Print(job, {{}, "0-1", 1, ""}), "`xla_dist` runs on all workers");
}

TEST_F(LaunchTest, EstimatorHasItsRunConfigAsFilesAndAsFlags) {
  const std::string job =
      "    pod: four\n    launcher: estimator\n    command: [python3, resnet.py]\n"
      "    runConfig: {iterations_per_loop: 100, per_host_input_for_training: true,\n"
      "      tpu_job_name: worker, initial_infeed_sleep_secs: 0, model_dir: \"gs://b/it's\",\n"
      "      input_partition_dims: [[1, 2], null], keep_checkpoint_every_n_hours: 0.5}\n";
  testing::ExpectGolden("jobs/estimator.txt", Print(job));
  testing::ExpectGolden("jobs/estimator_local.txt", PrintLocal(job));
}

void ExpectSame(const YamlNode& yaml, const Value& json) {
  EXPECT_EQ(yaml.entries.size(), json.AsMap().size());
  for (const YamlEntry& entry : yaml.entries) {
    const Value& value = json[entry.key->text];
    if (entry.value->is_map()) {
      ExpectSame(*entry.value, value);
      continue;
    }
    EXPECT_EQ(entry.value->text, value.is_string() ? value.AsString() : ToJson(value));
    EXPECT_EQ(entry.value->plain, !value.is_string()) << entry.key->text;
  }
}

TEST_F(LaunchTest, BothFilesOfTheRunConfigMeanTheSame) {
  const JobSpec& job = Load(
      "    pod: four\n    launcher: estimator\n    command: [a]\n"
      "    runConfig: {model_dir: \"it's: #1 \\\"x\\\" \\\\ é\", tpu_job_name: \"on\", num_shards: "
      "8,\n"
      "      per_host_input_for_training: true}\n");
  const auto record = Record("four");
  const auto launch = MakeLaunch(job, *LaunchPodOf(Pod(), &record), {});
  ASSERT_EQ(launch->files.size(), 2u);
  const auto json = ParseJson(launch->files[1].text);
  ASSERT_TRUE(json);
  const SourceFile file("run_config.yaml", launch->files[0].text);
  Diagnostics diagnostics;
  const YamlNodePtr yaml = ParseYaml(file, diagnostics);
  EXPECT_EQ(FormatDiagnostics(diagnostics, {}), "");
  ASSERT_TRUE(yaml && yaml->is_map());
  ExpectSame(*yaml, *json);
}

// TPUEstimator(config=RunConfig(tpu_config=TPUConfig(…), …), use_tpu=…), with TensorFlow's numbers:
// it compares numbers, and a word it takes without a sound for none of them.
TEST_F(LaunchTest, TheRunConfigIsNestedAndCountsAsTensorFlowDoes) {
  const std::string job =
      "    pod: four\n    launcher: estimator\n    command: [a]\n"
      "    runConfig: {flags: false, num_shards: 8, per_host_input_for_training: PER_HOST_V2, "
      "model_dir: "
      "\"gs://b\",\n"
      "      eval_training_input_configuration: SLICED}\n";
  const JobSpec& spec = Load(job);
  const auto record = Record("four");
  const auto launch = MakeLaunch(spec, *LaunchPodOf(Pod(), &record), {});
  const auto json = ParseJson(launch->files[1].text);
  EXPECT_EQ((*json)["use_tpu"], Value(true));
  EXPECT_EQ((*json)["config"]["model_dir"], Value("gs://b"));
  const Value& tpu = (*json)["config"]["tpu_config"];
  EXPECT_EQ(tpu["num_shards"], Value(8));
  EXPECT_EQ(tpu["per_host_input_for_training"], Value(3));
  EXPECT_EQ(tpu["eval_training_input_configuration"], Value(5));
  EXPECT_THAT(launch->workers[0].script, Not(HasSubstr("--num_shards")));
  EXPECT_THAT(launch->workers[0].script, Not(HasSubstr("--use_tpu")));
}

TEST(Devices, AreCountedAnewByWhoSeesThem) {
  const auto seen = [](const std::string& type, std::vector<int> list) {
    Value node = Value::EmptyMap();
    node.Set("acceleratorType", type);
    return DescribeVisible({JobDevices::Kind::kList, 0, std::move(list)}, *HostOf(node));
  };
  EXPECT_EQ(seen("v5litepod-8", {5}),
            "device 5 of the host is 0 of the 1 that the program sees (from 0)");
  EXPECT_EQ(seen("v3-8", {5}), "device 5 of the host is 1 of the 2 that the program sees (from 0)");
  EXPECT_EQ(seen("v4-8", {2, 3}),
            "devices 2, 3 of the host are 0, 1 of the 2 that the program sees (from 0)");
}

TEST_F(LaunchTest, ShellTextIsForTheUsersOwnShell) {
  testing::ExpectGolden("jobs/shell.txt",
                        Print("    pod: four\n    launcher: shell\n    workers: \"1-2\"\n"
                              "    command: [\"ls | wc -l\"]\n",
                              {{"a b"}, "", 1, ""}));
}

TEST_F(LaunchTest, HereThereIsNoTpu) {
  const std::string local = PrintLocal(
      "    pod: four\n    launcher: tensorflow\n    command: [python3, a.py]\n"
      "    flags: {use_tpu: true}\n");
  EXPECT_THAT(local, HasSubstr("PJRT_DEVICE=CPU"));
  EXPECT_THAT(local, HasSubstr("exec python3 a.py --use_tpu=False\n"));
  EXPECT_THAT(local, Not(HasSubstr("TPU_NAME")));
}

TEST_F(LaunchTest, APodThatIsNotThereYetIsGuessed) {
  const JobSpec& job = Load("    pod: wide\n    command: [a]\n");
  const auto pod = LaunchPodOf(Pod(), nullptr);
  ASSERT_TRUE(pod);
  testing::ExpectGolden("jobs/not_there_yet.txt",
                        ShowLaunch(job, &*pod, *MakeLaunch(job, *pod, {})));
}

TEST_F(LaunchTest, FilesAreWrittenByteByByte) {
  const JobSpec& job = Load(
      "    pod: four\n    launcher: estimator\n    command: [a]\n"
      "    runConfig: {model_dir: \"it's $HOME `x` \\\\ \\\"q\\\"\"}\n");
  const auto record = Record("four");
  const auto launch = MakeLaunch(job, *LaunchPodOf(Pod(), &record), {});
  EXPECT_THAT(FilesText(job, *launch), HasSubstr("it'\\''s $HOME `x` "));
}

TEST_F(LaunchTest, SecretsAreNotShown) {
  const std::string job = std::string("    pod: four\n") + kTrain;
  EXPECT_THAT(Print(job), Not(HasSubstr("swordfish")));
  const JobSpec& spec = spec_.jobs[0];
  const auto record = Record("four");
  const auto pod = LaunchPodOf(Pod(), &record);
  const auto launch = MakeLaunch(spec, *pod, {});
  EXPECT_EQ(launch->workers[0].env.at("WANDB_API_KEY"), "swordfish");
  EXPECT_THAT(ToJson(LaunchDocument(spec, &*pod, *launch)), Not(HasSubstr("swordfish")));
}

TEST_F(LaunchTest, TheJobsOwnVariablesComeOverTheLaunchers) {
  const std::string text = Print("    pod: four\n    command: [a]\n    env: {PJRT_DEVICE: CPU}\n");
  EXPECT_THAT(text, HasSubstr("PJRT_DEVICE=CPU"));
  EXPECT_THAT(text, Not(HasSubstr("PJRT_DEVICE=TPU")));
}

TEST_F(LaunchTest, NobodyElseSetsWhatXlaDistSets) {
  const JobSpec& job = Load("    pod: four\n    launcher: xla_dist\n    command: [a]\n");
  const PodRecord record = Record("four");
  const auto launch = MakeLaunch(job, *LaunchPodOf(Pod(), &record), {});
  ASSERT_TRUE(launch);
  for (const auto& [name, value] : launch->workers.front().env) {
    const bool ours = name == "LIBTPU_INIT_ARGS" || IsPlaceVariable(name);
    EXPECT_EQ(IsXlaDistVariable(name), !ours) << name;
  }
}

// What each framework reads, and nothing that another one would take for its own: on a TPU VM it
// finds its place by itself.
TEST_F(LaunchTest, EachLauncherSetsWhatItsFrameworkReads) {
  const std::map<std::string, std::vector<std::string>> table = {
      {"pjrt", {}},
      {"jax", {"JAX_COORDINATOR_ADDRESS=10.0.0.1:8482", "JAX_NUM_PROCESSES=4", "JAX_PROCESS_ID=2"}},
      {"torch",
       {"LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1", "MASTER_ADDR=10.0.0.1", "MASTER_PORT=29500",
        "NODE_RANK=2", "RANK=2", "WORLD_SIZE=4"}},
      {"torchrun",
       {"PET_MASTER_ADDR=10.0.0.1", "PET_MASTER_PORT=29500", "PET_NNODES=4", "PET_NODE_RANK=2"}},
      {"ray", {"RAY_ADDRESS=10.0.0.1:6379"}},
      {"shell", {}}};
  for (const auto& [launcher, wanted] : table) {
    const JobSpec& job = Load("    pod: four\n    command: [a]\n    launcher: " + launcher + "\n");
    const PodRecord record = Record("four");
    const auto launch = MakeLaunch(job, *LaunchPodOf(Pod(), &record), {{}, "", 3, "r1"});
    ASSERT_TRUE(launch);
    std::vector<std::string> ranks;
    for (const auto& [name, value] : launch->workers[2].env) {
      const bool is_ours = name.starts_with("PODCTL_");
      if (!is_ours && name != "PJRT_DEVICE" && name != "LIBTPU_INIT_ARGS") {
        ranks.push_back(name + "=" + value);
      }
    }
    EXPECT_THAT(ranks, ElementsAreArray(wanted)) << launcher;
    const auto& env = launch->workers[2].env;
    EXPECT_EQ(env.at("PODCTL_POD") + env.at("PODCTL_WORKER") + env.at("PODCTL_WORKERS"), "four24");
    EXPECT_EQ(env.at("PODCTL_ADDRESSES"), "10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4");
    EXPECT_EQ(env.at("PODCTL_JOB") + env.at("PODCTL_RUN") + env.at("PODCTL_ATTEMPT"), "trainr13");
    EXPECT_EQ(env.at("PODCTL_SLICE") + env.at("PODCTL_SLICES"), "01");
  }
}

// Ranks count what was chosen, PODCTL_WORKER the pod; the first one chosen is where they meet.
TEST_F(LaunchTest, RanksAreThoseOfTheChosenWorkers) {
  const JobSpec& job = Load("    pod: four\n    launcher: jax\n    command: [a]\n");
  const PodRecord record = Record("four");
  const auto launch = MakeLaunch(job, *LaunchPodOf(Pod(), &record), {{}, "1,3", 1, ""});
  ASSERT_EQ(launch->workers.size(), 2u);
  const auto& env = launch->workers[1].env;
  EXPECT_EQ(env.at("PODCTL_WORKER"), "3");
  EXPECT_EQ(env.at("PODCTL_WORKERS"), "4");
  EXPECT_EQ(env.at("JAX_PROCESS_ID"), "1");
  EXPECT_EQ(env.at("JAX_NUM_PROCESSES"), "2");
  EXPECT_EQ(env.at("JAX_COORDINATOR_ADDRESS"), "10.0.0.2:8482");
}

TEST_F(LaunchTest, AWorkerWithAPartOfItsChipsIsNobodysPeer) {
  const JobSpec& job =
      Load("    pod: four\n    launcher: jax\n    devices: [0]\n    command: [a]\n");
  const PodRecord record = Record("four");
  const auto launch = MakeLaunch(job, *LaunchPodOf(Pod(), &record), {});
  EXPECT_FALSE(launch->workers[1].env.contains("JAX_PROCESS_ID"));
  EXPECT_TRUE(launch->workers[1].env.contains("TPU_VISIBLE_CHIPS"));
  EXPECT_EQ(launch->workers[1].env.at("PODCTL_WORKER"), "1");
}

TEST_F(LaunchTest, SlicesAreCountedThrough) {
  const JobSpec& job = Load("    pod: wide\n    launcher: jax\n    command: [a]\n");
  const PodRecord record = Record("wide");
  const auto launch = MakeLaunch(job, *LaunchPodOf(Pod(), &record), {});
  const auto& env = launch->workers[6].env;
  EXPECT_EQ(env.at("PODCTL_SLICE") + " of " + env.at("PODCTL_SLICES"), "1 of 2");
  EXPECT_EQ(env.at("JAX_PROCESS_ID"), "6");
}

TEST_F(LaunchTest, ReferencesToItsOwnPodArePutIn) {
  const std::string job =
      "    pod: four\n    env: {PEER: \"${pod.four.networkEndpoints[3].ipAddress}\", PRICE: "
      "\"$${A}\"}\n"
      "    flags: {peer: \"${pod.four.networkEndpoints[1].ipAddress}:80\"}\n"
      "    command: [\"echo ${pod.four.networkEndpoints[0].ipAddress} $${HOME}\"]\n";
  const std::string text = Print(job);
  EXPECT_THAT(text, HasSubstr("PEER=10.0.0.4\n"));
  EXPECT_THAT(text, HasSubstr("PRICE='${A}'\n"));
  EXPECT_THAT(text, HasSubstr("echo 10.0.0.1 ${HOME} --peer=10.0.0.2:80"));
  EXPECT_THAT(
      JobsOfSpecTable(spec_.jobs),
      HasSubstr("echo ${pod.four.networkEndpoints[0].ipAddress} ${HOME} '--peer=${pod.four."));
  const auto guessed = LaunchPodOf(Pod(), nullptr);
  EXPECT_EQ(MakeLaunch(spec_.jobs[0], *guessed, {})->workers[0].env.at("PEER"),
            "<networkEndpoints[3].ipAddress of four>");
  const auto here = MakeLocalLaunch(spec_.jobs[0], {});
  ASSERT_FALSE(here);
  EXPECT_THAT(here.error().hint, HasSubstr("`--local` knows no pod"));
}

TEST_F(LaunchTest, AListHasALineForEachJob) {
  Load("    pod: four\n    command: [\"set -e\\necho two\"]\n");
  const std::string table = JobsOfSpecTable(spec_.jobs);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 2) << table;
  EXPECT_THAT(table, HasSubstr("set -e …"));
}

// A label is somebody's text; in a shell's text it would be commands.
TEST_F(LaunchTest, ForeignTextIsNotPutIntoShellText) {
  const auto launch = [&](const std::string& command) {
    const JobSpec& job = Load("    pod: four\n    command: " + command + "\n");
    PodRecord record = Record("four");
    record.observed.Set("description", "; touch /tmp/pwned");
    return MakeLaunch(job, *LaunchPodOf(Pod(), &record), {});
  };
  const auto refused = launch("[\"echo ${pod.four.description}\"]");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "`${pod.four.description}` holds characters that a shell would read");
  const auto words = launch("[echo, \"${pod.four.description}\"]");
  EXPECT_THAT(words->workers[0].script, HasSubstr("echo '; touch /tmp/pwned'"));
}

// The table of xla_dist, and sizes that it had not.
TEST(XlaDist, BoundsOfHostsFollowTheTopology) {
  EXPECT_EQ(HostBounds("2x2"), "1,1,1");
  EXPECT_EQ(HostBounds("4x4"), "2,2,1");
  EXPECT_EQ(HostBounds("8x16"), "4,8,1");
  EXPECT_EQ(HostBounds("32x32"), "16,16,1");
  EXPECT_EQ(HostBounds("2x2x4"), "1,1,4");
  EXPECT_EQ(HostBounds("8x16x16"), "4,8,16");
}

std::map<std::string, std::string> VariablesOf(const std::string& type, JobDevices devices) {
  Value node = Value::EmptyMap();
  node.Set("acceleratorType", type);
  const auto host = HostOf(node);
  EXPECT_FALSE(CheckDevices(devices, *host)) << type;
  return DeviceVariables(devices, *host);
}

TEST(Devices, AreCoresOnV3AndChipsOnV4) {
  using Kind = JobDevices::Kind;
  const auto of = [](std::string chips, std::string bounds) {
    return ElementsAre(Pair("TPU_CHIPS_PER_PROCESS_BOUNDS", bounds),
                       Pair("TPU_PROCESS_BOUNDS", "1,1,1"), Pair("TPU_VISIBLE_CHIPS", chips));
  };
  EXPECT_THAT(VariablesOf("v3-8", {Kind::kCount, 1, {}}), of("0", "1,1,1"));
  EXPECT_THAT(VariablesOf("v3-8", {Kind::kCount, 4, {}}), of("0,1", "1,2,1"));
  EXPECT_THAT(VariablesOf("v3-8", {Kind::kList, 0, {3}}), of("1", "1,1,1"));
  EXPECT_THAT(VariablesOf("v3-8", {Kind::kCount, 8, {}}), ElementsAre());
  EXPECT_THAT(VariablesOf("v4-8", {Kind::kList, 0, {3}}), of("3", "1,1,1"));
  EXPECT_THAT(VariablesOf("v4-8", {Kind::kList, 0, {2, 3}}), of("2,3", "1,2,1"));
  EXPECT_THAT(VariablesOf("v4-8", {}), ElementsAre());
  EXPECT_THAT(VariablesOf("v5litepod-8", {Kind::kCount, 4, {}}), of("0,1,2,3", "2,2,1"));
  EXPECT_THAT(VariablesOf("v5litepod-8", {Kind::kCount, 8, {}}), ElementsAre());
}

}  // namespace
}  // namespace podctl
