// Every template is a spec that podctl validates, applies and takes away again, on the emulator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <set>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "tests/e2e/template_fixture.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Those that have a test of their own, since they want more than a pod.
const std::set<std::string> kElsewhere = {"colab", "gitops", "torch-xla-wheels"};

// What a worker without a network cannot have: programs that note what they were asked for.
constexpr const char* kPlantStandIns =
    "mkdir -p ~/stand-ins && cd ~/stand-ins && for name in gsutil install_tpu_pre_train_extra_deps "
    "pip3 sudo uv; do "
    "printf '#!/bin/sh\\necho %s \"$@\" >> ~/asked\\n' $name > $name; chmod +x $name; done; "
    "echo 'PATH=$HOME/stand-ins:$PATH' > ~/.bashrc";

class TemplatesTest : public TemplateTest {
 protected:
  // The keys of `pods`, which a template writes two blanks deep.
  std::vector<std::string> PodsOf(const std::string& spec) {
    std::vector<std::string> pods;
    bool inside = false;
    for (const std::string& line : SplitLines(box_.ReadFile(spec))) {
      if (!line.empty() && line[0] != ' ' && line[0] != '#') inside = line == "pods:";
      const bool key = line.size() > 3 && line.starts_with("  ") && line[2] != ' ' &&
                       line[2] != '#' && line.ends_with(':');
      if (inside && key) pods.push_back(line.substr(2, line.size() - 3));
    }
    return pods;
  }
  // The same spec without its steps.
  std::string WithoutSteps(const std::string& spec) {
    std::string text;
    std::size_t skipped = std::string::npos;  // how deep the key stands whose lines are left out
    for (const std::string& line : SplitLines(box_.ReadFile(spec))) {
      const std::size_t depth = line.find_first_not_of(' ');
      if (skipped != std::string::npos && depth > skipped) continue;  // blank lines as well
      skipped = line.find("bootstrap:") == depth ? depth : std::string::npos;
      if (skipped == std::string::npos) text += line + "\n";
    }
    const std::string file = Replace(spec, "podctl.yaml", "pods.yaml");
    box_.WriteFile(file, text);
    return file;
  }
  // The pods first, so that there is somewhere to put the stand-ins.
  void MakePods(const std::string& spec) {
    ExpectOk(Run(WithoutSteps(spec), {"apply", "--auto-approve"}));
    for (const std::string& pod : PodsOf(spec)) {
      ExpectOk(Run(spec, {"exec", pod, "--", kPlantStandIns}));
    }
  }
  void Apply(const std::string& spec) {
    MakePods(spec);
    ExpectOk(Run(spec, {"apply", "--auto-approve"}));
  }
};

TEST_F(TemplatesTest, EachIsValidAppliedAndThenThereIsNothingLeftToDo) {
  const auto list = ParseJson(box_.Run({"init", "--list", "--json"}).out);
  ASSERT_TRUE(list);
  std::vector<std::string> names;
  for (const Value& item : (*list)["templates"].AsList()) {
    names.push_back(item["name"].AsString());
  }
  EXPECT_THAT(names, ElementsAre("accelerate", "caliban", "checkpoint", "colab", "estimator",
                                 "gitops", "jax", "jax-uv", "levanter", "libtpu-flags", "lightning",
                                 "maxtext", "minimal", "multislice", "pytorch-xla", "queued", "ray",
                                 "spot-with-recovery", "tensorflow-pod", "torch-xla-wheels",
                                 "torchrun", "trials", "vllm", "xla-dist"));
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const std::string spec = Init(name);
    if (name == "gitops") {  // its owner's key
      box_.WriteFile("gitops/pipeline.pub",
                     "ssh-ed25519 "
                     "AAAAC3NzaC1lZDI1NTE5AAAAIGfBxTVr1hXMZmwHHlEg9Gt1a3cVDXG0ak0tQMTuuVAN\n");
    }
    const RunResult valid = Run(spec, {"validate"});
    EXPECT_EQ(valid.code, 0) << valid;
    EXPECT_EQ(valid.err, "") << "a template gives no reason for a remark";
    if (kElsewhere.contains(name)) continue;
    Apply(spec);
    ExpectOk(Run(spec, {"plan", "--detailed-exitcode"}));
    // They all call their pod `research`, or nearly so.
    ExpectOk(Run(spec, {"destroy", "--auto-approve"}));
  }
}

