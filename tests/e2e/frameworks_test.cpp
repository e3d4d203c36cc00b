// Real programs that find their place by what podctl tells them: a Ray cluster (the template's own
// job), torchrun and accelerate; and a training of torch's that is preempted. Ray and accelerate
// come from PyPI into virtual environments below the build folder, so this is for `./dev test
// --all`, where it is an error when they cannot be had. torch is Debian's, where it is installed:
// that of PyPI weighs several GB.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "providers/base/text.h"
#include "tests/e2e/harness.h"
#include "tests/e2e/struck_training.h"

namespace podctl::testing {
namespace {

using ::testing::HasSubstr;

const std::string kRay = PODCTL_FRAMEWORKS "/ray";
const std::string kTorch = PODCTL_FRAMEWORKS "/torch";

// Whether the environment's Python runs that.
bool Runs(const std::string& venv, const std::string& proof) {
  return std::system((venv + "/bin/python -c '" + proof + "' >/dev/null 2>&1").c_str()) == 0;
}

// With Debian's Python, which has Debian's torch. Its environment is this process's own: pip's
// settings are the machine's.
void Install(const std::string& venv, const std::string& options, const std::string& what,
             const std::string& proof) {
  if (Runs(venv, proof)) return;
  const std::string python = venv + "/bin/python";
  const std::string install = "/usr/bin/python3 -m venv --clear " + options + " " + venv + " && " +
                              python + " -m pip install --quiet " + what + " </dev/null >&2 && " +
                              python + " -c '" + proof + "'";
  ASSERT_EQ(std::system(install.c_str()), 0) << what << " cannot be had";
}

class FrameworksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("PODCTL_TEST_ALL") == nullptr) {
      GTEST_SKIP() << "it installs packages from PyPI: ./dev test --all -R frameworks";
    }
  }
  RunResult Run(Arguments words) {
    words.insert(words.begin(), {"-f", spec_});
    return box_.Run(words);
  }

  // What it says is followed: to ask Ray each time costs more than what it is asked about.
  bool ClusterIsUp() {
    const RunResult begun = Run({"run", "cluster", "--detach"});
    EXPECT_EQ(begun.code, 0) << begun;
    auto follower = box_.Start({"-f", spec_, "logs", "research", "cluster", "--follow"});
    const auto started = [&] {
      return CountLines(follower->out(), "research/", "Ray runtime started.");
    };
    EXPECT_TRUE(Eventually(
        [&] {
          return started() == 4 || follower->err().find(" still followed") != std::string::npos;
        },
        std::chrono::minutes(5)));
    if (started() == 4) return true;
    const RunResult ended = Run({"kill", "research", "cluster"});
    EXPECT_EQ(ended.code, 0) << ended;
    return false;
  }

  Sandbox box_;
  std::string spec_ = "podctl.yaml";
};

// One task on each node says which worker it runs on.
constexpr const char* kRayProgram = R"py(
import os
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On

ray.init(log_to_driver=False)

@ray.remote
def where():
    return os.environ["PODCTL_WORKER"]

nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
print("on", *sorted(ray.get([where.options(scheduling_strategy=On(node, soft=False)).remote() for node in nodes])), flush=True)
)py";

TEST_F(FrameworksTest, TheRayTemplateMakesOneClusterOfAllWorkersAndEndsIt) {
  if (IsSkipped()) return;
  ASSERT_NO_FATAL_FAILURE(Install(kRay, "", "ray", "import ray"));
  box_.StartEmulator();
  // Ray takes two nodes that share a /tmp and an address for one.
  if (!box_.WorkersAreMachines()) GTEST_SKIP() << "it wants sshd workers, which root has";
  ASSERT_EQ(box_.Run({"init", "--template", "ray", "ray"}).code, 0);
  spec_ = "ray/podctl.yaml";
  // Workers here share one machine, whose CPUs each of them would offer.
  const std::string text =
      Replace(box_.ReadFile(spec_), "--disable-usage-stats", "--disable-usage-stats --num-cpus=1");
  const std::string steps = "    bootstrap:\n";
  const std::string jobs = "\njobs:\n";
  const auto begin = text.find(steps), end = text.find(jobs);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos) << text;
  box_.WriteFile(spec_, text.substr(0, begin) + text.substr(end) + box_.SpecDefaults());
  box_.WriteFile("train.py", kRayProgram);
  ASSERT_EQ(Run({"apply", "--auto-approve"}).code, 0);
  const RunResult linked =
      Run({"exec", "research", "--", "ln -s " + kRay + " venv && test -x venv/bin/ray"});
  if (linked.code != 0)
    GTEST_SKIP() << "workers do not see the build folder, where Ray is: " << kRay;
  ASSERT_EQ(Run({"cp", "./train.py", "research:~/"}).code, 0);

  // Ray gives each node 30 s to come up, however busy the machine is.
  bool up = false;
  for (int begun = 0; begun < 4 && !up; ++begun) up = ClusterIsUp();
  ASSERT_TRUE(up) << Run({"logs", "research", "cluster"});
  const RunResult train = Run({"run", "train", "--no-drain"});
  EXPECT_EQ(train.code, 0) << train;
  EXPECT_THAT(train.out, HasSubstr("research/0 | on 0 1 2 3\n")) << train;

  const RunResult ended = Run({"kill", "research", "cluster"});
  EXPECT_EQ(ended.code, 0) << ended;
  const RunResult left = Run({"exec", "research/0", "--", "venv/bin/ray status"});
  EXPECT_NE(left.code, 0) << "what Ray started ends with the job\n" << left;
}

