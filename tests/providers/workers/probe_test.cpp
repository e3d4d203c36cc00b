#include "providers/workers/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "providers/base/text.h"
#include "tests/providers/workers/worker_shell.h"

namespace podctl::workers {
namespace {

using podctl::testing::RunProgram;
using podctl::testing::Said;
using podctl::testing::StartProgram;
using podctl::testing::WorkerShell;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::vector<std::string> kAnswer = {
    "Welcome to this machine",  // a login message
    "podctl-probe 1",
    "user alice",
    "home ok",
    "clock 1795284000",
    "disk 40 1000000 /",
    "disk 40 1000000 /",
    "runtime unit active",
    "chips 4",
    "devices 4",
    "holder 4711 100 alice 7500 - /dev/accel0 python3 train.py --lr 1",
    "holder 4711 100 alice 7500 - /tmp/libtpu_lockfile python3 train.py --lr 1",
    "holder 4800 200 root 9 runtime /dev/accel0 tpu-runtime",
    "lock alice",
    "variable LIBTPU_INIT_ARGS -",
    "end"};

std::vector<std::string> With(const std::string& before, const std::string& after) {
  std::vector<std::string> lines = kAnswer;
  for (std::string& line : lines) {
    if (line == before) line = after;
  }
  return lines;
}
std::vector<std::string> Codes(const std::vector<std::string>& lines,
                               const Expectation& expected = {}) {
  const auto report = ParseProbe(lines);
  EXPECT_TRUE(report) << (report ? "" : report.error().message);
  std::vector<std::string> codes;
  for (const Finding& finding : Judge(*report, expected)) codes.push_back(finding.code);
  return codes;
}
// The answer without a process on the TPU, and without a lock file.
std::vector<std::string> Healthy(const std::string& before = "", const std::string& after = "") {
  std::vector<std::string> lines = With(before, after);
  std::erase_if(lines, [](const std::string& line) {
    return line.starts_with("holder 47") || line.starts_with("lock ");
  });
  return lines;
}

// Whose job it is says the home that keeps it, and not whose process it is.
TEST(ProbeAnswer, NamesTheKeeperOfAJob) {
  std::vector<Holder> holders;
  ASSERT_TRUE(TakeHolder("holder 11 1 root 5 job:train:alice /dev/accel0 python3", &holders));
  ASSERT_TRUE(TakeHolder("holder 12 1 root 5 job:train: /dev/accel1 python3", &holders));
  ASSERT_TRUE(TakeHolder("holder 13 1 root 5 job:a:b:alice /dev/accel1 python3", &holders));
  ASSERT_EQ(holders.size(), 3u);
  EXPECT_EQ(holders[0].owner, Holder::Owner::kJob);
  EXPECT_EQ(holders[0].job, "train");
  EXPECT_EQ(holders[0].job_user, "alice");
  EXPECT_EQ(holders[1].job, "train");
  EXPECT_EQ(holders[1].job_user, "");
  EXPECT_EQ(holders[2].job, "a:b");
}

TEST(ProbeAnswer, IsReadWhole) {
  const auto report = ParseProbe(kAnswer);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->user, "alice");
  EXPECT_TRUE(report->home_writable);
  EXPECT_THAT(report->disks, SizeIs(1));
  EXPECT_EQ(report->runtime_state, "active");
  ASSERT_THAT(report->holders, SizeIs(2));
  EXPECT_THAT(report->holders[0].files, ElementsAre("/dev/accel0", "/tmp/libtpu_lockfile"));
  EXPECT_EQ(report->holders[0].command, "python3 train.py --lr 1");
  EXPECT_EQ(DescribeHolder(report->holders[0]),
            "pid 4711 of alice, /dev/accel0, /tmp/libtpu_lockfile, for 2h5m");
  EXPECT_EQ(report->holders[1].owner, Holder::Owner::kRuntime);
  EXPECT_EQ(report->variables.at("LIBTPU_INIT_ARGS"), "");
}

TEST(ProbeAnswer, IsRefusedWhenAnythingOfItIsOdd) {
  for (const std::string odd :
       {"user", "disk x 1 /", "clock -1", "runtime what", "holder 1 2 a 3 - /dev/accel0 init",
        "holder x 2 a 3 - /dev/accel0 c", "holder 9 2 a 3 nobody /dev/accel0 c", "saw nothing",
        "variable A short", "something else", ""}) {
    std::vector<std::string> lines = kAnswer;
    lines.insert(lines.end() - 1, odd);
    EXPECT_FALSE(ParseProbe(lines)) << odd;
  }
}

TEST(ProbeAnswer, IsRefusedWhenItWasCut) {
  for (std::size_t length = 0; length < kAnswer.size(); ++length) {
    EXPECT_FALSE(ParseProbe({kAnswer.begin(), kAnswer.begin() + static_cast<long>(length)}))
        << length;
  }
}

TEST(ProbeAnswer, HasALimit) {
  std::vector<std::string> lines = kAnswer;
  lines.insert(lines.end() - 1, 5000, kAnswer[10]);
  EXPECT_FALSE(ParseProbe(lines));
}

TEST(ProbeAnswer, CannotDriveTheTerminal) {
  auto lines = With("holder 4711 100 alice 7500 - /dev/accel0 python3 train.py --lr 1",
                    "holder 4711 100 alice 7500 - /dev/accel0 \x1b[2Jpython3");
  EXPECT_EQ(ParseProbe(lines)->holders[0].command, "\\x1b[2Jpython3");
}

TEST(ProbeFindings, AHealthyWorkerHasNone) {
  EXPECT_THAT(Codes(Healthy()), IsEmpty());
}

TEST(ProbeFindings, NameTheProcessThatHoldsTheTpu) {
  const auto findings = Judge(*ParseProbe(kAnswer), {});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].code, "tpu-held");
  EXPECT_EQ(findings[0].summary, "the TPU is held by `python3 train.py --lr 1`");
  EXPECT_THAT(findings[0].detail, HasSubstr("pid 4711 of alice"));
  EXPECT_EQ(findings[0].to_do, "podctl drain {pod} --worker {workers}");
}

