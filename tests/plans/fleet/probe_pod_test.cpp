// A probe of a whole pod, on workers that answer from a script.
#include "plans/fleet/probe_pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "providers/workers/jobs.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_workers.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using testing::FakeClock;
using testing::FakeRandom;
using testing::FakeWorkers;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::NotedRounds;
using ::testing::SizeIs;
using testing::SomeWorkers;

constexpr const char* kProbedClock = "podctl-pod-probe clock 1795185000000";
constexpr const char* kLateClock = "podctl-pod-probe clock 1795185060000";

class ProbePodTest : public ::testing::Test {
 protected:
  using Lines = std::vector<std::string>;

  static Lines LookAnswer() {
    return {"podctl-probe 1",   "user alice",         "home ok",
            "clock 1795185000", "disk 40 30000000 /", "runtime unit active",
            "chips 4",          "devices 4",          "end"};
  }
  // The last one may be silent.
  std::size_t Members() const {
    return static_cast<std::size_t>(silent_ < 0 ? count_ : count_ - 1);
  }
  // All of its neighbours are reached.
  Lines NeighboursAnswer(int worker) const {
    Lines lines = {"podctl-pod-probe 1", "kernel 6.5.0", "accel 4", "python 3.10.12"};
    if (jax_) lines.push_back("package jax 0.4.30");
    for (const std::size_t peer : workers::CallsOf(static_cast<std::size_t>(worker), Members())) {
      const bool reached = worker != apart_ && static_cast<int>(peer) != apart_;
      lines.push_back("peer " + std::to_string(peer) +
                      (reached ? " ok 30000 0 200 9000000" : " failed timed out"));
    }
    lines.push_back("end");
    return lines;
  }
  Lines SumAnswer() const {
    const std::string count = std::to_string(count_);
    const std::string devices = std::to_string(4 * count_);
    return {"podctl-pod-probe 1",
            "stage import 1",
            "stage join 2",
            "stage devices 3",
            "stage sum 4",
            "stage done 5 " + count + " " + devices + " 4 tpu " + devices,
            "end"};
  }
  FakeWorkers::Answer Answer(const ssh::Job& job) {
    const int worker = job.worker.index;
    if (job.command == workers::ListCommand("")) return {jobs_};
    if (job.command != workers::PodProbeCommand()) {
      if (worker == silent_) {
        return {{}, {}, FakeWorkers::Trouble(ssh::Outcome::kUnreachable, "connection refused")};
      }
      return {look_};
    }
    inputs_.push_back(*job.input);
    if (worker == dies_) return {{}, {kProbedClock}, FakeWorkers::Exit(137)};
    if (inputs_.back().find("\"mode\":\"collective\"") != std::string::npos) {
      ++collectives_;
      return {SumAnswer()};
    }
    return {NeighboursAnswer(worker), {worker == late_ ? kLateClock : kProbedClock}};
  }
  DoctorReport Probe() {
    FakeWorkers workers([&](const ssh::Job& job) { return Answer(job); });
    workers.most_at_once = most_;
    NotedRounds noted;
    WorkerRounds rounds(workers, noted, {}, {});
    FakeClock clock;
    FakeRandom random;
    DoctorReport report;
    report.pod = "research";
    Value node = Value::Map{{"state", "READY"},
                            {"name", "projects/p/locations/us-central2-b/nodes/research"}};
    const auto chosen = SomeWorkers(count_);
    LookAtWorkers(rounds, clock, node, chosen, &report);
    ProbePod(rounds, clock, random, node, chosen, request_, &report);
    return report;
  }

  static Lines CodesOf(const std::vector<workers::Finding>& findings) {
    Lines codes;
    for (const workers::Finding& finding : findings) codes.push_back(finding.code);
    return codes;
  }

  int count_ = 4;
  int silent_ = -1;  // it answers nothing
  int apart_ = -1;   // its neighbours do not reach it
  int dies_ = -1;
  int late_ = -1;  // a minute ahead
  bool jax_ = true;
  std::size_t most_ = 1024;
  Lines look_ = LookAnswer();
  Lines jobs_ = {"podctl-jobs 1", "end"};
  PodProbeRequest request_;
  Lines inputs_;
  int collectives_ = 0;
};

TEST_F(ProbePodTest, AllWell) {
  const DoctorReport report = Probe();
  EXPECT_TRUE(report.Healthy());
  ASSERT_TRUE(report.probe);
  EXPECT_EQ(report.probe->joined, 4U);
  EXPECT_EQ(report.probe->no_collective, "");
  EXPECT_EQ(collectives_, 4);
  EXPECT_THAT(report.probe->notes, ElementsAre(HasSubstr("added up over 16 devices of tpu")));
  ASSERT_TRUE(report.probe->workers[2].clock);
  EXPECT_EQ(report.probe->workers[2].clock->offset.count(), 0);
}

