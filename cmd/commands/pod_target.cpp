#include "cmd/commands/pod_target.h"

#include <fmt/format.h>

#include "plans/node_view.h"
#include "plans/refresh.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"

namespace podctl {
namespace {

Error UnknownPod(const State& state, const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [address, record] : state.pods) known.push_back(address.substr(4));
  const std::string near = NearestWord(name, known);
  std::string hint = "`podctl state list` shows the pods there are.";
  if (!near.empty()) hint = fmt::format("Did you mean `{}`?", near);
  if (known.empty()) hint = "The state is empty; `podctl apply` makes the pods of the spec.";
  return MakeError(ErrorCode::kNotFound, fmt::format("there is no pod `{}` in the state", name),
                   hint);
}

}  // namespace

Result<void> CheckUsable(const std::string& name, const PodRecord& record) {
  const std::string state = NodeState(record.observed);
  if (!record.exists || record.observed.is_null() || WorkerCount(record.observed) == 0) {
    return MakeError(ErrorCode::kFailedPrecondition,
                     fmt::format("pod `{}` has no workers yet", name),
                     "`podctl apply` finishes what an earlier run began.");
  }
  if (IsTerminalState(state) || state == "STOPPED" || state == "DELETING") {
    return MakeError(ErrorCode::kFailedPrecondition, fmt::format("pod `{}` is {}", name, state),
                     "`podctl plan` shows what is to be done about it.");
  }
  return {};
}

std::string BarePodName(const std::string& name) {
  const std::string bare = name.starts_with("pod.") ? name.substr(4) : name;
  return bare.substr(0, bare.find_first_of("[/"));
}

Result<PodRecord> FindRecord(Wiring& wiring, const std::string& name) {
  auto store = wiring.OpenStore(wiring.StatePath());
  auto stored = store->Load();
  if (!stored) return stored.error();
  const State state = std::move(stored->state).value_or(State{});
  const std::string bare = BarePodName(name);
  auto found = state.pods.find(PodAddress(bare));
  if (found == state.pods.end()) return UnknownPod(state, bare);
  return found->second;
}

namespace {

Result<void> TakeSuffix(const std::string& name, PodTarget* target) {
  const auto begin = name.find_first_of("[/");
  if (begin == std::string::npos) return {};
  std::string rest = name.substr(begin);
  if (rest.starts_with('[')) {
    const auto end = rest.find(']');
    target->named_slices = rest.substr(1, end == std::string::npos ? end : end - 1);
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
    if (end == std::string::npos || target->named_slices.empty()) rest = "?";
  }
  if (rest.starts_with('/')) target->named_workers = rest.substr(1);
  const bool whole = rest.empty() || (rest.starts_with('/') && rest.size() > 1);
  if (whole) return {};
  return MakeError(ErrorCode::kInvalidArgument, fmt::format("`{}` names no workers", name),
                   "Write POD, POD/3 or, of a multislice, POD[1]/3: slice 1, worker 3.");
}

}  // namespace

Result<PodTarget> FindPod(Wiring& wiring, const std::string& name) {
  PodTarget suffix;
  if (auto taken = TakeSuffix(name, &suffix); !taken) return taken.error();
  auto record = FindRecord(wiring, name);
  if (!record) return record.error();
  const std::string bare = BarePodName(name);
  if (auto usable = CheckUsable(bare, *record); !usable) return usable.error();
  auto target = TargetOf(wiring, bare, *std::move(record));
  if (!target) return target;
  target->named_slices = suffix.named_slices;
  target->named_workers = suffix.named_workers;
  return target;
}

Result<PodTarget> TargetOf(Wiring& wiring, const std::string& pod, PodRecord record) {
  if (record.host_keys.size() < WorkerCount(record.observed)) {
    auto provider = wiring.provider();
    if (!provider) return provider.error();
    // No answer is no failure: the first use is then what is trusted, if the spec allows that.
    auto attributes =
        (*provider)->GetGuestAttributes(NameOf(record), "hostkeys/", wiring.interrupt().drain());
    if (attributes) {
      for (auto& [worker, keys] : HostKeysOf(*attributes)) record.host_keys[worker] = keys;
    }
  }
  PodTarget target{PodAddress(pod), AccessToWorkers(pod, record), {}};
  for (WorkerAccess& worker : target.workers) wiring.known_hosts().Consult(worker);
  if (target.workers.size() == 1) target.exec_env = record.exec_env;
  return target;
}

