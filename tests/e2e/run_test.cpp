// podctl run on the emulator's workers: the common start, lines, causes, restarts, detached jobs,
// and the same command on this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "tests/e2e/harness.h"
#include "tests/support/folders.h"
#include "tests/support/long_case.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr int kWorkers = 16;
constexpr const char* kPod =
    "  research: {acceleratorType: v3-128, runtimeVersion: tpu-vm-tf-2.11.0-pod,\n"
    "    libtpuFlags: {xla_a: true}}\n";

class RunTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    box_ = new Sandbox;
    box_->StartEmulator("light", "0s");
    box_->WriteSpec(kPod);
    box_->Apply();
  }
  static void TearDownTestSuite() { delete box_; }
  void SetUp() override { Exec("rm -rf ~/* ~/.podctl/run"); }
  // A spec with the pod and one job `train`, whose keys are indented by four.
  static void Job(const std::string& keys) {
    box_->WriteSpec(kPod + std::string("jobs:\n  train:\n    pod: research\n") + keys);
  }
  static RunResult Exec(const std::string& command, const std::string& workers = "all") {
    return box_->Run({"exec", "research", "--worker", workers, "--", command});
  }
  static RunResult Run(Arguments words) {
    words.insert(words.begin(), {"run", "train"});
    return box_->Run(words);
  }

  static inline Sandbox* box_ = nullptr;
};

std::string ReadWhole(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<double> Numbers(const std::string& text, const std::string& word) {
  std::vector<double> numbers;
  for (const std::string& line : SplitLines(text)) {
    const auto at = line.find(word);
    if (at != std::string::npos) numbers.push_back(std::atof(line.c_str() + at + word.size()));
  }
  return numbers;
}

// What stands between two fences of a page, the n-th time.
std::string Block(const std::string& page, const std::string& fence, int n = 0) {
  std::string block;
  bool inside = false;
  bool wanted = false;
  for (const std::string& line : SplitLines(page)) {
    const bool marks = line.starts_with("```");
    if (marks && !inside) wanted = line == fence && n-- == 0;
    if (marks) inside = !inside;
    if (inside && wanted && !marks) block += line + "\n";
  }
  return block;
}

// Whoever pastes it into a spec and a shell sees it run.
TEST_F(RunTest, TheFirstExampleOfTheDocsRunsAsItStands) {
  const std::string page = ReadWhole(SourceFolder() + "/docs/jobs.md");
  const std::string jobs = Block(page, "```yaml");
  ASSERT_THAT(jobs, HasSubstr("jobs:\n"));
  box_->WriteSpec(kPod + jobs);
  for (const std::string& line : SplitLines(Block(page, "```"))) {
    if (line.starts_with("podctl ")) break;
    EXPECT_EQ(box_->RunProgram({"sh", "-c", line}).code, 0) << line;
  }
  const RunResult run = Run({});
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_THAT(run.out, HasSubstr("| 3 ['--fake_data', '--batch_size=128', '--use_bf16=true']\n"));
  box_->RunProgram({"rm", "-r", "src"});
}

// The files show when each worker was ready (what it wrote last before it waited for the start), by
// the clock that all of them share.
TEST_F(RunTest, SixteenWorkersStartWithinTheSameSecond) {
  box_->WriteFile("src/train.sh",
                  "echo started $(date +%s.%N)\n"
                  "for i in 1 2 3 4 5 6 7 8; do echo \"$PJRT_DEVICE $LIBTPU_INIT_ARGS $1 $i end\"; "
                  "done\n");
  box_->WriteFile("src/.git/config", "x");
  Job("    command: [sh, code/train.sh]\n    flags: {batch_size: 128}\n"
      "    sync: [{source: ./src, destination: ~/code, exclude: [.git]}]\n");
  const RunResult run = Run({});
  EXPECT_EQ(run.code, 0) << run;
  const auto started = Numbers(run.out, "started ");
  ASSERT_THAT(started, SizeIs(kWorkers)) << run;
  const auto [first, last] = std::minmax_element(started.begin(), started.end());
  EXPECT_LT(*last - *first, 1.0) << "a machine of two cores starts 16 shells";
  // Lines of different workers stand between each other, but each is whole.
  for (int worker = 0; worker < kWorkers; ++worker) {
    EXPECT_EQ(CountLines(run.out, "research/" + std::to_string(worker) + " ",
                         "| TPU --xla_a=true --batch_size=128 8 end"),
              1)
        << run;
  }
  EXPECT_THAT(SplitLines(run.out), SizeIs(kWorkers * 9));
  EXPECT_THAT(run.err, AllOf(HasSubstr("Copied src to ~/code on 16 workers: 1 file, "),
                             HasSubstr("Started on 16 workers."),
                             HasSubstr("Job train ended well on 16 workers, after ")))
      << run;
  EXPECT_EQ(Exec("test ! -e code/.git").code, 0);
}

TEST_F(RunTest, NothingStartsWhenOneWorkerCannotBeMadeReady) {
  Job("    command: [\"touch ~/was-started\"]\n");
  const std::string node = "projects/my-project/locations/europe-west4-a/nodes/research";
  const auto act = [&](const std::string& action) {
    box_->Http("POST", "/emulator/workers",
               R"({"node": ")" + node + R"(", "worker": 5, "action": ")" + action + "\"}");
  };
  act("stop");
  const RunResult run = Run({"--no-drain"});
  act("start");
  EXPECT_EQ(run.code, 1) << run;
  EXPECT_THAT(run.err, HasSubstr("research/5 could not be made ready: ")) << run;
  EXPECT_THAT(run.err, HasSubstr("Nothing was started on 15 others: 0-4,6-15")) << run;
  EXPECT_TRUE(Eventually([] { return Exec("test ! -e ~/was-started").code == 0; }));
}

