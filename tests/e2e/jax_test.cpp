// A job of real JAX on four workers, which find one another by what podctl tells them: each adds
// what it has to what the others have. JAX comes from PyPI into a virtual environment below the
// build folder, so this is for `./dev test --all`, where it is an error when it cannot be had.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "tests/e2e/harness.h"
#include "tests/e2e/struck_training.h"

namespace podctl::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kPython = PODCTL_JAX_VENV "/bin/python";

// What a program has to know stands in its environment. On a TPU VM initialize() needs none of the
// three arguments.
constexpr const char* kProgram = R"py(
import os
import jax
import jax.numpy as jnp

jax.distributed.initialize(
    os.environ["JAX_COORDINATOR_ADDRESS"],
    num_processes=int(os.environ["JAX_NUM_PROCESSES"]),
    process_id=int(os.environ["JAX_PROCESS_ID"]))
mine = jnp.full((jax.local_device_count(),), 10.0 ** int(os.environ["PODCTL_WORKER"]))
total = jax.pmap(lambda x: jax.lax.psum(x, "all"), axis_name="all")(mine)
print("psum", int(total[0]), "process", jax.process_index(), "of", jax.process_count(), flush=True)
)py";

// Its environment is this process's own: pip's settings are the machine's.
void InstallJax() {
  const std::string python = kPython;
  if (std::system((python + " -c 'import jax' 2>/dev/null").c_str()) == 0) return;
  const std::string install = "python3 -m venv --clear " PODCTL_JAX_VENV " && " + python +
                              " -m pip install --quiet jax </dev/null >&2";
  ASSERT_EQ(std::system(install.c_str()), 0)
      << "JAX cannot be installed from PyPI, so it is not shown that jobs find one another";
}

class JaxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("PODCTL_TEST_ALL") == nullptr) {
      GTEST_SKIP() << "it installs JAX from PyPI: only with ./dev test --all";
    }
    ASSERT_NO_FATAL_FAILURE(InstallJax());
    box_.StartEmulator("light", "0s");
    box_.WriteFile("src/psum.py", kProgram);
    box_.WriteSpec(
        "  research: {acceleratorType: v3-32, runtimeVersion: tpu-ubuntu2204-base}\n"
        "jobs:\n  train:\n    pod: research\n    launcher: jax\n"
        "    command: [\"" +
        std::string(kPython) +
        "\", code/psum.py]\n    env: {JAX_PLATFORMS: cpu}\n"
        "    sync: [{source: ./src, destination: ~/code}]\n");
    box_.Apply();
  }
  static void ExpectSums(const RunResult& run) {
    for (int worker = 0; worker < 4; ++worker) {
      const std::string number = std::to_string(worker);
      EXPECT_EQ(
          CountLines(run.out, "research/" + number + " ", "psum 1111 process " + number + " of 4"),
          1)
          << run;
    }
  }

  Sandbox box_;
};

TEST_F(JaxTest, FourWorkersAddUpWhatEachOfThemHas) {
  if (IsSkipped()) return;
  const RunResult run = box_.Run({"run", "train"});
  EXPECT_EQ(run.code, 0) << run;
  ExpectSums(run);
}

TEST_F(JaxTest, SoDoThoseOfADetachedJob) {
  if (IsSkipped()) return;
  EXPECT_EQ(box_.Run({"run", "train", "--detach"}).code, 0);
  const RunResult logs = box_.Run({"logs", "research", "train", "--follow"});
  EXPECT_EQ(logs.code, 0) << logs;
  ExpectSums(logs);
}

// The same sum, as `podctl doctor` asks for it.
TEST_F(JaxTest, SoDoAllWorkersForDoctor) {
  if (IsSkipped()) return;
  const RunResult probe =
      box_.Run({"doctor", "research", "--probe", "--egress", "none", "--python", kPython});
  EXPECT_EQ(probe.code, 0) << probe;
  EXPECT_THAT(probe.out, HasSubstr("probe: all 4 workers added up over ")) << probe;
}

// ---- A training that is preempted again and again ends where an undisturbed one does.

// What any training does: a step of all workers, a checkpoint by one of them, whole or not at all.
constexpr const char* kTraining = R"py(
import os
import time

import jax
import jax.numpy as jnp

from checkpoint import load, save

STEPS = 300
jax.distributed.initialize(
    os.environ["JAX_COORDINATOR_ADDRESS"],
    num_processes=int(os.environ["JAX_NUM_PROCESSES"]),
    process_id=int(os.environ["JAX_PROCESS_ID"]))
me = jax.process_index()
mean = jax.pmap(lambda x: jax.lax.pmean(x, "all"), axis_name="all")
checkpoint = load({"step": 0, "weights": [float(0).hex()] * 8})
weights = jnp.array([float.fromhex(w) for w in checkpoint["weights"]], jnp.float32)
print("attempt", os.environ["PODCTL_ATTEMPT"], "from step", checkpoint["step"], flush=True)
truth = jnp.linspace(-1, 1, 8)
saved = time.monotonic()
for step in range(checkpoint["step"], STEPS):
    data = jax.random.normal(jax.random.PRNGKey(step * 4 + me), (32, 8))
    gradient = 2 * data.T @ (data @ (weights - truth)) / 32
    weights = weights - 0.01 * mean(jnp.stack([gradient] * jax.local_device_count()))[0]
    if me == 0 and (time.monotonic() - saved > 1.5 or step + 1 == STEPS):
        save({"step": step + 1, "weights": [float(w).hex() for w in weights]})
        saved = time.monotonic()
    if me == 0:
        print("step", step + 1, flush=True)
    time.sleep(0.02)
print("loss", float(jnp.sum((weights - truth) ** 2)).hex(), flush=True)
)py";

class JaxReturnTest : public JaxTest {
 protected:
  void SetUp() override {
    if (std::getenv("PODCTL_TEST_ALL") == nullptr) {
      GTEST_SKIP() << "it installs JAX from PyPI: only with ./dev test --all";
    }
    ASSERT_NO_FATAL_FAILURE(InstallJax());
    box_.StartEmulator("light", "0s");
  }
};

TEST_F(JaxReturnTest, TwentyPreemptionsChangeNoDigitOfTheLoss) {
  if (IsSkipped()) return;
  StruckTraining training(box_);
  ASSERT_NO_FATAL_FAILURE(training.Begin({"jax", kPython, "JAX_PLATFORMS: cpu", kTraining}));
  training.ExpectTheSameLoss(20, std::chrono::seconds(12));
}

}  // namespace
}  // namespace podctl::testing
