// What workers answer to a probe of their pod, and real workers (an sshd each), on each of them the
// real pod_probe.py.
#include "providers/workers/pod_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <thread>

#include "providers/base/text.h"
#include "providers/workers/pod_verdict.h"
#include "providers/workers/runs.h"
#include "tests/providers/workers/worker_shell.h"

namespace podctl::workers {
namespace {

using podctl::testing::ReadAll;
using podctl::testing::RecordingObserver;
using podctl::testing::WorkerShell;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

const std::vector<std::string> kPodAnswer = {"Welcome to this machine",  // a login message
                                             "podctl-pod-probe 1",
                                             "kernel 6.5.0-1013-gcp",
                                             "driver gasket 1.1.4",
                                             "accel 4",
                                             "vfio 0",
                                             "google",
                                             "python 3.10.12",
                                             "package libtpu 0.0.17",
                                             "egress storage.googleapis.com 443 ok 12",
                                             "egress pypi.org 443 failed timed out",
                                             "peer 1 ok 30000 -3 180 9500000",
                                             "peer 2 failed refused",
                                             "came 3",
                                             "end"};

TEST(PodProbeAnswers, AreReadWhole) {
  const auto answer = ParsePodProbe(kPodAnswer, 4);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->kernel, "6.5.0-1013-gcp");
  EXPECT_EQ(answer->drivers.at("gasket"), "1.1.4");
  EXPECT_EQ(answer->accel, 4);
  EXPECT_EQ(answer->vfio, 0);
  EXPECT_TRUE(answer->google);
  EXPECT_EQ(answer->python, "3.10.12");
  EXPECT_EQ(answer->packages.at("libtpu"), "0.0.17");
  ASSERT_THAT(answer->egress, SizeIs(2));
  EXPECT_EQ(answer->egress[0].why, "");
  EXPECT_EQ(answer->egress[0].took, std::chrono::milliseconds(12));
  EXPECT_EQ(answer->egress[1].why, "timed out");
  ASSERT_THAT(answer->peers, SizeIs(2));
  EXPECT_EQ(answer->peers[0].place, 1U);
  EXPECT_EQ(answer->peers[0].offset_ms, -3);
  EXPECT_EQ(answer->peers[0].kbits, 9'500'000);
  EXPECT_EQ(answer->peers[1].why, "refused");
  EXPECT_THAT(answer->came, ElementsAre(3U));
}

TEST(PodProbeAnswers, AreRefusedWhenAnythingOfThemIsOdd) {
  for (const std::string odd : {"",
                                "kernel",
                                "accel -1",
                                "accel x",
                                "vfio",
                                "package libtpu",
                                "driver",
                                "google 1",
                                "package -r 1",
                                "package jax -r",
                                "package jax 1;id",
                                "package jax \x1b[2J1",
                                "driver gasket \x1b",
                                "egress pypi.org 443",
                                "egress pypi.org x ok 1",
                                "egress - 443 ok 1",
                                "egress a;b 443 ok 1",
                                "egress pypi.org 443 failed",
                                "peer 4 ok 1 1 1 1",
                                "peer 1 ok 70000 1 1 1",
                                "peer 1 ok 1 1 1",
                                "peer 1 failed",
                                "peer -1 failed refused",
                                "peer x",
                                "came 4",
                                "came",
                                "stage import 1",
                                "else"}) {
    std::vector<std::string> lines = kPodAnswer;
    lines.insert(lines.end() - 1, odd);
    EXPECT_FALSE(ParsePodProbe(lines, 4)) << odd;
  }
}

TEST(PodProbeAnswers, AreRefusedWhenTheyWereCutOrHaveNoEnd) {
  for (std::size_t length = 0; length < kPodAnswer.size(); ++length) {
    const auto end = kPodAnswer.begin() + static_cast<long>(length);
    EXPECT_FALSE(ParsePodProbe({kPodAnswer.begin(), end}, 4)) << length;
  }
  std::vector<std::string> lines = kPodAnswer;
  lines.insert(lines.end() - 1, 5000, "came 3");
  EXPECT_FALSE(ParsePodProbe(lines, 4));
}

TEST(PodProbeAnswers, CannotDriveTheTerminal) {
  std::vector<std::string> lines = kPodAnswer;
  lines[10] = "egress pypi.org 443 failed \x1b[2Jno";
  EXPECT_EQ(ParsePodProbe(lines, 4)->egress.at(1).why, "\\x1b[2Jno");
}

TEST(PodProbeAnswers, OfACollectiveTellHowFarItCame) {
  const auto done = ParseCollective({"podctl-pod-probe 1", "stage import 5", "stage join 900",
                                     "stage devices 1500", "stage sum 1600",
                                     "stage done 2400 4 16 4 tpu 16", "end"});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->stage, CollectiveAnswer::Stage::kDone);
  EXPECT_EQ(done->processes, 4);
  EXPECT_EQ(done->devices, 16);
  EXPECT_EQ(done->platform, "tpu");
  EXPECT_EQ(done->sum, 16);
  const auto failed = ParseCollective(
      {"podctl-pod-probe 1", "stage import 5", "failed 80 exit code 1: no JAX", "left 2", "end"});
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->stage, CollectiveAnswer::Stage::kImport);
  EXPECT_EQ(failed->why, "exit code 1: no JAX");
  EXPECT_EQ(failed->left, 2);
  for (const std::string odd : {"stage what 1", "stage import x", "stage done 1 2 3", "failed 1",
                                "failed x y", "waited", "left -1", "accel 4"}) {
    EXPECT_FALSE(ParseCollective({"podctl-pod-probe 1", odd, "end"})) << odd;
  }
  EXPECT_FALSE(ParseCollective({"podctl-pod-probe 1", "stage sum 1", "stage join 2", "end"}))
      << "nobody goes back";
}

