// What is special of each kind of worker: in namespaces, plain, light; and that a killed emulator
// leaves none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/providers/emulator/workers_fixture.h"

namespace podctl::emulator {
namespace {

TEST_F(WorkersTest, EachWorkerIsAMachineOfItsOwn) {
  if (!Isolated()) GTEST_SKIP() << "no namespaces here; the plain kind is tested below";
  Create("v3-32", "tpu-vm-tf-2.11.0-pod", "alice");
  for (int i = 0; i < 4; ++i) {
    const Output output = Ssh("alice", i, "hostname; id -un; pwd; sudo -n id -u");
    EXPECT_THAT(output.text, MatchesRegex("t1v-n-[0-9a-f]{8}-w-" + std::to_string(i) +
                                          "\nalice\n/home/alice\n0\n"));
  }
  Ssh("alice", 0, "touch ~/mine /tmp/mine");
  EXPECT_NE(Ssh("alice", 1, "ls ~/mine").code, 0);
  EXPECT_FALSE(std::filesystem::exists("/tmp/mine"));
  EXPECT_EQ(Ssh("mallory", 0, "true").code, 255);
  EXPECT_EQ(Ssh("root", 0, "true").code, 255);
  EXPECT_EQ(Ssh("alice", 0, "exit 7").code, 7);
}

// As `podctl tunnel research 8888` needs it: the port is taken on the machine, and on each worker.
TEST_F(WorkersTest, EachWorkerHasPortsOfItsOwn) {
  if (!Isolated()) GTEST_SKIP() << "no namespaces here; the plain kind is tested below";
  ASSERT_TRUE(emulator_->private_networks());
  Create("v3-32", "tpu-vm-tf-2.11.0-pod", "alice");
  const MachineListener machine;
  ASSERT_GT(machine.port(), 0);
  const std::string port = std::to_string(machine.port());
  for (int i = 0; i < 2; ++i) {
    const Output started = Ssh("alice", i,
                               R"(cat > server.pl <<'END'
use IO::Socket::INET;
my $l = IO::Socket::INET->new(LocalAddr => shift, LocalPort => shift, Listen => 5) or die "$@\n";
exit if fork;
close STDOUT; close STDERR;
while (my $c = $l->accept) { print $c `hostname`; close $c }
END
perl server.pl 127.0.0.1 )" + port +
                                   " && perl server.pl " + Address(i) + " " + port);
    EXPECT_EQ(started.code, 0) << started.text;
  }
  for (int i = 0; i < 2; ++i) {
    const std::string name = "t1v-n-[0-9a-f]{8}-w-" + std::to_string(i) + "\n";
    EXPECT_THAT(Fetch("alice", i, "127.0.0.1", machine.port()).text, MatchesRegex(name));
    EXPECT_THAT(Fetch("alice", i, Address(i), machine.port()).text, MatchesRegex(name));
  }
  EXPECT_THAT(Fetch("alice", 2, "127.0.0.1", machine.port()).text, HasSubstr("failed"))
      << "nobody listens there";
  EXPECT_EQ(machine.Visitors(), 0) << "no worker reaches the machine's own port";
}

// As jax.distributed, gloo and torchrun need it: by the address that the API gives, on any port.
TEST_F(WorkersTest, WorkersOfAPodReachEachOther) {
  if (!Isolated()) GTEST_SKIP() << "no namespaces here; those share the machine's network";
  ASSERT_TRUE(emulator_->private_networks());
  Create("v3-32", "tpu-vm-tf-2.11.0-pod", "alice");
  const std::string listen = R"(cat > server.pl <<'END'
use IO::Socket::INET;
my $l = IO::Socket::INET->new(LocalAddr => shift, LocalPort => 8476, Listen => 5) or die "$@\n";
exit if fork;
close STDOUT; close STDERR;
while (my $c = $l->accept) { print $c `hostname`, $c->peerhost, "\n"; close $c }
END
perl server.pl )";
  const auto call = [&](int from, const std::string& address) {
    return Ssh("alice", from,
               "perl -MIO::Socket::INET -e 'my $c = IO::Socket::INET->new(PeerAddr => shift, "
               "PeerPort => shift, Timeout => 5) or die \"refused\\n\"; print <$c>' " +
                   address + " 8476");
  };
  for (const int i : {0, 3}) EXPECT_EQ(Ssh("alice", i, listen + Address(i)).code, 0);
  for (const int to : {0, 3}) {
    for (int from = 0; from < 4; ++from) {
      EXPECT_THAT(
          call(from, Address(to)).text,
          MatchesRegex("t1v-n-[0-9a-f]{8}-w-" + std::to_string(to) + "\n" + Address(from) + "\n"))
          << from << " to " << to;
    }
  }
  EXPECT_EQ(call(0, Address(1)).text, "refused\n") << "nobody listens there";
  EXPECT_THAT(
      Ssh("alice", 1,
          "ssh-keyscan -t ed25519 -p " + std::to_string(emulator_->ssh_port()) + " " + Address(2))
          .text,
      HasSubstr(HostKey(2)));
  // Another pod is not of this network.
  const std::string inside = Address(0);
  client_->Finish(client_->Send("POST", kNodes + "?nodeId=other",
                                "{acceleratorType:'v3-8',runtimeVersion:'tpu-ubuntu2204-base',"
                                "metadata:{'ssh-keys':'alice:" +
                                    key_ + "'}}"));
  node_ = client_->Send("GET", kNodes + "/other").body;
  EXPECT_EQ(call(0, inside).text, "refused\n");
}

