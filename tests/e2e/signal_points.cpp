#include "tests/e2e/signal_points.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

namespace podctl::testing {
namespace {

// One worker, so that its command's own exit code would be seen.
constexpr const char* kPod =
    "  research: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0}\n";
constexpr const char* kOtherLabel =
    "  research: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0, labels: {a: b}}\n";
constexpr const char* kOtherImage =
    "  research: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.12.0}\n";
constexpr const char* kWithStep =
    "  research:\n"
    "    acceleratorType: v3-8\n"
    "    runtimeVersion: tpu-vm-tf-2.11.0\n"
    "    bootstrap: [{name: wait, run: 'echo begun; until test -e ~/go; do sleep 0.1; done'}]\n";

const Arguments kApply = {"apply", "--auto-approve"};
const Arguments kDestroy = {"destroy", "--auto-approve"};

using Reach = std::function<void(Stage&)>;

void Restart(Stage& stage, const std::string& workers, const std::string& delay) {
  stage.box.StopEmulator();
  stage.box.StartEmulator(workers, delay);
}

// Nothing stands yet; operations take `delay`.
void Nothing(Stage& stage, const std::string& delay = "0.1s") {
  stage.box.StartEmulator("none", delay);
  stage.box.WriteSpec(kPod);
}

// The pod stands; the spec wants something else, and operations take a while from now on.
void Stands(Stage& stage, const std::string& spec) {
  Nothing(stage);
  stage.box.Apply();
  Restart(stage, "none", "5s");
  stage.box.WriteSpec(spec);
}

void StandsWithWorkers(Stage& stage) {
  stage.box.StartEmulator("sshd", "0.1s");
  stage.box.WriteSpec(kPod);
  stage.box.Apply();
}

void StartAndMeet(Stage& stage, const Arguments& words, const std::string& fault) {
  stage.box.OrderFault(fault);
  stage.Start(words);
  stage.ExpectReached([&] { return stage.box.FaultsLeft() == 0; });
}

std::string Hang(const std::string& method, const std::string& path) {
  return R"({"method": ")" + method + R"(", "path": ")" + path + R"(", "delayMs": 60000})";
}

Reach Lists(const Arguments& words) {
  return [words](Stage& stage) {
    Nothing(stage);
    StartAndMeet(stage, words, Hang("GET", "/nodes"));
  };
}

Reach MeetsSilence(const Arguments& words) {
  return [words](Stage& stage) {
    Nothing(stage);
    Arguments all = words;
    all.insert(all.end(), {"--endpoint", stage.silent.url()});
    stage.Start(all);
    stage.ExpectReached([&] { return stage.silent.Called(); });
  };
}

// The request that begins the operation is answered late.
Reach RequestHangs(const std::string& spec, const Arguments& words, const std::string& method) {
  return [=](Stage& stage) {
    spec.empty() ? Nothing(stage) : Stands(stage, spec);
    StartAndMeet(stage, words, Hang(method, "/nodes"));
    stage.recovery = words;
  };
}

Reach OperationRuns(const std::string& spec, const Arguments& words) {
  return [=](Stage& stage) {
    spec.empty() ? Nothing(stage, "5s") : Stands(stage, spec);
    stage.Start(words);
    stage.ExpectReached([&] { return !stage.Pending("operation").empty(); });
    stage.recovery = words;
  };
}

void RepeatsItsRequest(Stage& stage) {
  Nothing(stage);
  stage.box.OrderFault(R"({"method": "GET", "path": "/nodes", "status": 503, "times": 100})");
  stage.Start(kApply);
  stage.ExpectReached([&] { return stage.box.FaultsLeft() < 98; });
}

void LooksAtItsOperation(Stage& stage) {
  Nothing(stage, "5s");
  stage.box.OrderFault(Hang("GET", "/operations/"));
  stage.Start(kApply);
  stage.ExpectReached([&] { return stage.box.FaultsLeft() == 0; });
}

// The token is asked for first; nobody ever looks for the endpoint (RFC 2606 keeps its name free).
void WaitsForGcloud(Stage& stage) {
  Nothing(stage);
  stage.box.WriteFile("bin/gcloud", "#!/bin/sh\ntouch asked\nsleep 3600\n");
  chmod(stage.box.Path("bin/gcloud").c_str(), 0755);
  stage.run = stage.box.StartProgram({"sh", "-c",
                                      "PATH=\"$PWD/bin:$PATH\" exec \"$PODCTL\" apply "
                                      "--auto-approve --endpoint https://nowhere.invalid/"});
  stage.ExpectReached([&] { return stage.box.Exists("asked"); });
}

void WaitsForTheLock(Stage& stage) {
  Nothing(stage, "5s");
  stage.other = stage.box.Start(kApply);
  EXPECT_TRUE(Eventually([&] { return !stage.Pending("operation").empty(); }))
      << stage.other->err();
  stage.Start({"apply", "--auto-approve", "--lock-timeout", "10m"});
  stage.ExpectSaid("Acquiring state lock. This may take a few moments...");
}

Reach StepRuns(bool hanging) {
  return [hanging](Stage& stage) {
    StandsWithWorkers(stage);
    stage.box.WriteSpec(kWithStep);
    stage.Start(kApply);
    stage.ExpectSaid("| begun");
    if (hanging) stage.StopWorkers();
  };
}

Reach ExecRuns(bool hanging) {
  return [hanging](Stage& stage) {
    StandsWithWorkers(stage);
    stage.Start({"exec", "research", "--", "echo begun; exec sleep 3600"});
    EXPECT_TRUE(stage.run->WaitForOut("begun")) << stage.run->err();
    if (hanging) stage.StopWorkers();
  };
}

// Whether the process has a handler for the signal (proc(5): SigCgt, a mask in hexadecimal).
bool Handles(pid_t pid, int signal) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  const std::string key = "SigCgt:";
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(key)) continue;
    const unsigned long long mask = std::stoull(line.substr(key.size()), nullptr, 16);
    return (mask >> (signal - 1) & 1U) != 0;
  }
  return false;
}

