// `podctl doctor --probe` on real sshd workers: who does not join the others is named.
//
// What is wrong with a worker is made there, by a `python3` of its own that is found before the
// system's: it hangs, does not listen, or tells another time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"
#include "tests/support/long_case.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kPod =
    "  research: {acceleratorType: v3-32, runtimeVersion: tpu-vm-tf-2.11.0-pod}\n";
// As it stands in the process list of a worker.
constexpr const char* kProbing = "i = sys.stdin.buffer";

class ProbeStoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    box_.StartEmulator("sshd", "0s");
    box_.WriteSpec(kPod);
    box_.Apply();
  }
  RunResult Probe(const Arguments& more = {"--egress", "none"}) {
    Arguments words = {"doctor", "research", "--probe"};
    words.insert(words.end(), more.begin(), more.end());
    return box_.Run(words);
  }
  // From now on its Python begins with these lines. False where that cannot be had.
  bool BeginPython(int worker, const std::string& lines) {
    box_.WriteFile("python3",
                   "#!/bin/sh\n"
                   "echo $$ >~/probing\n"
                   "PATH=${PATH#*:}\n"
                   "exec python3 -I -c \"" +
                       lines + "\n$3\"\n");
    box_.WriteFile("bashrc", "PATH=$HOME/bin:$PATH\n");
    const std::string number = std::to_string(worker);
    const RunResult made =
        box_.Run({"exec", "research", "--worker", number, "--", "mkdir -p ~/bin"});
    EXPECT_EQ(made.code, 0) << made;
    for (const auto& [from, to] : {std::pair<std::string, std::string>{"python3", "~/bin/python3"},
                                   {"bashrc", "~/.bashrc"}}) {
      const RunResult copied = box_.Run({"cp", from, "research/" + number + ":" + to});
      EXPECT_EQ(copied.code, 0) << copied;
    }
    const RunResult found = box_.Run({"exec", "research", "--worker", number, "--",
                                      "chmod 755 ~/bin/python3; command -v python3"});
    return found.out.find("bin/python3") != std::string::npos &&
           found.out.find("/usr/") == std::string::npos;
  }
  void ExpectNothingLeft() {
    EXPECT_TRUE(Eventually([&] { return box_.OnWorkers(kProbing).empty(); }));
  }

  Sandbox box_;
};

TEST_F(ProbeStoryTest, AllWell) {
  const RunResult probe = Probe();
  EXPECT_EQ(probe.code, 0) << probe;
  EXPECT_THAT(probe.out, AllOf(HasSubstr("all 4 workers are healthy"),
                               HasSubstr("  probe: 4 of 4 workers joined their neighbours; "),
                               HasSubstr("bit/s between them"),
                               HasSubstr("  probe: no collective was run: python3 has no JAX on "
                                         "research/[0-3]")))
      << probe;
  const RunResult json = Probe({"--egress", "none", "--json"});
  const auto document = ParseJson(json.out);
  ASSERT_TRUE(document) << json;
  EXPECT_EQ((*document)["healthy"], Value(true));
  EXPECT_EQ((*document)["probe"]["joined"], Value(4));
  const auto& workers = (*document)["probe"]["workers"].AsList();
  ASSERT_EQ(workers.size(), 4U);
  EXPECT_NE(workers[3]["facts"]["python"], Value());
  EXPECT_EQ(workers[3]["neighbours"].AsList().size(), 2U);
  EXPECT_EQ(workers[3]["failures_in_a_row"], Value(0));
  ExpectNothingLeft();
}

TEST_F(ProbeStoryTest, WhoLetsNobodyInAndWhoseClockIsWrongAreNamed) {
  PODCTL_LONG_CASE(51);
  if (!BeginPython(2, "import socket; socket.socket.listen = lambda *some: None") ||
      !BeginPython(1, "import time; real = time.time; time.time = lambda: real() - 100")) {
    GTEST_SKIP() << "workers here have no PATH of their own";
  }
  for (int time = 1; time <= 3; ++time) {
    const RunResult probe = Probe();
    EXPECT_EQ(probe.code, 1) << probe;
    EXPECT_THAT(
        probe.out,
        AllOf(HasSubstr("2 of 4 workers healthy\n  research/[0,3]: healthy\n"),
              HasSubstr("  probe: 3 of 4 workers joined their neighbours"),
              HasSubstr("research/2: it did not join: its neighbours cannot connect to it\n"),
              HasSubstr("research/1: its clock differs from the other workers'\n"),
              ContainsRegex("1m(39|40)s behind")))
        << probe;
    const auto proposal = HasSubstr(
        "research/2: its probe has failed 3 times in a row\n"
        "      → podctl apply --replace pod.research\n");
    if (time < 3) {
      EXPECT_THAT(probe.out, Not(proposal)) << time << probe;
    } else {
      EXPECT_THAT(probe.out, proposal) << probe;
    }
    EXPECT_THAT(probe.out, Not(HasSubstr("research/1: its probe has failed")));
  }
  ExpectNothingLeft();
}