class TorchTest : public FrameworksTest {
 protected:
  static constexpr const char* kProof = "import torch, accelerate";
  void SetUp() override {
    FrameworksTest::SetUp();
    if (IsSkipped()) return;
    if (!Runs(kTorch, kProof) && !Runs("/usr", "import torch")) {
      GTEST_SKIP() << "Debian's python3-torch is not installed";
    }
    // Newer ones want a torch of 2.0.
    ASSERT_NO_FATAL_FAILURE(
        Install(kTorch, "--system-site-packages",
                "\"$(/usr/bin/python3 -c 'import torch; print(\"accelerate\" + (\"<0.27\" if "
                "torch.__version__ < \"2\" else \"\"))')\"",
                kProof));
    box_.StartEmulator("light", "0s");
  }
  // Runs a job of that launcher on four workers.
  RunResult RunJob(const std::string& launcher, const std::string& command,
                   const std::string& program) {
    box_.WriteFile("src/train.py", program);
    box_.WriteSpec(
        "  research: {acceleratorType: v3-32, runtimeVersion: tpu-ubuntu2204-base}\n"
        "jobs:\n  train:\n    pod: research\n    launcher: " +
        launcher + "\n    command: [\"" + kTorch + "/bin/python\", " + command +
        "code/train.py]\n    env: {PJRT_DEVICE: CPU, USE_TORCH_XLA: \"0\"}\n"
        "    sync: [{source: ./src, destination: ~/code}]\n");
    box_.Apply();
    return Run({"run", "train"});
  }
};

TEST_F(TorchTest, TorchrunOfFourWorkersIsOneGroup) {
  if (IsSkipped()) return;
  if (!Runs(kTorch, "import sys, torch; sys.exit(torch.__version__ < \"2\")")) {
    GTEST_SKIP() << "torchrun of Debian 12's torch 1.13 does not run on its Python 3.11";
  }
  const RunResult run = RunJob("torchrun", "-m, torch.distributed.run, --nproc_per_node=2, ",
                               "import torch, torch.distributed as dist\n"
                               "dist.init_process_group('gloo')\n"
                               "sum = torch.ones(1) * dist.get_rank()\n"
                               "dist.all_reduce(sum)\n"
                               "print('rank', dist.get_rank(), 'of', dist.get_world_size(), "
                               "'sum', int(sum), flush=True)\n");
  EXPECT_EQ(run.code, 0) << run;
  for (int rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(CountLines(run.out, "research/" + std::to_string(rank / 2) + " ",
                         "rank " + std::to_string(rank) + " of 8 sum 28"),
              1)
        << run;
  }
}

TEST_F(TorchTest, AccelerateOnCpusKnowsTheOtherWorkers) {
  if (IsSkipped()) return;
  const RunResult run = RunJob("torch", "",
                               "import torch\n"
                               "from accelerate import Accelerator\n"
                               "here = Accelerator(cpu=True)\n"
                               "all = here.gather(torch.tensor([here.process_index]))\n"
                               "print('process', here.process_index, 'of', here.num_processes, "
                               "all.tolist(), flush=True)\n");
  EXPECT_EQ(run.code, 0) << run;
  for (int worker = 0; worker < 4; ++worker) {
    const std::string number = std::to_string(worker);
    EXPECT_EQ(
        CountLines(run.out, "research/" + number + " ", "process " + number + " of 4 [0, 1, 2, 3]"),
        1)
        << run;
  }
}

// What any training does: a step of all workers, a checkpoint by one of them, whole or not at all.
constexpr const char* kTorchTraining = R"py(
import os
import time

import torch
import torch.distributed as dist

from checkpoint import load, save

STEPS = 300
torch.set_num_threads(1)
dist.init_process_group("gloo")
me = dist.get_rank()
checkpoint = load({"step": 0, "weights": [float(0).hex()] * 8})
weights = torch.tensor([float.fromhex(w) for w in checkpoint["weights"]], dtype=torch.float32)
print("attempt", os.environ["PODCTL_ATTEMPT"], "from step", checkpoint["step"], flush=True)
truth = torch.linspace(-1, 1, 8)
saved = time.monotonic()
for step in range(checkpoint["step"], STEPS):
    draw = torch.Generator().manual_seed(step * 4 + me)
    data = torch.randn(32, 8, generator=draw)
    gradient = 2 * data.T @ (data @ (weights - truth)) / 32
    dist.all_reduce(gradient)
    weights = weights - 0.01 * gradient / dist.get_world_size()
    if me == 0 and (time.monotonic() - saved > 1.5 or step + 1 == STEPS):
        save({"step": step + 1, "weights": [float(w).hex() for w in weights]})
        saved = time.monotonic()
    if me == 0:
        print("step", step + 1, flush=True)
    time.sleep(0.02)
print("loss", float(((weights - truth) ** 2).sum()).hex(), flush=True)
)py";

class TorchReturnTest : public TorchTest {};

TEST_F(TorchReturnTest, PreemptionsChangeNoDigitOfTheLoss) {
  if (IsSkipped()) return;
  StruckTraining training(box_);
  ASSERT_NO_FATAL_FAILURE(training.Begin(
      {"torch", kTorch + "/bin/python", "PJRT_DEVICE: CPU, USE_TORCH_XLA: \"0\"", kTorchTraining}));
  training.ExpectTheSameLoss(8, std::chrono::seconds(16));
}

}  // namespace
}  // namespace podctl::testing