// A tool hears of it too, and finds a results.json of what came of nothing.
TEST_F(RunTest, AToolHearsThatNothingWasStarted) {
  PODCTL_LONG_CASE(20);
  Job("    command: [\"true\"]\n");
  const std::string node = "projects/my-project/locations/europe-west4-a/nodes/research";
  const auto act = [&](const std::string& action) {
    box_->Http("POST", "/emulator/workers",
               R"({"node": ")" + node + R"(", "worker": 5, "action": ")" + action + "\"}");
  };
  act("stop");
  const RunResult run = Run({"--json", "--output-dir", "unbegun"});
  act("start");
  EXPECT_EQ(run.code, 1) << run;
  const auto event = ParseJson(run.out);
  ASSERT_TRUE(event) << run;
  EXPECT_EQ((*event)["type"], Value("diagnostic"));
  EXPECT_EQ((*event)["diagnostic"]["summary"], Value("nothing was started"));
  EXPECT_THAT((*event)["diagnostic"]["detail"].AsString(), HasSubstr("1 of 16 workers failed:"));
  const auto results = ParseJson(box_->ReadFile("unbegun/results.json"));
  ASSERT_TRUE(results);
  EXPECT_EQ((*results)["job"], Value("train"));
  EXPECT_FALSE((*results)["ended"].AsString().empty());
  ASSERT_THAT((*results)["results"].AsList(), SizeIs(kWorkers));
  EXPECT_EQ((*results)["results"].AsList()[5]["outcome"], Value("unreachable"));
  EXPECT_EQ((*results)["results"].AsList()[6]["outcome"], Value("not started"));
}

// One of the processes is killed on its worker: that is the cause, and the others, which would wait
// for it for ever, are ended because of it.
TEST_F(RunTest, AKilledWorkerIsTheCauseAndTheJobIsStartedAgain) {
  Job("    command: [\"echo run >>runs; case $(hostname)-$(wc -l <runs) in *-w-3-1) echo pid $$; "
      "sleep 1; kill -KILL $$ ;; esac; [ $(wc -l <runs) = 2 ] && exit 0; "
      "trap 'sleep 4; exit 0' TERM; while :; do sleep 0.2; done\"]\n"
      "    restart: {attempts: 2, on: [killed]}\n");
  const RunResult run = Run({});
  EXPECT_EQ(run.code, 0) << run;
  // At once, and not when the others have ended.
  EXPECT_THAT(run.err, ::testing::ContainsRegex("research/3 failed: [a-zA-Z0-9 ]+ \\(exit code "
                                                "137\\)\\. The others are ended\\.\n"))
      << run;
  EXPECT_THAT(run.err, AllOf(HasSubstr("research/3 failed first, "),
                             HasSubstr(" after the start: killed by "
                                       "KILL"),
                             HasSubstr("15 workers (0-2,4-15) were ended because of it\n"),
                             HasSubstr("Restart 1 of 2, on killed: research/3: killed by KILL"),
                             HasSubstr("Job train ended well on 16 workers")))
      << run;
}

