#include "plans/kinds/step/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "plans/kinds/pod/backing.h"
#include "plans/kinds/pod/journal.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/route.h"
#include "plans/kinds/pod/tasks.h"
#include "plans/kinds/step/plan.h"
#include "plans/kinds/step/record.h"
#include "plans/kinds/step/runtime_unit.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"

namespace podctl {
namespace {

// Runs a bootstrap step on the workers that need it, and notes for each whether it took.
class StepTask final : public AskingTask {
 public:
  StepTask(const Address& address, StepChange run, TaskContext& context)
      : address_(address),
        pod_(PodNameOf(address)),
        pod_address_(PodAddress(pod_)),
        run_(std::move(run)),
        context_(context) {}

  NextAction Begin() override {
    const PodRecord* record = PodJournal(context_).Find(pod_address_);
    if (record == nullptr) {
      return Failed(MakeError(ErrorCode::kInternal, "the pod is not in the state"));
    }
    if (!LacksAttributes(*record)) return Run();
    return Ask(AskingWorkers(context_, *record), &StepTask::OnWorkers);
  }

  std::size_t Workers() const override {
    return run_.workers ? run_.workers->size() : run_.expected_workers;
  }

  // Noted at once: the executor saves now and then, for many workers together.
  void OnApplied(int worker, const HostKeyText& learned_host_key) override {
    Note(worker, learned_host_key, digest_);
  }

 private:
  void Note(int worker, const HostKeyText& learned_host_key, const std::string& digest) {
    if (!applied_.insert(worker).second) return;
    if (!learned_host_key.empty()) {
      PodJournal(context_).HostKeys(pod_address_, {{worker, {learned_host_key}}}, "firstUse");
    }
    PodJournal(context_).StepApplied(address_, pod_address_, worker, digest);
    const bool tells = run_.step.kind == Step::Kind::kScript && !run_.sensitive &&
                       run_.step.script.size() <= kLongestScript;
    const std::string& script = tells ? run_.step.script : kNothing;
    const StepRecord* record = context_.journal.Get<StepRecord>(address_);
    if (record == nullptr || record->script == script) return;
    context_.journal.Edit<StepRecord>(address_).script = script;
  }

  NextAction OnWorkers(const Result<std::vector<WorkerAttributes>>& workers) {
    if (workers) {
      PodJournal(context_).NoteWorkers(pod_address_, *workers);
    } else {
      unread_ = workers.error();
    }
    return Run();
  }

  NextAction Run() {
    auto rendered = RenderStep(run_.step, run_.files_digest, context_.Lookup());
    if (!rendered) {
      const auto unusable = FindUnusableOf(run_.step, context_.Lookup());
      return Failed(MakeError(ErrorCode::kFailedPrecondition,
                              unusable ? "the step refers to " + unusable->words
                                       : "the step refers to something that is not known",
                              unusable ? unusable->hint : ""));
    }
    digest_ = rendered->digest;
    rendered->step.mark = fmt::format("{}/{}", context_.journal.state().lineage, address_);
    rendered->step.hides_output = run_.sensitive;
    const PodRecord& record = *PodJournal(context_).Find(pod_address_);
    std::vector<WorkerAccess> workers = AccessToWorkers(pod_, record);
    if (ProgramsTakeFlags(context_.journal.state(), pod_, record)) {
      for (WorkerAccess& worker : workers) {
        worker.env.insert(record.exec_env.begin(), record.exec_env.end());
      }
    }
    if (unread_) DistrustUnread(*unread_, &workers);
    const auto count = static_cast<int>(workers.size());
    per_slice_ = workers.empty() ? 0 : workers.front().per_slice;
    auto wanted = run_.workers ? run_.workers : run_.selected;
    if (!wanted && !run_.workers_by_slice.empty()) {
      const auto selection = WorkerSelection::Parse(run_.workers_by_slice);
      if (!selection) return Failed(selection.error());
      auto numbers = selection->Of(workers.size(), per_slice_);
      if (!numbers) return Failed(numbers.error());
      wanted = *std::move(numbers);
    }
    if (wanted) {
      for (int worker : *wanted) {
        if (worker < count) continue;
        return Failed(MakeError(ErrorCode::kOutOfRange,
                                fmt::format("there is no worker {}: the pod has {}", worker,
                                            Plural(workers.size(), "worker"))));
      }
      std::erase_if(workers, [&](const WorkerAccess& worker) {
        return std::count(wanted->begin(), wanted->end(), worker.index) == 0;
      });
    }
    if (workers.empty()) {
      return Failed(MakeError(ErrorCode::kFailedPrecondition, "the pod has no worker that is known",
                              "The service shows no network endpoint of its node."));
    }
    count_ = workers.size();
    for (const WorkerAccess& worker : workers) {
      if (IsReadiness()) break;
      PodJournal(context_).StepBegins(address_, pod_address_, worker.index);
    }
    NextAction next_action = Ask(
        [&steps = context_.steps, step = rendered->step, workers](StepObserver& observer,
                                                                  std::stop_token stop) {
          return Reply(steps.Run(step, workers, observer, std::move(stop)));
        },
        &StepTask::OnOutcomes);
    next_action.kind = NextAction::Kind::kStep;
    next_action.workers = count_;
    next_action.acts = !IsReadiness();  // a look changes nothing
    return next_action;
  }