TEST(ProbeFindings, TellWhatIsWrongWithAWorker) {
  EXPECT_THAT(Codes(Healthy("runtime unit active", "runtime unit failed")),
              ElementsAre("runtime-inactive"));
  EXPECT_THAT(Codes(Healthy("devices 4", "devices 0")), ElementsAre("no-devices"));
  EXPECT_THAT(Codes(Healthy("disk 40 1000000 /", "disk 100 0 /")), ElementsAre("disk-full"));
  EXPECT_THAT(Codes(Healthy("home ok", "home refused")), ElementsAre("home-not-writable"));
  auto locked = Healthy();
  locked.insert(locked.end() - 1, "lock bob");
  EXPECT_THAT(Codes(locked), ElementsAre("lock-file"));
}

TEST(ProbeFindings, AnImageWithoutTheRuntimeIsFine) {
  EXPECT_THAT(Codes(Healthy("runtime unit active", "runtime none")), IsEmpty());
  EXPECT_THAT(Codes(Healthy("runtime unit active", "runtime no-systemd")), IsEmpty());
}

TEST(ProbeFindings, AClockThatIsOffIsToldAndOneThatIsNearIsNot) {
  EXPECT_THAT(Codes(Healthy(), {.clock = 1795284000 + 30, .variables = {}}), IsEmpty());
  EXPECT_THAT(Codes(Healthy(), {.clock = 1795284000 + 90, .variables = {}}),
              ElementsAre("clock-skew"));
}

TEST(ProbeFindings, TheRuntimesEnvironmentIsCompared) {
  const std::string one(64, '1');
  const Expectation expected{.clock = 0, .variables = {{"LIBTPU_INIT_ARGS", one}}};
  EXPECT_THAT(Codes(Healthy(), expected), ElementsAre("runtime-environment"));
  EXPECT_THAT(
      Codes(Healthy("variable LIBTPU_INIT_ARGS -", "variable LIBTPU_INIT_ARGS " + one), expected),
      IsEmpty());
  EXPECT_THAT(Codes(Healthy("variable LIBTPU_INIT_ARGS -", "disk 1 1000000 /tmp"), expected),
              IsEmpty())
      << "what could not be seen is no finding";
}

class ProbeTest : public ::testing::Test {
 protected:
  ~ProbeTest() override {
    if (holder_ > 0) podctl::testing::EndProgram(holder_);
  }
  ProbeReport Probe(ProbeRequest request = {}) {
    request.root = worker_.root();
    const Said said = worker_.Run(ProbeCommand(request));
    EXPECT_TRUE(said.result.ok()) << said.result.message << Join(said.err, "\n");
    const auto report = ParseProbe(said.out);
    EXPECT_TRUE(report) << (report ? "" : report.error().message) << Join(said.out, "\n");
    return report ? *report : ProbeReport{};
  }
  void Touch(const std::string& file) { std::ofstream(worker_.root() + file).flush(); }
  // A process that has `file` open; returns its number once it does.
  pid_t Hold(const std::string& file) {
    Touch(file);
    const std::string path = worker_.root() + file;
    holder_ = StartProgram({"sh", "-c", "exec 3<" + path + "; exec sleep 300"}, "/dev/null");
    const std::string link = "/proc/" + std::to_string(holder_) + "/fd/3";
    std::error_code problem;
    while (std::filesystem::read_symlink(link, problem) != path) ::usleep(2000);
    return holder_;
  }