TEST_F(RunTest, ACommandsOwnFailureIsNotRepeatedUnlessAskedFor) {
  Job("    command: [\"echo run >>runs; exit 7\"]\n"
      "    restart: {attempts: 5, on: [maintenance, preemption, connection]}\n");
  const RunResult run = Run({});
  EXPECT_EQ(run.code, 7) << run;
  EXPECT_THAT(run.err, Not(HasSubstr("Restart"))) << run;
  EXPECT_EQ(CountLines(Exec("wc -l <runs").out, "research/", "| 1"), kWorkers);
}

TEST_F(RunTest, ALostConnectionStartsTheJobAgainAndLeavesNothingBehind) {
  Job("    command: [\"echo run >>runs; [ $(wc -l <runs) = 2 ] && exit 0; exec sleep 1000\"]\n"
      "    workers: 0-3\n    restart: {attempts: 3, on: [connection]}\n");
  const auto run = box_->Start({"run", "train"});
  ASSERT_TRUE(run->WaitForErr("Started on 4 workers."));
  // The second run is told from the first by what the first has written.
  ASSERT_TRUE(Eventually(
      [] { return Exec("case $(hostname) in *-w-[0-3]) [ -s runs ] ;; esac").code == 0; }));
  const std::string node = "projects/my-project/locations/europe-west4-a/nodes/research";
  box_->Http("POST", "/emulator/workers",
             R"({"node": ")" + node + R"(", "worker": 2, "action": "stop"})");
  EXPECT_TRUE(run->WaitForErr("Restart 1 of 3, on connection: research/2: ")) << run->err();
  box_->Http("POST", "/emulator/workers",
             R"({"node": ")" + node + R"(", "worker": 2, "action": "start"})");
  const RunResult result = run->Result();
  EXPECT_EQ(result.code, 0) << result;
}

TEST_F(RunTest, CtrlCEndsTheProcessesOnTheWorkers) {
  Job("    command: [sleep, \"31415\"]\n");
  const auto run = box_->Start({"run", "train"});
  ASSERT_TRUE(run->WaitForErr("Started on 16 workers."));
  run->Signal(SIGINT);
  const RunResult result = run->Result();
  EXPECT_EQ(result.code, 130) << result;
  EXPECT_THAT(result.err, Not(HasSubstr("Left out"))) << "it has written nothing: " << result;
  EXPECT_TRUE(Eventually([] {
    return Exec("! grep -lzsF \"PODCTL_RUN_MARK=$HOME/.podctl/run/train#\" /proc/[0-9]*/environ")
               .code == 0;
  }));
}

TEST_F(RunTest, ADetachedJobOutlivesPodctlAndIsWatchedFromElsewhere) {
  Job("    command: [\"echo started $(date +%s.%N); until [ -e ~/go ]; do sleep 0.1; done; echo "
      "$PJRT_DEVICE over; exit 3\"]\n    env: {TOKEN: \"it's\"}\n");
  const RunResult started = Run({"--detach"});
  EXPECT_EQ(started.code, 0) << started;
  EXPECT_THAT(started.out, HasSubstr("Job train started on research/[0-15].")) << started;
  const auto watching = box_->Start({"logs", "research", "train", "--follow"});
  ASSERT_TRUE(watching->WaitForOut("started "));
  EXPECT_THAT(Run({"--detach"}).err, HasSubstr("job train runs already on research/[0-15]"));
  Exec("touch ~/go");
  const RunResult watched = watching->Result();
  EXPECT_EQ(watched.code, 3) << watched;
  EXPECT_EQ(CountLines(watched.out, "research/", "| TPU over"), kWorkers);
  const auto times = Numbers(watched.out, "started ");
  ASSERT_THAT(times, SizeIs(kWorkers));
  const auto [first, last] = std::minmax_element(times.begin(), times.end());
  EXPECT_LT(*last - *first, 2.0);
}

