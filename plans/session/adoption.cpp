#include "plans/session/adoption.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "plans/kinds/pod/backing.h"
#include "plans/kinds/pod/import.h"
#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/refresh.h"
#include "providers/base/text.h"
#include "providers/gcp/queued_resource.h"
#include "state/transitions.h"

namespace podctl {
namespace {

// How many nodes a spec of a queued resource stands for; null for one.
const Value& Slices(const Value& spec) {
  const Value& several = spec["multiNodeParams"];
  return several.is_map() ? several : spec["multisliceParams"];
}

bool IsAlphaTerm(const std::string& path) {
  const gcp::Term* term = gcp::FindQueuedTerm(path);
  return term != nullptr && term->version == ApiVersion::kV2Alpha1;
}

}  // namespace

QueuedRecord QueuedRecordOf(const Value& queued) {
  const Value::List& specs = queued["tpu"]["nodeSpec"].AsList();
  auto slices = static_cast<std::int64_t>(specs.size());
  for (const Value& spec : specs) slices = std::max(slices, Slices(spec)["nodeCount"].AsInt());
  QueuedRecord record{gcp::QueuedId(queued), gcp::TermsOf(queued),
                      std::max(static_cast<int>(slices), 1), gcp::QueuedState(queued)};
  // v2alpha1 shows what goes without saying.
  if (record.terms["provisioningModel"] == Value("STANDARD")) {
    record.terms.Erase("provisioningModel");
  }
  return record;
}

std::string NodeToBe(const Value& queued) {
  const Value::List& specs = queued["tpu"]["nodeSpec"].AsList();
  if (specs.empty()) return "";
  const std::string& node = specs.front()["nodeId"].AsString();
  return node.empty() ? Slices(specs.front())["nodeIdPrefix"].AsString() : node;
}

PodDraft DraftOfFound(const std::string& pod, const Found& found) {
  PodDraft draft = DraftOf(pod, found.name, found.node);
  if (!found.queued) return draft;
  Value terms = found.queued->terms;
  if (found.queued->id != found.name.node) terms.Set("id", found.queued->id);
  for (const auto& [key, value] : found.queued->terms.AsMap()) {
    draft.alpha = draft.alpha || IsAlphaTerm(key);
    for (const auto& [member, text] : value.AsMap()) {
      draft.alpha = draft.alpha || IsAlphaTerm(key + "." + member);
    }
  }
  draft.node.Set("queuedResource", std::move(terms));
  draft.node.Erase("schedulingConfig");  // the queued resource says it
  if (found.queued->slices > 1) draft.node.Set("slices", found.queued->slices);
  return draft;
}

std::vector<std::string> Differences(const PodSpec& pod, const Found& found,
                                     const ReferenceLookup& lookup) {
  std::vector<std::string> paths = DifferingPaths(pod, found.node, lookup);
  if (pod.queued.has_value() != found.queued.has_value()) paths.emplace_back("queuedResource");
  return paths;
}

std::optional<ManagedAs> FindManaged(const State& state, const Found& found) {
  for (const auto& [address, record] : Pods(state)) {
    const bool is_deposed =
        record.project == found.name.project && record.zone == found.name.zone &&
        std::any_of(record.deposed.begin(), record.deposed.end(),
                    [&](const Object& each) { return each.locator == found.name.node; });
    // A project has an id and a number, so that one node may have two names.
    const bool is_same =
        NameOf(record) == found.name ||
        (record.zone == found.name.zone && record.current.locator == found.name.node &&
         !record.uid().empty() && record.uid() == NodeUid(found.node));
    if (is_same || is_deposed) return ManagedAs{address, is_deposed};
  }
  return std::nullopt;
}

std::string OtherLineage(const State& state, const Found& found) {
  const std::string& lineage = LineageOf(found.node);
  return lineage == state.lineage ? "" : lineage;
}

ReferenceLookup NodesOf(const State& state, Provider& provider, std::stop_token stop) {
  const auto seen = std::make_shared<std::map<Address, std::optional<Value>>>();
  return [&state, &provider, stop = std::move(stop), seen](const Address& of) -> const Value* {
    auto [it, is_new] = seen->try_emplace(of);
    const PodRecord* record = Pods(state).Get(of);
    if (is_new && record != nullptr) {
      auto node = provider.GetNode(NameOf(*record), stop);
      if (node) it->second = std::move(*node);
    }
    return it->second ? &*it->second : nullptr;
  };
}

Result<void> AdoptFound(const PlanDoors& doors, Provider& provider, Clock& clock,
                        const Found& found, PodSpec* pod, StateEdit* edit) {
  State& state = edit->state();
  if (pod->publish_ssh_key) {
    const auto own = doors.entry.Keys().For(pod->ssh, false);
    if (own) pod->own_keys = *own;
  }
  const std::string now = FormatTimestamp(clock.Now());
  TakeOver(*pod, found.name, found.node, NodesOf(state, provider, doors.stop), now, &state);
  PodRecord& record = Pods(state)[PodAddress(pod->name)];
  record.queued = found.queued;
  const std::string through = found.queued ? found.queued->id : "";
  ComeFrom(through, &record);
  if (found.waits) {
    record.observed = Value();
    BeginCreate(found.name.node, through, {"", now, state.serial}, &record);
  }
  // No keys is no failure: whoever connects asks again.
  const auto attributes = BackingOf(record).AskWorkers(provider, record, doors.stop);
  if (attributes) record.host_keys = HostKeysOf(*attributes);
  if (!record.host_keys.empty()) record.host_keys_source = "guestAttributes";
  if (doors.stop.stop_requested()) return MakeError(ErrorCode::kCancelled, "interrupted");
  return edit->Save();
}

}  // namespace podctl