void WorkerHangsFromTheStart(Stage& stage) {
  StandsWithWorkers(stage);
  stage.StopWorkers();
  // Light workers, whose server is the emulator, run it all the same: it must not be over by then.
  stage.Start({"exec", "research", "--", "sleep 3600.5"});
  // Nothing tells that it has connected; once signals are handled, it must end at any time.
  stage.ExpectReached([&] { return Handles(stage.run->pid(), SIGTERM); });
}

// Main hangs in a write: no stop that is asked for reaches it.
void NobodyReadsItsOutput(Stage& stage) {
  StandsWithWorkers(stage);
  EXPECT_EQ(mkfifo(stage.box.Path("output").c_str(), 0600), 0);
  stage.unread = open(stage.box.Path("output").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  stage.run =
      stage.box.StartProgram({"sh", "-c", "exec \"$PODCTL\" exec research -- yes full > output"});
  stage.ExpectReached([&] {
    int bytes = 0;
    const bool known = ioctl(stage.unread, FIONREAD, &bytes) == 0;
    // Its size, less the page that a write does not fit into any more.
    return known && bytes > fcntl(stage.unread, F_GETPIPE_SZ) - 4096;
  });
}

void ShellRuns(Stage& stage) {
  StandsWithWorkers(stage);
  stage.Start({"ssh", "research", "--", "echo begun; exec sleep 3600"});
  EXPECT_TRUE(stage.run->WaitForOut("begun")) << stage.run->err();
}

void TunnelStands(Stage& stage) {
  StandsWithWorkers(stage);
  stage.Start({"tunnel", "research", "0:8888"});
  EXPECT_TRUE(stage.run->WaitForOut("http://127.0.0.1:")) << stage.run->err();
}

void EmulatorServes(Stage& stage) {
  Nothing(stage);
  stage.Start({"emulator", "--listen", "127.0.0.1:0", "--workers", "none"});
  EXPECT_TRUE(stage.run->WaitForOut("ready")) << stage.run->err();
}

}  // namespace

