#include "tests/simulation/fault_injector.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "plans/kinds/pod/node_view.h"
#include "plans/spec/runtime_flags.h"
#include "providers/base/encoding.h"

namespace podctl::simulation {
namespace {

using testing::FakeProvider;
using testing::Harness;

// No simulated run needs nearly as many; one that does goes round in circles.
constexpr int kMostCalls = 5000;

std::string IdOf(const std::string& resource) {
  return resource.substr(resource.rfind('/') + 1);
}

Error Refusal(Dice& dice) {
  static const std::vector<ErrorCode> codes = {
      ErrorCode::kUnavailable,      ErrorCode::kUnavailable,        ErrorCode::kInternal,
      ErrorCode::kReplyLost,        ErrorCode::kResourceExhausted,  ErrorCode::kPermissionDenied,
      ErrorCode::kInvalidArgument,  ErrorCode::kFailedPrecondition, ErrorCode::kAborted,
      ErrorCode::kDeadlineExceeded, ErrorCode::kUnauthenticated,    ErrorCode::kUnknown};
  const ErrorCode code = dice.Pick(codes);
  return MakeError(code, fmt::format("simulated {}", ErrorCodeName(code)));
}

}  // namespace

void FaultInjector::Set(const FaultRates& rates) {
  rates_ = rates;
  record_.faults = record_.meddling = record_.calls = 0;
  dies_after_ = dice_.Chance(0.5);
  harness_.cloud.Calm();
}

std::optional<Error> FaultInjector::Dead() const {
  if (!harness_.files.Stopped()) return std::nullopt;
  return MakeError(ErrorCode::kCancelled, "the dead make no calls");
}

bool FaultInjector::Die(const std::string& when) {
  if (rates_.dies_at == 0 || record_.calls != rates_.dies_at) return false;
  Note("dies " + when);
  ++record_.faults;
  harness_.files.StopAfter(0);
  return true;
}

std::optional<Error> FaultInjector::Before(const std::string& call) {
  if (auto dead = Dead()) return dead;
  if (++record_.calls > kMostCalls) {
    return MakeError(ErrorCode::kInternal, "the run goes round in circles");
  }
  harness_.clock.Advance(std::chrono::milliseconds(dice_.Below(400)));
  if (dice_.Chance(rates_.other_people)) Meddle();
  if (rates_.interrupted_at == record_.calls) {
    Note("interrupted before " + call);
    ++record_.faults;
    harness_.drain.request_stop();
  }
  if (!dies_after_ && Die("before " + call)) return Dead();
  if (!dice_.Chance(rates_.refusal)) return std::nullopt;
  ++record_.faults;
  Error error = Refusal(dice_);
  Note(fmt::format("{}: {}", call, error.message));
  return error;
}

Result<Operation> FaultInjector::After(const std::string& call, Result<Operation> result) {
  Note(fmt::format("{}: {}", call, result ? IdOf(result->name) : result.error().message));
  if (dies_after_ && Die("after " + call)) return *Dead();
  if (!result || !dice_.Chance(rates_.lost_reply)) return result;
  ++record_.faults;
  Note("  its answer is lost");
  return MakeError(ErrorCode::kReplyLost, "simulated loss of the answer");
}

void FaultInjector::MaybeFailOperation(const std::string& method, const std::string& node) {
  if (!dice_.Chance(rates_.failed_operation)) return;
  static const std::vector<ErrorCode> codes = {
      ErrorCode::kPermissionDenied, ErrorCode::kInvalidArgument, ErrorCode::kFailedPrecondition,
      ErrorCode::kInternal};
  const bool leaves = rates_.half_made_nodes && method == "create" && dice_.Chance(0.5);
  ++record_.faults;
  record_.excused.insert(node);
  Note(fmt::format("the next {} will fail{}", method, leaves ? " and leave a half-made node" : ""));
  harness_.cloud.FailOperation(
      method,
      dice_.Chance(0.5) ? FakeProvider::NoCapacity()
                        : MakeError(dice_.Pick(codes), "simulated failure of an operation"),
      leaves);
}

// Somebody else does something to a node that stands there.
void FaultInjector::Meddle() {
  std::vector<Value> nodes;
  for (const Value& node : harness_.cloud.ListNodes("p", "europe-west4-a", {}).value_or({})) {
    if (NodeState(node) == "READY") nodes.push_back(node);
  }
  if (nodes.empty()) return;
  const Value node = dice_.Pick(nodes);
  const std::string id = IdOf(node["name"].AsString());
  const auto edit = [&](const std::function<void(Value&)>& change) { harness_.Edit(id, change); };
  const auto patch = [&](const std::string& field, const std::function<void(Value&)>& change) {
    harness_.cloud.PatchAsSomebodyElse(Harness::Name(id), {field}, change);
  };
  ++record_.meddling;
  switch (dice_.Below(6)) {
    case 0:
      Note(id + " is preempted");
      record_.excused.insert(id);
      return edit([](Value& there) { there.Set("state", "PREEMPTED"); });
    case 1:
      Note(id + " is terminated");
      record_.excused.insert(id);
      return edit([](Value& there) { there.Set("state", "TERMINATED"); });
    case 2:
      Note(id + " is deleted by somebody");
      record_.excused.insert(id);
      return harness_.cloud.RemoveNode(Harness::Name(id));
    case 3:
      Note(id + " gets another label");
      return patch("labels", [](Value& there) { there.SetPath("labels.team", "theirs"); });
    case 4:
      Note(id + " gets metadata of theirs");
      record_.foreign[NodeUid(node)] = "theirs";
      return patch("metadata", [](Value& there) { there.SetPath("metadata.theirs", "theirs"); });
    default:
      Note(id + " is described otherwise");
      return patch("description", [](Value& there) { there.Set("description", "theirs"); });
  }
}

Result<std::vector<Value>> FaultInjector::ListNodes(const std::string& project,
                                                    const std::string& zone, std::stop_token stop) {
  if (auto error = Before("list")) return *error;
  return harness_.cloud.ListNodes(project, zone, std::move(stop));
}

Result<Value> FaultInjector::GetNode(const NodeName& name, std::stop_token stop) {
  if (auto error = Before("get " + name.node)) return *error;
  return harness_.cloud.GetNode(name, std::move(stop));
}

Result<Operation> FaultInjector::CreateNode(const NodeName& name, const Value& node,
                                            const std::string& request_id, std::stop_token stop) {
  const std::string call = "create " + name.node;
  if (auto error = Before(call)) return *error;
  if (!harness_.cloud.Node(name)) MaybeFailOperation("create", name.node);
  auto result = harness_.cloud.CreateNode(name, node, request_id, std::move(stop));
  if (result) {
    ++record_.creates[name.node];
    const auto made = harness_.cloud.Node(name);
    const int workers = made ? static_cast<int>(WorkerCount(*made)) : 0;
    for (int worker = 0; worker < workers; ++worker) {
      record_.runtime[{NodeUid(*made), worker}] = node["metadata"][kRuntimeVariablesKey].AsString();
    }
  }
  return After(call, std::move(result));
}

Result<Operation> FaultInjector::PatchNode(const NodeName& name, const Value& node,
                                           const std::vector<std::string>& update_mask,
                                           std::stop_token stop) {
  const std::string call = fmt::format("patch {} {}", name.node, fmt::join(update_mask, ","));
  if (auto error = Before(call)) return *error;
  const auto there = harness_.cloud.Node(name);
  if (there && NodeState(*there) == "READY") MaybeFailOperation("patch", "");
  return After(call, harness_.cloud.PatchNode(name, node, update_mask, std::move(stop)));
}

Result<Operation> FaultInjector::DeleteNode(const NodeName& name, const std::string& request_id,
                                            std::stop_token stop) {
  const std::string call = "delete " + name.node;
  if (auto error = Before(call)) return *error;
  if (harness_.cloud.Node(name)) MaybeFailOperation("delete", "");
  return After(call, harness_.cloud.DeleteNode(name, request_id, std::move(stop)));
}

Result<Operation> FaultInjector::StartNode(const NodeName& name, std::stop_token stop) {
  const std::string call = "start " + name.node;
  if (auto error = Before(call)) return *error;
  const auto there = harness_.cloud.Node(name);
  if (there && NodeState(*there) == "STOPPED") MaybeFailOperation("start", "");
  return After(call, harness_.cloud.StartNode(name, std::move(stop)));
}

Result<Operation> FaultInjector::StopNode(const NodeName& name, std::stop_token stop) {
  const std::string call = "stop " + name.node;
  if (auto error = Before(call)) return *error;
  const auto there = harness_.cloud.Node(name);
  if (there && NodeState(*there) == "READY") MaybeFailOperation("stop", "");
  return After(call, harness_.cloud.StopNode(name, std::move(stop)));
}

Result<Operation> FaultInjector::GetOperation(const std::string& operation, std::stop_token stop) {
  if (auto error = Before("look at " + IdOf(operation))) return *error;
  auto result = harness_.cloud.GetOperation(operation, std::move(stop));
  // The service forgets operations that have ended.
  if (result && result->done && !rates_.half_made_nodes && dice_.Chance(rates_.refusal)) {
    ++record_.faults;
    Note(IdOf(operation) + " is forgotten");
    return MakeError(ErrorCode::kNotFound, "simulated loss of an operation");
  }
  return result;
}

Result<std::vector<Operation>> FaultInjector::ListOperations(const std::string& project,
                                                             const std::string& zone,
                                                             std::stop_token stop) {
  if (auto error = Before("list operations")) return *error;
  return harness_.cloud.ListOperations(project, zone, std::move(stop));
}

Result<std::vector<WorkerAttributes>> FaultInjector::GetGuestAttributes(
    const NodeName& name, const std::string& query_path, std::stop_token stop) {
  if (auto error = Before("attributes " + name.node)) return *error;
  return harness_.cloud.GetGuestAttributes(name, query_path, std::move(stop));
}

std::vector<StepOutcome> FaultInjector::Run(const Step& step,
                                            const std::vector<WorkerAccess>& workers,
                                            StepObserver& observer, std::stop_token stop) {
  std::vector<StepOutcome> outcomes;
  for (const WorkerAccess& worker : workers) {
    if (stop.stop_requested()) {
      outcomes.push_back({worker.index, false, "stopped", {}, {}});
      continue;
    }
    outcomes.push_back(RunOn(step, worker, observer));
  }
  return outcomes;
}

StepOutcome FaultInjector::RunOn(const Step& step, const WorkerAccess& worker,
                                 StepObserver& observer) {
  const std::string what = step.kind == Step::Kind::kScript      ? step.script
                           : step.kind == Step::Kind::kReadiness ? "look"
                                                                 : "restart";
  const std::string call = fmt::format("run `{}` on {}", what, worker.Name());
  StepOutcome outcome{worker.index, false, "simulated trouble", {"trouble"}, {}};
  if (Dead()) return outcome;
  ++record_.calls;
  if (!dies_after_ && Die("before " + call)) return outcome;
  const bool fails = dice_.Chance(rates_.bad_worker);
  const bool acts = !fails || dice_.Chance(0.5);
  if (fails) ++record_.faults;
  Note(fmt::format("{}{}", call, fails ? (acts ? ", which breaks off late" : ", no route") : ""));
  // The 32 bytes of the fake's host keys name the node: "NODE/WORKER".
  std::string node;
  if (!worker.host_keys.empty()) {
    const std::string& key = worker.host_keys.front();
    const std::string blob = Base64Decode(key.substr(key.find(' ') + 1)).value_or("");
    if (blob.size() > 32) node = blob.substr(blob.size() - 32);
    node.resize(std::min(node.size(), node.find('/')));
  }
  const auto there = harness_.cloud.Node(Harness::Name(node));
  if (!there || NodeState(*there) != "READY") {
    outcome.message = "simulated: no route to " + worker.Name();
    return outcome;
  }
  const std::pair<std::string, int> where{NodeUid(*there), worker.index};
  if (acts && step.kind == Step::Kind::kScript) {
    // "echo NAME-VERSION", see RandomPod::StepScript.
    record_.scripts[where][what.substr(0, what.rfind('-'))] = fails ? "" : what;
  } else if (acts && step.kind == Step::Kind::kRestartRuntime) {
    record_.runtime[where] = (*there)["metadata"][kRuntimeVariablesKey].AsString();
  }
  if (dies_after_ && Die("after " + call)) return outcome;
  observer.OnStepLine(worker.index, "a line");
  if (fails) return outcome;
  return {worker.index, true, {}, {}, {}};
}

}  // namespace podctl::simulation