TEST_F(RunTest, EstimatorFindsItsConfigurationOnTheWorker) {
  Job("    launcher: estimator\n    command: [sh, -c, 'echo \"$0 $*\" $TPU_LOAD_LIBRARY $TPU_NAME; "
      "cp $PODCTL_RUN_CONFIG ~/c.yaml; cp $PODCTL_RUN_CONFIG_JSON ~/c.json', model]\n"
      "    runConfig: {iterations_per_loop: 100, model_dir: \"gs://b/it's: \\\"x\\\"\",\n"
      "      per_host_input_for_training: true, input_partition_dims: [[1, 2], null]}\n");
  const RunResult run = Run({"--", "--extra=1"});
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_THAT(run.out, HasSubstr("model --iterations_per_loop=100 --model_dir=gs://b/it's: \"x\" "
                                 "--per_host_input_for_training=True "
                                 "--input_partition_dims=[[1,2],null] --use_tpu=True --extra=1 0 "
                                 "research\n"))
      << run;
  EXPECT_THAT(SplitLines(run.out), SizeIs(1)) << "worker 0 only";
  ASSERT_EQ(box_->Run({"cp", "research/0:c.yaml", "research/0:c.json", "."}).code, 0);
  const auto config = ParseJson(box_->ReadFile("c.json"));
  ASSERT_TRUE(config);
  EXPECT_EQ((*config)["use_tpu"], Value(true));
  EXPECT_EQ((*config)["config"]["model_dir"], Value("gs://b/it's: \"x\""));
  // A reader of the other format, where there is one.
  const RunResult yaml = box_->RunProgram(
      {"python3", "-c",
       "import json, sys\ntry:\n  import yaml\nexcept ImportError:\n  sys.exit(77)\n"
       "sys.exit(yaml.safe_load(open('c.yaml')) != json.load(open('c.json')))"});
  if (yaml.code != 77) {
    EXPECT_EQ(yaml.code, 0) << yaml;
  }
  EXPECT_THAT(box_->ReadFile("c.yaml"), HasSubstr("iterations_per_loop: 100\n"));
}

TEST_F(RunTest, HereItIsTheSameCommandWithoutATpu) {
  Job("    launcher: estimator\n    command: [sh, -c, 'echo \"$PJRT_DEVICE $*\"; cat "
      "$PODCTL_RUN_CONFIG; exit 4', model]\n    runConfig: {num_shards: 8}\n");
  const RunResult run = Run({"--local"});
  EXPECT_EQ(run.code, 4) << run;
  EXPECT_EQ(run.out,
            "CPU --num_shards=8 --use_tpu=False\nuse_tpu: false\nconfig:\n  tpu_config:\n    "
            "num_shards: 8\n");
  Job("    command: [sh, -c, 'trap \"echo ended; exit 5\" TERM; echo up; while :; do sleep 0.1; "
      "done']\n");
  const auto here = box_->Start({"run", "train", "--local"});
  ASSERT_TRUE(here->WaitForOut("up"));
  here->Signal(SIGTERM);
  EXPECT_EQ(here->Wait(), 5) << "signals are the command's own";
  EXPECT_THAT(here->out(), HasSubstr("ended"));
}

TEST_F(RunTest, AStalledHeartbeatStartsXlaDistAgain) {
  PODCTL_LONG_CASE(23);
  Job("    launcher: xla_dist\n"
      "    command: [\"echo run >>runs; [ $(wc -l <runs) = 2 ] && exit 0; echo "
      "torch_xla.core.xla_model::mark_step >&2; exec sleep 1000\"]\n"
      "    env: {XLA_EVEN_HEARTBEAT_TIMEOUT: \"1\", XLA_UNEVEN_HEARTBEAT_TIMEOUT: \"30\"}\n");
  const RunResult run = Run({});
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_THAT(run.err, HasSubstr("Restart 1 of 50, on heartbeat: no worker has done a step for "))
      << run;
  EXPECT_THAT(run.err, Not(HasSubstr("mark_step"))) << run;
}

