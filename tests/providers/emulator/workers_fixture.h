// An emulator with workers that the ssh program enters, and what the tests of them share.
#pragma once

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
#include "providers/emulator/workers/address.h"
#include "tests/providers/emulator/api_client.h"

namespace podctl::emulator {

using testing::ApiClient;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using testing::Reply;
using ::testing::StartsWith;

inline const std::string kNodes = "/v2/projects/demo/locations/europe-west4-a/nodes";
inline const std::string kName = "projects/demo/locations/europe-west4-a/nodes/pod";
inline const std::string kEnvironment =
    R"(sudo cat /proc/$(systemctl show -P MainPID tpu-runtime)/environ | tr '\0' '\n')";

struct Output {
  int code = -1;
  std::string text;  // stdout and stderr
};

inline Output Shell(const std::string& command) {
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
inline bool IsAlive(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.at(name_end + 2) != 'Z';
}

// Children, their children, and so on.
inline std::vector<pid_t> Descendants(pid_t ancestor) {
  std::vector<pid_t> found{ancestor};
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::istringstream children(Shell("pgrep -P " + std::to_string(found[i])).text);
    pid_t child = -1;
    while (children >> child) found.push_back(child);
  }
  found.erase(found.begin());
  return found;
}

inline std::string OwnUser() {
  std::string name = Shell("id -un").text;
  return name.substr(0, name.find('\n'));
}

// True as soon as `check` holds, false after 30 s.
template <typename Check>
inline bool Eventually(Check check) {
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

}  // namespace podctl::emulator
