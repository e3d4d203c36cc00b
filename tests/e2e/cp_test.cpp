// podctl cp to and from four real sshd workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CpTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    box_ = new Sandbox;
    box_->StartEmulator();
    box_->WriteSpec("  research: {acceleratorType: v3-32, runtimeVersion: tpu-vm-tf-2.11.0-pod}\n");
    box_->Apply();
    Shell("mkdir -p src/sub && echo hello >src/a.txt && head -c 300000 /dev/urandom >src/sub/big");
  }
  static void TearDownTestSuite() { delete box_; }

  static RunResult Cp(Arguments words) {
    words.insert(words.begin(), "cp");
    return box_->Run(words);
  }
  static RunResult OnWorkers(const std::string& text) {
    return box_->Run({"exec", "research", "--gather", "--", text});
  }
  static RunResult Shell(const std::string& text) { return box_->RunProgram({"sh", "-c", text}); }

  static Sandbox* box_;
};
Sandbox* CpTest::box_ = nullptr;

TEST_F(CpTest, AFolderGoesToAllWorkersAndComesBackFromEach) {
  const RunResult up = Cp({"./src", "research:~/code"});
  EXPECT_EQ(up.code, 0) << up;
  EXPECT_EQ(up.out, "");
  EXPECT_THAT(up.err, HasSubstr("Copied 2 files, 293 KiB to 4 workers, in "));
  EXPECT_THAT(OnWorkers("find code | sort").out,
              HasSubstr("research/[0-3] (4 workers)\n  | code\n  | code/a.txt\n"));
  const RunResult down = Cp({"research:code", "back"});
  EXPECT_EQ(down.code, 0) << down;
  EXPECT_THAT(down.err, HasSubstr("Copied 8 files, 1.1 MiB from 4 workers, in "));
  for (const char* worker : {"0", "1", "2", "3"}) {
    EXPECT_EQ(Shell(std::string("diff -r src back/research-") + worker + "/code").code, 0);
  }
}

TEST_F(CpTest, OneFileGoesToOneWorkerAndBack) {
  EXPECT_EQ(Cp({"src/a.txt", "research/2:b.txt"}).code, 0);
  EXPECT_EQ(Cp({"research/2:b.txt", "c.txt"}).code, 0);
  EXPECT_EQ(Shell("cat c.txt").out, "hello\n");
  EXPECT_THAT(OnWorkers("ls b.txt 2>/dev/null").out, HasSubstr("research/2 (1 worker)"));
}

TEST_F(CpTest, WorkersThatFailAreNamedWithWhatToTypeForThem) {
  OnWorkers("mkdir -p some; case $(hostname) in *-w-[13]) rmdir some ;; esac");
  const RunResult some = Cp({"src/a.txt", "research:some/x"});
  EXPECT_EQ(some.code, 1) << some;
  EXPECT_THAT(some.err, AllOf(Not(HasSubstr("research/1 |")),
                              HasSubstr("2 of 4 workers failed:\n"
                                        "  2 workers (1,3): ./some: there is no such folder\n"),
                              HasSubstr("podctl cp src/a.txt research/1,3:some/x\n")))
      << some;
  const RunResult back = Cp({"research:some/x", "those"});
  EXPECT_EQ(back.code, 1) << back;
  EXPECT_THAT(back.err,
              AllOf(HasSubstr("  2 workers (1,3): some/x: there is no such file or folder\n"),
                    HasSubstr("podctl cp research/1,3:some/x those\n")))
      << back;
  EXPECT_EQ(Shell("cat those/research-2/x").out, "hello\n");
  const RunResult nowhere = Cp({"research:nowhere", "those"});
  EXPECT_EQ(nowhere.code, 1) << nowhere;
  EXPECT_THAT(nowhere.err, Not(HasSubstr("run it again"))) << nowhere;
  const RunResult mistyped = Cp({"research:0:~/code/a.txt", "one.txt"});
  EXPECT_EQ(mistyped.code, 1) << mistyped;
  EXPECT_THAT(mistyped.err, HasSubstr("Did you mean `research/0:~/code/a.txt`?")) << mistyped;
  EXPECT_EQ(Shell("test -e one.txt").code, 1) << "it would be a folder";
}

TEST_F(CpTest, AFolderThatTakesNoFileIsNamed) {
  EXPECT_THAT(Cp({"src/a.txt", "research/0:/proc/x"}).err, HasSubstr("research/0 | /proc: "));
}

TEST_F(CpTest, AFileIsNotAFolderForSeveral) {
  Shell("echo mine >here");
  const RunResult refused = Cp({"research:/etc/hostname", "here"});
  EXPECT_EQ(refused.code, 1) << refused;
  EXPECT_THAT(refused.err, HasSubstr("here is there, and is no folder")) << refused;
  EXPECT_EQ(Shell("cat here").out, "mine\n");
}

