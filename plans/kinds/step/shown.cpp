// Declared in plan.h.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "plans/engine/overlay.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/step/change.h"
#include "plans/kinds/step/plan.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"

namespace podctl {
namespace {

Value WorkerList(const std::set<int>& workers) {
  Value::List list;
  for (int worker : workers) list.emplace_back(worker);
  return Value(std::move(list));
}

std::set<int> AppliedWorkers(const StepRecord* record) {
  std::set<int> workers;
  if (record == nullptr) return workers;
  for (const auto& [worker, applied] : record->workers) workers.insert(worker);
  return workers;
}

std::string StepName(const Address& address) {
  return address.name.substr(address.name.rfind('.') + 1);
}

const char* KindName(Step::Kind kind) {
  constexpr const char* kNames[] = {"script", "restart-tpu-runtime", "readiness", "request-xrt"};
  return kNames[static_cast<std::size_t>(kind)];
}

ShownObject StepAfter(const Address& address, const StepChange& run, const StepRecord* record) {
  ShownObject after;
  after.values = Value::EmptyMap();
  after.values.Set("pod", PodAddress(PodNameOf(address)).Text());
  after.values.Set("step", StepName(address));
  after.values.Set("kind", KindName(run.step.kind));
  std::set<int> workers = AppliedWorkers(record);
  if (run.workers) {
    after.values.Set("run_on", WorkerList({run.workers->begin(), run.workers->end()}));
    workers.insert(run.workers->begin(), run.workers->end());
    after.values.Set("workers", WorkerList(workers));
  } else {
    after.unknown.Set("run_on", true);
    after.unknown.Set("workers", true);
  }
  const auto hide = [&](const char* key, Value value) {
    if (run.sensitive) after.sensitive.Set(key, true);
    after.values.Set(key, run.sensitive ? Value(kRedacted) : std::move(value));
  };
  if (run.step.kind == Step::Kind::kScript) hide("script", run.step.script);
  if (run.step.kind == Step::Kind::kRequestXrt) after.values.Set("xrt_version", run.step.script);
  Value env = Value::EmptyMap();
  for (const auto& [name, text] : run.step.env) env.MutableMap()[name] = Value(text);
  hide("env", std::move(env));
  Value::List files;
  for (const StepFile& file : run.step.files) {
    Value entry;
    entry.Set("source", file.source);
    entry.Set("destination", file.destination);
    files.push_back(std::move(entry));
  }
  after.values.Set("files", std::move(files));
  return after;
}

}  // namespace

ShownObject ObjectOf(const Address& address, const StepRecord& record) {
  ShownObject object;
  object.values = Value::EmptyMap();
  object.values.Set("pod", record.pod.Text());
  object.values.Set("step", StepName(address));
  object.values.Set("workers", WorkerList(AppliedWorkers(&record)));
  return object;
}

ShownSides SidesOfStep(const Change& change, const State& state) {
  const Address& address = change.address;
  const StepRecord* known = Steps(state).Get(address);
  ShownSides sides;
  const StepChange& run = *AsStep(change);
  if (known != nullptr) {
    sides.before = ObjectOf(address, *known);
  } else if (run.step.kind == Step::Kind::kRestartRuntime && run.workers) {
    // The unit came with the node: nothing is made.
    sides.before = ObjectOf(address, {.pod = PodAddress(PodNameOf(address)), .workers = {}});
  }
  if (known != nullptr && !known->script.empty() && !run.sensitive) {
    sides.before.values.Set(kScriptPath, known->script);
  }
  sides.after = StepAfter(address, run, known);
  return sides;
}

namespace {

// On how many workers the steps of a plan will run, each worker counted once.
struct StepReach {
  std::size_t workers = 0;
  bool known = true;  // false: of some pod that is yet to be made it is not
};

// nullptr for a look at readiness: it runs nothing, and the end of a run does not count it either.
const StepChange* StepThatRuns(const Change& change) {
  const StepChange* run = AsStep(change);
  return run == nullptr || run->step.kind == Step::Kind::kReadiness ? nullptr : run;
}

StepReach ReachOfSteps(const Plan& plan) {
  StepReach reach;
  std::set<std::pair<std::string, int>> workers;
  for (const Change& change : plan.changes) {
    const StepChange* run = StepThatRuns(change);
    if (run == nullptr) continue;
    const std::string pod = PodNameOf(change.address);
    if (run->workers) {
      for (int worker : *run->workers) workers.emplace(pod, worker);
    } else if (run->expected_workers > 0) {
      for (std::size_t i = 0; i < run->expected_workers; ++i) {
        workers.emplace(pod, static_cast<int>(i));
      }
    } else {
      reach.known = false;
    }
  }
  reach.workers = workers.size();
  return reach;
}

std::string Headline(const StepChange& run, std::string_view verb) {
  const std::size_t count = run.workers ? run.workers->size() : run.expected_workers;
  if (count == 0) return fmt::format("{} on every worker (how many is known after apply)", verb);
  return fmt::format("{} on {}", verb, Plural(count, "worker"));
}

// "workers 0-3"; `all` where they are not known.
std::string Where(const StepChange& run, std::string_view all) {
  if (run.workers) {
    return fmt::format("{} {}", run.workers->size() == 1 ? "worker" : "workers",
                       FormatWorkers(*run.workers, run.per_slice));
  }
  return run.workers_by_slice.empty() ? std::string(all) : "workers " + run.workers_by_slice;
}

std::vector<std::string> BodyOfScript(const StepChange& run, const std::string& where) {
  std::vector<std::string> body = {"on " + where};
  for (const StepFile& file : run.step.files) {
    body.push_back(fmt::format("copy {} to {}", file.source, file.destination));
  }
  for (const auto& [name, value] : run.step.env) {
    body.push_back(fmt::format("with {}={}", name,
                               run.sensitive ? "(sensitive value)" : ShortJson(Value(value))));
  }
  for (const auto& [reference, value] : run.known.value_or(std::map<std::string, std::string>{})) {
    if (run.sensitive) break;
    body.push_back(fmt::format("where {} is {}", reference, ShortJson(Value(value))));
  }
  if (run.sensitive) body.emplace_back("| (sensitive script)");
  return body;
}

}  // namespace

ChangeWords WordsOfStep(const Change& change) {
  const StepChange& run = *AsStep(change);
  ChangeWords words;
  words.title = change.address.Text();
  words.workers = run.workers;
  const std::string where = Where(run, "all workers");
  const std::string on = " on " + Where(run, "every worker");
  switch (run.step.kind) {
    case Step::Kind::kRestartRuntime:
      words.headline = Headline(run, "will restart tpu-runtime");
      words.action = "restart tpu-runtime" + on;
      words.While("Restarting tpu-runtime", "Still restarting", "Restart complete");
      words.body = {"systemctl restart tpu-runtime, then verified as active, on " + where};
      return words;
    case Step::Kind::kReadiness:
      words.headline = Headline(run, "will check for readiness");
      words.action = "check for readiness" + on;
      words.While("Checking for readiness", "Still checking", "Check complete");
      words.body = {fmt::format("look over {}; nothing is changed there", where)};
      return words;
    case Step::Kind::kRequestXrt:
      words.body = {fmt::format("ask the runtime on {} for XRT {}", where, run.step.script)};
      break;
    case Step::Kind::kScript:
      words.body = BodyOfScript(run, where);
      if (!run.sensitive) words.script = run.step.script;
      break;
  }
  words.headline = Headline(run, "will run");
  words.action = "run" + on;
  words.While("Running", "Still running", "Step complete");
  return words;
}

std::string SummaryOfSteps(const Plan& plan) {
  const auto steps =
      std::count_if(plan.changes.begin(), plan.changes.end(), [](const Change& change) {
        return change.verb == Verb::kRun && StepThatRuns(change) != nullptr;
      });
  if (steps == 0) return {};
  const StepReach reach = ReachOfSteps(plan);
  return fmt::format(
      "Bootstrap: {} to run on {}.", Plural(static_cast<std::size_t>(steps), "step"),
      reach.known ? Plural(reach.workers, "worker") : std::string("workers known after apply"));
}

}  // namespace podctl
