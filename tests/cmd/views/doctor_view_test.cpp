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
