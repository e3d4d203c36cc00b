// podctl exec on four real sshd workers: selections, gathering, files, retries, batches, input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Fails with 3 on worker 2 as long as ~/mended is not there; counts its runs.
constexpr const char* kFlaky =
    "echo run >> ~/runs; case $(hostname) in *-w-2) test -e ~/mended || { echo broken >&2; exit 3; "
    "} ;; esac; echo fine";

class ExecTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    box_ = new Sandbox;
    box_->StartEmulator();
    box_->WriteSpec("  research: {acceleratorType: v3-32, runtimeVersion: tpu-vm-tf-2.11.0-pod}\n");
    box_->Apply();
  }
  static void TearDownTestSuite() { delete box_; }
  void SetUp() override { Exec({"--", "rm -f ~/runs ~/mended"}); }

  static RunResult Exec(Arguments arguments) {
    Arguments words = {"exec", "research"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return box_->Run(words);
  }
  static RunResult Shell(const std::string& text) { return box_->RunProgram({"sh", "-c", text}); }
  static std::string Workers(const std::string& selection) {
    std::string numbers;
    for (const std::string& line :
         SplitLines(Exec({"--worker", selection, "--", "true; echo"}).out))
      numbers += line.substr(9, 1);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
  }

  static inline Sandbox* box_ = nullptr;
};

TEST_F(ExecTest, SelectsWorkers) {
  EXPECT_EQ(Workers("all"), "0123");
  EXPECT_EQ(Workers("0,2-3"), "023");
  EXPECT_EQ(Workers("!2"), "013");
  EXPECT_EQ(Workers("0-3/2"), "02");
  EXPECT_EQ(Workers("0-3,!1,!3"), "02");
  const RunResult wrong = Exec({"--worker", "0,7", "--", "true"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("`--worker 0,7`: there is no worker 7: the pod has 4"),
                               HasSubstr("Workers are numbered from 0 to 3.")))
      << wrong;
}

TEST_F(ExecTest, GathersEqualOutputs) {
  const RunResult run = Exec({"--gather", "--", kFlaky});
  EXPECT_EQ(run.code, 1) << run;
  EXPECT_EQ(run.out,
            "research/[0-1,3] (3 workers)\n"
            "  | fine\n"
            "research/2 (1 worker): exit code 3\n"
            "  ! broken\n");
  EXPECT_EQ(run.err,
            "1 of 4 workers failed:\n"
            "  1 worker (2): exit code 3\n"
            "To run it again on just those: podctl exec research --retry-failed last\n");
  const RunResult diff =
      Exec({"--diff", "--", "seq 1 30; case $(hostname) in *-w-1) echo more ;; esac"});
  EXPECT_EQ(diff.code, 0) << diff;
  EXPECT_THAT(diff.out, AllOf(StartsWith("research/[0,2-3] (3 workers)\n  | 1\n"),
                              HasSubstr("research/1 (1 worker)\n"
                                        "  --- research/[0,2-3]\n"
                                        "  +++ research/1\n"
                                        "  @@ -28,3 +28,4 @@\n"
                                        "   28\n   29\n   30\n"
                                        "  +more\n")))
      << diff;
}

TEST_F(ExecTest, WritesFilesAndGoesOnFromThemUntilAllAreOk) {
  const RunResult first = Exec({"--output-dir", "results", "--", kFlaky});
  EXPECT_EQ(first.code, 1) << first;
  EXPECT_EQ(first.out, "") << first;
  EXPECT_EQ(box_->ReadFile("results/research-0.out"), "fine\n");
  EXPECT_EQ(box_->ReadFile("results/research-2.err"), "broken\n");
  EXPECT_TRUE(box_->Exists("results/research-2.out"));
  const auto record = ParseJson(box_->ReadFile("results/results.json"));
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ((*record)["not_ok"].AsString(), "2");
  ASSERT_EQ((*record)["results"].AsList().size(), 4U);
  const Value& failed = (*record)["results"].AsList()[2];
  EXPECT_EQ(failed["outcome"].AsString(), "exited");
  EXPECT_EQ(failed["exit_code"].AsInt(), 3);
  EXPECT_EQ(failed["attempts"].AsInt(), 1);
  EXPECT_EQ(failed["stderr_bytes"].AsInt(), 7);

  const RunResult refused = Exec({"--output-dir", "results", "--", "true"});
  EXPECT_EQ(refused.code, 1) << refused;
  EXPECT_THAT(refused.err, HasSubstr("--overwrite")) << refused;

  EXPECT_EQ(Exec({"--retry-failed", "results"}).code, 3) << "still broken";
  EXPECT_EQ(Exec({"--worker", "2", "--", "touch mended"}).code, 0);
  const RunResult mended = Exec({"--retry-failed", "results"});
  EXPECT_EQ(mended.code, 0) << mended;
  EXPECT_EQ(box_->ReadFile("results/research-2.out"), "fine\n");
  EXPECT_THAT(Exec({"--gather", "--", "wc -l < ~/runs"}).out,
              AllOf(HasSubstr("research/[0-1,3] (3 workers)\n  | 1\n"),
                    HasSubstr("research/2 (1 worker)\n  | 3\n")));
  const RunResult nothing = Exec({"--retry-failed", "results"});
  EXPECT_EQ(nothing.code, 0) << nothing;
  EXPECT_EQ(nothing.err, "Nothing to run again: the command ended with 0 on every worker.\n");
}

