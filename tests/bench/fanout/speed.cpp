// One short command on many workers: the parts "light", "real" and "wan".
#include <fmt/format.h>

#include <algorithm>

#include "tests/bench/fanout/answers.h"
#include "tests/bench/fanout/fleet.h"
#include "tests/bench/fanout/gcloud.h"
#include "tests/bench/fanout/link.h"
#include "tests/bench/fanout/peers.h"
#include "tests/bench/fanout/pod.h"
#include "tests/bench/fanout/sections.h"

namespace podctl::bench {
namespace {

constexpr int kMostForPeers = 1024;  // beyond, a round of all peers takes minutes

int Largest(const std::vector<int>& sizes) {
  return *std::max_element(sizes.begin(), sizes.end());
}

}  // namespace

void CompareOnLight(const Settings& settings, Score* score) {
  const std::vector<int> sizes = settings.Sizes({256, 1024}, {256, 1024, 1536, 3072});
  const auto fleet =
      StartLightFleet(settings.light_server,
                      {settings.folder + "/light", Addresses("127.1.0.1", Largest(sizes)), -1});
  const Peers peers(settings.podctl, -1);
  std::optional<double> wall_1536;
  for (const int n : sizes) {
    const Pod pod = MakePod(fmt::format("{}/light.{}", settings.folder, n), *fleet, n);
    Contest contest(fmt::format("light server, {} workers: `{}`", n, kAsk), n, fleet.get());
    const Expected all = Answers(n);
    const GcloudApi gcloud(*fleet, n);
    contest.Add(peers.Podctl(pod, kAsk), all, settings.runs);
    if (n <= kMostForPeers) {
      contest.Add(peers.Xargs(pod, kAsk, KeyExchange::kCurve25519), all, settings.runs);
      contest.Add(peers.Pdsh(pod, kAsk), all, settings.runs);
      contest.Add(peers.Pssh(pod, kAsk), all, settings.runs);
      contest.Add(peers.Clush(pod, kAsk, false), all, 1);
      contest.Add(gcloud.Command(pod, kAsk), all, 1);
    }
    contest.Run();
    if (contest.failed()) score->Failed(fmt::format("light server, {} workers", n));
    const auto wall = contest.Median(kPodctl, &ClientRun::wall_seconds);
    const auto cpu = contest.Median(kPodctl, &ClientRun::cpu_seconds);
    if (n == 1024) {
      score->Ratio("light, 1,024: wall against the best of pssh, pdsh, xargs", wall,
                   contest.Best({kPssh, kPdsh, kXargsCurve}, &ClientRun::wall_seconds), 1.0 / 8);
      score->Ratio("light, 1,024: client CPU against xargs ssh", cpu,
                   contest.Median(kXargsCurve, &ClientRun::cpu_seconds), 1.0 / 18);
      score->Ratio("light, 1,024: client CPU against gcloud", cpu,
                   contest.Median(kGcloud, &ClientRun::cpu_seconds), 1.0 / 28);
    }
    if (n == 256 || n == 1536) {
      const auto each = cpu ? std::optional<double>(1000 * *cpu / n) : std::nullopt;
      score->AtMost(fmt::format("light, {}: client CPU a worker", n), each, 0.55, "ms");
    }
    if (n == 1536) wall_1536 = wall;
    if (n == 3072) score->Ratio("light, 3,072: wall against that of 1,536", wall, wall_1536, 2.3);
  }
}

void CompareOnReal(const Settings& settings, Score* score) {
  const std::vector<int> sizes = settings.Sizes({64}, {256});
  const auto fleet =
      StartRealFleet({settings.folder + "/real", Addresses("127.2.0.1", Largest(sizes)), -1});
  const Peers peers(settings.podctl, -1);
  for (const int n : sizes) {
    const Pod pod = MakePod(fmt::format("{}/real.{}", settings.folder, n), *fleet, n);
    Contest contest(fmt::format("OpenSSH's sshd, {} workers: `{}`", n, kAsk), n, fleet.get());
    const Expected all = Answers(n);
    const GcloudApi gcloud(*fleet, n);
    contest.Add(peers.Podctl(pod, kAsk), all, settings.runs);
    contest.Add(peers.Xargs(pod, kAsk, KeyExchange::kCurve25519), all, settings.runs);
    contest.Add(peers.Pdsh(pod, kAsk), all, settings.runs);
    contest.Add(peers.Xargs(pod, kAsk, KeyExchange::kDefault), all, 1);
    contest.Add(peers.Pssh(pod, kAsk), all, 1);
    contest.Add(peers.Clush(pod, kAsk, false), all, 1);
    contest.Add(peers.Ansible(pod, kAsk), all, 1);
    contest.Add(gcloud.Command(pod, kAsk), all, 1);
    contest.Run();
    if (contest.failed()) score->Failed(fmt::format("OpenSSH's sshd, {} workers", n));
    const auto wall = contest.Median(kPodctl, &ClientRun::wall_seconds);
    auto floor = contest.Median(kPodctl, &ClientRun::server_cpu_seconds);
    if (floor) *floor /= settings.cores;
    score->Ratio(fmt::format("real, {}: wall against pdsh", n), wall,
                 contest.Median(kPdsh, &ClientRun::wall_seconds), 1.0 / 4);
    score->Ratio(fmt::format("real, {}: wall against xargs ssh with curve25519", n), wall,
                 contest.Median(kXargsCurve, &ClientRun::wall_seconds), 0.6);
    score->Ratio(fmt::format("real, {}: wall against the servers' CPU over all cores", n), wall,
                 floor, 1.25);
  }
}

namespace {

void CompareOverLink(const Settings& settings, int n, double loss, Score* score) {
  const Link link({25, loss, "", ""});
  const std::string name = fmt::format("{}/wan.{}.{}", settings.folder, n, loss);
  const auto fleet = StartLightFleet(
      settings.light_server, {name + ".fleet", Addresses(Link::kFirstWorker, n), link.server()});
  const Peers peers(settings.podctl, link.client());
  const Pod pod = MakePod(name, *fleet, n);
  Contest contest(fmt::format("25 ms each way{}, light server, {} workers",
                              loss > 0 ? fmt::format(", {:.1f} % loss", 100 * loss) : "", n),
                  n, fleet.get());
  const Expected all = Answers(n);
  contest.Add(peers.Podctl(pod, kAsk), all, settings.runs);
  contest.Add(peers.Pdsh(pod, kAsk), all, settings.runs);
  contest.Add(peers.Xargs(pod, kAsk, KeyExchange::kCurve25519), all, 1);
  contest.Run();
  if (contest.failed()) score->Failed(fmt::format("25 ms each way, {} workers", n));
  if (loss > 0 || (n != 256 && n != 1024)) return;
  score->Ratio(fmt::format("25 ms each way, {}: wall against pdsh", n),
               contest.Median(kPodctl, &ClientRun::wall_seconds),
               contest.Median(kPdsh, &ClientRun::wall_seconds), n == 256 ? 1.0 / 5 : 1.0 / 9);
}

}  // namespace

void CompareFarAway(const Settings& settings, Score* score) {
  if (const std::string why = Link::WhyNot(); !why.empty()) {
    fmt::print("\n25 ms each way: left out, as {}\n", why);
    return;
  }
  const std::vector<int> sizes = settings.Sizes({256}, {256, 1024});
  for (const int n : sizes) CompareOverLink(settings, n, 0, score);
  CompareOverLink(settings, sizes.front(), 0.001, score);
}

}  // namespace podctl::bench