  NextAction OnOutcomes(const std::vector<StepOutcome>& outcomes) {
    struct Failed {
      std::string message;  // of the last one
      std::vector<int> workers;
    };
    std::map<std::string, Failed> failed;  // by what they share
    NextAction next_action;
    for (const StepOutcome& outcome : outcomes) {
      if (outcome.ok && run_.step.kind == Step::Kind::kRestartRuntime && !outcome.message.empty()) {
        Note(outcome.worker, outcome.learned_host_key, std::string(kNoUnitMark) + digest_);
        continue;
      }
      if (outcome.ok) {
        OnApplied(outcome.worker, outcome.learned_host_key);
        continue;
      }
      if (!outcome.learned_host_key.empty()) {
        PodJournal(context_).HostKeys(pod_address_, {{outcome.worker, {outcome.learned_host_key}}},
                                      "firstUse");
      }
      Failed& alike = failed[outcome.shared.empty() ? outcome.message : outcome.shared];
      alike.message = outcome.message;
      alike.workers.push_back(outcome.worker);
      for (const std::string& line : outcome.last_lines) {
        next_action.last_lines.push_back(
            fmt::format("{} | {}", WorkerLabel(pod_, outcome.worker, per_slice_), line));
      }
    }
    if (failed.empty()) {
      if (IsReadiness()) PodJournal(context_).ReadinessProved(pod_);
      return Done();
    }
    std::vector<std::string> causes;
    std::size_t count = 0;
    for (const auto& [shared, alike] : failed) {
      const bool alone = alike.workers.size() == 1;
      causes.push_back(fmt::format("worker{} {}: {}", alone ? "" : "s",
                                   FormatWorkers(alike.workers, per_slice_),
                                   alone ? alike.message : shared));
      count += alike.workers.size();
    }
    if (IsReadiness()) {
      next_action.result = MakeError(
          ErrorCode::kFailedPrecondition,
          fmt::format("the node is READY, but {} of {} cannot be used: {}", count,
                      Plural(outcomes.size(), "worker"), fmt::join(causes, "; ")),
          fmt::format("The node is kept. `podctl doctor {}{}` says what to do; the next `podctl "
                      "apply` checks {} workers again. `timeouts.boot` says how long they may "
                      "take to boot, and `ssh: {{check: false}}` that they are not looked at.",
                      pod_, Probes() ? " --probe" : "", Probes() ? "all" : "these"));
      return next_action;
    }
    next_action.result = MakeError(
        ErrorCode::kAborted,
        fmt::format("failed on {} of {}: {}", count, Plural(outcomes.size(), "worker"),
                    fmt::join(causes, "; ")),
        "The pod is kept, and so is what worked; the next `podctl apply` runs the step only where "
        "it is missing.");
    return next_action;
  }

  bool IsReadiness() const { return run_.step.kind == Step::Kind::kReadiness; }
  bool Probes() const { return run_.step.probes.value_or(false); }

  static inline const std::string kNothing;

  const Address address_;
  const std::string pod_;
  const Address pod_address_;
  const StepChange run_;
  TaskContext& context_;
  std::optional<Error> unread_;  // why the API's host keys are not known
  std::string digest_;
  int per_slice_ = 0;      // workers of each slice of a multislice, else 0
  std::size_t count_ = 0;  // of workers that it runs on
  std::set<int> applied_;  // workers whose success is in the journal
};

}  // namespace

std::unique_ptr<Task> MakeStepTask(const Address& address, const StepChange& run,
                                   TaskContext& context) {
  return std::make_unique<StepTask>(address, run, context);
}

std::unique_ptr<Task> MakeReadinessTask(const std::string& pod,
                                        std::optional<std::chrono::milliseconds> limit,
                                        std::optional<bool> probes, TaskContext& context) {
  StepChange run;
  run.step.kind = Step::Kind::kReadiness;
  run.step.timeout = limit.value_or(run.step.timeout);
  run.step.probes = probes;
  return MakeStepTask(StepAddress(pod, kReadinessStepName), run, context);
}

}  // namespace podctl
