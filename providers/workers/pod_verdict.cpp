#include "providers/workers/pod_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "providers/base/text.h"
#include "providers/base/worker_selection.h"

namespace podctl::workers {
namespace {

using std::chrono::milliseconds;

// Clocks of Google's machines differ by less than a millisecond; what is reckoned with here
// (tokens, checkpoints, logs side by side) bears more.
constexpr milliseconds kMostSkewOfPod{2'000};
constexpr milliseconds kMostSkewFromHere{5'000};
constexpr std::uint64_t kLowKib = std::uint64_t{2} << 20;
constexpr std::uint64_t kLowKibOfFull = std::uint64_t{10} << 20;
constexpr int kNearlyFullPercent = 95;
// A neighbour is slow that has less than a tenth of what most have, and less than a tenth of what
// the weakest network of a TPU VM gives.
constexpr std::int64_t kSlowPart = 10;
constexpr std::int64_t kSlowKbits = 1'000'000;

constexpr const char* kLookBySsh = "podctl ssh {pod} --worker {workers}";
constexpr const char* kReboot = "podctl exec {pod} --worker {workers} -- sudo reboot";

std::string Span(milliseconds span) {
  return FormatDuration(milliseconds(std::abs(span.count())));
}

template <typename Number>
Number MedianOf(std::vector<Number> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers[numbers.size() / 2];
}

// ---- What workers have alike.

struct Variety {
  std::string what;                              // "libtpu"
  std::vector<std::pair<int, std::string>> has;  // worker and value; "": none
};

std::string Having(const std::string& value) {
  return value.empty() ? "none" : value;
}

// The value of most; of several that are equally frequent the one that the lowest number has.
std::string CommonValue(const Variety& variety) {
  std::map<std::string, std::size_t> counts;
  for (const auto& [worker, value] : variety.has) ++counts[value];
  std::size_t most = 0;
  std::string common;
  for (const auto& [worker, value] : variety.has) {
    if (counts[value] <= most) continue;
    most = counts[value];
    common = value;
  }
  return common;
}

// Adds a finding for each worker that has another value than most. `todo` is given the common one.
void FindVariety(const Variety& variety, std::string_view code,
                 const std::function<Finding(const std::string& common)>& todo,
                 PodFindings* found) {
  const std::string common = CommonValue(variety);
  std::map<std::string, std::size_t> counts;
  for (const auto& [worker, value] : variety.has) ++counts[value];
  for (const auto& [worker, value] : variety.has) {
    if (value == common) continue;
    Finding finding = todo(common);
    finding.code = code;
    const std::string mine =
        value.empty() ? "no " + variety.what : fmt::format("{} {}", variety.what, value);
    const std::string theirs =
        counts.size() == 2
            ? fmt::format("the other {} {}",
                          counts[common] == 1 ? "one" : std::to_string(counts[common]),
                          counts[common] == 1 ? "has" : "have")
            : fmt::format("{} of {} have", counts[common], variety.has.size());
    finding.summary = fmt::format("it has {}, {} {}", mine, theirs, Having(common));
    found->workers[worker].push_back(std::move(finding));
  }
}

using FactOf = std::function<std::string(const PodProbeAnswer&)>;

Variety VarietyOf(const std::vector<ProbedWorker>& workers, const std::string& what,
                  const FactOf& fact) {
  Variety variety{what, {}};
  for (const ProbedWorker& worker : workers) {
    if (worker.answer) variety.has.emplace_back(worker.worker, fact(*worker.answer));
  }
  return variety;
}

std::set<std::string> NamesOf(const std::vector<ProbedWorker>& workers,
                              std::map<std::string, std::string> PodProbeAnswer::*member) {
  std::set<std::string> names;
  for (const ProbedWorker& worker : workers) {
    if (!worker.answer) continue;
    for (const auto& [name, version] : (*worker.answer).*member) names.insert(name);
  }
  return names;
}

std::string ValueIn(const std::map<std::string, std::string>& versions, const std::string& name) {
  const auto found = versions.find(name);
  return found == versions.end() ? "" : found->second;
}

void JudgeVersions(const PodProbe& probe, const std::vector<ProbedWorker>& workers,
                   PodFindings* found) {
  const auto compare_them = [](const std::string&) {
    return Finding{"", "", "",
                   "podctl apply --replace pod.{pod}  (a node of one image throughout)"};
  };
  FindVariety(VarietyOf(workers, "Python", [](const auto& answer) { return answer.python; }),
              "python-differs", compare_them, found);
  for (const std::string& name : NamesOf(workers, &PodProbeAnswer::packages)) {
    const auto install = [&](const std::string& common) -> Finding {
      if (common.empty() || name == "libtpu.so") return compare_them(common);
      return {"", "", "",
              fmt::format("podctl exec {{pod}} --worker {{workers}} -- {} -m pip install",
                          ShellQuote(probe.python)),
              fmt::format("{}=={}", name, common)};
    };
    const auto fact = [&](const PodProbeAnswer& answer) { return ValueIn(answer.packages, name); };
    FindVariety(VarietyOf(workers, name, fact), "package-differs", install, found);
  }
  const auto reboot = [](const std::string&) {
    return Finding{"", "", "",
                   fmt::format("{}  (takes up one that was updated); else podctl apply --replace "
                               "pod.{{pod}}",
                               kReboot)};
  };
  FindVariety(VarietyOf(workers, "kernel", [](const auto& answer) { return answer.kernel; }),
              "driver-differs", reboot, found);
  for (const std::string& name : NamesOf(workers, &PodProbeAnswer::drivers)) {
    const auto fact = [&](const PodProbeAnswer& answer) { return ValueIn(answer.drivers, name); };
    FindVariety(VarietyOf(workers, "driver " + name, fact), "driver-differs", reboot, found);
  }
}

// ---- The machine.

bool HasFinding(const PodFindings& found, int worker, std::string_view code) {
  const auto of = found.workers.find(worker);
  return of != found.workers.end() &&
         std::any_of(of->second.begin(), of->second.end(),
                     [&](const Finding& finding) { return finding.code == code; });
}

void JudgeDevices(const std::vector<ProbedWorker>& workers, PodFindings* found) {
  Variety variety{"TPU devices:", {}};
  for (const ProbedWorker& worker : workers) {
    if (worker.report && worker.answer) {
      variety.has.emplace_back(worker.worker, std::to_string(worker.report->devices));
    }
    if (!worker.answer || worker.answer->accel > 0 || !worker.answer->google) continue;
    // On another machine the folder means nothing.
    if (worker.answer->vfio != 0) continue;
    found->workers[worker.worker].push_back(
        {"vfio-empty", "/dev/vfio is empty: its driver has let go of the TPU", "", kReboot});
  }
  PodFindings differing;
  FindVariety(
      variety, "devices-differ",
      [](const std::string&) {
        return Finding{"", "", "", kReboot};
      },
      &differing);
  for (auto& [worker, findings] : differing.workers) {
    if (HasFinding(*found, worker, "vfio-empty")) continue;
    for (Finding& finding : findings) found->workers[worker].push_back(std::move(finding));
  }
}

void JudgeDisks(const std::vector<ProbedWorker>& workers, PodFindings* found) {
  for (const ProbedWorker& worker : workers) {
    if (!worker.report) continue;
    std::set<std::string> told;  // those that are full
    for (const Finding& finding : Judge(*worker.report, {})) {
      if (finding.code == "disk-full") told.insert(finding.argument);
    }
    for (const ProbeReport::Disk& disk : worker.report->disks) {
      const bool low = disk.left_kib < kLowKib ||
                       (disk.used_percent >= kNearlyFullPercent && disk.left_kib < kLowKibOfFull);
      if (!low || told.contains(disk.mount)) continue;
      found->workers[worker.worker].push_back(
          {"disk-low", fmt::format("the disk of {} is nearly full", disk.mount),
           fmt::format("{} % used, {} MiB left", disk.used_percent, disk.left_kib / 1024),
           "podctl exec {pod} --worker {workers} -- du -xhd1", disk.mount});
    }
  }
}

void JudgeClocks(const std::vector<ProbedWorker>& workers, PodFindings* found) {
  constexpr std::size_t kFewest = 3;  // of which one can be said to be wrong
  std::vector<milliseconds> offsets;
  for (const ProbedWorker& worker : workers) {
    if (worker.clock) offsets.push_back(worker.clock->offset);
  }
  if (offsets.empty()) return;
  const bool among = offsets.size() >= kFewest;
  const milliseconds middle = among ? MedianOf(offsets) : milliseconds(0);
  const milliseconds limit = among ? kMostSkewOfPod : kMostSkewFromHere;
  for (const ProbedWorker& worker : workers) {
    if (!worker.clock) continue;
    const milliseconds skew = worker.clock->offset - middle;
    if (milliseconds(std::abs(skew.count())) <= limit + worker.clock->error) continue;
    found->workers[worker.worker].push_back(
        {"clock-differs",
         among ? "its clock differs from the other workers'"
               : "its clock differs from this machine's",
         fmt::format("{} {} (± {})", Span(skew), skew.count() > 0 ? "ahead" : "behind",
                     Span(worker.clock->error)),
         "podctl exec {pod} --worker {workers} -- timedatectl"});
  }
  if (among && milliseconds(std::abs(middle.count())) > kMostSkewFromHere) {
    found->notes.push_back(fmt::format("the workers' clocks are {} {} this machine's", Span(middle),
                                       middle.count() > 0 ? "ahead of" : "behind"));
  }
}

// ---- The way out.

std::string FlagOf(std::string_view flag, const std::string& value) {
  return value.empty() ? "" : fmt::format(" {}={}", flag, ShellQuote(value));
}

// With a NAT the internet answers, with Private Google Access Google's own services do.
std::string NatCommands(const PodNetwork& network, bool google_too) {
  const std::string project = FlagOf("--project", network.project);
  const std::string region = FlagOf("--region", network.region);
  const std::string of = FlagOf("--network", network.network.empty() ? "default" : network.network);
  std::string text = fmt::format(
      "gcloud compute routers create podctl-nat{0}{1}{2} && gcloud compute routers nats create "
      "podctl-nat --router=podctl-nat{0}{1} --auto-allocate-nat-external-ips "
      "--nat-all-subnet-ip-ranges",
      project, region, of);
  if (google_too) {
    text += fmt::format(
        "; for Google's services alone: gcloud compute networks subnets update {}{}{} "
        "--enable-private-ip-google-access",
        ShellQuote(network.subnetwork.empty() ? "default" : network.subnetwork), project, region);
  }
  return text + "; or in the spec: `networkConfig: {enableExternalIps: true}`";
}

bool IsOfGoogle(const EgressTarget& target) {
  return target.host.ends_with(".googleapis.com");
}

// Of those that nobody has said to need a way out.
void NoteEgress(const std::map<int, Finding>& shut, PodFindings* found) {
  std::map<std::string, std::vector<int>> by_words;
  for (const auto& [worker, finding] : shut) {
    by_words[fmt::format("{} ({}); what needs that: {}", finding.summary, finding.detail,
                         finding.to_do)]
        .push_back(worker);
  }
  for (const auto& [words, numbers] : by_words) {
    found->notes.push_back(fmt::format("worker{} {}: {}", numbers.size() == 1 ? "" : "s",
                                       FormatWorkers(numbers, 0), words));
  }
}

void JudgeEgress(const PodProbe& probe, const std::vector<ProbedWorker>& workers,
                 const PodNetwork& network, PodFindings* found) {
  std::map<int, Finding> shut;
  for (const ProbedWorker& worker : workers) {
    if (!worker.answer) continue;
    std::vector<std::string> names;
    std::vector<std::string> causes;
    bool google_too = false;
    for (const PodProbeAnswer::Egress& egress : worker.answer->egress) {
      if (egress.why.empty()) continue;
      names.push_back(TargetName(egress.target));
      causes.push_back(fmt::format("{} {}", names.back(), egress.why));
      google_too = google_too || IsOfGoogle(egress.target);
    }
    if (names.empty()) continue;
    Finding finding{"no-egress", "", Join(causes, ", "), ""};
    if (worker.has_external) {
      finding.summary = fmt::format("it cannot connect to {}", Join(names, ", "));
      finding.to_do = fmt::format(
          "an egress rule of the network's firewall, a route, or its DNS: gcloud compute "
          "firewall-rules list{} --filter=direction=EGRESS",
          FlagOf("--project", network.project));
    } else {
      finding.summary =
          fmt::format("it cannot connect to {}: it has no external address, and no NAT lets it out",
                      Join(names, ", "));
      finding.to_do = NatCommands(network, google_too);
    }
    if (probe.egress_due) {
      found->workers[worker.worker].push_back(std::move(finding));
    } else {
      shut.emplace(worker.worker, std::move(finding));
    }
  }
  NoteEgress(shut, found);
}

// ---- Who joins.

struct Edge {
  std::size_t from = 0;  // places
  std::size_t to = 0;
  bool ok = false;
  std::string why;
};

struct EdgeCount {
  std::size_t out = 0;
  std::size_t out_failed = 0;
  std::size_t in = 0;
  std::size_t in_failed = 0;

  std::size_t failed() const { return out_failed + in_failed; }
  // It takes two to tell the worker's trouble from a neighbour's.
  bool IsBad() const {
    const bool one_way = out_failed == out || in_failed == in;
    return failed() >= 2 && (one_way || 2 * failed() > out + in);
  }
};

// Between workers that have answered.
std::vector<Edge> EdgesOf(const std::vector<ProbedWorker>& workers) {
  std::vector<Edge> edges;
  for (std::size_t from = 0; from < workers.size(); ++from) {
    if (!workers[from].answer) continue;
    std::set<std::size_t> told;
    for (const PodProbeAnswer::Peer& peer : workers[from].answer->peers) {
      if (peer.place >= workers.size() || !workers[peer.place].answer) continue;
      if (peer.place == from || !told.insert(peer.place).second) continue;
      edges.push_back({from, peer.place, peer.why.empty(), peer.why});
    }
  }
  return edges;
}

std::vector<EdgeCount> CountEdges(const std::vector<Edge>& edges, std::size_t workers) {
  std::vector<EdgeCount> counts(workers);
  for (const Edge& edge : edges) {
    ++counts[edge.from].out;
    ++counts[edge.to].in;
    if (edge.ok) continue;
    ++counts[edge.from].out_failed;
    ++counts[edge.to].in_failed;
  }
  return counts;
}

std::string HowAlone(const EdgeCount& count) {
  if (count.out_failed == 0) return "its neighbours cannot connect to it";
  if (count.in_failed == 0) return "it cannot connect to its neighbours";
  return "it and its neighbours do not reach each other";
}

// The causes of the edges at one worker, each once, as the others tell them.
std::string CausesAt(const std::vector<Edge>& edges, std::size_t place) {
  std::vector<std::string> causes;
  for (const Edge& edge : edges) {
    if (edge.ok || (edge.from != place && edge.to != place)) continue;
    if (std::count(causes.begin(), causes.end(), edge.why) == 0) causes.push_back(edge.why);
  }
  return Join(causes, ", ");
}

// Takes the worker out that explains most failures, again and again; what is left are pairs.
void NameThoseApart(const std::vector<ProbedWorker>& workers, std::vector<Edge> edges,
                    PodFindings* found) {
  while (true) {
    const std::vector<EdgeCount> counts = CountEdges(edges, workers.size());
    const auto worst =
        std::max_element(counts.begin(), counts.end(), [](const EdgeCount& a, const EdgeCount& b) {
          return std::pair(a.IsBad(), a.failed()) < std::pair(b.IsBad(), b.failed());
        });
    if (worst == counts.end() || !worst->IsBad()) break;
    const auto place = static_cast<std::size_t>(worst - counts.begin());
    const std::string& no_port = workers[place].answer->no_port;
    found->workers[workers[place].worker].push_back(
        {"not-joined", "it did not join: " + HowAlone(*worst),
         no_port.empty() ? CausesAt(edges, place) : fmt::format("no port for it: {}", no_port),
         kLookBySsh});
    std::erase_if(edges, [&](const Edge& edge) { return edge.from == place || edge.to == place; });
  }
  for (const Edge& edge : edges) {
    if (edge.ok) continue;
    found->workers[workers[edge.from].worker].push_back(
        {"neighbour-unreached",
         fmt::format("it cannot connect to worker {}", workers[edge.to].worker), edge.why,
         kLookBySsh});
  }
}

Finding NobodyReached(const std::vector<Edge>& edges, const PodNetwork& network) {
  return {"no-neighbours", "no worker can connect to another over the pod's network",
          edges.front().why,
          fmt::format("a firewall rule that lets the workers in: gcloud compute firewall-rules "
                      "create podctl-internal{}{} --direction=INGRESS --allow=tcp,udp,icmp "
                      "--source-ranges=RANGE_OF_THE_SUBNETWORK",
                      FlagOf("--project", network.project),
                      FlagOf("--network", network.network.empty() ? "default" : network.network))};
}

void JudgeNeighbours(const std::vector<ProbedWorker>& workers, const PodNetwork& network,
                     PodFindings* found) {
  const std::vector<Edge> edges = EdgesOf(workers);
  if (edges.empty()) return;
  if (std::none_of(edges.begin(), edges.end(), [](const Edge& edge) { return edge.ok; })) {
    found->pod.push_back(NobodyReached(edges, network));
    return;
  }
  NameThoseApart(workers, edges, found);
}

void JudgeRates(const std::vector<ProbedWorker>& workers, PodFindings* found) {
  constexpr std::size_t kFewestRates = 4;
  std::vector<std::int64_t> rates;
  const auto each_rate = [&](const auto& take) {
    for (const ProbedWorker& worker : workers) {
      if (!worker.answer) continue;
      for (const PodProbeAnswer::Peer& peer : worker.answer->peers) {
        if (peer.why.empty() && peer.kbits > 0 && peer.place < workers.size()) take(worker, peer);
      }
    }
  };
  each_rate([&](const auto&, const auto& peer) { rates.push_back(peer.kbits); });
  if (rates.empty()) return;
  found->slowest = *std::min_element(rates.begin(), rates.end());
  const std::int64_t median = MedianOf(rates);
  found->median = median;
  if (rates.size() < kFewestRates) return;
  each_rate([&](const ProbedWorker& worker, const PodProbeAnswer::Peer& peer) {
    if (peer.kbits >= median / kSlowPart || peer.kbits >= kSlowKbits) return;
    found->workers[worker.worker].push_back(
        {"slow-neighbour", "it sends slowly to its neighbour",
         fmt::format("{} to worker {}; the median of the pod is {}", RateWords(peer.kbits),
                     workers[peer.place].worker, RateWords(median)),
         kLookBySsh});
  });
}

void JudgeSilent(const std::vector<ProbedWorker>& workers, PodFindings* found) {
  for (const ProbedWorker& worker : workers) {
    if (worker.answer && worker.answer->python.empty()) {
      found->notes.push_back(fmt::format("the packages of worker {} are not known: {}",
                                         worker.worker, worker.answer->no_python));
    }
    if (worker.answer || worker.known) continue;
    found->workers[worker.worker].push_back(
        {"not-joined", "it did not join: " + worker.silence, "", kLookBySsh});
  }
}

// ---- The collective.

using Stage = CollectiveAnswer::Stage;

std::string_view StageWords(Stage stage) {
  switch (stage) {
    case Stage::kNothing:
      return "Python did not start";
    case Stage::kImport:
      return "JAX was not imported";
    case Stage::kJoin:
      return "it did not join the others";
    case Stage::kDevices:
      return "it did not get its devices";
    case Stage::kSum:
      return "it did not add up with the others";
    case Stage::kDone:
      break;
  }
  return "it ended";
}

Stage StageOf(const CollectiveWorker& worker) {
  return worker.answer ? worker.answer->stage : Stage::kNothing;
}

// Those to blame of a collective that did not come about: who came least far; where all came
// equally far, who failed first by itself. The others have waited for them.
std::vector<const CollectiveWorker*> ThoseToBlame(const std::vector<CollectiveWorker>& workers) {
  const auto least = [&] {
    Stage stage = Stage::kDone;
    for (const CollectiveWorker& worker : workers) stage = std::min(stage, StageOf(worker));
    return stage;
  }();
  std::vector<const CollectiveWorker*> behind;
  for (const CollectiveWorker& worker : workers) {
    if (StageOf(worker) == least) behind.push_back(&worker);
  }
  if (behind.size() < workers.size() || least == Stage::kImport || least == Stage::kNothing) {
    return behind;
  }
  const CollectiveWorker* first = nullptr;
  for (const CollectiveWorker* worker : behind) {
    const bool failed = worker->answer && !worker->answer->why.empty();
    if (failed && (first == nullptr || worker->answer->after < first->answer->after)) {
      first = worker;
    }
  }
  return first == nullptr ? std::vector<const CollectiveWorker*>{}
                          : std::vector<const CollectiveWorker*>{first};
}

Finding CollectiveFinding(const PodProbe& probe, const CollectiveWorker& worker,
                          std::size_t others) {
  const std::string_view what = StageWords(StageOf(worker));
  std::string why = worker.silence;
  if (worker.answer) {
    why = worker.answer->why.empty()
              ? fmt::format("nothing more within {}", FormatDuration(worker.answer->after))
              : worker.answer->why;
  }
  const std::string waiting =
      others == 0 ? "" : fmt::format("; {} waited for it", Plural(others, "other worker"));
  return {"collective-failed", fmt::format("it did not join the collective: {}{}", what, waiting),
          why,
          fmt::format("podctl exec {{pod}} --worker {{workers}} -- {} -c 'import jax; "
                      "print(jax.__version__)'; what holds its TPU: podctl drain {{pod}} --dry-run",
                      ShellQuote(probe.python))};
}

// All have ended well; what they tell has to be the same everywhere, and true.
void JudgeSums(const std::vector<CollectiveWorker>& workers, PodFindings* found) {
  std::int64_t devices = 0;
  milliseconds slowest{0};
  for (const CollectiveWorker& worker : workers) {
    devices += worker.answer->local;
    slowest = std::max(slowest, worker.answer->after);
  }
  const auto add = [&](int worker, std::string_view code, std::string summary, std::string detail) {
    found->workers[worker].push_back(
        {std::string(code), std::move(summary), std::move(detail), kLookBySsh});
  };
  for (const CollectiveWorker& worker : workers) {
    const CollectiveAnswer& answer = *worker.answer;
    if (answer.processes != static_cast<int>(workers.size()) || answer.devices != devices ||
        answer.sum != devices) {
      add(worker.worker, "collective-wrong", "the collective went past the other workers",
          fmt::format("of {} there {} {} seen, with {}; the sum of {} is {}",
                      Plural(workers.size(), "worker"), answer.processes == 1 ? "is" : "are",
                      answer.processes, Plural(static_cast<std::size_t>(answer.devices), "device"),
                      devices, answer.sum));
    }
    if (worker.has_chips && answer.platform != "tpu") {
      add(worker.worker, "collective-no-tpu",
          fmt::format("JAX computes on {} there, and not on the TPU", answer.platform), "");
    }
  }
  if (!found->workers.empty()) return;
  found->notes.push_back(fmt::format("all {} added up over {} of {}, in {}",
                                     Plural(workers.size(), "worker"),
                                     Plural(static_cast<std::size_t>(devices), "device"),
                                     workers.front().answer->platform, FormatDuration(slowest)));
}

}  // namespace

PodFindings JudgePodProbe(const PodProbe& probe, const std::vector<ProbedWorker>& workers,
                          const PodNetwork& network) {
  PodFindings found;
  JudgeSilent(workers, &found);
  if (probe.neighbours) JudgeNeighbours(workers, network, &found);
  found.joined = static_cast<std::size_t>(
      std::count_if(workers.begin(), workers.end(), [&](const ProbedWorker& worker) {
        return worker.answer && found.pod.empty() &&
               !HasFinding(found, worker.worker, "not-joined");
      }));
  JudgeRates(workers, &found);
  JudgeDevices(workers, &found);
  JudgeDisks(workers, &found);
  JudgeClocks(workers, &found);
  JudgeVersions(probe, workers, &found);
  JudgeEgress(probe, workers, network, &found);
  return found;
}

PodFindings JudgeCollective(const PodProbe& probe, const std::vector<CollectiveWorker>& workers) {
  PodFindings found;
  for (const CollectiveWorker& worker : workers) {
    if (!worker.answer || worker.answer->left == 0) continue;
    found.workers[worker.worker].push_back({"collective-left",
                                            "processes of the probe could not be ended", "",
                                            "podctl drain {pod} --worker {workers}"});
  }
  const bool done = std::all_of(workers.begin(), workers.end(), [](const CollectiveWorker& worker) {
    return StageOf(worker) == Stage::kDone;
  });
  if (done) {
    JudgeSums(workers, &found);
    return found;
  }
  const auto to_blame = ThoseToBlame(workers);
  if (to_blame.empty()) {
    found.pod.push_back({"collective-hung",
                         fmt::format("the collective did not end within {}, and no worker says why",
                                     FormatDuration(probe.collective)),
                         std::string(StageWords(StageOf(workers.front()))), "podctl doctor {pod}"});
  }
  for (const CollectiveWorker* worker : to_blame) {
    found.workers[worker->worker].push_back(
        CollectiveFinding(probe, *worker, workers.size() - to_blame.size()));
  }
  return found;
}

bool SpeaksAgainstMachine(const Finding& finding) {
  constexpr std::array<std::string_view, 10> kCodes = {
      "no-ssh",     "no-devices",     "probe-failed",   "not-joined",        "neighbour-unreached",
      "vfio-empty", "devices-differ", "slow-neighbour", "collective-failed", "collective-no-tpu"};
  return std::find(kCodes.begin(), kCodes.end(), finding.code) != kCodes.end();
}

std::string RateWords(std::int64_t kbits) {
  constexpr double kMega = 1e3;
  constexpr double kGiga = 1e6;
  const auto rate = static_cast<double>(kbits);
  if (rate >= kGiga) return fmt::format("{:.1f} Gbit/s", rate / kGiga);
  return fmt::format("{:.1f} Mbit/s", rate / kMega);
}

}  // namespace podctl::workers