TEST(PodProbeCalls, ConnectAPodOfAnySizeByFew) {
  EXPECT_THAT(CallsOf(0, 1), IsEmpty());
  EXPECT_THAT(CallsOf(1, 2), ElementsAre(0U));
  EXPECT_THAT(CallsOf(3, 4), ElementsAre(0U, 1U));
  EXPECT_THAT(CallsOf(255, 256), ElementsAre(0U, 1U, 3U, 7U, 15U, 31U, 63U, 127U));
}

TEST(EgressTargets, AreAHostAndAPort) {
  EXPECT_EQ(ParseEgressTarget("pypi.org"), (EgressTarget{"pypi.org", 443}));
  EXPECT_EQ(ParseEgressTarget("10.0.0.1:80"), (EgressTarget{"10.0.0.1", 80}));
  EXPECT_EQ(ParseEgressTarget("[2001:db8::1]:80"), (EgressTarget{"2001:db8::1", 80}));
  EXPECT_EQ(TargetName({"2001:db8::1", 80}), "[2001:db8::1]:80");
  for (const std::string odd : {"", ":80", "a:", "a:0", "a:65536", "a:x", "a b", "-a", "https://a",
                                "[::1", "2001:db8::1", "[::1]80"}) {
    EXPECT_FALSE(ParseEgressTarget(odd)) << odd;
  }
}

// ---- On real workers.

class PodProbeTest : public ::testing::Test {
 protected:
  PodProbeTest() {
    static int next = 0;
    ++next;
    probe_.run = "run-" + std::to_string(next);
    probe_.secret = "told to nobody else";
    probe_.patience = std::chrono::seconds(4);
    probe_.collective = std::chrono::seconds(8);
    probe_.watched = false;
    block_ = "127.0." + std::to_string(80 + next) + ".";
  }

  void Have(int count) {
    for (int i = 0; i < count; ++i) {
      workers_.push_back(std::make_unique<WorkerShell>());
      probe_.members.push_back({i, block_ + std::to_string(i + 1), {}});
    }
  }