// What a job runs is brought by the spec or by a line of its header; and a line that starts a job
// and goes away starts none that is to be started again.
TEST_F(TemplatesTest, EachJobHasWhatItsHeaderTells) {
  const auto list = ParseJson(box_.Run({"init", "--list", "--json"}).out);
  ASSERT_TRUE(list);
  for (const Value& item : (*list)["templates"].AsList()) {
    const std::string name = item["name"].AsString();
    SCOPED_TRACE(name);
    const std::string spec = Init(name);
    const std::string text = box_.ReadFile(spec);
    const RunResult listed = Run(spec, {"run", "--list", "--json"});
    if (text.find("\njobs:") == std::string::npos) continue;
    const auto jobs = ParseJson(listed.out);
    ASSERT_TRUE(jobs) << listed;
    for (const Value& job : (*jobs)["jobs"].AsList()) {
      ExpectOk(Run(spec, {"run", job["name"].AsString(), "--print"}));
    }
    const std::string of_jobs = text.substr(text.find("\njobs:"));
    const bool brings = of_jobs.find("sync: [{source: ., ") != std::string::npos ||
                        text.find("# podctl cp train.py research:") != std::string::npos ||
                        text.find("cat > ~/train.py") != std::string::npos;
    const bool wants = of_jobs.find(" train.py]") != std::string::npos ||
                       of_jobs.find("train_spmd.py]") != std::string::npos;
    EXPECT_TRUE(brings || !wants) << text;
    const bool again = of_jobs.find("\n    restart:") != std::string::npos;
    for (const std::string& line : SplitLines(text)) {
      const bool detached = line.starts_with("# podctl run ") && line.find("--detach") != line.npos;
      EXPECT_FALSE(detached && again) << line;
    }
  }
}

// As their headers say, on workers that have a Python.
TEST_F(TemplatesTest, AProgramBesideTheSpecIsRun) {
  const std::string program =
      "import os, sys\nprint('step', os.environ['PODCTL_JOB'], sys.argv[1:])\n";
  const std::string tensorflow = Init("tensorflow-pod");
  box_.WriteFile("tensorflow-pod/train.py", program);
  ExpectOk(Run(tensorflow, {"apply", "--auto-approve"}));
  const RunResult train = Run(tensorflow, {"run", "train"});
  EXPECT_EQ(train.code, 0) << train;
  EXPECT_THAT(train.out, HasSubstr("step train ['--batch_size=1024']")) << train;
  ExpectOk(Run(tensorflow, {"destroy", "--auto-approve"}));

  const std::string trials = Init("trials");
  ExpectOk(Run(trials, {"apply", "--auto-approve"}));
  box_.WriteFile("trials/train.py", program);
  ExpectOk(Run(trials, {"cp", box_.Path("trials/train.py"), "research:"}));
  const RunResult trial = Run(trials, {"run", "trial-0"});
  EXPECT_THAT(trial.out, HasSubstr("step trial-0 ['--rate=0.3']")) << trial;
}

// Without uv it is Python's own venv, and what it cannot install fails the step.
TEST_F(TemplatesTest, WhatCannotBeInstalledFailsTheStep) {
  const std::string spec = Init("pytorch-xla");
  ExpectOk(Run(WithoutSteps(spec), {"apply", "--auto-approve"}));
  ExpectOk(
      Run(spec, {"exec", "research", "--",
                 "mkdir -p ~/stand-ins ~/venv/bin && cd ~/stand-ins && "
                 "printf '#!/bin/sh\\necho python3 \"$@\" >> ~/asked\\n' > python3 && "
                 "printf '#!/bin/sh\\n[ -e ~/net ] || { echo no network; exit 1; }\\necho pip "
                 "\"$@\" >> ~/asked\\n' > ~/venv/bin/pip && chmod +x python3 ~/venv/bin/pip && "
                 "echo 'PATH=$HOME/stand-ins:/usr/bin:/bin' > ~/.bashrc"}));
  const RunResult failed = Run(spec, {"apply", "--auto-approve"});
  EXPECT_EQ(failed.code, 1) << failed;
  EXPECT_THAT(failed.err, HasSubstr("no network")) << failed;
  ExpectOk(Run(spec, {"exec", "research", "--", "touch ~/net"}));
  ExpectOk(Run(spec, {"apply", "--auto-approve"}));
  const RunResult asked = Run(spec, {"exec", "research/0", "--", "cat ~/asked"});
  EXPECT_THAT(asked.out, AllOf(HasSubstr("python3 -m venv "),
                               HasSubstr("pip install --quiet torch==2.9.* torch_xla[tpu]==2.9.*")))
      << asked;
}

