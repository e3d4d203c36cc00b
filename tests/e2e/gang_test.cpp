// A job whose workers end together by themselves; where nobody watches, they begin again together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"
#include "tests/support/long_case.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPod =
    "  research: {acceleratorType: v3-32, runtimeVersion: tpu-vm-tf-2.11.0-pod}\n";

class GangStoryTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    box_ = new Sandbox;
    box_->StartEmulator("sshd", "0s");
    box_->WriteSpec(kPod);
    box_->Apply();
  }
  static void TearDownTestSuite() { delete box_; }

  static void Job(const std::string& command, const std::string& restart,
                  const std::string& grace = "2s") {
    box_->WriteFile("train.sh", command);
    box_->WriteSpec(kPod +
                    std::string("jobs:\n  train:\n    pod: research\n"
                                "    command: [bash, train.sh, mark-gang]\n"
                                "    terminationGracePeriod: " +
                                grace +
                                "\n"
                                "    sync: [{source: train.sh, destination: ~/train.sh}]\n"
                                "    restart: ") +
                    restart + "\n");
  }
  static RunResult Exec(const std::string& command, const std::string& workers = "all") {
    return box_->Run({"exec", "research", "--worker", workers, "--", command});
  }
  static Value Jobs() {
    const RunResult jobs = box_->Run({"jobs", "research", "--json"});
    const auto document = ParseJson(jobs.out);
    EXPECT_TRUE(document) << jobs;
    return document ? (*document)["jobs"].AsList().at(0) : Value();
  }
  static bool Becomes(const std::string& state) {
    return Eventually([&] { return Jobs()["state"] == Value(state); }, std::chrono::seconds(90));
  }
  // In the process tables: neither of the job nor of who watched over it.
  static void ExpectNothingLeft() {
    EXPECT_TRUE(Eventually([] {
      return Exec("! grep -lsE '[m]ark-gang|[g]ang\\.py' /proc/[0-9]*/cmdline").code == 0;
    }));
    const RunResult kept = Exec("ls ~/.podctl/jobs/*/train");
    EXPECT_THAT(kept.out, Not(HasSubstr("gang.pem"))) << kept;
    EXPECT_THAT(kept.out, Not(HasSubstr("gang.json"))) << kept;
    EXPECT_THAT(kept.out, Not(HasSubstr("environment"))) << kept;
  }

  static inline Sandbox* box_ = nullptr;
};

TEST_F(GangStoryTest, AttemptsFollowEachOtherAndAreToldFromAnywhere) {
  Job("echo attempt $PODCTL_ATTEMPT\n"
      "[ $PODCTL_ATTEMPT != 1 ] || [ $PODCTL_WORKER != 2 ] || { sleep 1; exit 7; }\n"
      "[ $PODCTL_ATTEMPT != 2 ] || [ $PODCTL_WORKER != 0 ] || { sleep 1; kill -9 $$; }\n"
      "[ $PODCTL_ATTEMPT = 3 ] || { setsid sleep 1000 & trap : TERM; while :; do sleep 0.1; done; "
      "}\n",
      "{attempts: 4, on: [failure, killed]}");
  ASSERT_EQ(box_->Run({"run", "train", "--detach"}).code, 0);
  ASSERT_TRUE(Becomes("done")) << ToJson(Jobs());
  const Value job = Jobs();
  EXPECT_EQ(job["attempt"], Value(3));
  EXPECT_EQ(job["attempts"], Value(5));
  EXPECT_EQ(job["first"]["attempt"], Value(2));
  EXPECT_EQ(job["first"]["worker"], Value(0));
  EXPECT_EQ(job["first"]["reason"], Value("killed"));
  const RunResult table = box_->Run({"jobs", "research"});
  EXPECT_THAT(table.out,
              AllOf(HasSubstr("train: attempt 3 of 5.\n"),
                    HasSubstr("train: worker 0 was killed by signal 9 (exit code 137), ")));
  const RunResult log = box_->Run({"logs", "research", "train", "--worker", "1"});
  EXPECT_EQ(log.code, 0) << log;
  EXPECT_THAT(log.out,
              AllOf(ContainsRegex("podctl: [-0-9]+T[0-9:]+Z worker 2 ended with exit code 7, "),
                    HasSubstr("; attempt 2 of 5 begins in 1s\n"),
                    HasSubstr("Z worker 0 was killed by signal 9 (exit code 137), "),
                    HasSubstr("attempt 3\n")))
      << log;
  ExpectNothingLeft();
  EXPECT_THAT(Exec("ps ax").out, Not(HasSubstr("sleep 1000")));
}