  using InputFor = std::function<std::string(std::size_t place)>;
  // On all of them at once. `stop_at`: the beginning of a line at which it is ended; empty: none.
  void RunAll(const InputFor& input, const std::string& stop_at = "") {
    std::vector<ssh::Job> jobs;
    for (std::size_t place = 0; place < workers_.size(); ++place) {
      const std::string go(probe_.watched ? "" : kGoLine);
      jobs.push_back(workers_[place]->JobOf(PodProbeCommand(), input(place) + go));
      if (probe_.watched) jobs.back().feed = &gate_;
    }
    ssh::FanOut fan_out(keyring_, clock_, random_);
    ssh::Limits limits;
    limits.retry = std::chrono::milliseconds(0);
    limits.command = std::chrono::seconds(60);
    limits.termination = std::chrono::seconds(60);
    std::stop_source stop;
    said_.on_line = [&](std::size_t, std::string_view line) {
      if (!stop_at.empty() && line.starts_with(stop_at)) stop.request_stop();
    };
    results_ = fan_out.Run(jobs, limits, said_, stop.get_token());
  }
  void RunNeighbours() {
    RunAll([&](std::size_t place) { return NeighboursInput(probe_, place); });
  }
  std::vector<ProbedWorker> Probed() {
    std::vector<ProbedWorker> workers;
    for (std::size_t place = 0; place < workers_.size(); ++place) {
      ProbedWorker worker;
      worker.worker = static_cast<int>(place);
      if (results_[place].ok()) {
        auto answer = ParsePodProbe(said_.out[place], workers_.size());
        EXPECT_TRUE(answer) << answer.error().message << Join(said_.out[place], "\n");
        if (answer) worker.answer = *std::move(answer);
      } else {
        worker.silence = "exit code " + std::to_string(results_[place].exit_code);
      }
      workers.push_back(std::move(worker));
    }
    return workers;
  }
  PodFindings Found() { return JudgePodProbe(probe_, Probed(), {}); }
  static std::vector<std::string> SummariesOf(const PodFindings& found, int worker) {
    std::vector<std::string> summaries;
    const auto of = found.workers.find(worker);
    if (of == found.workers.end()) return summaries;
    for (const Finding& finding : of->second) summaries.push_back(finding.summary);
    return summaries;
  }

  // Holds the input open, and gives the line at once.
  class Going final : public ssh::InputFeed {
   public:
    std::size_t Read(std::uint64_t offset, char* bytes, std::size_t size) override {
      if (offset >= kGoLine.size()) return 0;
      return kGoLine.copy(bytes, size, static_cast<std::size_t>(offset));
    }
    bool EndsAt(std::uint64_t) override { return false; }
    void Listen(std::function<void()>) override {}
  };

  std::vector<std::unique_ptr<WorkerShell>> workers_;
  PodProbe probe_;
  std::string block_;
  Going gate_;
  RecordingObserver said_;
  std::vector<ssh::WorkerResult> results_;
  FixedEnvironment environment_{{}};
  RealFileSystem files_;
  RealClock clock_;
  RealRandom random_;
  ssh::Keyring keyring_{environment_, files_};
};

TEST_F(PodProbeTest, AllReachEachOtherAndAreMeasured) {
  Have(3);
  RunNeighbours();
  const PodFindings found = Found();
  EXPECT_EQ(found.joined, 3U);
  EXPECT_THAT(found.pod, IsEmpty());
  for (int worker = 0; worker < 3; ++worker) EXPECT_THAT(SummariesOf(found, worker), IsEmpty());
  ASSERT_TRUE(found.median);
  EXPECT_GT(*found.median, 0);
  const auto probed = Probed();
  EXPECT_THAT(probed[0].answer->came, UnorderedElementsAre(1U, 2U));
  EXPECT_NE(probed[0].answer->python, "");
  EXPECT_THAT(Join(said_.err[0], "\n"), HasSubstr("podctl-pod-probe clock "));
}

TEST_F(PodProbeTest, WithoutTheCommonStartNothingIsDone) {
  Have(1);
  const auto said =
      workers_[0]->Run(PodProbeCommand(), NeighboursInput(probe_, 0) + "something else\n");
  EXPECT_EQ(said.result.exit_code, kNotStarted);
  EXPECT_THAT(said.out, IsEmpty());
}

// As when it is killed there: nothing more comes of it.
TEST_F(PodProbeTest, OneThatDiesIsNamedAndNoOther) {
  Have(4);
  workers_[2]->Program("python3", "exit 137\n");
  RunNeighbours();
  const PodFindings found = Found();
  EXPECT_THAT(SummariesOf(found, 2), ElementsAre("it did not join: exit code 137"));
  for (int worker : {0, 1, 3}) EXPECT_THAT(SummariesOf(found, worker), IsEmpty());
  EXPECT_EQ(found.joined, 3U);
}

