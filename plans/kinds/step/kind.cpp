// Declared in plans/kinds/kinds.h.
#include <fmt/format.h>

#include <algorithm>

#include "plans/engine/plan_file/secrets.h"
#include "plans/kinds/kinds.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/step/change.h"
#include "plans/kinds/step/plan.h"
#include "plans/kinds/step/record.h"
#include "plans/kinds/step/task.h"
#include "plans/spec/local_files.h"
#include "providers/base/text.h"
#include "state/state_json.h"

namespace podctl {

namespace {

// As a worker number has at most five digits in a spec (WorkerSelection).
constexpr int kMostWorkers = 100'000;

class StepKind final : public plan_file::KindOf<StepChange> {
 public:
  const RecordCodec& codec() const override { return StepRecord::Codec(); }

  std::vector<Declared> PartsOf(const Declared& whole) const override {
    if (whole.address.kind != kPodKind) return {};
    return StepsOf(*this, WantedPod(whole));
  }
  Address WholeOf(const Address& address) const override { return PodAddress(PodNameOf(address)); }

  // Those of a pod that the state does not know are of no use to anybody.
  void SettleAll(const Observation& /*observation*/, State* state,
                 std::vector<std::string>* notes) const override {
    Steps(*state).EraseIf([&](const Address& address, const StepRecord& step) {
      const Address pod = PodAddress(PodNameOf(address));
      if (step.pod == pod && Pods(*state).contains(pod)) return false;
      notes->push_back(fmt::format(
          "{}: is forgotten, since it is a step of no pod that the state has", address));
      return true;
    });
  }

  std::unique_ptr<KindPlan> Begin(const PlanningContext& input) const override {
    return BeginStepPlan(*this, input);
  }

  void StartAt(const std::string& folder, Payload* payload) const override {
    for (StepFile& file : payload->Edit<StepChange>()->step.files) {
      file.source = PathFrom(folder, file.source);
    }
  }
  // Limits that the planner keeps and that whoever shows or carries out a plan relies on.
  std::string WhatCannotBe(const Change& change) const override {
    if (change.verb != Verb::kRun) return "cannot be changed so";
    const StepChange& run = *AsStep(change);
    StepRecord record;
    record.pod = PodAddress(PodNameOf(change.address));
    if (!WhyUnreadable(record, change.address).empty()) return "is no address of a step";
    for (const auto& workers : {run.workers, run.selected}) {
      for (const int worker : workers.value_or(std::vector<int>{})) {
        if (worker < 0 || worker >= kMostWorkers) return "names a worker that cannot be";
      }
    }
    if (run.expected_workers > kMostWorkers) return "has more workers than can be";
    // It would run on others than it shows.
    if (run.selected && !run.workers) return "does not say on which workers it runs";
    if (run.sensitive) return {};
    const bool digest =
        IsSecretDigest(run.step.script) ||
        std::any_of(run.step.env.begin(), run.step.env.end(),
                    [](const auto& variable) { return IsSecretDigest(variable.second); });
    return digest ? kDigestInTheClear : "";
  }
  // What the plan of a step does not show: how long it may take, and what its files were.
  std::vector<Particular> ParticularsOf(const Change& change,
                                        const AnyRecord* /*prior*/) const override {
    const StepChange& run = *AsStep(change);
    std::vector<Particular> particulars;
    if (run.step.timeout.count() > 0) {
      particulars.push_back({"timeout", FormatDuration(run.step.timeout)});
    }
    if (run.step.probes.value_or(false)) particulars.push_back({"check", "probe"});
    if (!run.step.files.empty()) particulars.push_back({"files (digest)", run.files_digest});
    return particulars;
  }
  void VisitSecrets(const Address& address, Payload* payload,
                    const SecretVisitor& visit) const override {
    auto& run = *payload->Edit<StepChange>();
    if (!run.sensitive) return;
    if (run.step.kind == Step::Kind::kScript) {
      visit(fmt::format("the script of {}", address), run.step.script);
    }
    for (auto& [name, text] : run.step.env) visit(fmt::format("env.{} of {}", name, address), text);
  }

  std::unique_ptr<Task> MakeTask(const Change& change, TaskContext& context) const override {
    return MakeStepTask(change.address, *AsStep(change), context);
  }

  ChangeWords WordsOf(const Change& change) const override { return WordsOfStep(change); }
  ShownSides SidesOf(const Change& change, const State& state) const override {
    return SidesOfStep(change, state);
  }
  std::string Summary(const Plan& plan) const override { return SummaryOfSteps(plan); }
  std::string WorkerLabel(const Change& change, int worker,
                          const ReferenceLookup& nodes) const override {
    const std::string pod = PodNameOf(change.address);
    const Value* node = nodes(PodAddress(pod));
    return podctl::WorkerLabel(pod, worker, node == nullptr ? 0 : WorkersPerSlice(*node));
  }
};

}  // namespace

std::unique_ptr<const Kind> MakeStepKind() {
  return std::make_unique<StepKind>();
}

}  // namespace podctl
