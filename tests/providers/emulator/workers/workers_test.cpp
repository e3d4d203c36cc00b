// Workers for real, of every kind: the ssh program enters each worker, and the runtime is a
// process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/providers/emulator/workers_fixture.h"

namespace podctl::emulator {
namespace {

INSTANTIATE_TEST_SUITE_P(Farms, EachFarmTest,
                         ::testing::Values(Options::Workers::kSshd, Options::Workers::kLight),
                         [](const auto& farm) {
                           return farm.param == Options::Workers::kLight ? "Light" : "Sshd";
                         });

TEST_P(EachFarmTest, TheRuntimeReadsItsMetadataWhenItStartsAndNotBefore) {
  if (!AdmitsAnyUser()) GTEST_SKIP() << "no namespaces here; the plain kind is tested below";
  Create("v3-8", "tpu-vm-tf-2.11.0", "alice",
         ",'tensorflow-env-vars':'-e LIBTPU_INIT_ARGS=--xla_a=true -e B=\"x y\"'");
  EXPECT_EQ(Ssh("alice", 0, "systemctl is-active tpu-runtime").text, "active\n");
  EXPECT_THAT(Ssh("alice", 0, kEnvironment).text, HasSubstr("--xla_a=true\nB=x y\n"));
  const std::string first = Ssh("alice", 0, "systemctl show -P InvocationID tpu-runtime").text;

  Patch("{'ssh-keys':'alice:" + key_ +
        "','tensorflow-env-vars':'-e LIBTPU_INIT_ARGS=--xla_a=false'}");
  EXPECT_THAT(Ssh("alice", 0, kEnvironment).text, HasSubstr("--xla_a=true"));
  EXPECT_EQ(Ssh("alice", 0, "sudo systemctl restart tpu-runtime").code, 0);
  EXPECT_THAT(Ssh("alice", 0, kEnvironment).text, HasSubstr("--xla_a=false"));
  EXPECT_NE(Ssh("alice", 0, "systemctl show -P InvocationID tpu-runtime").text, first);
}

TEST_P(EachFarmTest, SystemctlAnswersAsSystemdDoes) {
  if (!AdmitsAnyUser()) GTEST_SKIP() << "no namespaces here; the plain kind is tested below";
  Create("v3-8", "tpu-vm-tf-2.11.0", "alice");
  EXPECT_EQ(Ssh("alice", 0, "systemctl show -p LoadState,ActiveState --value tpu-runtime").text,
            "loaded\nactive\n");
  Output output = Ssh("alice", 0, "systemctl restart tpu-runtime.service");
  EXPECT_EQ(output.code, 1);
  EXPECT_THAT(output.text, HasSubstr("Interactive authentication required."));
  EXPECT_EQ(Ssh("alice", 0, "sudo systemctl stop tpu-runtime").code, 0);
  output = Ssh("alice", 0, "systemctl is-active tpu-runtime");
  EXPECT_EQ(output.code, 3);
  EXPECT_EQ(output.text, "inactive\n");
  output = Ssh("alice", 0, "sudo systemctl restart nonsense");
  EXPECT_EQ(output.code, 5);
  EXPECT_EQ(output.text, "Failed to restart nonsense.service: Unit nonsense.service not found.\n");

  Act(0, "break-runtime");
  output = Ssh("alice", 0, "sudo systemctl start tpu-runtime");
  EXPECT_EQ(output.code, 1);
  EXPECT_THAT(output.text, StartsWith("Job for tpu-runtime.service failed because the control "
                                      "process exited with error code."));
  EXPECT_EQ(Ssh("alice", 0, "systemctl is-active tpu-runtime").text, "failed\n");
  Act(0, "mend-runtime");
  EXPECT_EQ(Ssh("alice", 0, "sudo systemctl start tpu-runtime").code, 0);
  output = Ssh("alice", 0, "systemctl status tpu-runtime");
  EXPECT_EQ(output.code, 0);
  EXPECT_THAT(output.text, HasSubstr("Active: active (running)"));
}

TEST_P(EachFarmTest, KeysFollowTheMetadata) {
  if (!AdmitsAnyUser()) GTEST_SKIP() << "no namespaces here; the plain kind is tested below";
  Create("v3-8", "tpu-ubuntu2204-base", "alice");
  Ssh("alice", 0, "touch kept");
  Patch("{'ssh-keys':'bob:" + key_ + "\\nroot:" + key_ + "'}");
  EXPECT_EQ(Ssh("alice", 0, "true").code, 255);
  EXPECT_EQ(Ssh("bob", 0, "echo $USER; sudo -n true").text, "bob\n");
  EXPECT_EQ(Ssh("root", 0, "echo $USER").text, "root\n");
  Patch("{'ssh-keys':'alice:" + key_ + "'}");
  EXPECT_EQ(Ssh("alice", 0, "ls").text, "kept\n");
}

TEST_P(EachFarmTest, HostKeysAreThoseInTheGuestAttributes) {
  const std::string user = AdmitsAnyUser() ? "alice" : OwnUser();
  Create("v3-8", "tpu-ubuntu2204-base", user);
  const auto scan = [&] {
    return Shell("ssh-keyscan -t ed25519 -p " + std::to_string(emulator_->ssh_port()) + " " +
                 Address(0))
        .text;
  };
  const std::string key = HostKey(0);
  EXPECT_THAT(key, StartsWith("AAAAC3NzaC1lZDI1NTE5"));
  EXPECT_THAT(scan(), HasSubstr(key));
  Act(0, "new-host-keys");
  EXPECT_TRUE(Eventually([&] { return !HostKey(0).empty() && HostKey(0) != key; }));
  EXPECT_THAT(scan(), HasSubstr(HostKey(0)));
}

TEST_P(EachFarmTest, WorkersStopStartAndComeBackAfterARestart) {
  if (!AdmitsAnyUser()) GTEST_SKIP() << "no namespaces here; the plain kind is tested below";
  Create("v3-8", "tpu-vm-tf-2.11.0", "alice");
  const std::string address = Address(0);
  const std::string key = HostKey(0);
  Ssh("alice", 0, "echo kept > ~/file");
  Act(0, "stop");
  EXPECT_TRUE(Eventually([&] { return Ssh("alice", 0, "true").code == 255; }));
  Act(0, "start");
  EXPECT_TRUE(Eventually([&] { return Ssh("alice", 0, "true").code == 0; }));
  client_->Finish(client_->Send("POST", kNodes + "/pod:stop", "{}"));
  EXPECT_EQ(Ssh("alice", 0, "true").code, 255);
  client_->Finish(client_->Send("POST", kNodes + "/pod:start", "{}"));
  EXPECT_EQ(Ssh("alice", 0, "true").code, 0);

  Start();
  Refresh();
  EXPECT_EQ(Address(0), address);
  EXPECT_TRUE(Eventually([&] { return Ssh("alice", 0, "cat ~/file").text == "kept\n"; }));
  EXPECT_EQ(HostKey(0), key);
}

TEST_P(EachFarmTest, AnAddressThatWasTakenMeanwhileIsExchanged) {
  const std::string user = AdmitsAnyUser() ? "alice" : OwnUser();
  Create("v3-8", "tpu-ubuntu2204-base", user);
  const std::string address = Address(0);
  const int port = emulator_->ssh_port();
  emulator_.reset();
  const MachineListener other(address, port);
  ASSERT_EQ(other.port(), port);
  Start();
  Refresh();
  EXPECT_EQ(node_["state"], Value("READY"));
  EXPECT_NE(Address(0), address);
  EXPECT_TRUE(Eventually([&] { return Ssh(user, 0, "true").code == 0; }));
}

TEST_P(EachFarmTest, NothingIsLeftOfADeletedNode) {
  if (!AdmitsAnyUser()) GTEST_SKIP() << "no namespaces here; the plain kind is tested below";
  Create("v3-8", "tpu-vm-tf-2.11.0", "alice");
  Ssh("alice", 0, "setsid " + sleeper_ + " > /dev/null 2>&1 < /dev/null &");
  EXPECT_TRUE(Eventually([&] { return Shell("pgrep -xf '" + sleeper_ + "'").code == 0; }));
  client_->Finish(client_->Send("DELETE", kNodes + "/pod"));
  EXPECT_EQ(Shell("pgrep -xf '" + sleeper_ + "'").code, 1);
  for (const auto& entry : std::filesystem::directory_iterator(options_.data_folder + "/workers")) {
    EXPECT_EQ(entry.path().filename(), "bin") << "the programs that light workers share";
  }
}

TEST_P(EachFarmTest, SlicesHaveWorkersOfTheirOwnAndGoTogether) {
  const std::string user = AdmitsAnyUser() ? "alice" : OwnUser();
  const std::string queue = "/v2/projects/demo/locations/europe-west4-a/queuedResources";
  client_->Finish(
      client_->Send("POST", queue + "?queuedResourceId=q",
                    "{spot:{},tpu:{nodeSpec:[{parent:'projects/demo/locations/europe-west4-a',"
                    "multisliceParams:{nodeCount:2},node:{acceleratorType:'v6e-8',runtimeVersion:"
                    "'v2-alpha-tpuv6e',metadata:{'ssh-keys':'" +
                        user + ":" + key_ + "'}}}]}}"));
  const auto reaches = [&](const std::string& state) {
    return Eventually([&] {
      return client_->Send("GET", queue + "/q").body["state"]["state"].AsString() == state;
    });
  };
  ASSERT_TRUE(reaches("ACTIVE"));
  std::vector<std::string> commands;  // that reach a slice each
  for (const char* id : {"/q-0", "/q-1"}) {
    node_ = client_->Send("GET", kNodes + id).body;
    commands.push_back(SshTo(user, 0) + " true < /dev/null");
    EXPECT_EQ(Shell(commands.back()).code, 0) << id;
  }
  EXPECT_NE(commands[0], commands[1]);
  const std::string second = Address(0);
  node_ = client_->Send("GET", kNodes + "/q-0").body;
  EXPECT_THAT(
      Ssh(user, 0,
          "ssh-keyscan -T 10 -t ed25519 -p " + std::to_string(emulator_->ssh_port()) + " " + second)
          .text,
      HasSubstr("ssh-ed25519"))
      << "the slices reach each other";
  EXPECT_EQ(client_->Send("POST", "/emulator/nodes/q-1:preempt").status, 200);
  ASSERT_TRUE(reaches("SUSPENDED"));
  for (const std::string& command : commands) EXPECT_EQ(Shell(command).code, 255);
}

TEST_P(EachFarmTest, MaintenanceRebootsTheWorkers) {
  if (!AdmitsAnyUser()) GTEST_SKIP() << "no namespaces here; the plain kind is tested below";
  Create("v3-8", "tpu-vm-tf-2.11.0", "alice");
  Ssh("alice", 0, "setsid " + sleeper_ + " > /dev/null 2>&1 < /dev/null &");
  EXPECT_TRUE(Eventually([&] { return Shell("pgrep -xf '" + sleeper_ + "'").code == 0; }));
  const Value done =
      client_->Finish(client_->Send("POST", "/v2alpha1/" + kName + ":performMaintenance", "{}"));
  EXPECT_NE(done.Find("response"), nullptr) << ToJson(done);
  EXPECT_EQ(Shell("pgrep -xf '" + sleeper_ + "'").code, 1);
  EXPECT_EQ(Refresh()["health"], Value("HEALTHY"));
  EXPECT_EQ(Ssh("alice", 0, "true").code, 0);
}

TEST_P(EachFarmTest, ReadyMayComeBeforeAnAnswer) {
  options_.worker_boot_delay = std::chrono::milliseconds(400);
  const std::string user = AdmitsAnyUser() ? "alice" : OwnUser();
  Create("v3-8", "tpu-vm-tf-2.11.0", user);
  EXPECT_EQ(node_["state"], Value("READY"));
  EXPECT_EQ(HostKey(0), "");
  EXPECT_TRUE(Eventually([&] { return Ssh(user, 0, "true").code == 0; }));
}

}  // namespace
}  // namespace podctl::emulator
