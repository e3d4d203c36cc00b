// What is made of the answers to a probe of a pod.
#include "providers/workers/pod_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace podctl::workers {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using Reaches = std::function<bool(std::size_t from, std::size_t to)>;

PodProbe ProbeOf(std::size_t count) {
  PodProbe probe;
  for (std::size_t i = 0; i < count; ++i) probe.members.push_back({static_cast<int>(i), "", {}});
  return probe;
}

// Healthy workers, of which who reaches whom is told.
std::vector<ProbedWorker> Reaching(std::size_t count, const Reaches& reaches) {
  std::vector<ProbedWorker> workers;
  for (std::size_t place = 0; place < count; ++place) {
    PodProbeAnswer answer;
    answer.kernel = "6.5.0";
    answer.python = "3.10.12";
    answer.packages = {{"libtpu", "0.1.3"}, {"jax", "0.4.30"}};
    answer.drivers = {{"gasket", "1.1"}};
    for (const std::size_t called : CallsOf(place, count)) {
      PodProbeAnswer::Peer peer;
      peer.place = called;
      if (!reaches(place, called)) peer.why = "timed out";
      peer.kbits = answer.peers.empty() && peer.why.empty() ? 9'000'000 : 0;
      answer.peers.push_back(peer);
    }
    ProbedWorker worker;
    worker.worker = static_cast<int>(place);
    worker.answer = std::move(answer);
    worker.report.emplace();
    worker.report->devices = 4;
    worker.clock = ClockOffset{milliseconds(40), milliseconds(60)};
    workers.push_back(std::move(worker));
  }
  return workers;
}
std::vector<ProbedWorker> WellJoined(std::size_t count) {
  return Reaching(count, [](std::size_t, std::size_t) { return true; });
}

std::vector<std::string> CodesAt(const PodFindings& found, int worker) {
  std::vector<std::string> codes;
  const auto of = found.workers.find(worker);
  if (of == found.workers.end()) return codes;
  for (const Finding& finding : of->second) codes.push_back(finding.code);
  return codes;
}
std::set<int> Blamed(const PodFindings& found) {
  std::set<int> workers;
  for (const auto& [worker, findings] : found.workers) {
    if (!findings.empty()) workers.insert(worker);
  }
  return workers;
}
PodFindings JudgeWorkers(const std::vector<ProbedWorker>& workers) {
  return JudgePodProbe(ProbeOf(workers.size()), workers,
                       {"my-project", "us-central2", "vpc", "subnet"});
}

TEST(PodVerdict, OfAHealthyPodNothingIsSaid) {
  for (const std::size_t count : {1U, 2U, 3U, 4U, 64U, 256U}) {
    const PodFindings found = JudgeWorkers(WellJoined(count));
    EXPECT_THAT(found.pod, IsEmpty()) << count;
    EXPECT_THAT(Blamed(found), IsEmpty()) << count;
    EXPECT_THAT(found.notes, IsEmpty()) << count;
    EXPECT_EQ(found.joined, count);
  }
}

// Whichever it is, and however large the pod: the one is named, and nobody else.
TEST(PodVerdict, TheOneThatNobodyReachesIsNamed) {
  for (const std::size_t count : {3U, 4U, 5U, 16U, 256U}) {
    for (const std::size_t bad : {std::size_t{0}, count / 2, count - 1}) {
      const PodFindings found =
          JudgeWorkers(Reaching(count, [&](std::size_t, std::size_t to) { return to != bad; }));
      EXPECT_THAT(Blamed(found), ElementsAre(static_cast<int>(bad))) << count;
      EXPECT_EQ(found.workers.at(static_cast<int>(bad))[0].summary,
                "it did not join: its neighbours cannot connect to it");
      EXPECT_EQ(found.workers.at(static_cast<int>(bad))[0].detail, "timed out");
      EXPECT_EQ(found.joined, count - 1);
    }
  }
}

TEST(PodVerdict, SoIsTheOneThatReachesNobody) {
  for (const std::size_t count : {3U, 4U, 16U, 256U}) {
    const PodFindings found =
        JudgeWorkers(Reaching(count, [](std::size_t from, std::size_t) { return from != 1; }));
    EXPECT_THAT(Blamed(found), ElementsAre(1)) << count;
    EXPECT_EQ(found.workers.at(1)[0].summary,
              "it did not join: it cannot connect to its neighbours");
  }
}