// The others tell which one it is; then nobody hangs in a collective with it.
TEST_F(ProbePodTest, WhoDoesNotJoinIsNamed) {
  apart_ = 2;
  const DoctorReport report = Probe();
  EXPECT_THAT(CodesOf(report.workers[2].findings), ElementsAre("not-joined"));
  EXPECT_EQ(report.HealthyWorkers(), 3U);
  EXPECT_EQ(report.probe->joined, 3U);
  EXPECT_EQ(report.probe->no_collective, "not all workers reach their neighbours");
  EXPECT_EQ(collectives_, 0);
}

TEST_F(ProbePodTest, OneThatDiesIsNamed) {
  dies_ = 1;
  const DoctorReport report = Probe();
  ASSERT_THAT(CodesOf(report.workers[1].findings), ElementsAre("not-joined"));
  EXPECT_THAT(report.workers[1].findings[0].summary, Not(HasSubstr("podctl-pod-probe")))
      << "its clock is no reason";
  EXPECT_EQ(report.HealthyWorkers(), 3U);
}

TEST_F(ProbePodTest, ASilentOneTakesNoPart) {
  silent_ = 3;
  const DoctorReport report = Probe();
  EXPECT_THAT(CodesOf(report.workers[3].findings), ElementsAre("no-ssh"));
  EXPECT_THAT(report.probe->workers, SizeIs(3));
  EXPECT_EQ(report.probe->no_collective, "not all workers answer");
}

TEST_F(ProbePodTest, AClockThatIsAheadIsTold) {
  late_ = 1;
  count_ = 3;
  const DoctorReport report = Probe();
  EXPECT_THAT(CodesOf(report.workers[1].findings), ElementsAre("clock-differs"));
  EXPECT_THAT(report.workers[1].findings[0].detail, HasSubstr("1m ahead"));
}

// What runs is never disturbed.
TEST_F(ProbePodTest, BesideAJobNothingIsComputed) {
  jobs_ = {"podctl-jobs 1", "job train run-1 running 0 1795184000 0 0 python3 t.py", "end"};
  EXPECT_EQ(Probe().probe->no_collective, "job train runs, which is not disturbed");
  jax_ = false;
  EXPECT_EQ(Probe().probe->no_collective, "job train runs, which is not disturbed")
      << "with JAX it would be the same";
  EXPECT_EQ(collectives_, 0);
}

TEST_F(ProbePodTest, NorWhereTheTpuIsHeld) {
  look_.insert(look_.end() - 1, "holder 4711 100 bob 7500 - /dev/accel0 python3 train.py");
  EXPECT_THAT(Probe().probe->no_collective, HasSubstr("research/[0-3] is in use"));
  EXPECT_EQ(collectives_, 0);
}

TEST_F(ProbePodTest, NorWithoutJax) {
  jax_ = false;
  EXPECT_EQ(Probe().probe->no_collective,
            "python3 has no JAX on research/[0-3] (`--python` names another one)");
  EXPECT_EQ(collectives_, 0);
}

TEST_F(ProbePodTest, NorOnAPartOfThePod) {
  request_.whole = false;
  EXPECT_EQ(Probe().probe->no_collective, "not all workers of the pod were chosen");
}

TEST_F(ProbePodTest, WhereNotAllCanBeAskedAtOnceTheyAreNotCalled) {
  most_ = 2;
  const DoctorReport report = Probe();
  EXPECT_FALSE(report.probe->neighbours);
  ASSERT_THAT(report.probe->notes, SizeIs(1));
  EXPECT_THAT(report.probe->notes[0], HasSubstr("the neighbours were not called: Only 2 of 4"));
  EXPECT_THAT(inputs_[0], HasSubstr("\"calls\":[]"));
  EXPECT_EQ(report.probe->no_collective, "not all workers can be asked at once");
}

// It goes by standard input alone, another one each time, and the ports with it.
TEST_F(ProbePodTest, TheSecretIsInNoCommand) {
  FakeRandom random;
  random.Uuid();
  const std::string secret = random.Uuid();
  Probe();
  ASSERT_FALSE(inputs_.empty());
  EXPECT_THAT(inputs_[0], HasSubstr(secret));
  EXPECT_THAT(workers::PodProbeCommand(), Not(HasSubstr(secret)));
  EXPECT_THAT(inputs_.back(), Not(HasSubstr(secret))) << "a collective has no use for it";
}

}  // namespace
}  // namespace podctl
