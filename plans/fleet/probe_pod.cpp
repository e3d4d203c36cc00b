#include "plans/fleet/probe_pod.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "plans/fleet/run/start_gate.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"
#include "providers/node.h"
#include "providers/workers/runs.h"

namespace podctl {
namespace {

using std::chrono::milliseconds;
using workers::CollectiveWorker;
using workers::PodFindings;
using workers::PodProbe;
using workers::ProbedWorker;

// A worker that takes no notice of its own limit.
constexpr std::chrono::seconds kProbeMargin{15};

// Begins on all workers at once: as soon as each is ready, or has no more to do with it.
class ProbeStart {
 public:
  ProbeStart(std::size_t workers, Clock& clock)
      : clock_(clock), settled_(workers, false), offsets_(workers) {}

  ssh::InputFeed* feed() { return &gate_; }
  // Nobody waits for the others. Of clocks nothing can be said then.
  void StartInTurn() { Open(); }
  AskHooks Hooks(std::string doing) {
    AskHooks hooks;
    hooks.on_error_line = [this](std::size_t job, std::string_view line) {
      if (line == workers::kStagedLine) Settle(job);
      if (const auto told = workers::ReadProbeClock(line)) NoteClock(job, *told);
    };
    hooks.on_result = [this](std::size_t job, const ssh::WorkerResult&) { Settle(job); };
    hooks.words.doing = std::move(doing);
    return hooks;
  }
  const std::optional<workers::ClockOffset>& offset(std::size_t job) const { return offsets_[job]; }

 private:
  void Settle(std::size_t job) {
    if (settled_[job]) return;
    settled_[job] = true;
    if (++count_ == settled_.size()) Open();
  }
  void Open() {
    if (!opened_) opened_ = clock_.Now();
    gate_.Open();
  }
  // It looked at its clock somewhere between the start and now.
  void NoteClock(std::size_t job, std::int64_t told) {
    if (!opened_ || count_ < settled_.size() || offsets_[job]) return;
    const auto between = std::chrono::duration_cast<milliseconds>(clock_.Now() - *opened_) / 2;
    const auto middle =
        std::chrono::duration_cast<milliseconds>(opened_->time_since_epoch()) + between;
    offsets_[job] = {milliseconds(told) - middle, between};
  }

  Clock& clock_;
  StartGate gate_{StartGate::After::kStaysOpen};
  std::vector<bool> settled_;
  std::size_t count_ = 0;
  std::optional<Clock::SystemTime> opened_;
  std::vector<std::optional<workers::ClockOffset>> offsets_;
};

std::string LastPart(const Value& name) {
  const std::string& text = name.AsString();
  return text.substr(text.rfind('/') + 1);
}

workers::PodNetwork NetworkOf(const Value& node) {
  workers::PodNetwork network;
  const auto parts = Split(node["name"].AsString(), "/");
  constexpr std::size_t kZoneAt = 3;  // "projects/p/locations/ZONE/nodes/n"
  if (parts.size() > kZoneAt && parts[0] == "projects") {
    const std::string zone(parts[kZoneAt]);
    network.project = std::string(parts[1]);
    network.region = zone.substr(0, zone.rfind('-'));
  }
  network.network = LastPart(node["networkConfig"]["network"]);
  network.subnetwork = LastPart(node["networkConfig"]["subnetwork"]);
  return network;
}

bool HasExternal(const Value& node, int worker) {
  const auto& endpoints = node["networkEndpoints"].AsList();
  const std::size_t at = static_cast<std::size_t>(worker) * EndpointsPerWorker(node);
  return at >= endpoints.size() || !endpoints[at]["accessConfig"]["externalIp"].AsString().empty();
}

// Those of `chosen` that have answered already: the others are known to be silent.
class PodProber {
 public:
  PodProber(WorkerRounds& rounds, Clock& clock, Random& random,
            const std::vector<WorkerAccess>& chosen, const PodProbeRequest& request,
            DoctorReport* report)
      : rounds_(rounds), clock_(clock), request_(request), report_(*report) {
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (!report_.workers[i].probe) continue;
      const WorkerAccess& worker = chosen[i];
      members_.push_back(worker);
      places_.push_back(i);
      probe_.members.push_back(
          {worker.index, worker.inside.empty() ? worker.host : worker.inside, worker.env});
    }
    probe_.run = random.Uuid();
    probe_.secret = random.Uuid() + random.Uuid();
    probe_.egress = request.egress;
    probe_.egress_due = request.egress_due;
    probe_.python = request.python;
  }

  bool HasMembers() const { return !members_.empty(); }

  // False: it was interrupted.
  bool LookAtNeighbours(const Value& node) {
    const std::size_t most = rounds_.MostAtOnce(members_);
    probe_.neighbours = members_.size() > 1 && most >= members_.size();
    ProbeStart start(members_.size(), clock_);
    if (most < members_.size()) {
      outcome_.notes.push_back("the neighbours were not called: " + TooFewAtOnce(members_, most));
      start.StartInTurn();
    }
    auto answers = Ask(start, "probing", &workers::NeighboursInput, LongestNeighbours(probe_));
    if (rounds_.stopped()) return false;
    for (std::size_t place = 0; place < members_.size(); ++place) {
      ProbedWorker worker;
      worker.worker = members_[place].index;
      worker.report = report_.workers[places_[place]].probe;
      worker.has_external = HasExternal(node, worker.worker);
      if (most >= members_.size()) worker.clock = start.offset(place);
      worker.answer = Read<workers::PodProbeAnswer>(
          answers[place],
          [&](const auto& lines) { return workers::ParsePodProbe(lines, members_.size()); },
          &worker.silence);
      outcome_.workers.push_back(std::move(worker));
    }
    const PodFindings found = JudgePodProbe(probe_, outcome_.workers, NetworkOf(node));
    outcome_.neighbours = probe_.neighbours;
    outcome_.joined = found.joined;
    outcome_.slowest = found.slowest;
    outcome_.median = found.median;
    Take(found);
    return true;
  }