TEST_F(ExecTest, RetriesTheLastRunWithTheSameCommand) {
  EXPECT_EQ(Exec({"--env", "TOKEN=s3cret", "--", kFlaky}).code, 1);
  EXPECT_THAT(Exec({"--retry-failed", "last"}).err, HasSubstr("--env TOKEN")) << "it must be given";
  EXPECT_EQ(Exec({"--retry-failed", "last", "--env", "TOKEN=s3cret"}).code, 3);
  EXPECT_EQ(Shell("! grep -r s3cret . ~").code, 0) << "the value is kept nowhere";
  const RunResult other = Exec({"--retry-failed", "last", "--", "echo look; false"});
  EXPECT_EQ(other.out, "research/2 | look\n");
}

TEST_F(ExecTest, ARunThatWasKilledLeavesWhatIsKnown) {
  auto run = box_->Start({"exec", "research", "--output-dir", "killed", "--", "sleep 3600"});
  ASSERT_TRUE(Eventually([&] { return box_->Exists("killed/results.json"); }));
  run->Signal(SIGKILL);
  run->Wait();
  const auto record = ParseJson(box_->ReadFile("killed/results.json"));
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ((*record)["not_ok"].AsString(), "0-3");
  EXPECT_TRUE((*record)["ended"].is_null());
  for (const pid_t sleeper : box_->OnWorkers("sleep 3600")) kill(sleeper, SIGTERM);
}

TEST_F(ExecTest, StopsABatchAtTheFirstFailure) {
  const RunResult run = Exec({"--batch", "1", "--worker", "!0", "--", kFlaky});
  EXPECT_EQ(run.code, 1) << run;
  EXPECT_EQ(run.out, "research/1 | fine\n");
  EXPECT_THAT(run.err, AllOf(HasSubstr("  1 worker (2): exit code 3\n"),
                             HasSubstr("1 of 3 workers never started:\n  3\n")))
      << run;
  EXPECT_EQ(Exec({"--batch", "1", "--max-failures", "1", "--", kFlaky}).out,
            "research/0 | fine\nresearch/1 | fine\nresearch/3 | fine\n");
}

TEST_F(ExecTest, GivesStandardInputToAllWorkers) {
  const RunResult copy = Shell("printf 'a\\nb' | \"$PODCTL\" exec research --gather -- cat");
  EXPECT_EQ(copy.out, "research/[0-3] (4 workers)\n  | a\n  | b\n") << copy;
  EXPECT_EQ(Shell("echo x | \"$PODCTL\" exec research --gather -n -- cat").out,
            "research/[0-3] (4 workers)\n  (no output)\n");
  const RunResult much = Shell(
      "seq 1 2000000 | \"$PODCTL\" exec research --gather --env A=1 -- 'echo $A; md5sum'; "
      "seq 1 2000000 | md5sum");
  const std::vector<std::string> lines = SplitLines(much.out);
  ASSERT_EQ(lines.size(), 4U) << much;
  EXPECT_EQ(lines[2], "  | " + lines[3]);
}

TEST_F(ExecTest, AnOpenPipeThatSaysNothingHangsNobody) {
  const RunResult run = Shell(
      "{ sleep 300 & echo $! >holder; } | \"$PODCTL\" exec research -- hostname; "
      "kill $(cat holder)");
  EXPECT_EQ(CountLines(run.out, "research/"), 4) << run;
}

TEST_F(ExecTest, VariablesAreSetAndStandInNoProcessList) {
  const RunResult run =
      Exec({"--gather", "--env", "TOKEN=it's s3cret", "--",
            "echo \"$TOKEN\"; ! tr '\\0' ' ' < /proc/$PPID/cmdline | grep 's3cre[t]'; "
            "! tr '\\0' ' ' < /proc/$$/cmdline | grep 's3cre[t]'"});
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_EQ(run.out, "research/[0-3] (4 workers)\n  | it's s3cret\n");
}

TEST_F(ExecTest, ATerminalForOneWorker) {
  auto pty = box_->RunInPty({"exec", "research", "--tty", "--worker", "1", "--env", "A=b", "--",
                             "tty && echo \"$A-$((1+1))\"; read line; echo got $line; exit 5"});
  EXPECT_TRUE(pty->WaitForText("b-2")) << pty->shown();
  pty->SendKeys("keys\r");
  EXPECT_TRUE(pty->WaitForText("got keys")) << pty->shown();
  EXPECT_EQ(pty->Wait(), 5);
  EXPECT_THAT(Exec({"--tty", "--", "top"}).err, HasSubstr("`--tty` is for one worker, and 4"));
}

