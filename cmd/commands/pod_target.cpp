#include "cmd/commands/pod_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cmd/command_line.h"
#include "cmd/commands/os_login.h"
#include "plans/node_view.h"
#include "plans/refresh.h"
#include "plans/runtime_unit.h"
#include "plans/unknown_fate.h"
#include "plans/way_in.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"

namespace podctl {
namespace {

Error UnknownPod(const State& state, const std::string& name, const std::string& kept) {
  std::vector<std::string> known;
  for (const auto& [address, record] : state.pods) known.push_back(address.name);
  const std::string near = NearestWord(name, known);
  std::string hint = "`podctl state list` shows the pods there are.";
  if (!near.empty()) hint = fmt::format("Did you mean `{}`?", near);
  if (known.empty()) hint = "The state is empty; `podctl apply` makes the pods of the spec.";
  if (!kept.empty()) hint = fmt::format("There is no state; {}.", kept);
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
  const std::string kept = stored->state ? "" : KeptWords(*store, PlaceFlags(wiring.options()));
  const State state = std::move(stored->state).value_or(State{});
  const std::string bare = BarePodName(name);
  auto found = state.pods.find(PodAddress(bare));
  if (found == state.pods.end()) return UnknownPod(state, bare, kept);
  PodRecord record = found->second;
  // Where tpu-runtime has them, they are not for what is started beside it.
  if (!ProgramsTakeFlags(state, bare, record)) record.exec_env.clear();
  return record;
}

namespace {

void TakeSuffix(const std::string& name, PodTarget* target) {
  const auto begin = name.find_first_of("[/");
  if (begin == std::string::npos) return;
  target->named = name.substr(name[begin] == '[' ? begin : begin + 1);
  target->within_named = name[begin] == '[' && name.find('/', begin) == std::string::npos;
  if (target->named.empty()) target->named = "/";  // which names no workers
}

}  // namespace

Result<PodTarget> FindPod(Wiring& wiring, const std::string& name) {
  auto record = FindRecord(wiring, name);
  if (!record) return record.error();
  const std::string bare = BarePodName(name);
  if (auto usable = CheckUsable(bare, *record); !usable) return usable.error();
  auto target = TargetOf(wiring, bare, *std::move(record));
  if (target) TakeSuffix(name, &*target);
  return target;
}

Result<PodTarget> TargetOf(Wiring& wiring, const std::string& pod, PodRecord record) {
  std::optional<Error> unread;
  if (LacksAttributes(record)) {
    auto provider = wiring.provider();
    if (!provider) return provider.error();
    auto attributes = (*provider)
                          ->Speaking(record.api_version)
                          .GetGuestAttributes(NameOf(record), AttributesQuery(record.ssh),
                                              wiring.interrupt().drain());
    if (!attributes) unread = attributes.error();
    if (attributes) {
      // What was learned on first use stays, unless the API knows better.
      for (auto& [worker, keys] : HostKeysOf(*attributes)) record.host_keys[worker] = keys;
      record.vm_names = VmNamesOf(*attributes);
    }
  }
  EnterAsMyself(wiring, &record);
  PodTarget target{PodAddress(pod).Text(), AccessToWorkers(pod, record), {}};
  if (unread) DistrustUnread(*unread, &target.workers);
  for (WorkerAccess& worker : target.workers) wiring.known_hosts().Consult(worker);
  target.exec_env = record.exec_env;
  return target;
}

namespace {

// "[1]" and "0,!2" -> "[1]/0,![1]/2"; "!2" -> "[1]/all,![1]/2".
std::string WithinSlices(const std::string& slices, const std::string& selection) {
  std::string text;
  bool only_without = true;
  for (std::size_t begin = 0; begin <= selection.size();) {
    const std::size_t end = std::min(selection.find(',', begin), selection.size());
    std::string piece(TrimBlanks(selection.substr(begin, end - begin)));
    const bool without = piece.starts_with('!');
    if (without) piece.erase(0, 1);
    only_without = only_without && without;
    text += (text.empty() ? "" : ",") + std::string(without ? "!" : "") + slices + "/" + piece;
    begin = end + 1;
  }
  return only_without ? slices + "/all," + text : text;
}

}  // namespace

Result<std::vector<WorkerAccess>> SelectWorkers(const PodTarget& target,
                                                const std::string& selection,
                                                const std::string& fallback) {
  if (!selection.empty() && !target.named.empty() && !target.within_named) {
    return MakeError(ErrorCode::kInvalidArgument, "workers are named twice",
                     "Name them with the pod or with `--worker`, not with both.");
  }
  std::string text = selection.empty() ? fallback : selection;
  if (target.within_named) text = WithinSlices(target.named, text);
  if (!target.named.empty() && !target.within_named) text = target.named;
  const auto wrong = [&](const Error& error) {
    const std::string what = target.named.empty() ? "`--worker " + text + "`" : "`" + text + "`";
    return MakeError(error.code, fmt::format("{}: {}", what, error.message), error.hint);
  };
  const std::string pod = target.address.substr(target.address.find('.') + 1);
  const auto selected = WorkerSelection::Parse(text, pod);
  if (!selected) return wrong(selected.error());
  const int per_slice = target.workers.empty() ? 0 : target.workers.front().per_slice;
  const auto numbers = selected->Of(target.workers.size(), per_slice);
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
  auto record = state.pods.find(PodAddress(BarePodName(address)));
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