  // False: it was interrupted.
  bool Compute() {
    outcome_.no_collective = WhyNoCollective();
    if (!outcome_.no_collective.empty()) return true;
    ProbeStart start(members_.size(), clock_);
    auto answers =
        Ask(start, "computing together", &workers::CollectiveInput, LongestCollective(probe_));
    if (rounds_.stopped()) return false;
    for (std::size_t place = 0; place < members_.size(); ++place) {
      CollectiveWorker worker;
      worker.worker = members_[place].index;
      worker.has_chips = report_.workers[places_[place]].probe->devices > 0;
      worker.answer = Read<workers::CollectiveAnswer>(
          answers[place], [](const auto& lines) { return workers::ParseCollective(lines); },
          &worker.silence);
      outcome_.collective.push_back(std::move(worker));
    }
    Take(JudgeCollective(probe_, outcome_.collective));
    return true;
  }

  ProbeReportOfPod Finish() && { return std::move(outcome_); }

 private:
  using InputOf = std::string (*)(const PodProbe&, std::size_t);

  std::vector<WorkerAnswer> Ask(ProbeStart& start, const std::string& doing, InputOf input,
                                std::chrono::seconds longest) {
    std::vector<ssh::Job> jobs;
    const std::string command = workers::PodProbeCommand();
    for (std::size_t place = 0; place < members_.size(); ++place) {
      ssh::Job job{members_[place], command,
                   std::make_shared<const std::string>(input(probe_, place))};
      job.feed = start.feed();
      jobs.push_back(std::move(job));
    }
    return rounds_.Ask(jobs, longest + kProbeMargin, start.Hooks(doing));
  }

  template <typename Answer, typename Parse>
  static std::optional<Answer> Read(WorkerAnswer& answer, const Parse& parse,
                                    std::string* silence) {
    // What it says of its clock is no word about its end.
    if (workers::ReadProbeClock(answer.last_words)) answer.last_words.clear();
    if (!answer.result.ok()) {
      *silence = CauseOfSilence(answer);
      return std::nullopt;
    }
    auto read = parse(answer.lines);
    if (!read) {
      *silence = read.error().message;
      return std::nullopt;
    }
    return *std::move(read);
  }

  // What is found, with the workers that it is of; not what was known before.
  void Take(const PodFindings& found) {
    static const std::map<std::string, std::string> kSameAs = {{"clock-differs", "clock-skew"},
                                                               {"devices-differ", "no-devices"},
                                                               {"vfio-empty", "no-devices"}};
    report_.findings.insert(report_.findings.end(), found.pod.begin(), found.pod.end());
    outcome_.notes.insert(outcome_.notes.end(), found.notes.begin(), found.notes.end());
    for (DoctorReport::Worker& worker : report_.workers) {
      const auto of = found.workers.find(worker.index);
      if (of == found.workers.end()) continue;
      for (const workers::Finding& finding : of->second) {
        const auto same = kSameAs.find(finding.code);
        if (same == kSameAs.end() || !Has(worker, same->second)) {
          worker.findings.push_back(finding);
        }
      }
    }
  }
  static bool Has(const DoctorReport::Worker& worker, const std::string& code) {
    return std::any_of(worker.findings.begin(), worker.findings.end(),
                       [&](const workers::Finding& finding) { return finding.code == code; });
  }

  std::string NameOf(std::vector<int> numbers) const {
    return WorkersName(report_.pod, numbers, report_.per_slice);
  }

  // A clause; empty: nothing speaks against it. What runs must not be disturbed.
  std::string WhyNoCollective() const {
    if (!request_.whole) return "not all workers of the pod were chosen";
    if (members_.size() < report_.workers.size()) return "not all workers answer";
    if (members_.size() > 1 && !outcome_.neighbours) return "not all workers can be asked at once";
    if (members_.size() > outcome_.joined) return "not all workers reach their neighbours";
    std::vector<int> without;
    std::vector<int> held;
    for (std::size_t place = 0; place < members_.size(); ++place) {
      const int number = members_[place].index;
      if (!outcome_.workers[place].answer->packages.contains("jax")) without.push_back(number);
      const workers::ProbeReport& probe = *report_.workers[places_[place]].probe;
      if (!probe.holders.empty() || !probe.lock_owner.empty()) held.push_back(number);
    }
    if (!report_.running.empty()) {
      return fmt::format("job {} runs, which is not disturbed", *report_.running.begin());
    }
    if (!held.empty()) {
      return fmt::format("the TPU of {} is in use, which is not disturbed", NameOf(held));
    }
    if (!without.empty()) {
      return fmt::format("{} has no JAX on {} (`--python` names another one)", request_.python,
                         NameOf(without));
    }
    return {};
  }

  WorkerRounds& rounds_;
  Clock& clock_;
  const PodProbeRequest& request_;
  DoctorReport& report_;
  PodProbe probe_;
  std::vector<WorkerAccess> members_;
  std::vector<std::size_t> places_;  // of the members, in the report
  ProbeReportOfPod outcome_;
};

}  // namespace

void ProbePod(WorkerRounds& rounds, Clock& clock, Random& random, const Value& node,
              const std::vector<WorkerAccess>& chosen, const PodProbeRequest& request,
              DoctorReport* report) {
  PodProber prober(rounds, clock, random, chosen, request, report);
  if (prober.HasMembers() && !prober.LookAtNeighbours(node)) return;
  if (!prober.Compute()) return;
  report->probe = std::move(prober).Finish();
}

}  // namespace podctl