TEST_F(TemplatesTest, LibtpuFlagsReachBothKindsOfPod) {
  const std::string spec = Init("libtpu-flags");
  ExpectOk(Run(spec, {"apply", "--auto-approve"}));
  const RunResult changed = Run(spec, {"apply", "--auto-approve", "--var", "precision=false"});
  EXPECT_THAT(changed.out + changed.err, HasSubstr("tpu-runtime")) << changed;
  const RunResult single = Run(spec, {"exec", "single", "--", "echo $LIBTPU_INIT_ARGS"});
  EXPECT_THAT(single.out, HasSubstr("--xla_jf_conv_full_precision=false")) << single;
  const RunResult pod = Run(
      spec, {"exec", "pod", "--gather", "--",
             "tr '\\0' '\\n' < /proc/$(systemctl show -p MainPID --value tpu-runtime)/environ"});
  EXPECT_THAT(pod.out, AllOf(HasSubstr("LIBTPU_INIT_ARGS=--xla_jf_conv_full_precision=false"),
                             HasSubstr("TF_CPP_MIN_LOG_LEVEL=1")))
      << pod;
  const RunResult beside = Run(spec, {"exec", "pod/0", "--", "echo [$LIBTPU_INIT_ARGS]"});
  EXPECT_THAT(beside.out, HasSubstr("[]")) << "the unit has them, and the TPU\n" << beside;
}

TEST_F(TemplatesTest, AMultisliceKnowsItsSlices) {
  const std::string spec = Init("multislice");
  ExpectOk(Run(spec, {"apply", "--auto-approve"}));
  const RunResult slices = Run(spec, {"exec", "research", "--", "cat ~/slice"});
  EXPECT_EQ(CountLines(slices.out, "research[0]/", "slice 0 of 2"), 2) << slices;
  EXPECT_EQ(CountLines(slices.out, "research[1]/", "slice 1 of 2"), 2) << slices;
}

// The old notebooks' way: wheels, and a runtime that is asked for its version.
class OldColabTest : public TemplatesTest {
 protected:
  // A runtime's service of versions, on port 8475 of the worker.
  std::unique_ptr<Process> ServeVersions(const std::string& status) {
    const std::string server =
        "use IO::Socket::INET; $| = 1;\n"
        "my $s = IO::Socket::INET->new(LocalPort => 8475, ReuseAddr => 1, Listen => 5) or die;\n"
        "print \"serving\\n\";\n"
        "while (my $c = $s->accept) {\n"
        "  my $first = <$c>; print $first;\n"
        "  while (my $line = <$c>) { last if $line =~ /^\\r?\\n$/ }\n"
        "  print $c \"HTTP/1.0 " +
        status + "\\r\\n\\r\\nanswer\\n\"; close $c }\n";
    auto serving = box_.Start({"-f", spec_, "exec", "research", "--", "perl", "-e", server});
    EXPECT_TRUE(serving->WaitForOut("serving")) << serving->out() << serving->err();
    return serving;
  }
  std::string spec_;
};

TEST_F(OldColabTest, WheelsAreInstalledAndTheRuntimeIsAskedForItsVersion) {
  spec_ = Init("torch-xla-wheels");
  MakePods(spec_);

  const RunResult alone = Run(spec_, {"apply", "--auto-approve"});
  EXPECT_EQ(alone.code, 1) << "nothing serves versions here\n" << alone;
  EXPECT_THAT(alone.err, HasSubstr("nothing listens on port 8475 of this worker")) << alone;
  const RunResult asked = Run(spec_, {"exec", "research", "--", "cat ~/asked"});
  EXPECT_THAT(
      asked.out,
      AllOf(HasSubstr("gsutil cp gs://tpu-pytorch/wheels/torch-1.15-cp36-cp36m-linux_x86_64.whl ."),
            HasSubstr("pip3 install --quiet torch_xla-1.15-cp36-cp36m-linux_x86_64.whl"),
            HasSubstr("torchvision-1.15"), HasSubstr("libomp5")))
      << asked;

  {
    const auto refusing = ServeVersions("404 Not Found");
    const RunResult refused = Run(spec_, {"apply", "--auto-approve"});
    EXPECT_EQ(refused.code, 1) << refused;
    EXPECT_THAT(refused.err, HasSubstr("the runtime refused XRT 1.15.0: HTTP status 404"))
        << refused;
  }
  const std::vector<pid_t> served = box_.OnWorkers("IO::Socket::INET");
  EXPECT_FALSE(served.empty());
  for (const pid_t server : served) kill(server, SIGKILL);
  EXPECT_TRUE(Eventually([&] { return box_.OnWorkers("IO::Socket::INET").empty(); }));
  const auto serving = ServeVersions("200 OK");
  const RunResult plan = Run(spec_, {"plan"});
  EXPECT_THAT(plan.out, HasSubstr("ask the runtime on worker 0 for XRT 1.15.0")) << plan;
  const RunResult done = Run(spec_, {"apply", "--auto-approve"});
  EXPECT_EQ(done.code, 0) << done;
  EXPECT_THAT(done.err, HasSubstr("the runtime answered 200 to XRT 1.15.0")) << done;
  EXPECT_TRUE(serving->WaitForOut("POST /requestversion/1.15.0 HTTP/")) << serving->out();
  ExpectOk(Run(spec_, {"plan", "--detailed-exitcode"}));
}

}  // namespace
}  // namespace podctl::testing