TEST(PodVerdict, SoAreSeveral) {
  const std::set<std::size_t> bad = {3, 40, 41, 255};
  const PodFindings found = JudgeWorkers(Reaching(256, [&](std::size_t from, std::size_t to) {
    return !bad.contains(from) && !bad.contains(to);
  }));
  EXPECT_THAT(Blamed(found), ElementsAre(3, 40, 41, 255));
}

TEST(PodVerdict, OfOnePairBothAreWell) {
  const PodFindings found = JudgeWorkers(
      Reaching(16, [](std::size_t from, std::size_t to) { return from != 2 || to != 6; }));
  EXPECT_THAT(CodesAt(found, 2), ElementsAre("neighbour-unreached"));
  EXPECT_EQ(found.workers.at(2)[0].summary, "it cannot connect to worker 6");
  EXPECT_THAT(Blamed(found), ElementsAre(2));
  EXPECT_EQ(found.joined, 16U);
}

TEST(PodVerdict, WhereNobodyReachesAnyoneItIsTheNetwork) {
  for (const std::size_t count : {2U, 4U, 64U}) {
    const PodFindings found =
        JudgeWorkers(Reaching(count, [](std::size_t, std::size_t) { return false; }));
    ASSERT_THAT(found.pod, SizeIs(1));
    EXPECT_THAT(found.pod[0].to_do,
                AllOf(HasSubstr("gcloud compute firewall-rules create podctl-internal"),
                      HasSubstr("--project=my-project"), HasSubstr("--network=vpc")));
    EXPECT_THAT(Blamed(found), IsEmpty());
    EXPECT_EQ(found.joined, 0U);
  }
}

TEST(PodVerdict, ASilentOneIsNamedAndNotItsNeighbours) {
  auto workers = Reaching(8, [](std::size_t from, std::size_t to) { return from != 5 && to != 5; });
  workers[5].answer.reset();
  workers[5].silence = "the connection broke";
  const PodFindings found = JudgeWorkers(workers);
  EXPECT_THAT(Blamed(found), ElementsAre(5));
  EXPECT_EQ(found.workers.at(5)[0].summary, "it did not join: the connection broke");
  EXPECT_EQ(found.joined, 7U);
  workers[5].known = true;
  EXPECT_THAT(Blamed(JudgeWorkers(workers)), IsEmpty());
}

// A worker may say anything of its neighbours.
TEST(PodVerdict, OddPlacesAreNoEdges) {
  auto workers = WellJoined(4);
  workers[0].answer->peers.push_back({99, "refused"});
  workers[0].answer->peers.push_back({0, "refused"});
  workers[0].answer->peers.push_back({1, "refused"});  // told once already
  EXPECT_THAT(Blamed(JudgeWorkers(workers)), IsEmpty());
}

TEST(PodVerdict, WhatOneHasOtherwiseIsToldByMajority) {
  auto workers = WellJoined(16);
  workers[3].answer->packages["libtpu"] = "0.1.2";
  workers[4].answer->packages.erase("jax");
  workers[5].answer->python = "3.11.2";
  workers[6].answer->drivers["gasket"] = "1.0";
  const PodFindings found = JudgeWorkers(workers);
  EXPECT_THAT(Blamed(found), ElementsAre(3, 4, 5, 6));
  EXPECT_EQ(found.workers.at(3)[0].summary, "it has libtpu 0.1.2, the other 15 have 0.1.3");
  EXPECT_EQ(found.workers.at(3)[0].to_do,
            "podctl exec {pod} --worker {workers} -- python3 -m pip install");
  EXPECT_EQ(found.workers.at(3)[0].argument, "libtpu==0.1.3");
  EXPECT_EQ(found.workers.at(4)[0].summary, "it has no jax, the other 15 have 0.4.30");
  EXPECT_EQ(found.workers.at(5)[0].summary, "it has Python 3.11.2, the other 15 have 3.10.12");
  EXPECT_EQ(found.workers.at(6)[0].summary, "it has driver gasket 1.0, the other 15 have 1.1");
  workers[7].answer->packages["libtpu"] = "0.1.1";
  EXPECT_EQ(JudgeWorkers(workers).workers.at(3)[0].summary,
            "it has libtpu 0.1.2, 14 of 16 have 0.1.3");
}