TEST_F(ExecTest, TheExitCodeIsTheWorkersOwn) {
  EXPECT_EQ(Exec({"--", "exit 255"}).code, 255);
  EXPECT_EQ(Exec({"--", "case $(hostname) in *-w-2) exit 255 ;; esac"}).code, 1);
  EXPECT_EQ(Exec({"--", "kill -9 $$"}).code, 1);
  const RunResult slow = Exec({"--timeout", "0.5s", "--worker", "0-1", "--", "sleep 100"});
  EXPECT_EQ(slow.code, 1) << slow;
  EXPECT_THAT(slow.err, HasSubstr("2 workers (0-1): the command ran longer than 0.5s; ended"))
      << slow;
}

// Workers of one process are left to themselves by sshd's rules: what a command is ended by has to
// find it there, too.
TEST(ExecOnLightWorkersTest, WhatRunsTooLongIsEnded) {
  Sandbox box;
  box.StartEmulator("light");
  box.WriteSpec("  research: {acceleratorType: v3-32, runtimeVersion: tpu-vm-tf-2.11.0-pod}\n");
  box.Apply();
  const RunResult slow = box.Run({"exec", "research", "--timeout", "0.5s", "--", "sleep 98"});
  EXPECT_EQ(slow.code, 1) << slow;
  EXPECT_THAT(slow.err, HasSubstr("4 workers (0-3): the command ran longer than 0.5s; ended"))
      << slow;
  EXPECT_THAT(box.OnWorkers("sleep 98"), ::testing::IsEmpty());
}

// Not for 20 s, and not with a port as the cause.
TEST(ExecOnLightWorkersTest, ANodeThatSomebodyDeletedIsNotWaitedFor) {
  Sandbox box;
  box.StartEmulator("light");
  box.WriteSpec("  small: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0}\n");
  box.Apply();
  const std::string node = "/v2/projects/my-project/locations/europe-west4-a/nodes/small";
  ASSERT_EQ(box.Http("DELETE", node).status, 200);
  ASSERT_TRUE(Eventually([&] { return box.Http("GET", node).status == 404; }));
  const std::string gone =
      "pod `small` is gone: its node was preempted, or deleted outside of podctl";
  const RunResult exec = box.Run({"exec", "small", "--", "true"});
  EXPECT_EQ(exec.code, 1) << exec;
  EXPECT_EQ(exec.err, "1 of 1 worker failed:\n  1 worker (0): " + gone +
                          "\n`podctl apply --target pod.small` makes it again.\n");
  const RunResult ssh = box.Run({"ssh", "small", "--", "true"});
  EXPECT_EQ(ssh.code, 1) << ssh;
  EXPECT_THAT(ssh.err, HasSubstr("Error: small/0: " + gone + "\n")) << ssh;
  const RunResult tunnel = box.Run({"tunnel", "small", "0:8888"});
  EXPECT_EQ(tunnel.code, 1) << tunnel;
  EXPECT_THAT(tunnel.err, HasSubstr("Error: " + gone + "\n")) << tunnel;
  for (const Arguments& words :
       {Arguments{"cp", "podctl.yaml", "small:x"}, Arguments{"jobs", "small"},
        Arguments{"logs", "small", "a"}, Arguments{"exec", "small", "--detach", "a", "--", "x"}}) {
    const RunResult run = box.Run(words);
    EXPECT_EQ(run.code, 1) << run;
    EXPECT_THAT(run.err, HasSubstr("  1 worker (0): " + gone + "\n")) << run;
    EXPECT_THAT(run.err, HasSubstr("`podctl apply --target pod.small` makes it again.")) << run;
  }
}

TEST_F(ExecTest, EventsTellTheWholeStory) {
  const RunResult run = Exec({"--json", "--", kFlaky});
  EXPECT_EQ(run.code, 1) << run;
  std::map<std::string, int> types;
  const auto events = JsonLines(run.out);
  for (const Value& event : events) ++types[event["type"].AsString()];
  EXPECT_EQ(types["output"], 4);
  EXPECT_EQ(types["result"], 4);
  EXPECT_GE(types["phase"], 12);
  EXPECT_EQ(types["summary"], 1);
  const Value& summary = events.back();
  EXPECT_EQ(summary["type"].AsString(), "summary");
  EXPECT_EQ(summary["ok"].AsInt(), 3);
  EXPECT_EQ(summary["exit_code"].AsInt(), 1);
  EXPECT_EQ(summary["causes"].AsList().at(0)["workers"].AsString(), "2");
}

TEST_F(ExecTest, ProgressIsLiveOnATerminalAndFollowsItsSize) {
  auto pty = box_->RunInPty({"exec", "research", "--", "sleep 3600"});
  Exec({"--", "true"});
  EXPECT_TRUE(pty->WaitForText("0/4 ok, 4 running")) << pty->shown();
  pty->Resize(20, 10);
  pty->Forget();
  EXPECT_TRUE(pty->WaitForText("research: 0/4")) << pty->shown();
  pty->SendKeys("\x03");
  EXPECT_EQ(pty->Wait(), 130);
  EXPECT_THAT(pty->shown(), HasSubstr("4 of 4 workers cancelled:"));
}

}  // namespace
}  // namespace podctl::testing
