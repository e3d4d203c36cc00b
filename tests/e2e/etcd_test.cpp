// A state in a real etcd, as users of podctl meet it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "tests/e2e/harness.h"
#include "tests/support/etcd_server.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class EtcdStateTest : public ::testing::Test {
 protected:
  void SetUp() override { Start({}); }
  void Start(const EtcdServer::Options& options) {
    server_ = EtcdServer::Start(options);
    ASSERT_TRUE(server_);
    url_ = fmt::format("etcd{}://{}/team/podctl", options.tls ? "s" : "", server_->Address());
  }
  void WriteSpec(const std::string& pods) {
    box_.WriteFile("podctl.yaml",
                   fmt::format("project: my-project\nzone: europe-west4-a\nstate: {}\n{}pods:\n{}",
                               url_, box_.SpecDefaults(), pods));
  }
  static std::string Pod(const std::string& name) {
    return fmt::format("  {}: {{acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0}}\n", name);
  }
  // An apply that waits for what it has sent.
  std::unique_ptr<Process> Holder() {
    const std::int64_t before = box_.Calls("nodes.create");
    auto run = box_.Start({"apply", "--auto-approve"});
    EXPECT_TRUE(Eventually([&] { return box_.Calls("nodes.create") > before; })) << run->err();
    return run;
  }

  std::unique_ptr<EtcdServer> server_;
  std::string url_;
  Sandbox box_;
};

TEST_F(EtcdStateTest, IsPlannedAppliedLockedAndTakenOver) {
  box_.StartEmulator("none", "4s");
  WriteSpec(Pod("research"));
  const RunResult init = box_.Run({"state", "init"});
  EXPECT_EQ(init.code, 0) << init;
  EXPECT_THAT(init.out, HasSubstr("nothing has to be made")) << init;
  EXPECT_EQ(box_.Run({"plan", "--detailed-exitcode"}).code, 2);

  auto first = Holder();
  const RunResult second = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(second.code, 3) << second;
  EXPECT_THAT(second.err, AllOf(HasSubstr("Error acquiring the state lock"), HasSubstr(url_)))
      << second;
  EXPECT_EQ(first->Wait(), 0) << first->err();
  EXPECT_EQ(box_.Run({"plan", "--detailed-exitcode"}).code, 0);

  WriteSpec(Pod("research") + Pod("other"));
  auto killed = Holder();
  killed->Signal(SIGKILL);
  killed->Wait();
  const RunResult next = box_.Apply();
  EXPECT_EQ(box_.Calls("nodes.create"), 2) << next;
  const RunResult plan = box_.Run({"plan", "--detailed-exitcode"});
  EXPECT_EQ(plan.code, 0) << plan;
  EXPECT_FALSE(box_.Exists("podctl.state.json"));
}

TEST_F(EtcdStateTest, ServerThatWasKilledMeanwhileLosesNothing) {
  box_.StartEmulator("none", "2s");
  WriteSpec(Pod("research"));
  auto run = Holder();
  server_->Kill();
  ASSERT_TRUE(server_->Restart());
  EXPECT_EQ(run->Wait(), 0) << run->err();
  EXPECT_EQ(box_.Run({"plan", "--detailed-exitcode"}).code, 0);
  EXPECT_EQ(box_.Calls("nodes.create"), 1);
}

// Which is no other run's doing.
TEST_F(EtcdStateTest, AFullDatabaseIsSaidToBeFull) {
  server_->Ask("maintenance/alarm", R"({"action":"ACTIVATE","memberID":"1","alarm":"NOSPACE"})");
  box_.StartEmulator("none", "1s");
  WriteSpec(Pod("research"));
  const RunResult run = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(run.code, 1) << run;
  EXPECT_THAT(run.err, AllOf(HasSubstr("cannot lock the state " + url_),
                             HasSubstr("database space exceeded"),
                             HasSubstr("etcdctl alarm disarm"), Not(HasSubstr("another run"))))
      << run;
  EXPECT_EQ(box_.Calls("nodes.create"), 0);
}

TEST_F(EtcdStateTest, ACertificateThatIsNotTrustedNamesEtcdsVariable) {
  Start({true, {}});
  WriteSpec(Pod("research"));
  const RunResult run = box_.Run({"state", "list"});
  EXPECT_EQ(run.code, 1) << run;
  EXPECT_THAT(run.err, AllOf(HasSubstr("is not trusted"), HasSubstr("ETCDCTL_CACERT"),
                             Not(HasSubstr("CURL_CA_BUNDLE"))))
      << run;
}

TEST_F(EtcdStateTest, WhatIsWrongWithItsUrlIsSaidWithoutAPassword) {
  for (const auto& [url, why] : std::vector<std::pair<std::string, std::string>>{
           {"etcd://127.0.0.1:2379", "names no prefix for the keys"},
           {"etcd://h:x/p", "names something that is no HOST:PORT"},
           {"etcd://root:hunter2@127.0.0.1:2379/p", "ETCDCTL_USER"}}) {
    const RunResult run = box_.Run({"--state", url, "state", "list"});
    EXPECT_EQ(run.code, 1) << run;
    EXPECT_THAT(run.err, AllOf(HasSubstr(why), Not(HasSubstr("hunter2")))) << run;
  }
  box_.SetVariable("ETCDCTL_USER", "root:hunter2");
  const RunResult run = box_.Run({"--state", "etcd://etcd.invalid:2379/p", "state", "list"});
  EXPECT_EQ(run.code, 1) << run;
  EXPECT_THAT(run.err,
              AllOf(HasSubstr("a password must not travel unencrypted"), Not(HasSubstr("hunter2"))))
      << run;
}

}  // namespace
}  // namespace podctl::testing