TEST(PodVerdict, OfTwoThatDifferTheSecondIsTheOther) {
  auto workers = WellJoined(2);
  workers[1].answer->packages["libtpu"] = "0.1.2";
  const PodFindings found = JudgeWorkers(workers);
  EXPECT_THAT(Blamed(found), ElementsAre(1));
  EXPECT_EQ(found.workers.at(1)[0].summary, "it has libtpu 0.1.2, the other one has 0.1.3");
}

TEST(PodVerdict, DevicesThatAreMissingWantAReboot) {
  auto workers = WellJoined(4);
  workers[2].report->devices = 3;
  const PodFindings found = JudgeWorkers(workers);
  EXPECT_THAT(CodesAt(found, 2), ElementsAre("devices-differ"));
  EXPECT_EQ(found.workers.at(2)[0].to_do, "podctl exec {pod} --worker {workers} -- sudo reboot");
}

TEST(PodVerdict, AnEmptyVfioFolderWantsARebootOnAMachineOfGoogles) {
  auto workers = WellJoined(1);
  workers[0].answer->vfio = 0;
  EXPECT_THAT(Blamed(JudgeWorkers(workers)), IsEmpty()) << "another machine has one, too";
  workers[0].answer->google = true;
  const PodFindings found = JudgeWorkers(workers);
  EXPECT_THAT(CodesAt(found, 0), ElementsAre("vfio-empty"));
  EXPECT_THAT(found.workers.at(0)[0].to_do, HasSubstr("sudo reboot"));
  workers[0].answer->vfio = 4;
  EXPECT_THAT(Blamed(JudgeWorkers(workers)), IsEmpty());
  workers[0].answer->vfio = 0;
  workers[0].answer->accel = 4;
  EXPECT_THAT(Blamed(JudgeWorkers(workers)), IsEmpty()) << "its chips are reached otherwise";
}

