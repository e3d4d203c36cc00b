#include "tests/bench/states.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#include "tests/bench/measure.h"
#include "tests/bench/plans.h"
#include "tests/bench/state_places.h"
#include "tests/bench/workbench.h"

namespace podctl::bench {
namespace {

constexpr const char* kStatesDelay = "1s";
constexpr int kPlans = 5;
constexpr int kApplies = 3;  // from nothing each, of up to kOftenUpTo objects
constexpr int kOftenUpTo = 1000;

struct Contender {
  std::string name;
  Engine engine;
  bool terraform = false;
};

const Contender kLocalFile = {"podctl, local file", Engine::kLocal};
const Contender kBucket = {"podctl, gs://", Engine::kGcs};
const Contender kEtcdKeys = {"podctl, etcd://", Engine::kEtcd};
const Contender kDocument = {"podctl, http://", Engine::kHttp};
const Contender kTerraformBucket = {"terraform, backend gcs", Engine::kGcs, true};
const Contender kTerraformDocument = {"terraform, backend http", Engine::kHttp, true};

// What one contender took for one number of objects.
struct Figures {
  Series applies{"apply", {}};
  Series plans{"plan", {}};
  Relay::Count apply;        // of one
  Relay::Count plan;         // of all plans of one apply
  std::int64_t written = 0;  // by one apply

  double Apply() const { return applies.Median(&Sample::wall_seconds); }
  double Plan() const { return plans.Median(&Sample::wall_seconds); }
  double Kib() const { return static_cast<double>(written) / 1024; }
  double SentKib() const { return static_cast<double>(apply.bytes) / 1024; }
};
using Table = std::map<std::pair<std::string, int>, Figures>;

class StateContest {
 public:
  StateContest(std::string podctl, const StateServers& servers, bool has_terraform, bool all)
      : podctl_(std::move(podctl)), servers_(servers), has_terraform_(has_terraform), all_(all) {}

  void Play(int count) {
    for (int run = 0; run < (count <= kOftenUpTo ? kApplies : 1); ++run) {
      for (const Contender& contender : Contenders(count)) {
        if (run == 0 || !contender.terraform) Measure(contender, count);
      }
    }
    Print(count);
  }
  void PrintScore() const;

 private:
  std::vector<Contender> Contenders(int count) const;
  void Measure(const Contender& contender, int count);
  void Print(int count) const;
  const Figures* Find(const Contender& contender, int count) const {
    const auto found = table_.find({contender.name, count});
    return found == table_.end() ? nullptr : &found->second;
  }

