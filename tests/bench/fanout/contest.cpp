#include "tests/bench/fanout/contest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tests/bench/fanout/fleet.h"

namespace podctl::bench {
namespace {

std::vector<double> Sorted(const std::vector<ClientRun>& runs, Figure figure) {
  std::vector<double> values;
  for (const ClientRun& run : runs) values.push_back(run.*figure);
  std::sort(values.begin(), values.end());
  return values;
}

double MedianOf(const std::vector<ClientRun>& runs, Figure figure) {
  const std::vector<double> values = Sorted(runs, figure);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// "1/8.3" for what is less than one, "2.10" for what is not.
std::string AsRatio(double ratio) {
  if (ratio <= 0) return "0";
  if (ratio < 0.4) return fmt::format("1/{:.1f}", 1 / ratio);
  return fmt::format("{:.2f}", ratio);
}

std::string Line(const std::string& what, const std::string& wanted, const std::string& measured,
                 bool good) {
  return fmt::format("  {:<62} {:>14} {:>12}   {}", what, wanted, measured, good ? "yes" : "NO");
}

std::string NotMeasured(const std::string& what, const std::string& wanted) {
  return fmt::format("  {:<62} {:>14} {:>12}", what, wanted, "not measured");
}

}  // namespace

void Contest::Add(const std::optional<Client>& client, const Expected& expected, int runs,
                  double limit_seconds) {
  if (!client) return;
  Contestant contestant;
  contestant.client = *client;
  contestant.expected = expected;
  contestant.runs = runs;
  contestant.limit_seconds = limit_seconds;
  contestants_.push_back(std::move(contestant));
}

void Contest::Run() {
  int rounds = 0;
  for (const Contestant& contestant : contestants_) rounds = std::max(rounds, contestant.runs);
  for (int round = 0; round < rounds; ++round) {
    for (Contestant& contestant : contestants_) {
      if (round < contestant.runs && contestant.trouble.empty()) RunOnce(&contestant);
    }
  }
  Print();
}

void Contest::RunOnce(Contestant* contestant) {
  const double before = fleet_ == nullptr ? 0 : fleet_->CpuSeconds();
  ClientRun run = RunClient(contestant->client, contestant->expected, contestant->limit_seconds);
  if (fleet_ != nullptr) run.server_cpu_seconds = fleet_->CpuSeconds() - before;
  if (run.trouble.empty()) {
    contestant->results.push_back(std::move(run));
    return;
  }
  if (fleet_ != nullptr) fleet_->CheckAlive();
  contestant->trouble = run.trouble;
  failed_ = true;
}

void Contest::Print() const {
  fmt::print("\n{}\n", title_);
  fmt::print("  {:<28} {:>4} {:>23} {:>8} {:>8} {:>9} {:>8} {:>8} {:>7} {:>7} {:>7}\n", "", "runs",
             "wall s (min-max)", "answers", "CPU s", "ms/worker", "server s", "peak MiB", "x wall",
             "x CPU", "x peak");
  const Contestant& first = contestants_.front();
  for (const Contestant& each : contestants_) {
    if (!each.trouble.empty()) {
      fmt::print("  {:<28} FAILED, its figures do not count: {}\n", each.client.name, each.trouble);
      continue;
    }
    const auto median = [&](Figure figure) { return MedianOf(each.results, figure); };
    const auto times = [&](Figure figure) -> std::string {
      if (first.results.empty()) return "-";
      return fmt::format("{:.1f}",
                         median(figure) / std::max(1e-9, MedianOf(first.results, figure)));
    };
    const std::vector<double> walls = Sorted(each.results, &ClientRun::wall_seconds);
    const double server = median(&ClientRun::server_cpu_seconds);
    fmt::print("  {:<28} {:>4} {:>23} {:>8} {:>8.3f} {:>9.2f} {:>8} {:>8.1f} {:>7} {:>7} {:>7}\n",
               each.client.name, each.results.size(),
               fmt::format("{:.2f} ({:.2f}-{:.2f})", median(&ClientRun::wall_seconds),
                           walls.front(), walls.back()),
               each.expected.token.empty()
                   ? "-"
                   : fmt::format("{:.2f}", median(&ClientRun::last_token_seconds)),
               median(&ClientRun::cpu_seconds), 1000 * median(&ClientRun::cpu_seconds) / workers_,
               fleet_ == nullptr ? "-" : fmt::format("{:.2f}", server),
               median(&ClientRun::peak_mib), times(&ClientRun::wall_seconds),
               times(&ClientRun::cpu_seconds), times(&ClientRun::peak_mib));
  }
  std::fflush(stdout);
}

const Contest::Contestant* Contest::Find(const std::string& client) const {
  const auto found =
      std::find_if(contestants_.begin(), contestants_.end(),
                   [&](const Contestant& each) { return each.client.name == client; });
  const bool counts =
      found != contestants_.end() && found->trouble.empty() && !found->results.empty();
  return counts ? &*found : nullptr;
}

std::optional<double> Contest::Median(const std::string& client, Figure figure) const {
  const Contestant* const found = Find(client);
  if (found == nullptr) return std::nullopt;
  return MedianOf(found->results, figure);
}

std::optional<double> Contest::Best(const std::vector<std::string>& clients, Figure figure) const {
  std::optional<double> best;
  for (const std::string& client : clients) {
    const std::optional<double> value = Median(client, figure);
    if (value && (!best || *value < *best)) best = value;
  }
  return best;
}

void Score::Ratio(const std::string& what, std::optional<double> ours, std::optional<double> theirs,
                  double wanted_at_most) {
  const std::string wanted = "<= " + AsRatio(wanted_at_most);
  if (!ours || !theirs) {
    lines_.push_back(NotMeasured(what, wanted));
    return;
  }
  const double ratio = *ours / std::max(1e-9, *theirs);
  lines_.push_back(Line(what, wanted, AsRatio(ratio), ratio <= wanted_at_most));
}

void Score::AtLeast(const std::string& what, std::optional<double> ours,
                    std::optional<double> theirs, double wanted_at_least) {
  const std::string wanted = fmt::format(">= {:.2f}", wanted_at_least);
  if (!ours || !theirs) {
    lines_.push_back(NotMeasured(what, wanted));
    return;
  }
  const double ratio = *ours / std::max(1e-9, *theirs);
  lines_.push_back(Line(what, wanted, fmt::format("{:.2f}", ratio), ratio >= wanted_at_least));
}

void Score::AtMost(const std::string& what, std::optional<double> value, double limit,
                   const std::string& unit) {
  const std::string wanted = fmt::format("<= {} {}", limit, unit);
  if (!value) {
    lines_.push_back(NotMeasured(what, wanted));
    return;
  }
  lines_.push_back(Line(what, wanted, fmt::format("{:.2f} {}", *value, unit), *value <= limit));
}

void Score::Say(const std::string& what, bool good) {
  lines_.push_back(Line(what, "", "", good));
}

void Score::Failed(const std::string& what) {
  failures_.push_back(what);
}

void Score::Print() const {
  if (!lines_.empty()) {
    fmt::print("\n{:<64} {:>14} {:>12}   reached\n", "podctl's figures", "wanted", "measured");
    for (const std::string& line : lines_) fmt::print("{}\n", line);
  }
  for (const std::string& failure : failures_) fmt::print("\nFAILED: {}\n", failure);
  std::fflush(stdout);
}

}  // namespace podctl::bench