TEST_F(WorkersTest, TheMachinesNetworkCanBeChosen) {
  options_.network = Options::Network::kHost;
  if (!Isolated()) GTEST_SKIP() << "no namespaces here; the plain kind is tested below";
  EXPECT_FALSE(emulator_->private_networks());
  Create("v3-8", "tpu-ubuntu2204-base", "alice");
  EXPECT_EQ(Ssh("alice", 0, "readlink /proc/self/ns/net").text,
            Shell("readlink /proc/self/ns/net").text);
}

TEST_F(WorkersTest, PrivateNetworksNeedNamespaces) {
  options_.network = Options::Network::kPrivate;
  options_.allow_namespaces = false;
  const auto started = Emulator::Start(options_);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(started.error().hint, HasSubstr("CAP_SYS_ADMIN"));
}

TEST_F(WorkersTest, AnImageWithoutTheUnitSaysSo) {
  if (!Isolated()) GTEST_SKIP() << "no namespaces here; the plain kind is tested below";
  Create("v3-8", "tpu-ubuntu2204-base", "alice", ",'startup-script':'#!/bin/sh\\nid -u >/tmp/me'");
  EXPECT_EQ(Ssh("alice", 0, "systemctl show -p LoadState --value tpu-runtime").text, "not-found\n");
  EXPECT_EQ(Ssh("alice", 0, "sudo systemctl restart tpu-runtime").code, 5);
  EXPECT_TRUE(Eventually([&] { return Ssh("alice", 0, "cat /tmp/me").text == "0\n"; }))
      << "the startup script runs as root";
}

class KilledEmulatorTest : public WorkersTest, public ::testing::WithParamInterface<std::string> {};

