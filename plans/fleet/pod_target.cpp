#include "plans/fleet/pod_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "plans/kinds/pod/backing.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/route.h"
#include "plans/kinds/step/runtime_unit.h"
#include "providers/base/ssh_key_lines.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"

namespace podctl {
namespace {

Error UnknownPod(const State& state, const std::string& name, const std::string& kept) {
  std::vector<std::string> known;
  for (const auto& [address, record] : Pods(state)) known.push_back(address.name);
  const std::string near = NearestWord(name, known);
  std::string hint = "`podctl state list` shows the pods there are.";
  if (!near.empty()) {
    hint =
        fmt::format("Did you mean `{}`? `podctl apply` makes a pod that only the spec has.", near);
  }
  if (known.empty()) hint = "The state is empty; `podctl apply` makes the pods of the spec.";
  if (!kept.empty()) hint = fmt::format("There is no state; {}.", kept);
  return MakeError(ErrorCode::kNotFound, fmt::format("there is no pod `{}` in the state", name),
                   hint);
}

}  // namespace

std::string AdviceForLost(const Address& pod, bool watched, std::string_view does) {
  if (!watched) return fmt::format("`podctl apply --target {}` {}.", pod, does);
  return fmt::format("`podctl watch` {}; where none is at work, `podctl apply --target {}` does.",
                     does, pod);
}

Result<void> CheckUsable(const std::string& name, const PodRecord& record,
                         const std::function<bool()>& is_watched) {
  const std::string state = NodeState(record.observed);
  const Address address = PodAddress(name);
  const auto pending = record.pending();
  if (pending && pending->kind == PendingAction::Kind::kDelete) {
    return MakeError(
        ErrorCode::kFailedPrecondition,
        fmt::format("pod `{}` is being deleted, as podctl began at {}", name, pending->begun_at),
        fmt::format(
            "`podctl destroy --target {0}` ends what was begun, `podctl apply --target {0}` "
            "makes it anew.",
            address));
  }
  if (record.exists() && record.observed.is_null()) {
    const bool watched = is_watched && BackingOf(record).MayBeTaken(record) && is_watched();
    return MakeError(
        ErrorCode::kFailedPrecondition,
        fmt::format("pod `{}` is gone: its node was preempted, or deleted outside of podctl", name),
        AdviceForLost(address, watched, "makes it again"));
  }
  // Such a node shows no workers any more.
  if (record.exists() && IsTerminalState(state)) {
    const auto story = IsRecovering(record) ? record.recovery() : std::nullopt;
    return MakeError(
        ErrorCode::kFailedPrecondition,
        fmt::format("pod `{}` is {}: the service took its node back{}", name, state,
                    story ? ", as was found at " + story->since : ""),
        AdviceForLost(address, is_watched && is_watched(), "makes it anew, with its bootstrap"));
  }
  if (record.exists() && (IsStopped(record.observed) || state == "DELETING")) {
    const bool stopped = IsStopped(record.observed);
    return MakeError(
        ErrorCode::kFailedPrecondition, fmt::format("pod `{}` is {}", name, state),
        stopped ? fmt::format("With `desiredState: READY` in the spec, `podctl apply --target {}` "
                              "starts it.",
                              address)
                : fmt::format("`podctl apply --target {}` makes it anew.", address));
  }
  if (!record.exists() || record.observed.is_null() || WorkerCount(record.observed) == 0) {
    return MakeError(
        ErrorCode::kFailedPrecondition, fmt::format("pod `{}` has no workers yet", name),
        fmt::format("`podctl apply --target {}` finishes what an earlier run began.", address));
  }
  return {};
}

std::string BarePodName(const std::string& name) {
  const std::string bare = name.starts_with("pod.") ? name.substr(4) : name;
  return bare.substr(0, bare.find_first_of("[/"));
}

Result<PodRecord> FindRecord(const State& state, const std::string& name, const std::string& kept) {
  const std::string bare = BarePodName(name);
  const PodRecord* found = Pods(state).Get(PodAddress(bare));
  if (found == nullptr) return UnknownPod(state, bare, kept);
  PodRecord record = *found;
  // Where tpu-runtime has them, they are not for what is started beside it.
  if (!ProgramsTakeFlags(state, bare, record)) record.exec_env.clear();
  return record;
}

std::optional<Error> LearnAttributes(Provider& provider, const std::stop_token& stop,
                                     PodRecord* record) {
  auto attributes = BackingOf(*record).AskWorkers(provider, *record, stop);
  if (!attributes) return attributes.error();
  // What was learned on first use stays, unless the API knows better.
  for (auto& [worker, keys] : HostKeysOf(*attributes)) record->host_keys[worker] = keys;
  record->vm_names = VmNamesOf(*attributes);
  return std::nullopt;
}

PodTarget TargetOf(const std::string& name, const PodRecord& record,
                   const std::optional<Error>& unread, ssh::KnownHostsFiles& known_hosts) {
  const std::string pod = BarePodName(name);
  PodTarget target{PodAddress(pod).Text(), AccessToWorkers(pod, record), record.exec_env};
  if (unread) DistrustUnread(*unread, &target.workers);
  for (WorkerAccess& worker : target.workers) known_hosts.Consult(worker);
  TakeNamedWorkers(name, &target);
  return target;
}

void TakeNamedWorkers(const std::string& name, PodTarget* target) {
  const auto begin = name.find_first_of("[/");
  if (begin == std::string::npos) return;
  target->named = name.substr(name[begin] == '[' ? begin : begin + 1);
  target->within_named = name[begin] == '[' && name.find('/', begin) == std::string::npos;
  if (target->named.empty()) target->named = "/";  // which names no workers
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

Result<void> RememberHostKeys(StateStore& store, const LockInfo& who, const std::string& address,
                              const std::map<int, HostKeyText>& learned) {
  auto lock = store.Lock(who, std::chrono::milliseconds(0), {});
  if (!lock) return MakeError(lock.error().code, "the state is locked by another run.");
  auto stored = store.Load();
  if (!stored) return stored.error();
  if (!stored->state) return MakeError(ErrorCode::kNotFound, "the state is gone.");
  State state = *std::move(stored->state);
  const Address pod = PodAddress(BarePodName(address));
  if (!Pods(state).contains(pod)) return {};
  PodRecord& record = Pods(state)[pod];
  for (const auto& [worker, key] : learned) record.host_keys[worker] = {key};
  record.host_keys_source = "firstUse";
  return store.Save(state, &stored->generation);
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

KeyStatus StatusOfKey(const PodRecord& record, const std::vector<std::string>& ours,
                      Provider& provider, const std::stop_token& stop) {
  const auto node = provider.InVersion(record.api_version).GetNode(NameOf(record), stop);
  if (!node) return KeyStatus::kUnknown;
  const std::string& keys = (*node)["metadata"][kSshKeys].AsString();
  const bool held = std::any_of(ours.begin(), ours.end(),
                                [&](const std::string& line) { return HoldsSshKey(keys, line); });
  if (held) return KeyStatus::kNotTakenUp;
  if (record.metadata.contains(kSshKeys)) return KeyStatus::kNotInSpec;
  return record.ssh.withhold_key ? KeyStatus::kWithheld : KeyStatus::kUnpublished;
}

}  // namespace podctl