SilentServer::SilentServer() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(bind(socket_, generic, size), 0);
  EXPECT_EQ(listen(socket_, 64), 0);
  EXPECT_EQ(getsockname(socket_, generic, &size), 0);
  fcntl(socket_, F_SETFL, O_NONBLOCK);
  port_ = ntohs(address.sin_port);
}

SilentServer::~SilentServer() {
  close(socket_);
}

bool SilentServer::Called() const {
  return accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC) >= 0;
}

Stage::~Stage() {
  GoOn();
  if (unread >= 0) close(unread);
}

std::string Stage::Pending(const std::string& key) const {
  return UnderWay(box.State(), "pod.research")[key].AsString();
}

void Stage::ExpectReached(const std::function<bool()>& there) const {
  EXPECT_TRUE(Eventually(there)) << run->out() << run->err();
}
void Stage::ExpectSaid(const std::string& text) const {
  EXPECT_TRUE(run->WaitForErr(text)) << run->out() << run->err();
}

void Stage::StopWorkers() {
  for (const pid_t pid : Descendants(box.emulator_pid())) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
    std::string name;
    std::getline(file, name);
    // Who listens (one doorman for each worker, or sshd itself), and who serves; of light workers,
    // whose server is the emulator, what runs on them.
    const bool serves = name.starts_with("sshd") || name.starts_with("doorman");
    if (!serves && box.WorkersAreMachines()) continue;
    kill(pid, SIGSTOP);
    stopped.push_back(pid);
  }
  EXPECT_FALSE(stopped.empty());
}

void Stage::GoOn() {
  for (const pid_t pid : stopped) kill(pid, SIGCONT);
  stopped.clear();
  box.ForgetFaults();
}

const std::vector<Point>& SignalPoints() {
  static const std::vector<Point> points = {
      {"PlanLists", Lists({"plan"})},
      {"ApplyLists", Lists(kApply)},
      {"PlanMeetsSilence", MeetsSilence({"plan"}), true},
      {"ApplyMeetsSilence", MeetsSilence(kApply), true},
      {"ImportMeetsSilence", MeetsSilence({"import", "pod.research", "research"}), true},
      {"ApplyRepeatsItsRequest", RepeatsItsRequest},
      {"ApplyWaitsForGcloud", WaitsForGcloud, true},
      {"ApplyWaitsForTheLock", WaitsForTheLock},
      {"CreateIsSent", RequestHangs("", kApply, "POST")},
      {"CreateRuns", OperationRuns("", kApply)},
      {"CreateIsLookedAt", LooksAtItsOperation},
      {"PatchIsSent", RequestHangs(kOtherLabel, kApply, "PATCH")},
      {"PatchRuns", OperationRuns(kOtherLabel, kApply)},
      {"ReplaceRuns", OperationRuns(kOtherImage, kApply)},
      {"DeleteIsSent", RequestHangs(kPod, kDestroy, "DELETE")},
      {"DeleteRuns", OperationRuns(kPod, kDestroy)},
      {"StepRuns", StepRuns(false)},
      {"StepHangs", StepRuns(true), true},
      {"ExecRuns", ExecRuns(false), false, 130, false},
      {"ExecHangs", ExecRuns(true), true, 130, false},
      {"ExecMeetsAHangingWorker", WorkerHangsFromTheStart, true, 130, false},
      {"ExecIsNotRead", NobodyReadsItsOutput, true, 130, false},
      {"ShellRuns", ShellRuns, false, 130, false},
      {"TunnelStands", TunnelStands, false, 0, false},
      {"EmulatorServes", EmulatorServes, false, 0, false},
  };
  return points;
}

}  // namespace podctl::testing