namespace {

// Numbers within each of the named slices, as numbers through all of them.
Result<std::vector<int>> WithinSlices(const PodTarget& target, const WorkerSelection& workers) {
  const int per_slice = target.workers.empty() ? 0 : target.workers.front().per_slice;
  if (per_slice == 0) {
    return MakeError(ErrorCode::kInvalidArgument, "the pod has no slices",
                     "Name its workers alone: POD/3, or `--worker 3`.");
  }
  const auto slices = WorkerSelection::Parse(target.named_slices);
  if (!slices) return slices.error();
  const auto chosen = slices->Of(target.workers.size() / static_cast<std::size_t>(per_slice));
  if (!chosen) {
    const int last = static_cast<int>(target.workers.size()) / per_slice - 1;
    return MakeError(chosen.error().code, fmt::format("there is no slice {}", target.named_slices),
                     fmt::format("Slices are numbered from 0 to {}.", last));
  }
  const auto within = workers.Of(static_cast<std::size_t>(per_slice));
  if (!within) return within.error();
  std::vector<int> numbers;
  for (const int slice : *chosen) {
    for (const int worker : *within) numbers.push_back(slice * per_slice + worker);
  }
  return numbers;
}

}  // namespace

Result<std::vector<WorkerAccess>> SelectWorkers(const PodTarget& target,
                                                const std::string& selection,
                                                const std::string& fallback) {
  if (!selection.empty() && !target.named_workers.empty()) {
    return MakeError(ErrorCode::kInvalidArgument, "workers are named twice",
                     "Name them with the pod or with `--worker`, not with both.");
  }
  const std::string& text = !selection.empty()              ? selection
                            : !target.named_workers.empty() ? target.named_workers
                                                            : fallback;
  const auto wrong = [&](const Error& error) {
    const std::string what =
        target.named_workers.empty() ? "`--worker " + text + "`" : "`" + text + "`";
    return MakeError(error.code, fmt::format("{}: {}", what, error.message), error.hint);
  };
  const auto selected = WorkerSelection::Parse(text);
  if (!selected) return wrong(selected.error());
  const auto numbers = target.named_slices.empty() ? selected->Of(target.workers.size())
                                                   : WithinSlices(target, *selected);
  if (!numbers) return wrong(numbers.error());
  std::vector<WorkerAccess> workers;
  for (const int number : *numbers) {
    workers.push_back(target.workers[static_cast<std::size_t>(number)]);
  }
  return workers;
}

void RememberHostKeys(Wiring& wiring, const std::string& address,
                      const std::map<int, HostKeyText>& learned) {
  if (learned.empty()) return;
  const auto remark = [&](const std::string& why) {
    wiring.streams().err << fmt::format(
        "The host keys seen for the first time could not be remembered: {}\n", why);
  };
  auto store = wiring.OpenStore(wiring.StatePath());
  auto lock = store->Lock(wiring.LockFor("exec"), std::chrono::milliseconds(0), {});
  if (!lock) return remark("the state is locked by another run.");
  auto stored = store->Load();
  if (!stored || !stored->state)
    return remark(stored ? "the state is gone." : stored.error().message);
  State state = *std::move(stored->state);
  auto record = state.pods.find(address);
  if (record == state.pods.end()) return;
  for (const auto& [worker, key] : learned) record->second.host_keys[worker] = {key};
  record->second.host_keys_source = "firstUse";
  if (auto saved = store->Save(state, &stored->generation); !saved) remark(saved.error().message);
}

std::string ExportLine(const std::map<std::string, std::string>& env) {
  std::string text;
  for (const auto& [name, value] : env) {
    text += fmt::format("export {}={}; ", name, ShellQuote(value));
  }
  return text;
}

std::string RemoteCommand(const std::vector<std::string>& words,
                          const std::map<std::string, std::string>& env) {
  const std::string text = ExportLine(env);
  if (words.size() == 1) return text + words.front();
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(ShellQuote(word));
  return text + Join(quoted, " ");
}

}  // namespace podctl