TEST_F(GangStoryTest, ALostWorkerIsWaitedForAndAStartAnewIsOneOfAll) {
  PODCTL_LONG_CASE(49);
  Job("echo $$ >~/command; echo up; sleep 1000\n", "{attempts: 4, on: [connection]}");
  ASSERT_EQ(box_->Run({"run", "train", "--detach"}).code, 0);
  ASSERT_TRUE(Eventually([] {
    return Exec(
               "grep -q up ~/.podctl/jobs/*/train/log && "
               "[ -s ~/.podctl/jobs/*/train/relays ]")
               .code == 0;
  }));
  // As if its machine had stopped: nobody is left who could say so.
  Exec(
      "cd ~/.podctl/jobs/*/train && read leader rest <pid && read guard <relays && "
      "kill -STOP $leader && kill -KILL $guard $leader $(cat ~/command)",
      "3");
  ASSERT_TRUE(Eventually([] { return Jobs()["waiting_for"] == Value(Value::List{3}); },
                         std::chrono::seconds(90)))
      << ToJson(Jobs());
  const RunResult table = box_->Run({"jobs", "research"});
  EXPECT_THAT(table.out, AllOf(HasSubstr("train  waiting  0-2 waiting; 3 died"),
                               HasSubstr("train: worker 3 was silent for 30s, "),
                               HasSubstr("train: waiting for worker 3, without which it does not "
                                         "go on; `podctl run train --detach` starts all of them "
                                         "anew.\n")))
      << table;
  EXPECT_THAT(Exec("ps ax", "0-2").out, Not(HasSubstr("mark-gang")));
  const RunResult again = box_->Run({"run", "train", "--detach"});
  EXPECT_EQ(again.code, 0) << again;
  EXPECT_THAT(
      again.err,
      HasSubstr("It ran on research/[0-2] alone, which was ended: its workers begin together.\n"));
  EXPECT_THAT(again.out, HasSubstr("Job train started on research/[0-3].\n"));
  const RunResult killed = box_->Run({"kill", "research", "train", "--worker", "1"});
  EXPECT_EQ(killed.code, 0) << killed;
  EXPECT_THAT(killed.out, HasSubstr("research/[0-3]: train was ended by ")) << "on one, so on all";
  EXPECT_EQ(Jobs()["state"], Value("killed")) << ToJson(Jobs());
  ExpectNothingLeft();
}

// Workers hear of a kill on another one from the first two.
TEST_F(GangStoryTest, AKillThatNobodyCouldPassOnIsAnError) {
  PODCTL_LONG_CASE(14);
  Job("echo up; sleep 1000\n", "{attempts: 1, on: [failure]}");
  ASSERT_EQ(box_->Run({"run", "train", "--detach"}).code, 0);
  ASSERT_TRUE(Eventually([] {
    return Exec(
               "grep -q up ~/.podctl/jobs/*/train/log && "
               "[ -s ~/.podctl/jobs/*/train/relays ]")
               .code == 0;
  }));
  const auto signal_hubs = [](const std::string& name) {
    return Exec(
        "cd ~/.podctl/jobs/*/train && read leader rest <pid && read guard <relays && kill -" +
            name + " $guard $leader",
        "0-1");
  };
  EXPECT_EQ(signal_hubs("STOP").code, 0);
  const RunResult killed = box_->Run({"kill", "research", "train", "--worker", "3"});
  EXPECT_EQ(signal_hubs("CONT").code, 0);
  EXPECT_EQ(killed.code, 1) << killed;
  EXPECT_THAT(killed.out, HasSubstr("research/3: train was ended by ")) << killed;
  EXPECT_THAT(killed.err, AllOf(HasSubstr("the others were not told: train still runs on "
                                          "research/[0-2]"),
                                HasSubstr("`podctl kill research train`, without `--worker`")))
      << killed;
  EXPECT_EQ(box_->Run({"kill", "research", "train"}).code, 0);
  ExpectNothingLeft();
}

