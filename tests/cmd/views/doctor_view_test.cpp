#include "cmd/views/doctor_view.h"

#include <gtest/gtest.h>

#include "providers/base/json.h"
#include "tests/support/golden.h"

namespace podctl {
namespace {

using testing::ExpectGolden;

DoctorReport Pod(int workers) {
  DoctorReport report;
  report.pod = "research";
  report.state = "READY";
  report.health = "HEALTHY";
  for (int i = 0; i < workers; ++i) {
    workers::ProbeReport probe;
    probe.user = "alice";
    probe.runtime = workers::ProbeReport::Runtime::kUnit;
    probe.runtime_state = "active";
    probe.devices = 4;
    report.workers.push_back({i, "203.0.113." + std::to_string(i + 1), {}, probe});
  }
  return report;
}

workers::Finding Held(int pid) {
  return {"tpu-held", "the TPU is held by `python3 train.py`",
          "pid " + std::to_string(pid) + " of alice, /dev/accel0, for 2h5m",
          "podctl drain {pod} --worker {workers}"};
}

TEST(DoctorView, OneLineSaysThatAllIsWell) {
  const DoctorReport report = Pod(256);
  EXPECT_TRUE(report.Healthy());
  ExpectGolden("cmd/doctor/healthy.txt", DoctorText(report, false));
  ExpectGolden("cmd/doctor/healthy_one.txt", DoctorText(Pod(1), false));
}

TEST(DoctorView, ABadWorkerAmongManyIsNamed) {
  DoctorReport report = Pod(256);
  report.workers[77].findings = {Held(4711)};
  for (int i = 0; i < 256; ++i) {
    if (i != 77) report.at_work.Add("train", i);
  }
  EXPECT_FALSE(report.Healthy());
  ExpectGolden("cmd/doctor/one_of_256.txt", DoctorText(report, false));
}

TEST(DoctorView, TheSameTroubleIsToldOnceWithAllItsWorkers) {
  DoctorReport report = Pod(16);
  for (int i = 2; i < 14; ++i) {
    report.workers[static_cast<std::size_t>(i)].findings = {Held(4700 + i)};
  }
  report.workers[15].findings = {
      {"no-ssh", "it does not answer SSH: connection refused", "", "Ask {pod}/{workers}."},
      {"disk-full", "the disk of / is full", "100 % used, 0 MiB left", "du"}};
  report.workers[15].probe.reset();
  ExpectGolden("cmd/doctor/groups.txt", DoctorText(report, false));
  ExpectGolden("cmd/doctor/groups_color.txt", DoctorText(report, true));
  report.workers.erase(report.workers.begin(), report.workers.begin() + 13);
  ExpectGolden("cmd/doctor/groups.json",
               ToJson(DoctorDocument(report), JsonStyle::kIndented) + "\n");
}

TEST(DoctorView, TellsWhatAProbeOfThePodFound) {
  DoctorReport report = Pod(3);
  ProbeReportOfPod& probe = report.probe.emplace();
  probe.neighbours = true;
  probe.joined = 2;
  probe.slowest = 8'900'000;
  probe.median = 9'500'000;
  probe.no_collective = "not all workers reach their neighbours";
  probe.failures = {{1, 3}};
  for (int i = 0; i < 3; ++i) {
    workers::ProbedWorker worker;
    worker.worker = i;
    worker.clock =
        workers::ClockOffset{std::chrono::milliseconds(12), std::chrono::milliseconds(8)};
    if (i == 1) {
      worker.silence = "the connection broke";
    } else {
      worker.answer.emplace();
      worker.answer->kernel = "6.5.0";
      worker.answer->python = "3.10.12";
      worker.answer->packages = {{"jax", "0.4.30"}};
      worker.answer->egress = {{{"pypi.org", 443}, false, "timed out"}};
      worker.answer->peers = {{1, "refused"}};
    }
    probe.workers.push_back(std::move(worker));
  }
  report.workers[1].findings = {{"not-joined", "it did not join: the connection broke", "",
                                 "podctl ssh {pod} --worker {workers}"},
                                {"fails-again", "its probe has failed 3 times in a row", "",
                                 "podctl apply --replace pod.{pod}"}};
  const std::string text = DoctorText(report, false);
  for (const char* line :
       {"\n  probe: 2 of 3 workers joined their neighbours; 9.5 Gbit/s between them, 8.9 Gbit/s at "
        "least\n",
        "\n  probe: no collective was run: not all workers reach their neighbours\n",
        "\n  research/1: it did not join: the connection broke\n",
        "\n      → podctl apply --replace pod.research\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << text;
  }
  const Value document = DoctorDocument(report)["probe"];
  EXPECT_EQ(document["joined"], Value(2));
  EXPECT_EQ(document["collective"]["run"], Value(false));
  const auto& workers = document["workers"].AsList();
  ASSERT_EQ(workers.size(), 3U);
  EXPECT_EQ(workers[1]["answered"], Value(false));
  EXPECT_EQ(workers[1]["silence"], Value("the connection broke"));
  EXPECT_EQ(workers[1]["failures_in_a_row"], Value(3));
  EXPECT_EQ(workers[0]["clock_offset_ms"], Value(12));
  EXPECT_EQ(workers[0]["facts"]["packages"]["jax"], Value("0.4.30"));
  EXPECT_EQ(workers[0]["facts"]["egress"].AsList().at(0)["reached"], Value(false));
  EXPECT_EQ(workers[0]["neighbours"].AsList().at(0)["why"], Value("refused"));
}

TEST(DoctorView, AWordOfTheWorkersIsQuotedInWhatIsToBeDone) {
  DoctorReport report = Pod(2);
  workers::Finding full{"disk-full", "the disk is full", "",
                        "podctl exec {pod} --worker {workers} -- du -xhd1",
                        "/{workers}'; touch /tmp/pwn {pod}"};
  report.workers[1].findings = {full};
  const std::string wanted =
      R"(podctl exec research --worker 1 -- du -xhd1 '/{workers}'\''; touch /tmp/pwn {pod}')";
  EXPECT_NE(DoctorText(report, false).find(wanted), std::string::npos) << DoctorText(report, false);
  EXPECT_EQ(
      DoctorDocument(report)["workers"].AsList()[1]["findings"].AsList()[0]["to_do"].AsString(),
      wanted);
}

TEST(DoctorView, ANodeThatIsNotReadyIsToldFirst) {
  DoctorReport report = Pod(0);
  report.state = "PREEMPTED";
  report.health.clear();
  report.findings = {{"node-state", "it is PREEMPTED", "The node was preempted.",
                      "podctl apply  (makes it anew)"}};
  ExpectGolden("cmd/doctor/preempted.txt", DoctorText(report, false));
}

}  // namespace
}  // namespace podctl
