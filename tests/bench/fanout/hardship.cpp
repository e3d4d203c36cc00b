// Workers that make trouble, and workers that talk much: the parts "dead" and "output".
#include <fmt/format.h>

#include "tests/bench/fanout/answers.h"
#include "tests/bench/fanout/fleet.h"
#include "tests/bench/fanout/link.h"
#include "tests/bench/fanout/peers.h"
#include "tests/bench/fanout/pod.h"
#include "tests/bench/fanout/sections.h"

namespace podctl::bench {
namespace {

constexpr int kUsualSize = 64;
constexpr int kLargeSize = 256;
constexpr std::size_t kLineBytes = 100;
constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

Client Renamed(Client client, const std::string& name) {
  client.name = name;
  return client;
}

// All but one answer. Peers hide that from their exit code, and are not blamed for it here.
Expected AllButOne(int workers, bool any_exit) {
  Expected expected = Answers(workers - 1);
  expected.success = false;
  expected.any_exit = any_exit;
  return expected;
}

}  // namespace

void CompareDeadAndSlow(const Settings& settings, Score* score) {
  if (const std::string why = Link::WhyNot(); !why.empty()) {
    fmt::print("\nOne dead and one slow worker: left out, as {}\n", why);
    return;
  }
  const int n = settings.Size(kUsualSize, kLargeSize);
  // Two more than are asked for at once: the dead one and the slow one, each in one worker's place.
  std::vector<std::string> addresses = Addresses(Link::kFirstWorker, n + 2);
  const std::string dead_worker = addresses[static_cast<std::size_t>(n)];
  const std::string slow_worker = addresses[static_cast<std::size_t>(n) + 1];
  const Link link({25, 0, dead_worker, slow_worker});
  const auto fleet =
      StartLightFleet(settings.light_server, {settings.folder + "/bad", addresses, link.server()});
  addresses.resize(static_cast<std::size_t>(n));
  const std::size_t middle = addresses.size() / 2;
  const Pod whole = MakePod(settings.folder + "/bad.none", *fleet, addresses);
  addresses[middle] = dead_worker;
  const Pod dead = MakePod(settings.folder + "/bad.dead", *fleet, addresses);
  addresses[middle] = slow_worker;
  const Pod slow = MakePod(settings.folder + "/bad.slow", *fleet, addresses);

  const Peers peers(settings.podctl, link.client());
  Contest contest(
      fmt::format("25 ms each way, light server, {} workers: all well; one dead (its packets "
                  "vanish); one slow (0.5 s each way)",
                  n),
      n, fleet.get());
  contest.Add(peers.Podctl(whole, kAsk), Answers(n), settings.runs);
  contest.Add(Renamed(peers.Podctl(dead, kAsk), "podctl exec, one dead"), AllButOne(n, false),
              settings.runs);
  contest.Add(Renamed(peers.Podctl(slow, kAsk), "podctl exec, one slow"), Answers(n),
              settings.runs);
  for (const auto& [name, pod, expected] :
       {std::tuple{"dead", dead, AllButOne(n, true)}, std::tuple{"slow", slow, Answers(n)}}) {
    for (const auto& peer : {peers.Pdsh(pod, kAsk), peers.Clush(pod, kAsk, false)}) {
      if (peer)
        contest.Add(Renamed(*peer, fmt::format("{}, one {}", peer->name, name)), expected, 1);
    }
  }
  contest.Run();
  if (contest.failed()) score->Failed("one dead and one slow worker");
  const auto answers = &ClientRun::last_token_seconds;
  score->Ratio(fmt::format("one dead of {}: the others' answers, against none dead", n),
               contest.Median("podctl exec, one dead", answers), contest.Median(kPodctl, answers),
               1.1);
}

void CompareOutput(const Settings& settings, Score* score) {
  const int n = settings.Size(kUsualSize, kLargeSize);
  const auto fleet = StartRealFleet({settings.folder + "/output", Addresses("127.3.0.1", n), -1});
  const Pod pod = MakePod(settings.folder + "/output.pod", *fleet, n);
  const Peers peers(settings.podctl, -1);
  const std::string command =
      fmt::format("yes {} | head -c {}", std::string(kLineBytes - 1, 'x'), kMebibyte);
  Expected all;
  all.bytes = static_cast<std::uint64_t>(n) * kMebibyte;
  Contest contest(fmt::format("1 MiB from each of {} workers, OpenSSH's sshd", n), n, fleet.get());
  contest.Add(peers.Podctl(pod, command), all, settings.runs);
  contest.Add(peers.Xargs(pod, command, KeyExchange::kDefault), all, settings.runs);
  contest.Add(peers.Xargs(pod, command, KeyExchange::kCurve25519), all, 1);
  contest.Add(peers.Pdsh(pod, command), all, 1);
  contest.Run();

  // Gathered, it is the output of one, under a line that counts the workers.
  Expected gathered;
  gathered.token = fmt::format("({}", n);
  gathered.tokens = 1;
  gathered.bytes = kMebibyte;
  Contest gathering(fmt::format("the same gathered", n), n, fleet.get());
  gathering.Add(peers.Podctl(pod, command, {"--gather"}), gathered, settings.runs);
  gathering.Add(peers.Clush(pod, command, true), gathered, settings.runs);
  gathering.Run();

  if (contest.failed() || gathering.failed()) score->Failed("1 MiB from each");
  score->Ratio(fmt::format("{} x 1 MiB: client CPU against xargs ssh", n),
               contest.Median(kPodctl, &ClientRun::cpu_seconds),
               contest.Median(kXargs, &ClientRun::cpu_seconds), 1.0 / 15);
  score->AtMost(fmt::format("{} x 1 MiB: peak memory", n),
                contest.Median(kPodctl, &ClientRun::peak_mib), 40, "MiB");
  score->Ratio(fmt::format("{} x 1 MiB --gather: wall against clush -b", n),
               gathering.Median(kPodctl, &ClientRun::wall_seconds),
               gathering.Median(kClushGather, &ClientRun::wall_seconds), 1.0 / 8);
}

}  // namespace podctl::bench
