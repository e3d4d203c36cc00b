// Workers for real: the ssh program enters the sshd of each worker, and the runtime is a process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "providers/base/json.h"
#include "providers/emulator/emulator.h"
#include "providers/emulator/worker_address.h"
#include "tests/providers/emulator/api_client.h"

namespace podctl::emulator {
namespace {

using testing::ApiClient;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using testing::Reply;
using ::testing::StartsWith;

const std::string kNodes = "/v2/projects/demo/locations/europe-west4-a/nodes";
const std::string kName = "projects/demo/locations/europe-west4-a/nodes/pod";
const std::string kEnvironment =
    R"(sudo cat /proc/$(systemctl show -P MainPID tpu-runtime)/environ | tr '\0' '\n')";

struct Output {
  int code = -1;
  std::string text;  // stdout and stderr
};

Output Shell(const std::string& command) {
  Output output;
  FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return output;
  std::array<char, 4096> buffer{};
  while (const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.text.append(buffer.data(), size);
  }
  const int status = ::pclose(pipe);
  output.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
  return output;
}

// A zombie is dead, though the machine's own first process may be slow to bury it.
bool IsAlive(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.at(name_end + 2) != 'Z';
}

// Children, their children, and so on.
std::vector<pid_t> Descendants(pid_t ancestor) {
  std::vector<pid_t> found{ancestor};
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::istringstream children(Shell("pgrep -P " + std::to_string(found[i])).text);
    pid_t child = -1;
    while (children >> child) found.push_back(child);
  }
  found.erase(found.begin());
  return found;
}

std::string OwnUser() {
  std::string name = Shell("id -un").text;
  return name.substr(0, name.find('\n'));
}

// True as soon as `check` holds, false after 30 s.
template <typename Check>
bool Eventually(Check check) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < limit) {
    if (check()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

// Somebody else on this machine who listens; by default on a free port of 127.0.0.1.
class MachineListener {
 public:
  explicit MachineListener(const std::string& address = "127.0.0.1", int port = 0) {
    if (const Result<int> bound = BindSocket(address, port)) file_ = *bound;
    sockaddr_in name{};
    socklen_t size = sizeof name;
    if (::listen(file_, 5) == 0 &&
        ::getsockname(file_, reinterpret_cast<sockaddr*>(&name), &size) == 0) {
      port_ = ntohs(name.sin_port);
    }
  }
  ~MachineListener() { ::close(file_); }
  MachineListener(const MachineListener&) = delete;
  MachineListener& operator=(const MachineListener&) = delete;

  int port() const { return port_; }  // 0: it could not be had
  // 1 if anybody has come.
  int Visitors() const {
    pollfd waiting{.fd = file_, .events = POLLIN, .revents = 0};
    return ::poll(&waiting, 1, 0);
  }

 private:
  int file_ = -1;
  int port_ = 0;
};

class WorkersTest : public ::testing::Test {
 protected:
  WorkersTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "workers-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    Shell("ssh-keygen -q -t ed25519 -N '' -C test -f " + folder_ + "/key");
    std::getline(std::ifstream(folder_ + "/key.pub"), key_);
    options_.listen_port = 0;
    options_.data_folder = folder_ + "/data";
    options_.operation_delay = std::chrono::milliseconds(0);
  }
  ~WorkersTest() override {
    emulator_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Start() {
    client_.reset();
    emulator_.reset();
    auto started = Emulator::Start(options_);
    ASSERT_TRUE(started) << started.error().message << started.error().hint;
    emulator_ = *std::move(started);
    client_ = std::make_unique<ApiClient>(emulator_->url());
  }

  // The isolated kind needs CAP_SYS_ADMIN, which a container's root may lack.
  bool Isolated() {
    Start();
    return emulator_ != nullptr && emulator_->isolated_workers();
  }

  Value Create(const std::string& type, const std::string& version, const std::string& user,
               const std::string& more = "") {
    const Value operation = client_->Finish(
        client_->Send("POST", kNodes + "?nodeId=pod",
                      "{acceleratorType:'" + type + "',runtimeVersion:'" + version +
                          "',metadata:{'ssh-keys':'" + user + ":" + key_ + "'" + more + "}}"));
    EXPECT_EQ(operation.Find("error"), nullptr) << ToJson(operation);
    return Refresh();
  }
  Value Refresh() { return node_ = client_->Send("GET", kNodes + "/pod").body; }
  void Patch(const std::string& metadata) {
    client_->Finish(
        client_->Send("PATCH", kNodes + "/pod?updateMask=metadata", "{metadata:" + metadata + "}"));
  }

  std::string Address(int worker) const {
    return node_["networkEndpoints"]
        .AsList()[static_cast<std::size_t>(worker)]["ipAddress"]
        .AsString();
  }
  std::string SshTo(const std::string& user, int worker) const {
    return "ssh -F none -i " + folder_ + "/key -p " + std::to_string(emulator_->ssh_port()) +
           " -o IdentitiesOnly=yes -o BatchMode=yes -o LogLevel=ERROR -o ConnectTimeout=10 "
           "-o KexAlgorithms=curve25519-sha256 -o StrictHostKeyChecking=no -o "
           "UserKnownHostsFile=/dev/null " +
           user + "@" + Address(worker);
  }
  Output Ssh(const std::string& user, int worker, const std::string& command) {
    std::ofstream(folder_ + "/command") << command;
    return Shell(SshTo(user, worker) + " \"$(cat " + folder_ + "/command)\" < /dev/null");
  }
  // What the worker's own `address:port` answers through a forwarded connection.
  Output Fetch(const std::string& user, int worker, const std::string& address, int port) {
    return Shell("timeout 20 " + SshTo(user, worker) + " -W " + address + ":" +
                 std::to_string(port) + " < /dev/null");
  }
  std::string HostKey(int worker) {
    const Reply reply = client_->Send(
        "POST", kNodes + "/pod:getGuestAttributes",
        "{queryPath:'hostkeys/ssh-ed25519',workerIds:['" + std::to_string(worker) + "']}");
    const Value& items = reply.body["guestAttributes"].AsList()[0]["queryValue"]["items"];
    return items.AsList().empty() ? "" : items.AsList()[0]["value"].AsString();
  }
  void Act(int worker, const std::string& action) {
    const Reply reply = client_->Send(
        "POST", "/emulator/workers",
        "{node:'" + kName + "',worker:" + std::to_string(worker) + ",action:'" + action + "'}");
    EXPECT_EQ(reply.status, 200) << reply.text;
  }

  std::string folder_;
  std::string key_;
  // A command of this run's own, since another run may be under way on the same machine.
  const std::string sleeper_ = "sleep 9" + std::to_string(::getpid());
  Options options_;
  std::unique_ptr<Emulator> emulator_;
  std::unique_ptr<ApiClient> client_;
  Value node_;
};

// What workers of every kind must do.
class EachFarmTest : public WorkersTest, public ::testing::WithParamInterface<Options::Workers> {
 protected:
  EachFarmTest() { options_.workers = GetParam(); }
  bool IsLight() const { return GetParam() == Options::Workers::kLight; }
  // Users other than this process's own can enter.
  bool AdmitsAnyUser() {
    Start();
    return IsLight() || emulator_->isolated_workers();
  }
};

INSTANTIATE_TEST_SUITE_P(Farms, EachFarmTest,
                         ::testing::Values(Options::Workers::kSshd, Options::Workers::kLight),
                         [](const auto& farm) {
                           return farm.param == Options::Workers::kLight ? "Light" : "Sshd";
                         });

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

TEST_F(WorkersTest, AnImageWithoutTheUnitSaysSo) {
  if (!Isolated()) GTEST_SKIP() << "no namespaces here; the plain kind is tested below";
  Create("v3-8", "tpu-ubuntu2204-base", "alice", ",'startup-script':'#!/bin/sh\\nid -u >/tmp/me'");
  EXPECT_EQ(Ssh("alice", 0, "systemctl show -p LoadState --value tpu-runtime").text, "not-found\n");
  EXPECT_EQ(Ssh("alice", 0, "sudo systemctl restart tpu-runtime").code, 5);
  EXPECT_TRUE(Eventually([&] { return Ssh("alice", 0, "cat /tmp/me").text == "0\n"; }))
      << "the startup script runs as root";
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