  const std::string podctl_;
  const StateServers& servers_;
  const bool has_terraform_;
  const bool all_;
  int measured_ = 0;
  Table table_;
};

std::vector<Contender> StateContest::Contenders(int count) const {
  std::vector<Contender> contenders = {kLocalFile, kBucket};
  if (servers_.etcd) contenders.push_back(kEtcdKeys);
  contenders.push_back(kDocument);
  if (has_terraform_ && (count <= kOftenUpTo || all_)) {
    contenders.push_back(kTerraformBucket);
    contenders.push_back(kTerraformDocument);
  }
  return contenders;
}

// An apply from nothing, and no-op plans after it.
void StateContest::Measure(const Contender& contender, int count) {
  const Workbench bench(podctl_, {"--workers", "none", "--operation-delay", kStatesDelay});
  StatePlace place(contender.engine, fmt::format("state-{}", ++measured_), servers_);
  const std::string folder = bench.folder().string();
  const bool terraform = contender.terraform;
  if (terraform) {
    WriteFile(bench.folder() / "main.tf", ManyBlocks(count) + place.terraform());
    Run({"terraform", "init"}, folder);
  } else {
    WriteFile(bench.folder() / "podctl.yaml", place.spec() + ManyPods(count));
  }
  const std::string program = terraform ? "terraform" : podctl_;
  Figures& figures = table_[{contender.name, count}];
  place.Take();
  const auto before = place.Written();
  figures.applies.samples.push_back(
      Run({program, "apply", terraform ? "-auto-approve" : "--auto-approve"}, folder));
  figures.apply = place.Take().value_or(Relay::Count{});
  figures.written = figures.apply.bytes;
  if (before) figures.written = place.Written().value_or(*before) - *before;
  if (contender.engine == Engine::kLocal) {
    const double mib = figures.applies.Median(&Sample::written_mib);
    figures.written = static_cast<std::int64_t>(mib * 1024 * 1024);
  }
  // A plan that is not empty exits with 2, and ends the bench.
  for (int i = 0; i < kPlans; ++i) {
    figures.plans.samples.push_back(
        Run({program, "plan", terraform ? "-detailed-exitcode" : "--detailed-exitcode"}, folder));
  }
  figures.plan = place.Take().value_or(Relay::Count{});
}

void StateContest::Print(int count) const {
  const Figures* const local = Find(kLocalFile, count);
  for (const Contender& contender : Contenders(count)) {
    const Figures* const figures = Find(contender, count);
    fmt::print(
        "  {:<24} {:>6}  {:>8.2f} {:>7.2f} {:>7.2f} {:>8} {:>8} {:>8.0f} {:>9.0f} {:>7.2f}  "
        "{:>8.3f} {:>7.2f} {:>8.1f}\n",
        contender.name, count, figures->Apply(), figures->Apply() / local->Apply(),
        figures->applies.Median(&Sample::cpu_seconds), figures->apply.requests,
        figures->apply.connections, figures->SentKib(), figures->Kib(), figures->Kib() / count,
        figures->Plan(), figures->Plan() / local->Plan(),
        static_cast<double>(figures->plan.requests) / kPlans);
  }
  std::fflush(stdout);
}

void Score(const std::string& what, const std::string& wanted, double measured, bool good) {
  fmt::print("  {:<62} {:>14} {:>12.2f}   {}\n", what, wanted, measured,
             wanted.empty() ? "" : (good ? "yes" : "NO"));
}

void StateContest::PrintScore() const {
  fmt::print("\n{:<64} {:>14} {:>12}   reached\n", "podctl's figures", "wanted", "measured");
  const double round_trip = std::chrono::duration<double>(kStateLatency).count();
  const auto peer_of = [](const Contender& contender) -> const Contender& {
    return contender.engine == Engine::kHttp ? kTerraformDocument : kTerraformBucket;
  };
  for (const Contender& contender : {kBucket, kEtcdKeys, kDocument}) {
    // Nothing is promised of a document, which is sent whole each time.
    const bool promised = contender.engine != Engine::kHttp;
    const auto wanted = [&](const char* text) { return promised ? text : ""; };
    double per_object = 0;  // bytes, of the size before
    for (const int count : {100, 1000, 5000}) {
      const Figures* const ours = Find(contender, count);
      const Figures* const local = Find(kLocalFile, count);
      if (ours == nullptr || local == nullptr) continue;
      const auto line = [&](const char* what) {
        return fmt::format("{}: {} ({} objects)", contender.name, what, count);
      };
      // The least of all plans: of what others do on this machine it holds the least, too.
      const double trips =
          (ours->plans.Least(&Sample::wall_seconds) - local->plans.Least(&Sample::wall_seconds)) /
          round_trip;
      Score(line("least no-op plan beyond local, round trips"), wanted("<= 3"), trips, trips <= 3);
      const double apply = ours->Apply() / local->Apply();
      Score(line("apply, x local"), wanted(count == 1000 ? "<= 1.30" : ""), apply, apply <= 1.3);
      const double each = ours->Kib() / count;
      if (per_object > 0) {
        const double growth = each / per_object;
        Score(line("bytes an object, x the size before"), wanted("<= 1.10"), growth, growth <= 1.1);
      }
      per_object = each;
      const Figures* const peer = Find(peer_of(contender), count);
      if (peer == nullptr) continue;
      const double fewer = peer->Kib() / ours->Kib();
      Score(line("bytes of terraform's, x ours"), wanted(count == 1000 ? ">= 10" : ""), fewer,
            fewer >= 10);
    }
  }
}

}  // namespace

void CompareStates(const std::string& podctl, bool all) {
  setenv("CHECKPOINT_DISABLE", "1", 1);
  const bool has_terraform = HasProgram("terraform");
  fmt::print(
      "\nThe state in each of its places. podctl: nodes on its emulator, of which every operation\n"
      "takes {}; terraform: `terraform_data` blocks, which wait for nothing. gs:// is the\n"
      "emulator's Cloud Storage, etcd:// a real etcd, http:// a Gitea; {} ms are added to each\n"
      "request to any of them. \"sent\": bodies of requests. \"written\": the same; of etcd by "
      "its\n"
      "own account, keys and values without base64; of the local file what goes to the disk.\n"
      "Medians of {} applies of up to {} objects, and of {} plans without changes after each.\n\n",
      kStatesDelay, kStateLatency.count(), kApplies, kOftenUpTo, kPlans);
  if (!has_terraform) fmt::print("  terraform is not on this machine: podctl alone.\n");
  if (has_terraform && !all) {
    fmt::print("  terraform's 5,000 objects take many minutes: with --all.\n");
  }
  const StateServers servers = StartStateServers();
  fmt::print(
      "\n  {:<24} {:>6}  {:>8} {:>7} {:>7} {:>8} {:>8} {:>8} {:>9} {:>7}  {:>8} {:>7} {:>8}\n", "",
      "objects", "apply s", "x local", "CPU s", "requests", "connects", "sent KiB", "written",
      "each", "plan s", "x local", "requests");
  std::fflush(stdout);
  StateContest contest(podctl, servers, has_terraform, all);
  for (const int count : {100, 1000, 5000}) contest.Play(count);
  contest.PrintScore();
}

}  // namespace podctl::bench