// As with a firewall in front of it: it listens, where nobody finds it, and reaches the others.
TEST_F(PodProbeTest, OneWhosePortIsBlockedIsNamed) {
  Have(4);
  PodProbe elsewhere = probe_;
  elsewhere.members[1].address = block_ + "200";
  RunAll(
      [&](std::size_t place) { return NeighboursInput(place == 1 ? elsewhere : probe_, place); });
  const PodFindings found = Found();
  EXPECT_THAT(SummariesOf(found, 1),
              ElementsAre("it did not join: its neighbours cannot connect to it"));
  EXPECT_EQ(found.workers.at(1)[0].detail, "refused");
  for (int worker : {0, 2, 3}) EXPECT_THAT(SummariesOf(found, worker), IsEmpty());
}

TEST_F(PodProbeTest, AStrangerIsNotLetIn) {
  Have(3);
  PodProbe stranger = probe_;
  stranger.secret = "another one";
  RunAll([&](std::size_t place) { return NeighboursInput(place == 2 ? stranger : probe_, place); });
  const PodFindings found = Found();
  EXPECT_THAT(SummariesOf(found, 2),
              ElementsAre("it did not join: it and its neighbours do not reach each other"));
  EXPECT_THAT(found.workers.at(2)[0].detail, HasSubstr("has another secret"));
  EXPECT_THAT(Probed()[0].answer->came, ElementsAre(1U));
}

TEST_F(PodProbeTest, WhereTheNetworkLetsNobodyThroughThePodIsBlamed) {
  Have(3);
  RunAll([&](std::size_t place) {
    PodProbe alone = probe_;
    alone.members[place].address = block_ + std::to_string(100 + place);
    return NeighboursInput(alone, place);
  });
  const PodFindings found = Found();
  ASSERT_THAT(found.pod, SizeIs(1));
  EXPECT_EQ(found.pod[0].code, "no-neighbours");
  EXPECT_THAT(found.workers, IsEmpty());
  EXPECT_EQ(found.joined, 0U);
}

// Its Python tells another time, as one does whose machine's clock is wrong.
TEST_F(PodProbeTest, AClockThatIsBehindShowsHereAndAtTheNeighbours) {
  Have(2);
  workers_[1]->Program("python3",
                       "PATH=${PATH#*:}\n"
                       "exec python3 -I -c \"import time; real = time.time\n"
                       "time.time = lambda: real() - 100\n"
                       "$3\"\n");
  RunNeighbours();
  std::vector<std::int64_t> clocks;
  for (std::size_t place = 0; place < 2; ++place) {
    for (const std::string& line : said_.err[place]) {
      if (const auto told = ReadProbeClock(line)) clocks.push_back(*told);
    }
  }
  ASSERT_THAT(clocks, SizeIs(2)) << Join(said_.err[1], "\n");
  EXPECT_NEAR(static_cast<double>(clocks[0] - clocks[1]), 100e3, 50e3);
  const auto probed = Probed();
  ASSERT_TRUE(probed[0].answer);
  ASSERT_THAT(probed[0].answer->peers, SizeIs(1));
  EXPECT_NEAR(static_cast<double>(probed[0].answer->peers[0].offset_ms), -100e3, 20e3);
}

TEST_F(PodProbeTest, PackagesAreThoseOfThePythonThatIsNamed) {
  Have(1);
  const std::string site = workers_[0]->root() + "/site";
  for (const char* name : {"jax-0.4.30.dist-info", "libtpu_nightly-0.1.dev20240101.dist-info",
                           "requests-2.31.0.dist-info"}) {
    std::filesystem::create_directories(site + "/" + name);
  }
  workers_[0]->Program("trainer-python", "export PYTHONPATH=" + site + "\nexec python3 \"$@\"\n");
  probe_.python = "trainer-python";
  RunNeighbours();
  const auto probed = Probed();
  ASSERT_TRUE(probed[0].answer);
  EXPECT_EQ(probed[0].answer->packages.at("jax"), "0.4.30");
  EXPECT_EQ(probed[0].answer->packages.at("libtpu_nightly"), "0.1.dev20240101");
  EXPECT_FALSE(probed[0].answer->packages.contains("requests"));
}

TEST_F(PodProbeTest, APythonThatIsNotThereIsSaid) {
  Have(1);
  probe_.python = "~/venv/bin/python";
  RunNeighbours();
  const PodFindings found = Found();
  ASSERT_THAT(found.notes, SizeIs(1));
  EXPECT_THAT(found.notes[0], HasSubstr("the packages of worker 0 are not known: No such file"));
}