// In a collective for ever: nobody fails, and nobody writes.
TEST_F(GangStoryTest, AHangIsAReason) {
  PODCTL_LONG_CASE(36);
  Job("echo attempt $PODCTL_ATTEMPT; [ $PODCTL_ATTEMPT = 2 ] || sleep 1000\n",
      "{attempts: 1, on: [hang], hang: 10s, backoff: 0s}");
  ASSERT_EQ(box_->Run({"run", "train", "--detach"}).code, 0);
  ASSERT_TRUE(Becomes("done")) << ToJson(Jobs());
  EXPECT_EQ(Jobs()["first"]["reason"], Value("hang"));
  EXPECT_EQ(Jobs()["attempt"], Value(2));
  const RunResult attached = box_->Run({"run", "train"});
  EXPECT_EQ(attached.code, 0) << attached;
  EXPECT_THAT(attached.err, HasSubstr("Restart 1 of 1, on hang: no worker has written for 10s"))
      << attached;
  ExpectNothingLeft();
}

// With somebody connected: they end all the same by themselves, and tell who it was.
TEST_F(GangStoryTest, AnAttachedRunEndsTogetherAndIsToldFromAnywhere) {
  Exec("rm -f ~/fail ~/end");
  Job("[ $PODCTL_WORKER != 2 ] || { echo up; until [ -e ~/fail ]; do sleep 0.1; done; exit 7; }\n"
      "trap 'until [ -e ~/end ]; do sleep 0.1; done; exit 0' TERM\n"
      "setsid sleep 1000 &\necho up; while :; do sleep 0.1; done\n",
      "{attempts: 1, on: [killed]}", "10m");
  const auto run = box_->Start({"run", "train"});
  ASSERT_TRUE(Eventually([&] { return CountLines(run->out(), "research/", "| up") == 4; }))
      << run->err();
  EXPECT_EQ(Jobs()["attempts"], Value(2));
  EXPECT_EQ(Jobs()["first"], Value());
  Exec("touch ~/fail", "2");
  ASSERT_TRUE(Eventually([] { return Jobs()["first"]["worker"] == Value(2); })) << ToJson(Jobs());
  EXPECT_EQ(Jobs()["first"]["reason"], Value("failure"));
  EXPECT_EQ(Jobs()["state"], Value("running")) << "the others are at their checkpoints";
  EXPECT_TRUE(run->WaitForErr("research/2 failed: exit code 7. The others are ended.\n"))
      << run->err();
  Exec("touch ~/end");
  const RunResult result = run->Result();
  EXPECT_EQ(result.code, 7) << result;
  EXPECT_THAT(result.err, AllOf(HasSubstr("research/2 failed first, "),
                                HasSubstr("3 workers (0-1,3) were ended because of it\n"),
                                Not(HasSubstr("Restart")), Not(HasSubstr("podctl-run"))))
      << result;
  ExpectNothingLeft();
  EXPECT_THAT(Exec("ps ax").out, Not(HasSubstr("sleep 1000")));
}

TEST_F(GangStoryTest, AKillOnOneWorkerEndsAnAttachedRunOnAll) {
  Job("echo up; sleep 1000\n", "{attempts: 3, on: [killed, failure]}");
  const auto run = box_->Start({"run", "train"});
  ASSERT_TRUE(Eventually([&] { return CountLines(run->out(), "research/", "| up") == 4; }))
      << run->err();
  const RunResult killed = box_->Run({"kill", "research", "train", "--worker", "1"});
  EXPECT_EQ(killed.code, 0) << killed;
  EXPECT_THAT(killed.out, HasSubstr("research/[0-3]: train was ended by "));
  const RunResult result = run->Result();
  EXPECT_EQ(result.code, 143) << result;
  EXPECT_THAT(result.err, AllOf(HasSubstr("The job was ended by "),
                                HasSubstr("4 workers (0-3) ended: "), Not(HasSubstr("Restart"))))
      << result;
  ExpectNothingLeft();
}

}  // namespace
}  // namespace podctl::testing
