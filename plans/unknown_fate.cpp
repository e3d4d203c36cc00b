#include "plans/unknown_fate.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "providers/base/text.h"

namespace podctl {
namespace {

std::string WhatIsThere(const State& state) {
  if (state.lineage.empty()) return "where there is none yet";
  return fmt::format("which is at serial {} and holds {}", state.serial,
                     Plural(state.pods.size(), "pod"));
}

}  // namespace

std::string_view PendingVerb(PendingAction::Kind kind) {
  switch (kind) {
    case PendingAction::Kind::kCreate:
      return "create";
    case PendingAction::Kind::kPatch:
      return "update";
    case PendingAction::Kind::kDelete:
      return "delete";
  }
  return "";
}

std::string KeptWords(StateStore& store, const std::string& flags) {
  const auto kept = store.History();
  if (!kept) return {};
  const auto good = std::find_if(kept->begin(), kept->end(),
                                 [](const HistoryEntry& entry) { return entry.problem.empty(); });
  if (good == kept->end()) return {};
  return fmt::format("{} of it {} kept: `podctl state restore {}{}` brings the newest back",
                     Plural(kept->size(), "generation"), kept->size() == 1 ? "is" : "are",
                     good->serial, flags);
}

std::string TakenHint(const PodSpec& pod, const std::string& address, const State& state,
                      const StatePlace& place) {
  const std::string node = fmt::format("{}/{}/{}", pod.project, pod.zone, pod.node_id);
  const std::string looked =
      place.path.empty()
          ? ""
          : fmt::format(" This run looked at {}, {}.{}", VisibleControls(place.path),
                        WhatIsThere(state), place.kept.empty() ? "" : " " + place.kept + ".");
  return fmt::format(
      "podctl did not make that node with this state and leaves it alone.\n"
      "1. The state that knows it may be elsewhere: with who made it, in another folder, on a "
      "runner that is gone.{} `--state` names another.\n"
      "2. To take the node over: podctl import {} {}{}\n"
      "3. To make another one: give this pod a `nodeId` of its own.",
      looked, ShellQuote(address), ShellQuote(node), place.flags);
}

std::string PendingWords(const PendingAction& pending, const std::string& node) {
  return fmt::format("{} of {}, begun at {}, {}", PendingVerb(pending.kind), VisibleControls(node),
                     VisibleControls(pending.begun_at),
                     pending.operation.empty() ? "of which no answer was heard"
                                               : "of which the end was not heard");
}

std::string ForgetRisk(const std::string& project, const std::string& zone) {
  return fmt::format(
      "a node that is there after all lives on and costs, and no state knows it. `gcloud compute "
      "tpus tpu-vm list --project {} --zone {}` shows it to who may look, and `podctl import` "
      "takes it over.",
      ShellQuote(project), ShellQuote(zone));
}

std::string PendingHint(const State& state, const std::string& project, const std::string& zone) {
  std::string pending;
  std::string addresses;
  for (const auto& [address, record] : state.pods) {
    if (record.project != project || record.zone != zone) continue;
    const std::size_t before = pending.size();
    if (record.pending) {
      pending += fmt::format("  {}: {}\n", address, PendingWords(*record.pending, record.node_id));
    }
    for (const DeposedNode& deposed : record.deposed) {
      if (!deposed.pending) continue;
      pending +=
          fmt::format("  {}: {}\n", address, PendingWords(*deposed.pending, deposed.node_id));
    }
    if (pending.size() > before) addresses += " " + ShellQuote(address);
  }
  if (pending.empty()) return {};
  return fmt::format(
      "An earlier run left something under way in this zone:\n{}Once the zone answers, the same "
      "command finds out what became of it and goes on.\nTo go on without knowing:\n"
      "    podctl state rm --force-forget{}\nWhat that risks: {}",
      pending, addresses, ForgetRisk(project, zone));
}

}  // namespace podctl