  WorkerShell worker_;
  pid_t holder_ = -1;
};

TEST_F(ProbeTest, SeesAMachineThatIsFine) {
  const ProbeReport report = Probe();
  EXPECT_FALSE(report.user.empty());
  EXPECT_TRUE(report.home_writable);
  EXPECT_FALSE(report.disks.empty());
  EXPECT_NEAR(static_cast<double>(report.clock), static_cast<double>(time(nullptr)), 30);
  EXPECT_EQ(report.runtime, ProbeReport::Runtime::kNoUnit);
  EXPECT_EQ(report.devices, 0);
  EXPECT_THAT(report.holders, IsEmpty());
  EXPECT_EQ(report.lock_owner, "");
  EXPECT_TRUE(std::filesystem::is_empty(worker_.home()) ||
              !std::filesystem::exists(worker_.home() + "/.podctl-probe"))
      << "nothing is left there";
}

TEST_F(ProbeTest, NamesTheProcessThatHoldsADevice) {
  const pid_t pid = Hold("/dev/accel0");
  const ProbeReport report = Probe();
  EXPECT_EQ(report.devices, 1);
  ASSERT_THAT(report.holders, SizeIs(1));
  EXPECT_EQ(report.holders[0].pid, pid);
  EXPECT_EQ(report.holders[0].owner, Holder::Owner::kNobody);
  EXPECT_EQ(report.holders[0].command, "sleep 300");
  EXPECT_THAT(report.holders[0].files, ElementsAre(worker_.root() + "/dev/accel0"));
}

TEST_F(ProbeTest, KnowsTheRuntimeByItsMainProcess) {
  const pid_t pid = Hold("/dev/accel0");
  worker_.Program("systemctl", "printf 'LoadState=loaded\\nActiveState=active\\nMainPID=" +
                                   std::to_string(pid) + "\\n'\n");
  const ProbeReport report = Probe();
  EXPECT_EQ(report.runtime_state, "active");
  ASSERT_THAT(report.holders, SizeIs(1));
  EXPECT_EQ(report.holders[0].owner, Holder::Owner::kRuntime);
}

TEST_F(ProbeTest, TellsALockFileThatWasLeftBehindFromOneThatIsHeld) {
  Touch("/tmp/libtpu_lockfile");
  ProbeReport report = Probe();
  EXPECT_NE(report.lock_owner, "");
  EXPECT_THAT(report.holders, IsEmpty());
  Hold("/tmp/libtpu_lockfile");
  report = Probe();
  ASSERT_THAT(report.holders, SizeIs(1));
  EXPECT_EQ(Judge(report, {}).at(0).code, "tpu-held");
}

TEST_F(ProbeTest, SaysWhenItSawOwnProcessesOnly) {
  if (::geteuid() == 0) GTEST_SKIP() << "root sees everything";
  worker_.Program("sudo", "exit 1\n");
  Touch("/dev/accel0");
  EXPECT_FALSE(Probe().saw_all);
}

TEST_F(ProbeTest, WaitsForARuntimeThatIsStarting) {
  worker_.Program("sleep", "echo x >> " + worker_.root() + "/waits\n");
  worker_.Program("systemctl", "n=$(cat " + worker_.root() +
                                   "/waits 2>/dev/null | wc -l)\nstate=activating\n"
                                   "[ $n -lt 3 ] || state=active\n"
                                   "printf 'LoadState=loaded\\nActiveState=%s\\nMainPID=0\\n' "
                                   "$state\n");
  EXPECT_EQ(Probe().runtime_state, "activating") << "without patience";
  EXPECT_EQ(Probe({.runtime_patience = std::chrono::seconds(2), .variables = {}, .root = {}})
                .runtime_state,
            "activating");
  EXPECT_EQ(Probe({.runtime_patience = std::chrono::seconds(5), .variables = {}, .root = {}})
                .runtime_state,
            "active");
}

TEST_F(ProbeTest, TellsTheRuntimesVariablesAsDigests) {
  const pid_t pid = ::getpid();
  ::setenv("PROBE_TEST", "x", 1);  // of no use: /proc shows what the process began with
  worker_.Program("systemctl", "printf 'LoadState=loaded\\nActiveState=active\\nMainPID=" +
                                   std::to_string(pid) + "\\n'\n");
  const ProbeReport report =
      Probe({.runtime_patience = {}, .variables = {"PATH", "PODCTL_NOT_SET", "a b"}, .root = {}});
  EXPECT_THAT(report.variables, SizeIs(2));
  EXPECT_THAT(report.variables.at("PATH"), SizeIs(64));
  EXPECT_EQ(report.variables.at("PODCTL_NOT_SET"), "");
}

}  // namespace
}  // namespace podctl::workers