TEST_F(RunTest, EventsAreOneDocumentALine) {
  Job("    command: [\"exit 3\"]\n    workers: \"0\"\n");
  const RunResult run = Run({"--json"});
  EXPECT_EQ(run.code, 3) << run;
  const auto events = JsonLines(run.out);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back()["type"], Value("summary"));
  EXPECT_EQ(events.back()["first"]["cause"], Value("exit code 3"));
  EXPECT_EQ(std::count_if(events.begin(), events.end(),
                          [](const Value& each) { return each["type"] == Value("started"); }),
            1);
}

TEST_F(RunTest, PrintsExactlyWhatWouldRunAndRunsNothing) {
  Job("    command: [sh, -c, 'touch ~/was-started']\n    launcher: tensorflow\n"
      "    flags: {use_tpu: true}\n    sync: [{source: ./src, destination: ~/code}]\n");
  const RunResult print = Run({"--print", "--", "--extra=1"});
  EXPECT_EQ(print.code, 0) << print;
  EXPECT_THAT(print.out,
              HasSubstr("    PODCTL_WORKER=0\n    PODCTL_WORKERS=16\n    TPU_LOAD_LIBRARY=0\n    "
                        "TPU_NAME=research\n"
                        "  runs:\n    exec sh -c 'touch ~/was-started' --use_tpu=true --extra=1\n"))
      << print;
  EXPECT_THAT(print.out, Not(HasSubstr("The pod is not there yet"))) << print;
  const auto document = ParseJson(Run({"--print", "--json"}).out);
  ASSERT_TRUE(document);
  EXPECT_EQ((*document)["addresses_known"], Value(true));
  EXPECT_THAT((*document)["workers"].AsList(), SizeIs(1));
  EXPECT_THAT(Run({"--local", "--print"}).out,
              HasSubstr("exec sh -c 'touch ~/was-started' --use_tpu=False\n"));
  EXPECT_EQ(Exec("test ! -e ~/was-started && test ! -e ~/code").code, 0);
}

// On all workers it runs, whoever is watched.
TEST_F(RunTest, SomeWorkersAreWatchedAndTheOutputsOfAllKept) {
  Job("    command: [\"echo rank $PODCTL_WORKER; echo same >&2; touch ~/ran\"]\n");
  const std::string folder = box_->Path("kept");
  const RunResult run = Run({"--worker", "3,5", "--timestamps", "--output-dir", folder});
  ASSERT_EQ(run.code, 0) << run;
  EXPECT_THAT(run.out, ::testing::ContainsRegex("research/3  ?\\| 20[0-9TZ:.-]+ rank 3\n"));
  EXPECT_EQ(Numbers(run.out, "rank ").size(), 2U) << run;
  EXPECT_THAT(run.err, AllOf(HasSubstr("Started on 16 workers; watched: 3,5."),
                             HasSubstr("The outputs are in " + folder)));
  EXPECT_EQ(ReadWhole(folder + "/research-15.out"), "rank 15\n");
  EXPECT_EQ(ReadWhole(folder + "/research-0.err"), "same\n");
  EXPECT_EQ(Exec("test -e ~/ran").code, 0);
  const RunResult again = Run({"--output-dir", folder});
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, HasSubstr("--overwrite"));
  EXPECT_THAT(again.err, Not(HasSubstr("Started")));
  const RunResult retry = box_->Run({"exec", "research", "--retry-failed", folder});
  EXPECT_THAT(retry.err, HasSubstr("results of the job train"));
}