TEST(PodVerdict, ADiskIsNearlyFullBeforeItIsFull) {
  const auto codes = [](int percent, std::uint64_t mib) {
    auto workers = WellJoined(1);
    workers[0].report->disks = {{"/home", percent, mib * 1024}};
    return CodesAt(JudgeWorkers(workers), 0);
  };
  EXPECT_THAT(codes(80, 20'000), IsEmpty());
  EXPECT_THAT(codes(96, 20'000), IsEmpty()) << "five per cent of much are enough";
  EXPECT_THAT(codes(96, 9'000), ElementsAre("disk-low"));
  EXPECT_THAT(codes(50, 1'900), ElementsAre("disk-low"));
  EXPECT_THAT(codes(99, 1'900), IsEmpty()) << "that it is full is told already";
}

TEST(PodVerdict, AClockIsComparedWithMostOfThePod) {
  auto workers = WellJoined(5);
  workers[3].clock->offset = milliseconds(-12'000);
  const PodFindings found = JudgeWorkers(workers);
  EXPECT_THAT(Blamed(found), ElementsAre(3));
  EXPECT_EQ(found.workers.at(3)[0].code, "clock-differs");
  EXPECT_THAT(found.workers.at(3)[0].detail, HasSubstr("12s behind (± 0.1s)"));
  workers[3].clock = ClockOffset{milliseconds(-12'000), milliseconds(11'000)};
  EXPECT_THAT(Blamed(JudgeWorkers(workers)), IsEmpty()) << "the way there took that long";
}

TEST(PodVerdict, WhereAllDifferItMayBeThisMachine) {
  auto workers = WellJoined(4);
  for (ProbedWorker& worker : workers) worker.clock->offset = milliseconds(9'000);
  const PodFindings found = JudgeWorkers(workers);
  EXPECT_THAT(Blamed(found), IsEmpty());
  ASSERT_THAT(found.notes, SizeIs(1));
  EXPECT_EQ(found.notes[0], "the workers' clocks are 9s ahead of this machine's");
}

PodProbeAnswer::Egress NotReached(const std::string& host) {
  PodProbeAnswer::Egress egress;
  egress.target = {host, 443};
  egress.why = "timed out";
  return egress;
}

TEST(PodVerdict, WithoutAWayOutTheCommandsThatMakeOneAreNamed) {
  auto workers = WellJoined(1);
  workers[0].has_external = false;
  workers[0].answer->egress = {NotReached("storage.googleapis.com"), NotReached("pypi.org")};
  const PodFindings both = JudgeWorkers(workers);
  ASSERT_THAT(CodesAt(both, 0), ElementsAre("no-egress"));
  EXPECT_THAT(both.workers.at(0)[0].summary, HasSubstr("no external address, and no NAT"));
  EXPECT_THAT(
      both.workers.at(0)[0].to_do,
      AllOf(HasSubstr("gcloud compute routers create podctl-nat --project=my-project "
                      "--region=us-central2 --network=vpc"),
            HasSubstr("gcloud compute routers nats create"), HasSubstr("subnets update subnet"),
            HasSubstr("--enable-private-ip-google-access"), HasSubstr("enableExternalIps: true")));
  workers[0].answer->egress = {NotReached("pypi.org")};
  EXPECT_THAT(JudgeWorkers(workers).workers.at(0)[0].to_do,
              Not(HasSubstr("private-ip-google-access")));
  workers[0].has_external = true;
  EXPECT_THAT(JudgeWorkers(workers).workers.at(0)[0].to_do, HasSubstr("direction=EGRESS"));
  workers[0].answer->egress[0].proxied = true;
  workers[0].answer->egress[0].why.clear();
  EXPECT_THAT(Blamed(JudgeWorkers(workers)), IsEmpty());
}

// What a pod does without is no trouble; what needs it is told how to get it.
TEST(PodVerdict, AWayOutThatNobodyAskedForIsNoted) {
  auto workers = WellJoined(2);
  for (ProbedWorker& worker : workers) {
    worker.has_external = false;
    worker.answer->egress = {NotReached("pypi.org")};
  }
  PodProbe probe = ProbeOf(2);
  probe.egress_due = false;
  const PodFindings found = JudgePodProbe(probe, workers, {"p", "us-central2", "vpc", "subnet"});
  EXPECT_THAT(Blamed(found), IsEmpty());
  ASSERT_THAT(found.notes, SizeIs(1));
  EXPECT_THAT(
      found.notes[0],
      AllOf(HasSubstr("workers 0-1: it cannot connect to pypi.org:443: it has no external "
                      "address, and no NAT lets it out (pypi.org:443 timed out); what needs "
                      "that: gcloud compute routers create podctl-nat")));
}

// What a worker says is put into no command unquoted.
TEST(PodVerdict, ANetworksNameIsQuoted) {
  auto workers = WellJoined(1);
  workers[0].has_external = false;
  workers[0].answer->egress = {NotReached("pypi.org")};
  const PodFindings found = JudgePodProbe(ProbeOf(1), workers, {"p", "r", "a b; rm", ""});
  EXPECT_THAT(found.workers.at(0)[0].to_do, HasSubstr("--network='a b; rm'"));
}

TEST(PodVerdict, ASlowNeighbourIsOneOfThoseThatAreFast) {
  auto workers = WellJoined(8);
  workers[2].answer->peers[0].kbits = 300'000;
  const PodFindings found = JudgeWorkers(workers);
  EXPECT_THAT(CodesAt(found, 2), ElementsAre("slow-neighbour"));
  EXPECT_EQ(found.workers.at(2)[0].detail,
            "300.0 Mbit/s to worker 3; the median of the pod is 9.0 Gbit/s");
  EXPECT_EQ(found.slowest, 300'000);
  workers[2].answer->peers[0].kbits = 1'500'000;
  EXPECT_THAT(Blamed(JudgeWorkers(workers)), IsEmpty()) << "slower, and no trouble";
  for (ProbedWorker& worker : workers) worker.answer->peers[0].kbits = 100'000;
  EXPECT_THAT(Blamed(JudgeWorkers(workers)), IsEmpty()) << "a machine that all share";
}

// ---- The collective.

using Stage = CollectiveAnswer::Stage;

std::vector<CollectiveWorker> Summed(std::size_t count) {
  std::vector<CollectiveWorker> workers;
  for (std::size_t i = 0; i < count; ++i) {
    CollectiveAnswer answer;
    answer.stage = Stage::kDone;
    answer.after = milliseconds(2'000 + static_cast<int>(i));
    answer.processes = static_cast<int>(count);
    answer.devices = static_cast<int>(4 * count);
    answer.local = 4;
    answer.platform = "tpu";
    answer.sum = static_cast<std::int64_t>(4 * count);
    workers.push_back({static_cast<int>(i), answer, "", true});
  }
  return workers;
}
PodFindings Collective(const std::vector<CollectiveWorker>& workers) {
  return JudgeCollective(ProbeOf(workers.size()), workers);
}

TEST(CollectiveVerdict, ThatCameAboutIsANote) {
  const PodFindings found = Collective(Summed(4));
  EXPECT_THAT(Blamed(found), IsEmpty());
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("all 4 workers added up over 16 devices of tpu")));
}

TEST(CollectiveVerdict, WhoCameLeastFarIsNamed) {
  auto workers = Summed(4);
  for (CollectiveWorker& worker : workers) worker.answer->stage = Stage::kJoin;
  workers[2].answer->stage = Stage::kImport;
  const PodFindings found = Collective(workers);
  EXPECT_THAT(Blamed(found), ElementsAre(2));
  EXPECT_THAT(found.workers.at(2)[0].summary, HasSubstr("3 other workers waited for it"));
}

TEST(CollectiveVerdict, WhereAllCameEquallyFarWhoFailedFirstIsNamed) {
  auto workers = Summed(4);
  for (CollectiveWorker& worker : workers) {
    worker.answer->stage = Stage::kDevices;
    worker.answer->after = milliseconds(60'000);
    worker.answer->why = "exit code 1: barrier timed out";
  }
  workers[3].answer->after = milliseconds(900);
  workers[3].answer->why = "exit code 1: the TPU is in use";
  const PodFindings found = Collective(workers);
  EXPECT_THAT(Blamed(found), ElementsAre(3));
  EXPECT_EQ(found.workers.at(3)[0].detail, "exit code 1: the TPU is in use");
}

TEST(CollectiveVerdict, WhereAllHangNobodyIsBlamed) {
  auto workers = Summed(4);
  for (CollectiveWorker& worker : workers) worker.answer->stage = Stage::kSum;
  const PodFindings found = Collective(workers);
  ASSERT_THAT(found.pod, SizeIs(1));
  EXPECT_EQ(found.pod[0].code, "collective-hung");
  EXPECT_THAT(Blamed(found), IsEmpty());
}

TEST(CollectiveVerdict, ASilentOneCameLeastFar) {
  auto workers = Summed(2);
  workers[0].answer->stage = Stage::kJoin;
  workers[1].answer.reset();
  workers[1].silence = "the connection broke";
  const PodFindings found = Collective(workers);
  EXPECT_THAT(Blamed(found), ElementsAre(1));
  EXPECT_EQ(found.workers.at(1)[0].detail, "the connection broke");
}

// Each for itself adds up well, too.
TEST(CollectiveVerdict, PastTheOthersIsNoHealth) {
  auto workers = Summed(2);
  workers[1].answer->processes = 1;
  workers[1].answer->devices = 4;
  workers[1].answer->sum = 4;
  EXPECT_THAT(CodesAt(Collective(workers), 1), ElementsAre("collective-wrong"));
}

TEST(CollectiveVerdict, OnTheProcessorIsNoHealthWhereThereAreChips) {
  auto workers = Summed(2);
  workers[0].answer->platform = "cpu";
  EXPECT_THAT(CodesAt(Collective(workers), 0), ElementsAre("collective-no-tpu"));
  workers[0].has_chips = false;
  EXPECT_THAT(Blamed(Collective(workers)), IsEmpty());
}

TEST(CollectiveVerdict, WhatIsLeftIsTold) {
  auto workers = Summed(2);
  workers[1].answer->left = 1;
  EXPECT_THAT(CodesAt(Collective(workers), 1), ElementsAre("collective-left"));
}

}  // namespace
}  // namespace podctl::workers