TEST_F(PodProbeTest, AWayOutThatIsShutIsToldWithItsCause) {
  Have(1);
  // A port of the worker's own, on which nothing listens.
  probe_.egress = {{block_ + "77", 9}};
  RunNeighbours();
  const PodFindings found = Found();
  ASSERT_THAT(SummariesOf(found, 0), SizeIs(1));
  EXPECT_EQ(found.workers.at(0)[0].code, "no-egress");
  EXPECT_THAT(found.workers.at(0)[0].detail, HasSubstr(":9 refused"));
}

// A Python that has JAX, as far as podctl sees it. "$3" to "$6" are what it is told.
constexpr const char* kStages =
    "echo stage import; echo stage join; echo stage devices; echo stage sum\n";

TEST_F(PodProbeTest, ACollectiveIsEndedOnceItIsDone) {
  Have(1);
  workers_[0]->Program("jax-python", std::string("echo $$ >~/computes\n") + kStages +
                                         "echo stage done 1 4 4 tpu 4\nexec sleep 1000\n");
  probe_.python = "jax-python";
  RunAll([&](std::size_t place) { return CollectiveInput(probe_, place); });
  const auto answer = ParseCollective(said_.out[0]);
  ASSERT_TRUE(answer) << Join(said_.out[0], "\n");
  EXPECT_EQ(answer->stage, CollectiveAnswer::Stage::kDone);
  EXPECT_EQ(answer->left, 0);
  const int computes = std::stoi(ReadAll(workers_[0]->home() + "/computes"));
  EXPECT_NE(kill(computes, 0), 0) << "it takes its leave, or is asked to";
}

TEST_F(PodProbeTest, OneThatFailsInACollectiveIsNamed) {
  Have(3);
  const std::string hangs = std::string(kStages) + "exec sleep 1000\n";
  for (const auto& worker : workers_) worker->Program("jax-python", hangs);
  workers_[1]->Program("jax-python", "echo stage import; echo no libtpu >&2; exit 1\n");
  probe_.python = "jax-python";
  RunAll([&](std::size_t place) { return CollectiveInput(probe_, place); });
  std::vector<CollectiveWorker> workers;
  for (std::size_t place = 0; place < 3; ++place) {
    CollectiveWorker worker;
    worker.worker = static_cast<int>(place);
    worker.answer = *ParseCollective(said_.out[place]);
    workers.push_back(std::move(worker));
  }
  const PodFindings found = JudgeCollective(probe_, workers);
  EXPECT_THAT(SummariesOf(found, 1),
              ElementsAre("it did not join the collective: JAX was not imported; 2 other workers "
                          "waited for it"));
  EXPECT_EQ(found.workers.at(1)[0].detail, "exit code 1: no libtpu");
  EXPECT_THAT(SummariesOf(found, 0), IsEmpty());
}

TEST_F(PodProbeTest, ACtrlCEndsWhatComputes) {
  Have(1);
  workers_[0]->Program("jax-python",
                       "echo $$ >~/computes\ntrap '' HUP\necho stage import\nexec sleep 1000\n");
  probe_.python = "jax-python";
  probe_.watched = true;
  probe_.collective = std::chrono::seconds(600);
  RunAll([&](std::size_t place) { return CollectiveInput(probe_, place); }, "stage import");
  EXPECT_EQ(results_[0].outcome, ssh::Outcome::kCancelled);
  const int computes = std::stoi(ReadAll(workers_[0]->home() + "/computes"));
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (kill(computes, 0) == 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_NE(kill(computes, 0), 0);
}

// podctl is gone: nobody ends the command, but its input has an end.
TEST_F(PodProbeTest, ItEndsByItselfWhenNobodyWaitsForIt) {
  Have(1);
  workers_[0]->Program("jax-python", "echo $$ >~/computes\nexec sleep 1000\n");
  probe_.python = "jax-python";
  probe_.watched = true;
  probe_.collective = std::chrono::seconds(600);
  const auto said =
      workers_[0]->Run(PodProbeCommand(), CollectiveInput(probe_, 0) + std::string(kGoLine));
  EXPECT_EQ(said.result.outcome, ssh::Outcome::kExited);
  EXPECT_EQ(said.result.exit_code, 1);
  const std::string computes = ReadAll(workers_[0]->home() + "/computes");
  if (!computes.empty()) {
    EXPECT_NE(kill(std::stoi(computes), 0), 0);
  }
}

}  // namespace
}  // namespace podctl::workers
