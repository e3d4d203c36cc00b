#include "tests/plans/harness.h"

#include <algorithm>

#include "plans/engine/moves.h"
#include "plans/engine/observe.h"
#include "plans/engine/planner.h"
#include "plans/kinds/kinds.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/loader.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "state/state_json.h"
#include "tests/support/kinds.h"

namespace podctl::testing {
namespace {

constexpr const char* kStatePath = "/project/podctl.state.json";

std::string Text(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics.items()) {
    text += diagnostic.summary + " (" + diagnostic.context + ") " + diagnostic.detail + "\n";
  }
  return text;
}

std::string Shown(const std::optional<Value>& value) {
  if (!value) return "(none)";
  return value->is_string() ? value->AsString() : ToJson(*value);
}

}  // namespace

void EventLog::OnProgress(const Change&, Elapsed, const Progress& progress) {
  last_progress = progress;
  if (!progress.status.empty()) statuses.insert(progress.status);
  ++heartbeats;
}

void EventLog::OnStepLine(const Change&, int, const std::string& label, std::string_view line) {
  output.push_back(label + " " + std::string(line));
}

std::size_t EventLog::At(const std::string& line) const {
  const auto it = std::find(lines.begin(), lines.end(), line);
  EXPECT_NE(it, lines.end()) << line << " is not among:\n" << Join(lines, "\n");
  return static_cast<std::size_t>(it - lines.begin());
}

std::size_t EventLog::Count(const std::string& line) const {
  return static_cast<std::size_t>(std::count(lines.begin(), lines.end(), line));
}

void Harness::Pods(const std::string& pods) {
  SpecText("project: p\nzone: europe-west4-a\npods:\n" + pods);
}

std::string Harness::Pod(const std::string& name, const std::string& keys) {
  return "  " + name + ":\n    acceleratorType: v3-32\n    runtimeVersion: tpu-vm-tf-2.11.0-pod\n" +
         keys;
}

std::unique_ptr<StateStore> Harness::OpenStore() {
  auto store = std::make_unique<LocalStore>(
      kStatePath, files, clock, *random_door,
      LockHolder{"here", "alice@here", 1001, [](int, const std::string&) { return false; }},
      RememberedKinds());
  if (log == nullptr) return store;
  return std::make_unique<LogStore>(std::move(store), *log, RememberedKinds());
}

Result<Harness::Prepared> Harness::TryPrepare(bool destroy) {
  Prepared run;
  LoadOptions load;
  load.kinds = kinds_.known();
  const Kinds kinds = load.kinds.all;
  load.paths = {"/project/podctl.yaml"};
  Spec spec = LoadSpec(load, specs_, FixedEnvironment(environment), run.diagnostics);
  if (run.diagnostics.has_errors()) return run;
  if (destroy) spec.declared.clear();
  for (PodSpec* pod : EditPods(&spec)) {
    if (pod->publish_ssh_key) pod->own_keys = own_keys;
  }
  run.store = OpenStore();
  auto lock = run.store->Lock({}, std::chrono::milliseconds(0), {});
  if (!lock) return lock.error();
  run.lock = std::move(*lock);
  auto stored = run.store->Load();
  if (!stored) return stored.error();
  State state = stored->state.value_or(State{});
  PlanOptions plan_with = plan_options;
  if (destroy) plan_with.mode = PlanMode::kDestroy;
  plan_with.now = FormatTimestamp(clock.Now());
  plan_with.moved = MoveThings(spec, kinds, &state, run.diagnostics);
  auto observation =
      Observe({spec, state, plan_with.refresh}, kinds, *provider_door, options.parallelism, {});
  if (!observation) return observation.error();
  run.observation = std::move(*observation);
  notes.clear();
  run.generation = stored->generation;
  run.state = Settle(state, run.observation, kinds, &notes);
  const State& base = plan_with.mode == PlanMode::kRefreshOnly ? state : run.state;
  run.plan = podctl::MakePlan(spec, base, run.observation, plan_with, kinds, run.diagnostics);
  return run;
}

std::optional<Harness::Prepared> Harness::Prepare(bool destroy) {
  auto run = TryPrepare(destroy);
  if (!run) return std::nullopt;  // the disk is broken, or the machine stands still
  EXPECT_TRUE(run->store != nullptr) << Text(run->diagnostics);
  if (run->store == nullptr) return std::nullopt;
  return std::move(*run);
}

Plan Harness::MakePlan() {
  auto run = Prepare(false);
  EXPECT_TRUE(run.has_value());
  if (!run) return {};
  EXPECT_FALSE(run->diagnostics.has_errors()) << Text(run->diagnostics);
  return std::move(run->plan);
}

