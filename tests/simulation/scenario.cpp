#include "tests/simulation/scenario.h"

#include <fmt/format.h>

#include <algorithm>

#include "cmd/views/plan_view.h"
#include "plans/kinds/kinds.h"
#include "plans/kinds/output/record.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "plans/spec/runtime_flags.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "state/state_json.h"

namespace podctl::simulation {
namespace {

using testing::FakeFileSystem;
using testing::FakeProvider;
using testing::Harness;

constexpr const char* kStatePath = "/project/podctl.state.json";
// Trouble of an earlier run may come to light in the next one, which then says so and fails.
constexpr int kMostClearRuns = 3;

std::string Outcome(const Harness::Attempt& attempt) {
  if (attempt.refused) return "refused: " + attempt.refused->message;
  std::string text;
  for (const Diagnostic& problem : attempt.diagnostics.items()) {
    text += problem.summary + " (" + problem.context + ") " + problem.detail + "; ";
  }
  if (!attempt.result) return text;
  for (const auto& failure : attempt.result->failures) {
    text += failure.change.address.Text() + ": " + failure.error.message + "; ";
  }
  if (attempt.result->save_error) text += "not saved: " + attempt.result->save_error->message;
  if (attempt.result->interrupted) text += "interrupted";
  return text.empty() ? "ok" : text;
}

bool AllDone(const Harness::Attempt& attempt) {
  return attempt.result && attempt.result->ok();
}

}  // namespace

Scenario::Scenario(std::uint64_t seed)
    : dice_(seed),
      random_(dice_),
      harness_(FakeProvider::Options{.looks = static_cast<int>(dice_.Below(4))}),
      faults_(harness_, dice_) {
  harness_.provider_door = &faults_;
  harness_.steps_door = &faults_;
  harness_.random_door = &random_;
  harness_.options.parallelism = 0;
}

std::optional<std::string> Scenario::Play() {
  const std::size_t eras = 1 + dice_.Below(4);
  for (std::size_t era = 0; era < eras; ++era) {
    if (auto broken = Era()) return broken;
  }
  return dice_.Chance(0.5) ? Destroy() : std::nullopt;
}

Scenario::Verdict Scenario::Era() {
  Record& record = faults_.record();
  record.creates.clear();
  record.excused.clear();
  uids_.clear();
  accelerators_.clear();
  for (const RandomPod& pod : spec_.pods) accelerators_[pod.name] = pod.accelerator;
  for (const auto& [address, pod] : Pods(last_)) {
    uids_[pod.current.locator] = NodeUid(harness_.Node(pod.current.locator));
  }
  if (spec_.pods.empty()) {
    spec_ = RandomSpec::Throw(dice_);
  } else {
    spec_.Edit(dice_);
  }
  for (const auto& [from, to] : spec_.moved) {
    if (accelerators_.contains(from)) accelerators_[to] = accelerators_[from];
  }
  harness_.SpecText(spec_.Yaml());
  for (const std::string& line : SplitLines(spec_.Yaml())) Note("| " + line);
  const std::size_t bad_runs = dice_.Below(4);
  for (std::size_t i = 0; i < bad_runs; ++i) {
    if (auto broken = BadRun()) return broken;
  }
  return ClearUp();
}

void Scenario::BreakDisk() {
  switch (dice_.Below(6)) {
    case 0: {
      const int call = 1 + static_cast<int>(dice_.Below(60));
      const bool sticky = dice_.Chance(0.5);
      Note(fmt::format("  the disk fails at call {}{}", call, sticky ? " and from then on" : ""));
      harness_.files.FailCall(call, MakeError(ErrorCode::kIo, "simulated: Input/output error"),
                              sticky);
      ++tally_.disk_faults;
      disk_was_bad_ = true;
      return;
    }
    case 1: {
      const std::size_t space = dice_.Below(20'000);
      Note(fmt::format("  there is room for {} bytes", space));
      harness_.files.LimitSpace(space);
      ++tally_.disk_faults;
      disk_was_bad_ = true;
      return;
    }
    case 2:
    case 3: {
      const int step = static_cast<int>(dice_.Below(120));
      Note(fmt::format("  death after {} steps of the disk", step));
      harness_.files.StopAfter(step);
      return;
    }
    default:
      return;
  }
}

void Scenario::Revive() {
  harness_.files.FailCall(0, {});
  harness_.files.LimitSpace(std::nullopt);
  if (!harness_.files.Stopped()) {
    harness_.files.StopAfter(1'000'000'000);
    return;
  }
  ++tally_.deaths;
  if (dice_.Chance(0.5)) {
    Note("  the process is dead");
    return harness_.files.Restart();
  }
  ++tally_.power_cuts;
  const std::uint64_t kept = dice_.Next();
  const auto torn = static_cast<FakeFileSystem::TornBytes>(dice_.Below(4));
  Note(fmt::format("  the power was cut, {:x} of {} names kept, torn {}", kept,
                   harness_.files.UnsyncedNames(), static_cast<int>(torn)));
  harness_.files.CutPower(kept, torn);
}

Harness::Attempt Scenario::Run(bool destroy) {
  ++tally_.runs;
  harness_.drain = std::stop_source();
  Harness::Attempt attempt = harness_.TryApply(destroy);
  tally_.faults += faults_.record().faults;
  Note("  " + Outcome(attempt));
  return attempt;
}

Scenario::Verdict Scenario::BadRun() {
  static const std::vector<double> odds = {0, 0, 0.02, 0.1, 0.3};
  FaultRates rates;
  rates.refusal = dice_.Pick(odds);
  rates.lost_reply = dice_.Pick(odds);
  rates.failed_operation = dice_.Pick(odds);
  rates.other_people = dice_.Pick(odds) / 2;
  rates.bad_worker = dice_.Pick(odds);
  rates.half_made_nodes = dice_.Chance(0.5);

  if (dice_.Chance(0.3)) rates.dies_at = 1 + static_cast<int>(dice_.Below(40));
  if (dice_.Chance(0.1)) rates.interrupted_at = 1 + static_cast<int>(dice_.Below(40));
  Note("  a run in bad weather");
  faults_.Set(rates);
  const int disk_faults = tally_.disk_faults;
  const auto foreign = faults_.record().foreign;
  BreakDisk();
  const Harness::Attempt attempt = Run(false);
  const bool died = harness_.files.Stopped();
  const bool disk_fault = tally_.disk_faults > disk_faults;
  Revive();
  // What somebody writes between the reading and the writing of a patch is put back by the run that
  // patched (lost_update.h); one that does not live to see it cannot.
  if (!AllDone(attempt)) faults_.record().foreign = foreign;
  if (auto broken = JudgeDisk()) return broken;
  if (auto broken = JudgeKnown()) return broken;
  if (auto broken = JudgeSecrets(attempt)) return broken;
  const Record& record = faults_.record();
  if (died || disk_fault || record.meddling > 0) return std::nullopt;
  if (!AllDone(attempt) && record.faults == 0 && record.excused.empty()) {
    return "the run failed although nothing went wrong";
  }
  if (!AllDone(attempt)) return std::nullopt;
  faults_.Set({});
  harness_.drain = std::stop_source();
  const Plan left = harness_.MakePlan();
  if (!left.Empty()) {
    return "the run said it was done, but this is left: " + Join(testing::Actions(left), ", ");
  }
  return std::nullopt;
}

Scenario::Verdict Scenario::ClearUp() {
  faults_.Set({});
  for (int run = 1;; ++run) {
    Note("  a run under a clear sky");
    const Harness::Attempt attempt = Run(false);
    if (auto broken = JudgeDisk()) return broken;
    if (auto broken = JudgeKnown()) return broken;
    if (auto broken = JudgeSecrets(attempt)) return broken;
    if (AllDone(attempt)) break;
    if (run == kMostClearRuns) return "no run ends well: " + Outcome(attempt);
    // What fell upon an operation of an earlier run is told by the run that waits for it.
    if (faults_.record().excused.empty()) return "the next run failed: " + Outcome(attempt);
  }
  disk_was_bad_ = false;
  const Plan left = harness_.MakePlan();
  if (!left.Empty()) return "this is left: " + Join(testing::Actions(left), ", ");
  if (!left.drift.empty()) return "it drifts: " + left.drift.front().sentence;
  for (const std::string& path : harness_.files.AllFiles()) {
    const bool rubbish = path.ends_with(".tmp") || path.ends_with(".lock");
    if (rubbish) return path + " is left behind";
  }
  if (auto broken = JudgeWorld()) return broken;
  return JudgeCreates();
}

Scenario::Verdict Scenario::Destroy() {
  Note("everything is destroyed");
  FaultRates rates;
  rates.refusal = dice_.Chance(0.5) ? 0.1 : 0;
  rates.lost_reply = dice_.Chance(0.5) ? 0.3 : 0;
  if (dice_.Chance(0.5)) rates.dies_at = 1 + static_cast<int>(dice_.Below(15));
  faults_.Set(rates);
  BreakDisk();
  Run(true);
  Revive();
  if (auto broken = JudgeDisk()) return broken;
  if (auto broken = JudgeKnown()) return broken;
  faults_.Set({});
  // Until then what was begun and not heard of may still come, and is remembered.
  harness_.clock.Advance(std::chrono::hours(1));
  const Harness::Attempt attempt = Run(true);
  if (!AllDone(attempt)) return "the destroy failed: " + Outcome(attempt);
  if (auto broken = JudgeDisk()) return broken;
  if (harness_.cloud.NodeCount() > 0) return "nodes are left after the destroy";
  if (!Pods(last_).empty()) return "pods are left in the state after the destroy";
  if (!Outputs(last_).empty()) return "outputs are left in the state after the destroy";
  return std::nullopt;
}

// ---- What must hold.

Scenario::Verdict Scenario::JudgeDisk() {
  const auto text = harness_.files.FileText(kStatePath);
  if (!text) return state_seen_ ? Verdict("the state is gone") : std::nullopt;
  auto state = StateFromJson(*text, kStatePath, RememberedKinds());
  if (!state) return "the state cannot be read: " + state.error().message;
  if (state_seen_ && state->lineage != last_.lineage) return "the state has another lineage";
  if (state_seen_ && state->serial < last_.serial && !disk_was_bad_) {
    return fmt::format("the state went back from {} to {}", last_.serial, state->serial);
  }
  last_ = *std::move(state);
  state_seen_ = true;
  return std::nullopt;
}

Scenario::Verdict Scenario::JudgeKnown() {
  std::set<std::string> known;
  for (const auto& [address, pod] : Pods(last_)) {
    known.insert(pod.current.locator);
    for (const Object& deposed : pod.deposed) known.insert(deposed.locator);
  }
  for (const Value& node : harness_.cloud.ListNodes("p", "europe-west4-a", {}).value_or({})) {
    if (!known.contains(NodeId(node))) return NodeId(node) + " lives, and the state knows nothing";
  }
  return std::nullopt;
}

Scenario::Verdict Scenario::JudgeSecrets(const Harness::Attempt& attempt) {
  for (const std::string& path : harness_.files.AllFiles()) {
    if (harness_.files.FileText(path)->find(kSecretMark) != std::string::npos) {
      return "a sensitive value stands in " + path;
    }
  }
  std::string shown = ShowPlan(attempt.plan, {}) + Outcome(attempt);
  for (const auto* lines : {&harness_.events.lines, &harness_.events.output, &harness_.notes}) {
    shown += Join(*lines, "\n");
  }
  if (shown.find(kSecretMark) != std::string::npos) return "a sensitive value is shown";
  return std::nullopt;
}

Scenario::Verdict Scenario::JudgeWorld() {
  if (harness_.cloud.NodeCount() != spec_.pods.size()) {
    return fmt::format("there are {} nodes for {} pods", harness_.cloud.NodeCount(),
                       spec_.pods.size());
  }
  if (Pods(last_).size() != spec_.pods.size()) return "the state has other pods than the spec";
  for (const RandomPod& pod : spec_.pods) {
    const PodRecord* record = Pods(last_).Get(PodAddress(pod.name));
    if (record == nullptr) return pod.name + " is not in the state";
    if (auto broken = JudgePod(pod, *record)) return pod.name + ": " + *broken;
  }
  return std::nullopt;
}

Scenario::Verdict Scenario::JudgePod(const RandomPod& pod, const PodRecord& record) {
  if (record.pending()) return "something is still pending";
  if (!record.deposed.empty()) return "a deposed node is left";
  if (IsSought(record)) return "it is there, and sought all the same";
  if (!pod.node_id.empty() && record.current.locator != pod.node_id &&
      record.wanted_node_id != pod.node_id) {
    return "its node is called " + record.current.locator;
  }
  const Value node = harness_.Node(record.current.locator);
  if (node.is_null()) return "its node is not there";
  if (NodeState(node) != "READY") return "its node is " + NodeState(node);
  if (NodeUid(node) != record.current.uid) return "the state holds another node's uid";
  if (node["acceleratorType"].AsString() != pod.accelerator) return "its type is wrong";
  if (!pod.ignore_team && node["labels"]["team"].AsString() != pod.team) return "its team is wrong";
  const std::string described = node["description"].AsString();
  if (!pod.description.empty() && described != pod.description) return "its description is wrong";
  const Value& metadata = node["metadata"];
  const auto wants = [&](const std::string& key, const std::string& value) {
    return metadata[key].AsString() == value;
  };
  if (!wants("note", pod.note > 0 ? fmt::format("note-{}", pod.note) : "")) return "wrong note";
  if (!wants("token", pod.secret > 0 ? pod.SecretValue() : "")) return "wrong token";
  if (pod.flags > 0 &&
      !wants(kRuntimeVariablesKey, fmt::format("-e LIBTPU_INIT_ARGS=--f={}", pod.flags)))
    return "wrong flags";
  if (const auto theirs = faults_.record().foreign.find(NodeUid(node));
      theirs != faults_.record().foreign.end() && !wants("theirs", theirs->second)) {
    return "somebody else's metadata is lost";
  }
  if (auto broken = JudgeOutputs(pod, node)) return broken;
  return JudgeWorkers(pod, node);
}

Scenario::Verdict Scenario::JudgeOutputs(const RandomPod& pod, const Value& node) const {
  const std::string& address = node["networkEndpoints"].AsList().front()["ipAddress"].AsString();
  const OutputRecord* of = Outputs(last_).Get(OutputAddress("of-" + pod.name));
  if (of == nullptr) return "it has no output";
  if (of->value != fmt::format("{} {}", pod.team, address)) return "its output is " + of->value;
  const OutputRecord* secret = Outputs(last_).Get(OutputAddress("secret-" + pod.name));
  if ((secret != nullptr) != (pod.secret > 0)) return "its sensitive output came or went";
  if (secret != nullptr && secret->digest != OutputDigest(pod.SecretValue(), last_.digest_key)) {
    return "its sensitive output is another";
  }
  return std::nullopt;
}

Scenario::Verdict Scenario::JudgeWorkers(const RandomPod& pod, const Value& node) {
  const Record& record = faults_.record();
  const int workers = static_cast<int>(WorkerCount(node));
  for (int worker = 0; worker < workers; ++worker) {
    const std::pair<std::string, int> where{NodeUid(node), worker};
    for (const auto& [step, version] : pod.steps) {
      const auto ran = record.scripts.find(where);
      const std::string key = "echo " + step;
      if (ran == record.scripts.end() || !ran->second.contains(key) ||
          ran->second.at(key) != pod.StepScript(step)) {
        return fmt::format("worker {} has not run {} as it is now", worker, step);
      }
    }
    const auto runtime = record.runtime.find(where);
    const std::string wanted = node["metadata"][kRuntimeVariablesKey].AsString();
    if (workers > 1 && pod.flags > 0 &&
        (runtime == record.runtime.end() || runtime->second != wanted)) {
      return fmt::format("the runtime of worker {} has old flags", worker);
    }
  }
  return std::nullopt;
}

// A pod is made at most once, and one that stood there as wanted stays the node that it was. A node
// that others took away, or whose making failed, is made again.
Scenario::Verdict Scenario::JudgeCreates() {
  const Record& record = faults_.record();
  std::set<std::string> triggered;
  for (const RandomPod& pod : spec_.pods) {
    if (pod.triggered) triggered.insert(Pods(last_).at(PodAddress(pod.name)).current.locator);
  }
  for (const auto& [id, count] : record.creates) {
    if (count > 1 && !record.excused.contains(id) && !triggered.contains(id)) {
      return fmt::format("{} was made {} times", id, count);
    }
  }
  for (const RandomPod& pod : spec_.pods) {
    const auto before = accelerators_.find(pod.name);
    if (before == accelerators_.end() || before->second != pod.accelerator) continue;
    if (pod.triggered) continue;
    const std::string id = Pods(last_).at(PodAddress(pod.name)).current.locator;
    if (record.excused.contains(id) || !uids_.contains(id)) continue;
    if (NodeUid(harness_.Node(id)) != uids_.at(id)) return id + " was made anew for no reason";
  }
  return std::nullopt;
}

}  // namespace podctl::simulation
