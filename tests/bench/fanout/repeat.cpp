// Connections that are kept: the parts "further" (more commands on them) and "memory" (what many
// take).
#include <fmt/format.h>

#include <filesystem>

#include "tests/bench/fanout/answers.h"
#include "tests/bench/fanout/fleet.h"
#include "tests/bench/fanout/peers.h"
#include "tests/bench/fanout/pod.h"
#include "tests/bench/fanout/sections.h"

namespace podctl::bench {
namespace {

constexpr int kFurther = 5;

// An apply of `steps` bootstrap steps on all workers, over again from the same state.
Client ApplySteps(const Settings& settings, const Fleet& fleet, int n, int steps) {
  PodOptions options;
  options.steps.assign(static_cast<std::size_t>(steps), kAsk);
  const std::string folder = fmt::format("{}/further.{}", settings.folder, steps);
  MakePod(folder, fleet, Addresses(fleet.addresses().front(), n), options);
  std::filesystem::rename(folder + "/podctl.state.json", folder + "/before.json");
  Client client;
  client.name = fmt::format("podctl apply, {} step{}", steps, steps == 1 ? "" : "s");
  client.folder = folder;
  client.words = {"sh", "-c",
                  fmt::format("cp before.json podctl.state.json && "
                              "exec {} apply --refresh=false --auto-approve",
                              settings.podctl)};
  return client;
}

// `rounds` times all workers through xargs and ssh, which leaves a master process for each.
Client SshMasters(const Pod& pod, int rounds) {
  Client client;
  client.name = fmt::format("ssh ControlMaster, {} command{}", rounds, rounds == 1 ? "" : "s");
  client.folder = pod.folder;
  client.words = {
      "sh", "-c",
      fmt::format("mkdir -p m && for i in $(seq {}); do xargs -P64 -I@ ssh -F ssh_config "
                  "-o ControlMaster=auto -o ControlPersist=60 -o ControlPath=m/%h @ '{}' <hosts; "
                  "done",
                  rounds, kAsk)};
  return client;
}

// What one more command costs, when `one` and `more` are the CPU of 1 and of 1 + kFurther.
std::optional<double> OneMore(const Contest& contest, const std::string& one,
                              const std::string& more) {
  const auto first = contest.Median(one, &ClientRun::cpu_seconds);
  const auto all = contest.Median(more, &ClientRun::cpu_seconds);
  if (!first || !all) return std::nullopt;
  return (*all - *first) / kFurther;
}

}  // namespace

void CompareFurther(const Settings& settings, Score* score) {
  const int n = settings.Size(64, 256);
  const auto fleet = StartLightFleet(settings.light_server,
                                     {settings.folder + "/further", Addresses("127.5.0.1", n), -1});
  const Pod pod = MakePod(settings.folder + "/further.ssh", *fleet, n);
  Contest contest(
      fmt::format("{} further commands on open connections, light server, {} workers", kFurther, n),
      n, fleet.get());
  const Client apply_one = ApplySteps(settings, *fleet, n, 1);
  const Client apply_more = ApplySteps(settings, *fleet, n, 1 + kFurther);
  const Client ssh_one = SshMasters(pod, 1);
  const Client ssh_more = SshMasters(pod, 1 + kFurther);
  contest.Add(apply_one, Expected{}, settings.runs);
  contest.Add(apply_more, Expected{}, settings.runs);
  contest.Add(ssh_one, Answers(n), settings.runs);
  contest.Add(ssh_more, Answers(n * (1 + kFurther)), settings.runs);
  contest.Run();
  if (contest.failed()) score->Failed("further commands");
  const auto ours = OneMore(contest, apply_one.name, apply_more.name);
  const auto theirs = OneMore(contest, ssh_one.name, ssh_more.name);
  if (ours && theirs) {
    fmt::print(
        "  one further command, CPU a worker: podctl {:.3f} ms, ssh through its master "
        "{:.3f} ms\n",
        1000 * *ours / n, 1000 * *theirs / n);
  }
  score->Ratio("a further command: CPU a worker against a warm ControlMaster", ours, theirs,
               1.0 / 30);
}

void MeasureMemory(const Settings& settings, Score* score) {
  const int n = settings.Size(1536, 1536);
  const auto fleet = StartLightFleet(settings.light_server,
                                     {settings.folder + "/memory", Addresses("127.6.0.1", n), -1});
  const Pod pod = MakePod(settings.folder + "/memory.pod", *fleet, n);
  const Peers peers(settings.podctl, -1);
  // Long enough for the first to be still there when the last comes.
  const Client wide = peers.Podctl(pod, fmt::format("sleep 5; {}", kAsk));
  Client narrow = peers.Podctl(pod, fmt::format("sleep 1; {}", kAsk));
  narrow.name = "podctl exec, ulimit -n 300";
  narrow.words.insert(narrow.words.begin(), {"sh", "-c", "ulimit -n 300; exec \"$@\"", "sh"});
  Contest contest(fmt::format("memory, light server, {} workers: at most 1,024 connections at "
                              "once, as by default; as many as 300 descriptors allow",
                              n),
                  n, fleet.get());
  contest.Add(wide, Answers(n), settings.runs);
  contest.Add(narrow, Answers(n), settings.runs);
  contest.Run();
  if (contest.failed()) score->Failed("memory");
  score->AtMost(fmt::format("{} workers, 1,024 open: peak memory", n),
                contest.Median(wide.name, &ClientRun::peak_mib), 120, "MiB");
  score->AtMost(fmt::format("{} workers, some 256 open: peak memory", n),
                contest.Median(narrow.name, &ClientRun::peak_mib), 30, "MiB");
}

}  // namespace podctl::bench