Diagnostics Harness::TryPlan() {
  auto run = Prepare(false);
  EXPECT_TRUE(run.has_value());
  return run ? std::move(run->diagnostics) : Diagnostics{};
}

ExecuteResult Harness::Run(bool destroy) {
  events.lines.clear();
  events.output.clear();
  auto run = Prepare(destroy);
  ExecuteResult failed;
  failed.save_error = MakeError(ErrorCode::kIo, "the run could not begin");
  if (!run) return failed;
  EXPECT_FALSE(run->diagnostics.has_errors()) << Text(run->diagnostics);
  if (alter_plan) alter_plan(&run->plan);
  return Execute(&*run);
}

ExecuteResult Harness::Execute(Prepared* run) {
  const Doors doors{*provider_door, *steps_door,     *run->store,       clock,
                    *random_door,   run->generation, kinds_.known().all};
  return podctl::Execute(run->plan, run->state, run->observation, doors, options, events,
                         drain.get_token(), leave.get_token());
}

Harness::Attempt Harness::TryApply(bool destroy) {
  events.lines.clear();
  events.output.clear();
  auto run = TryPrepare(destroy);
  Attempt attempt;
  if (!run) {
    attempt.refused = run.error();
    return attempt;
  }
  attempt.diagnostics = run->diagnostics;
  attempt.plan = run->plan;
  if (!run->diagnostics.has_errors()) attempt.result = Execute(&*run);
  return attempt;
}

void Harness::ApplyAll() {
  const ExecuteResult result = Apply();
  for (const auto& failure : result.failures) {
    ADD_FAILURE() << failure.change.address << ": " << failure.error.message;
  }
  ASSERT_TRUE(result.ok()) << (result.save_error ? result.save_error->message : "interrupted");
  ASSERT_TRUE(result.skipped.empty() && result.unfinished.empty());
  const Plan left = MakePlan();
  ASSERT_TRUE(left.Empty()) << Join(Actions(left), ", ");
  ASSERT_TRUE(left.drift.empty()) << left.drift.front().sentence;
}

void Harness::InterruptWhileWaiting() {
  cloud.queue.capacity = false;
  events.on_line = [&](const std::string& line) {
    if (line.find("WAITING") != std::string::npos) drain.request_stop();
  };
  EXPECT_TRUE(Apply().interrupted);
  events.on_line = nullptr;
  drain = {};
}

State Harness::Stored() {
  if (log != nullptr) {
    auto stored = OpenStore()->Load();
    EXPECT_TRUE(stored.has_value()) << stored.error().message;
    return stored ? std::move(stored->state).value_or(State{}) : State{};
  }
  const auto text = files.FileText(kStatePath);
  if (!text) return {};
  auto state = StateFromJson(*text, kStatePath, RememberedKinds());
  EXPECT_TRUE(state.has_value()) << state.error().message;
  return state ? std::move(*state) : State{};
}

Value Harness::Node(const std::string& node) {
  return cloud.Node(Name(node)).value_or(Value());
}

std::vector<std::string> Harness::Requests() const {
  std::vector<std::string> requests;
  for (const auto& call : cloud.Calls()) {
    if (call.method == "list" || call.method == "get" || call.method.starts_with("operation") ||
        call.method == "attributes") {
      continue;
    }
    std::string line = call.method + " " + call.target.substr(call.target.rfind('/') + 1);
    if (call.method == "patch") line += " " + Join(call.mask, ",");
    requests.push_back(std::move(line));
  }
  return requests;
}

const Change& ChangeOf(const Plan& plan, const std::string& address) {
  for (const Change& change : plan.changes) {
    if (change.address == address) return change;
  }
  ADD_FAILURE() << "no change of " << address << " among " << Join(Actions(plan), ", ");
  static const Change none;
  return none;
}

std::vector<std::string> Actions(const Plan& plan) {
  std::vector<std::string> actions;
  for (const Change& change : plan.changes) {
    if (!IsKeep(change)) {
      actions.push_back(std::string(WordOf(change.verb)) + " " + change.address);
    }
  }
  return actions;
}

std::vector<std::string> Lines(const std::vector<AttributeChange>& attributes) {
  std::vector<std::string> lines;
  for (const AttributeChange& attribute : attributes) {
    lines.push_back(attribute.path + ": " + Shown(attribute.before) + " -> " +
                    (attribute.known ? Shown(attribute.after) : "(unknown)"));
  }
  return lines;
}

}  // namespace podctl::testing