TEST_F(ProbeStoryTest, OneThatIsKilledMeanwhileIsNamed) {
  PODCTL_LONG_CASE(29);
  if (!BeginPython(3, "import time; time.sleep(1000)")) {
    GTEST_SKIP() << "workers here have no PATH of their own";
  }
  auto probe = box_.Start({"doctor", "research", "--probe", "--egress", "none"});
  ASSERT_TRUE(Eventually([&] {
    return box_.Run({"exec", "research", "--worker", "3", "--", "[ -s ~/probing ]"}).code == 0;
  }));
  box_.Run({"exec", "research", "--worker", "3", "--", "kill -9 $(cat ~/probing)"});
  const RunResult result = probe->Result();
  EXPECT_EQ(result.code, 1) << result;
  EXPECT_THAT(result.out, AllOf(HasSubstr("research/3: it did not join: "),
                                HasSubstr("research/[0-2]: healthy\n")))
      << result;
  ExpectNothingLeft();
}

TEST_F(ProbeStoryTest, ACtrlCEndsWhatWasStarted) {
  if (!BeginPython(0, "import time; time.sleep(1000)")) {
    GTEST_SKIP() << "workers here have no PATH of their own";
  }
  auto probe = box_.Start({"doctor", "research", "--probe"});
  ASSERT_TRUE(Eventually([&] { return box_.OnWorkers(kProbing).size() >= 4; }));
  probe->Signal(SIGINT);
  EXPECT_EQ(probe->Wait(), 130);
  ExpectNothingLeft();
  EXPECT_THAT(probe->out(), IsEmpty()) << "of half a look nothing is said";
}

TEST_F(ProbeStoryTest, ItMayBeAConditionOfReadiness) {
  PODCTL_LONG_CASE(40);
  box_.WriteSpec(
      "  research: {acceleratorType: v3-32, runtimeVersion: tpu-vm-tf-2.11.0-pod, "
      "ssh: {check: probe}}\n");
  const Arguments again = {"apply", "--auto-approve", "--replace", "bootstrap.research.readiness"};
  const RunResult well = box_.Run(again);
  EXPECT_EQ(well.code, 0) << well;
  if (!BeginPython(2, "import socket; socket.socket.listen = lambda *some: None")) {
    GTEST_SKIP() << "workers here have no PATH of their own";
  }
  const RunResult ill = box_.Run(again);
  EXPECT_EQ(ill.code, 1) << ill;
  EXPECT_THAT(ill.err, AllOf(HasSubstr("1 of 4 workers cannot be used: worker 2: it did not join: "
                                       "its neighbours cannot connect to it"),
                             HasSubstr("podctl doctor research --probe")))
      << ill;
  ExpectNothingLeft();
}

// The pod has no external addresses, and this port is nobody's.
TEST_F(ProbeStoryTest, WithoutAWayOutTheCommandsThatMakeOneAreNamed) {
  const RunResult probe = Probe({"--egress", "127.0.0.1:9"});
  EXPECT_EQ(probe.code, 1) << probe;
  EXPECT_THAT(
      probe.out,
      AllOf(HasSubstr("research/[0-3] (4 workers): it cannot connect to 127.0.0.1:9: it has "
                      "no external address, and no NAT lets it out\n"),
            HasSubstr("127.0.0.1:9 refused"),
            HasSubstr("gcloud compute routers create podctl-nat --project=my-project "
                      "--region=europe-west4")))
      << probe;
}

TEST_F(ProbeStoryTest, WhatIsForAProbeAloneIsNotTakenWithoutOne) {
  const RunResult without = box_.Run({"doctor", "research", "--egress", "none"});
  EXPECT_NE(without.code, 0);
  EXPECT_THAT(without.err, HasSubstr("Add `--probe`.")) << without;
  const RunResult odd = Probe({"--egress", "https://pypi.org"});
  EXPECT_THAT(odd.err, HasSubstr("--egress: `https://pypi.org` is no HOST:PORT")) << odd;
}

}  // namespace
}  // namespace podctl::testing