// A worker whose tar sends another name than the one that was asked for.
TEST_F(CpTest, OnlyWhatWasAskedForIsTaken) {
  OnWorkers(
      "echo evil >run.log && mkdir -p evil && printf '#!/bin/sh\n"
      "exec /bin/tar --transform \"s,.*run.log,$(cat $HOME/evil/name),\" \"$@\"\n' >evil/tar && "
      "chmod +x evil/tar");
  const auto sends = [&](const std::string& workers, const std::string& name) {
    box_->Run({"exec", "research", "--worker", workers, "--",
               "echo '" + name + "' >evil/name; echo 'PATH=$HOME/evil:$PATH' >.bashrc"});
  };
  sends("0", ".ssh/authorized_keys");
  for (const char* asked : {"research/0:run.log", "research/0:*.log", "research/0:./run.log"}) {
    const RunResult refused = Cp({asked, "."});
    EXPECT_EQ(refused.code, 1) << refused;
    EXPECT_THAT(refused.err, HasSubstr("research/0: it sends `.ssh/authorized_keys`, which was not "
                                       "asked for\n"))
        << refused;
  }
  EXPECT_EQ(Shell("test -e .ssh || ls run.log").code, 2) << "nothing was written";
  // A name that cannot be written here is that worker's own trouble.
  sends("1", "run" + std::string(300, 'x') + ".log");
  const RunResult some = Cp({"research:run*.log", "runs"});
  EXPECT_EQ(some.code, 1) << some;
  EXPECT_THAT(some.err, AllOf(HasSubstr("research/1: cannot write "),
                              HasSubstr("podctl cp 'research/0-1:run*.log' runs\n")))
      << some;
  EXPECT_EQ(Shell("cat runs/research-2/run.log runs/research-3/run.log").out, "evil\nevil\n");
  OnWorkers("rm -f .bashrc");
}

// The others are waited for, and then those that have failed are not.
TEST_F(CpTest, AWorkerThatNeverEndsHoldsNobodyWhenItHasFailed) {
  OnWorkers(
      "echo fine >run.log && mkdir -p evil && printf '#!/bin/sh\n"
      "case $1 in -c) /bin/tar --transform s,run,other, \"$@\"; exec sleep 987;; esac\n"
      "exec /bin/tar \"$@\"\n' >evil/tar && chmod +x evil/tar");
  box_->Run({"exec", "research", "--worker", "1,3", "--", "echo 'PATH=$HOME/evil:$PATH' >.bashrc"});
  const RunResult some = Cp({"research:run.log", "held"});
  EXPECT_EQ(some.code, 1) << some;
  EXPECT_THAT(some.err, AllOf(HasSubstr("it sends `./other.log`, which was not asked for\n"),
                              HasSubstr("podctl cp research/1,3:run.log held\n")))
      << some;
  EXPECT_EQ(Shell("cat held/research-0/run.log held/research-2/run.log; ls held").out,
            "fine\nfine\nresearch-0\nresearch-2\n");
  OnWorkers("rm -f .bashrc");
}

TEST_F(CpTest, AHomeFolderGetsTheNameOfItsWorker) {
  OnWorkers("mkdir -p sub && echo here >sub/x");
  const RunResult one = Cp({"research/0:sub/.", "."});
  EXPECT_EQ(one.code, 0) << one;
  EXPECT_EQ(Shell("cat research-0/x").out, "here\n");
  EXPECT_EQ(Cp({"research:sub/..", "homes"}).code, 0);
  EXPECT_EQ(Shell("cat homes/research-[0-3]/sub/x | sort -u").out, "here\n");
}

TEST_F(CpTest, WhatThisMachineCannotWriteEndsTheCopy) {
  OnWorkers("head -c 3000000 /dev/zero >zeros");
  const RunResult full =
      Shell("ulimit -f 100; trap '' XFSZ; exec $PODCTL cp research/0:zeros zeros");
  EXPECT_EQ(full.code, 1) << full;
  EXPECT_THAT(full.err, AllOf(HasSubstr("the files could not be written here"),
                              HasSubstr("cannot write ./zeros")))
      << full;
  EXPECT_EQ(Shell("ls zeros*").out, "") << "no half file is left";
}

TEST_F(CpTest, EventsTellOfEachWorker) {
  const RunResult json = Cp({"src/a.txt", "research:", "--json"});
  EXPECT_EQ(json.code, 0) << json;
  EXPECT_THAT(json.out, AllOf(HasSubstr(R"("outcome":"exited")"),
                              HasSubstr(R"("ok":4,"skipped":0,"type":"summary")")))
      << json;
}

}  // namespace
}  // namespace podctl::testing