// The emulator in a process of its own, killed without a chance to clean up.
TEST_P(KilledEmulatorTest, LeavesNothing) {
  options_.allow_namespaces = GetParam() != "Plain";
  if (GetParam() == "Light") options_.workers = Options::Workers::kLight;
  std::array<int, 2> channel{};
  ASSERT_EQ(::pipe(channel.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto started = Emulator::Start(options_);
    const std::string url = started ? (*started)->url() : "";
    if (::write(channel[1], url.data(), url.size()) < 0 || url.empty()) ::_exit(1);
    ::close(channel[1]);
    while (true) ::pause();
  }
  ::close(channel[1]);
  std::array<char, 256> url{};
  ASSERT_GT(::read(channel[0], url.data(), url.size() - 1), 0);
  ::close(channel[0]);
  client_ = std::make_unique<ApiClient>(url.data());
  Create("v3-8", "tpu-vm-tf-2.11.0", OwnUser());
  const auto alive = [&] {
    return Shell("ssh-keyscan -t ed25519 -p 22 " + Address(0)).text +
           Shell("ssh-keyscan -t ed25519 -p 2222 " + Address(0)).text;
  };
  EXPECT_THAT(alive(), HasSubstr("ssh-ed25519"));
  const std::vector<pid_t> born = Descendants(child);
  EXPECT_GE(born.size(), 1U);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(Eventually([&] { return alive().find("ssh-ed25519") == std::string::npos; }));
  for (const pid_t process : born) {
    EXPECT_TRUE(Eventually([&] { return !IsAlive(process); })) << process;
  }
  // The plain kind names its folder in the runtime's command line.
  EXPECT_EQ(Shell("pgrep -f '^" + options_.data_folder + ".*/tpu-runtime'").code, 1);
}

INSTANTIATE_TEST_SUITE_P(Kinds, KilledEmulatorTest, ::testing::Values("Isolated", "Plain", "Light"),
                         [](const auto& kind) { return kind.param; });

TEST_F(WorkersTest, PlainWorkersNeedAFolderThatCanBeQuoted) {
  options_.allow_namespaces = false;
  options_.data_folder = folder_ + "/alice's";
  const auto started = Emulator::Start(options_);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(started.error().message, HasSubstr("alice's"));
}

TEST_F(WorkersTest, PlainWorkersServeTheirOwnUser) {
  options_.allow_namespaces = false;
  options_.data_folder = folder_ + "/data with blanks";
  Start();
  ASSERT_FALSE(emulator_->isolated_workers());
  const std::string user = OwnUser();
  Create("v3-8", "tpu-vm-tf-2.11.0", user, ",'tensorflow-env-vars':'-e A=1'");
  EXPECT_THAT(Ssh(user, 0, "hostname; pwd; sudo systemctl is-active tpu-runtime").text,
              MatchesRegex("t1v-n-[0-9a-f]{8}-w-0\n.*/home\nactive\n"));
  EXPECT_THAT(Ssh(user, 0, kEnvironment).text, HasSubstr("A=1"));
  Patch("{'ssh-keys':'" + user + ":" + key_ + "','tensorflow-env-vars':'-e A=2'}");
  EXPECT_THAT(Ssh(user, 0, "sudo -n systemctl restart tpu-runtime; " + kEnvironment).text,
              HasSubstr("A=2"));
  Ssh(user, 0, "setsid " + sleeper_ + " > /dev/null 2>&1 < /dev/null &");
  EXPECT_TRUE(Eventually([&] { return Shell("pgrep -xf '" + sleeper_ + "'").code == 0; }));
  const std::string runtime = Ssh(user, 0, "systemctl show -P MainPID tpu-runtime").text;
  ASSERT_THAT(runtime, MatchesRegex("[1-9][0-9]*\n"));
  client_->Finish(client_->Send("DELETE", kNodes + "/pod"));
  EXPECT_EQ(Shell("pgrep -xf '" + sleeper_ + "'").code, 1);
  EXPECT_FALSE(IsAlive(std::stoi(runtime)));
}

// Not by a timeout of whoever waits for them to take the key.
TEST_F(WorkersTest, PlainWorkersThatCouldLetNobodyInAreRefused) {
  options_.allow_namespaces = false;
  Start();
  ASSERT_NE(emulator_, nullptr);
  const Value operation = client_->Finish(client_->Send(
      "POST", kNodes + "?nodeId=pod",
      "{acceleratorType:'v3-8',runtimeVersion:'tpu-ubuntu2204-base',metadata:{'ssh-keys':'" +
          OwnUser() + ":" + key_ + "\\npipeline:" + key_ + "'}}"));
  EXPECT_THAT(operation["error"]["message"].AsString(),
              HasSubstr("lets nobody in but " + OwnUser() + ", and `ssh-keys` names pipeline"));
}

TEST_F(WorkersTest, WhereThereAreNoNamespacesTheBestWorkersAreLight) {
  options_.workers = Options::Workers::kBest;
  options_.allow_namespaces = false;
  Start();
  ASSERT_NE(emulator_, nullptr);
  Create("v3-8", "tpu-vm-tf-2.11.0", "pipeline");
  EXPECT_EQ(Ssh("pipeline", 0, "echo $USER; sudo systemctl is-active tpu-runtime").text,
            "pipeline\nactive\n");
}

// Differences are stated in light_farm.h.
TEST_F(WorkersTest, LightWorkersAreWhatTheyClaim) {
  options_.workers = Options::Workers::kLight;
  Start();
  Create("v3-32", "tpu-vm-tf-2.11.0-pod", "alice",
         ",'startup-script':'#!/bin/sh\\nhostname > $TPU_VM_FOLDER/began'");
  for (int i = 0; i < 4; ++i) {
    const std::string number = std::to_string(i);
    EXPECT_THAT(Ssh("alice", i, "hostname").text,
                MatchesRegex("t1v-n-[0-9a-f]{8}-w-" + number + "\n"));
    EXPECT_THAT(Ssh("alice", i, "hostname; pwd; sudo -n id -u").text,
                MatchesRegex("t1v-n-[0-9a-f]{8}-w-" + number + "\n/.*/" + number +
                             "/home/alice\n[0-9]+\n"));
    EXPECT_TRUE(Eventually([&] {
      return Ssh("alice", i, "cat $TPU_VM_FOLDER/began").text == Ssh("alice", i, "hostname").text;
    })) << "the startup script";
  }
  // What a killed process leaves there goes with the worker.
  EXPECT_THAT(Ssh("alice", 2, "mktemp").text, MatchesRegex("/.*/2/tmp/tmp[.].*\n"));
  Ssh("alice", 0, "touch ~/mine");
  EXPECT_NE(Ssh("alice", 1, "ls ~/mine").code, 0);
  EXPECT_EQ(Ssh("mallory", 0, "true").code, 255);
  EXPECT_EQ(Ssh("alice", 0, "[[ -n $BASH ]] && exit 7").code, 7) << "the shell is bash";
  // Several restarts at once are one after the other, and one process is left.
  Ssh("alice", 0, "for i in 1 2 3 4; do sudo systemctl restart tpu-runtime & done; wait");
  EXPECT_EQ(Ssh("alice", 0,
                "grep -lzs LIGHT_WORKER=$TPU_VM_FOLDER/ /proc/[0-9]*/environ | "
                "sed s/environ/comm/ | xargs cat 2> /dev/null | grep -c tpu-runtime")
                .text,
            "1\n");
}

TEST_F(WorkersTest, LightWorkersHaveNoNetworksOfTheirOwn) {
  options_.workers = Options::Workers::kLight;
  options_.network = Options::Network::kPrivate;
  const auto started = Emulator::Start(options_);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace podctl::emulator