TEST_F(RunTest, EqualOutputsAreGatheredAtTheEnd) {
  Job("    command: [\"echo hello; [ $PODCTL_WORKER != 7 ] || echo odd\"]\n");
  const RunResult run = Run({"--gather"});
  ASSERT_EQ(run.code, 0) << run;
  EXPECT_EQ(run.out,
            "research/[0-6,8-15] (15 workers)\n  | hello\n"
            "research/7 (1 worker)\n  | hello\n  | odd\n");
  const RunResult some = Run({"--gather", "--worker", "6-7", "--on", "0-7"});
  EXPECT_EQ(some.out,
            "research/6 (1 worker)\n  | hello\n"
            "research/7 (1 worker)\n  | hello\n  | odd\n");
  EXPECT_THAT(some.err, HasSubstr("Started on 8 workers; watched: 6-7."));
  const RunResult none = Run({"--worker", "9", "--on", "0-7"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("the job runs on none of the workers `9`"));
}

TEST_F(RunTest, ListsAndNamesJobs) {
  Job("    command: [python3, train.py]\n");
  EXPECT_EQ(
      box_->Run({"run", "--list"}).out,
      "JOB    POD       LAUNCHER    COMMAND\ntrain  research  pjrt        python3 train.py\n");
  const RunResult wrong = box_->Run({"run", "trian"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("there is no job `trian` in the spec"),
                               HasSubstr("Did you mean `train`?")));
}

// A pod of its own, which apply makes and replaces.
TEST(AutostartTest, ApplyStartsTheJobOnceItsPodIsThere) {
  Sandbox box;
  box.StartEmulator("light", "0s");
  const auto spec = [&](const std::string& version) {
    box.WriteSpec("  small: {acceleratorType: v3-32, runtimeVersion: " + version +
                  "}\njobs:\n  serve:\n    pod: small\n    autostart: true\n"
                  "    command: [\"echo up; exec sleep 1000\"]\n");
  };
  spec("tpu-vm-tf-2.11.0-pod");
  const RunResult plan = box.Run({"plan"});
  EXPECT_THAT(
      plan.out,
      HasSubstr("\nJobs: serve is a job of pod.small, which is created; it is started then.\n"))
      << plan;
  ASSERT_EQ(box.Run({"plan", "--out", "saved"}).code, 0);
  const std::string line =
      "Jobs: serve is a job of pod.small, which is created; it is started then.";
  EXPECT_THAT(box.Run({"show", "saved"}).out, HasSubstr("\n" + line + "\n"));
  EXPECT_THAT(box.Run({"show", "--markdown", "saved"}).out, HasSubstr(line));
  const RunResult made = box.Run({"apply", "saved"});
  EXPECT_EQ(made.code, 0) << made;
  EXPECT_THAT(made.err,
              HasSubstr("Job serve started on pod.small. Watch it with: podctl logs small "
                        "serve --follow"))
      << made;
  EXPECT_EQ(CountLines(box.Run({"logs", "small", "serve"}).out, "small/", "| up"), 4);
  const RunResult again = box.Apply();
  EXPECT_THAT(again.err, Not(HasSubstr("Job serve"))) << again;
  spec("tpu-vm-tf-2.12.0-pod");
  EXPECT_THAT(box.Run({"plan"}).out,
              HasSubstr("Jobs: serve is a job of pod.small, which is replaced"));
  EXPECT_THAT(box.Apply().err, HasSubstr("Job serve started on pod.small."));
  box.Run({"kill", "small", "serve"});
}

// Whoever may write the spec and what lies beside it, as in a pull request, comes to nothing that
// podctl keeps there, and a reviewer reads what will run.
TEST(AutostartTest, OnlyWhatWasShownIsCopiedAndStarted) {
  Sandbox box;
  box.StartEmulator("light", "0s");
  const auto spec = [&](const std::string& source) {
    box.WriteSpec(
        "  small: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0}\n"
        "jobs:\n  serve:\n    pod: small\n    launcher: shell\n    autostart: true\n"
        "    command: [\"cd ~/all; find . -type f; cat src/a; exec sleep 1000\"]\n"
        "    sync: [{source: " +
        source + ", destination: ~/all}]\n");
    box.WriteFile("repo/podctl.yaml", box.ReadFile("podctl.yaml"));
  };
  const auto run = [&](Arguments words) {
    words.insert(words.end(), {"-f", "repo/podctl.yaml"});
    return box.Run(words);
  };
  std::filesystem::create_directories(box.Path("repo/.podctl"));
  std::filesystem::create_directories(box.Path("repo/src"));
  box.WriteFile("repo/.podctl/id_ed25519", "the-key\n");
  box.WriteFile("repo/src/a", "one\n");
  std::filesystem::create_symlink("../.podctl/id_ed25519", box.Path("repo/src/weights.bin"));
  spec("src");
  const RunResult refused = run({"plan"});
  EXPECT_EQ(refused.code, 1) << refused;
  EXPECT_THAT(refused.err, HasSubstr("`repo/src/weights.bin` is a link that leads out of the "
                                     "source `repo/src`"));
  spec(".podctl");
  EXPECT_THAT(run({"validate"}).err, HasSubstr("is podctl's own: a spec cannot have it copied"));

  spec(".");
  const RunResult plan = run({"plan", "--out", "repo/saved"});
  ASSERT_EQ(plan.code, 0) << plan;
  const std::string told =
      "      command: cd ~/all; find . -type f; cat src/a; exec sleep 1000\n"
      "        launcher: shell\n        workers: those of the launcher\n"
      "        sync: repo/. -> ~/all (2 files, ";
  EXPECT_THAT(plan.out, HasSubstr(told)) << plan;
  EXPECT_THAT(box.Run({"show", "repo/saved"}).out, HasSubstr(told));
  EXPECT_THAT(box.Run({"show", "--markdown", "repo/saved"}).out, HasSubstr("serve, sync: "));
  EXPECT_THAT(box.Run({"show", "--json", "repo/saved"}).out, HasSubstr("  sync: repo/. -> ~/all"));
  box.WriteFile("repo/src/a", "two\n");
  const RunResult stale = run({"apply", "repo/saved"});
  EXPECT_EQ(stale.code, 4) << stale;
  EXPECT_THAT(stale.err, HasSubstr("the files that the job serve copies to the workers were"));
  box.WriteFile("repo/src/a", "one\n");
  const RunResult made = box.Run({"apply", "repo/saved"});  // it says where spec and state are
  ASSERT_EQ(made.code, 0) << made;
  const std::string log = run({"logs", "small", "serve"}).out;
  EXPECT_THAT(log, AllOf(HasSubstr("./src/a"), HasSubstr("./podctl.yaml"), HasSubstr("| one"),
                         Not(HasSubstr(".podctl")), Not(HasSubstr("weights.bin")),
                         Not(HasSubstr("podctl.state.json"))));
  run({"kill", "small", "serve"});
}

// Each process knows which of how many it is, however it was started.
TEST_F(RunTest, EveryProcessKnowsItsPlace) {
  const std::string tell =
      "echo $PODCTL_POD $PODCTL_WORKER/$PODCTL_WORKERS $PODCTL_SLICE/$PODCTL_SLICES "
      "$PODCTL_JOB $PODCTL_ATTEMPT $(echo $PODCTL_ADDRESSES | tr -cd , | wc -c) run=$PODCTL_RUN";
  Job("    launcher: shell\n    command: ['" + tell + "']\n");
  const RunResult run = Run({});
  EXPECT_EQ(run.code, 0) << run;
  const std::string name = run.out.substr(std::min(run.out.size(), run.out.find("run=") + 4), 8);
  for (int worker = 0; worker < kWorkers; ++worker) {
    const std::string number = std::to_string(worker);
    EXPECT_EQ(CountLines(run.out, "research/" + number + " ",
                         "| research " + number + "/16 0/1 train 1 15 run=" + name),
              1)
        << run;
  }
  EXPECT_EQ(box_->Run({"exec", "research", "--detach", "place", "--", tell}).code, 0);
  const RunResult logs = box_->Run({"logs", "research", "place", "--follow"});
  for (int worker = 0; worker < kWorkers; ++worker) {
    const std::string number = std::to_string(worker);
    EXPECT_EQ(CountLines(logs.out, "research/" + number + " "), 1) << logs;
    EXPECT_THAT(logs.out, HasSubstr("| research " + number + "/16 0/1 place 1 15 run="));
  }
}

// A restart is the same run, and its next attempt.
TEST_F(RunTest, ARestartIsTheNextAttemptOfTheSameRun) {
  Job("    launcher: shell\n    workers: \"0\"\n"
      "    command: ['echo attempt=$PODCTL_ATTEMPT run=$PODCTL_RUN; exit $((2 - "
      "PODCTL_ATTEMPT))']\n"
      "    restart: {attempts: 1, on: [failure]}\n");
  const RunResult run = Run({});
  EXPECT_EQ(run.code, 0) << run;
  const std::string name = run.out.substr(std::min(run.out.size(), run.out.find("run=") + 4), 8);
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("attempt=1 run=" + name), HasSubstr("attempt=2 run=" + name)))
      << run;
}

}  // namespace
}  // namespace podctl::testing
