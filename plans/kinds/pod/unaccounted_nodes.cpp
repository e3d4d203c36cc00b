#include "plans/kinds/pod/unaccounted_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "plans/kinds/pod/backing.h"
#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "providers/base/text.h"
#include "providers/os/clock.h"
#include "providers/slices.h"

namespace podctl {
namespace {

std::string WhatIsThere(const State& state) {
  if (state.lineage.empty()) return "where there is none yet";
  return fmt::format("which is at serial {} and holds {}", state.serial,
                     Plural(Pods(state).size(), "pod"));
}

// A pod that the state has already cannot be imported: its record goes first, with what it has
// besides a node.
std::string WayToImport(const Address& address, const State& state) {
  const PodRecord* record = Pods(state).Get(address);
  if (record == nullptr) return {};
  const std::string quoted = ShellQuote(address.Text());
  // What was looked for and not found is nothing that it has (Backing::Settle).
  return BackingOf(*record).HasMoreThanNode(*record)
             ? fmt::format("podctl destroy --target {}, then ", quoted)
             : fmt::format("podctl state rm {}, then ", quoted);
}

// Labels are anybody's to write, so what they say is no more than a hint.
std::string Origin(const NameConflict& taken, const State& state) {
  if (taken.made_from.empty()) {
    return fmt::format("podctl did not make that {} with this state and leaves it alone.",
                       taken.kind);
  }
  if (taken.made_from == state.lineage) {
    return fmt::format(
        "By its label podctl made that {} with this state, which does not know it any more, and "
        "leaves it alone.",
        taken.kind);
  }
  return fmt::format(
      "By its label podctl made that {} with another state, of lineage {}, and leaves it alone.",
      taken.kind, VisibleControls(taken.made_from));
}

}  // namespace

std::string_view PendingVerb(PendingAction::Kind kind) {
  constexpr std::string_view kVerbs[] = {"create", "update", "delete"};
  return kVerbs[static_cast<std::size_t>(kind)];
}

std::string NameConflictHint(const NameConflict& taken, const PodSpec& pod, const Address& address,
                             const State& state, const StatePlace& place) {
  const std::string name = fmt::format("{}/{}/{}", pod.project, pod.zone, taken.id);
  const std::string looked =
      place.path.empty()
          ? ""
          : fmt::format(" This run looked at {}, {}.{}", VisibleControls(place.path),
                        WhatIsThere(state), place.kept.empty() ? "" : " " + place.kept + ".");
  return fmt::format(
      "{}\n"
      "1. The state that knows it may be elsewhere: with who made it, in another folder, on a "
      "runner that is gone.{} `--state` names another.\n"
      "2. To take {} over: {}podctl import {} {}{}\n"
      "3. To make another one: give this pod a `{}` of its own.",
      Origin(taken, state), looked, taken.both, WayToImport(address, state),
      ShellQuote(address.Text()), ShellQuote(name), place.flags, taken.key);
}

std::string NameConflictHint(const PodSpec& pod, const Address& address, const Value* node,
                             const State& state, const StatePlace& place) {
  const std::string made_from = node == nullptr ? "" : LineageOf(*node);
  return NameConflictHint({"node", "the node", "nodeId", pod.node_id, made_from}, pod, address,
                          state, place);
}

Error NotOurs(const NodeName& name) {
  return MakeError(
      ErrorCode::kAborted,
      fmt::format("the node {} was deleted meanwhile, and made anew with another state", name.node),
      "It is left alone. `podctl plan` says what to do.");
}

bool IsGoing(const Value* node) {
  return node != nullptr && NodeState(*node) == "DELETING";
}

std::string GoingHint(std::string_view key) {
  return fmt::format(
      "Somebody deletes it, not this state. Wait until it is gone and run the same command again, "
      "or give this pod a `{}` of its own.",
      key);
}

namespace {

constexpr std::size_t kMostTold = 20;  // of nodes that nobody knows, one by one

// "ZONE/queuedResources/ID" of a resource's full name, whose project may be an id or a number.
std::string_view InProject(std::string_view resource) {
  constexpr std::string_view kLocations = "/locations/";
  const auto start = resource.find(kLocations);
  return start == std::string_view::npos ? "" : resource.substr(start + kLocations.size());
}

// What the records of a state stand for, so that a node that is none of it is found in one pass.
class KnownNodes {
 public:
  // `state` is lent. `named` is asked for only where a uid alone does not tell: of thousands of
  // nodes mostly of none.
  KnownNodes(const State& state, const std::function<std::vector<NodeName>()>& named)
      : state_(state), named_(named) {
    for (const auto& [address, record] : Pods(state)) {
      if (!record.uid().empty()) uids_.insert(record.uid());
      for (const Object& deposed : record.deposed) {
        if (!deposed.uid.empty()) uids_.insert(deposed.uid);
      }
    }
  }

  bool Has(const NodeName& name, const Value& node) {
    if (uids_.contains(NodeUid(node))) return true;
    if (!names_) ReadNames();
    return names_->contains(name) ||
           requests_.contains(InProject(node["queuedResource"].AsString()));
  }

 private:
  void ReadNames() {
    const std::vector<NodeName> named = named_();
    names_.emplace(named.begin(), named.end());
    for (const auto& [address, record] : Pods(state_)) {
      names_->insert(NameOf(record));
      for (const Object& deposed : record.deposed) names_->insert(NameOf(record, deposed));
      for (const Object& through : record.auxiliary) {
        requests_.insert(fmt::format("{}/queuedResources/{}", record.zone, through.locator));
      }
    }
  }

  const State& state_;
  const std::function<std::vector<NodeName>()>& named_;
  std::unordered_set<std::string_view> uids_;
  std::optional<std::set<NodeName>> names_;
  std::set<std::string, std::less<>> requests_;  // that make nodes
};

Diagnostic UnknownNode(const NodeName& name, const Value& node, const State& state,
                       const std::string& flags) {
  const bool several = IsJoined(node);
  std::string pod = name.node;
  if (Pods(state).contains(PodAddress(pod))) pod += "-" + name.zone;
  const std::string& from = node["queuedResource"].AsString();
  const std::string way = from.empty() ? fmt::format("tpu-vm delete {}", ShellQuote(name.node))
                                       : fmt::format("queued-resources delete {} --force",
                                                     ShellQuote(from.substr(from.rfind('/') + 1)));
  const NodeName one = several ? SliceName(name, 0) : name;
  const char* it = several ? "them" : "it";
  return {
      .severity = Severity::kWarning,
      .summary = fmt::format("{} `{}` in {} {} made with this state, which does not know {}",
                             several ? "the nodes of" : "the node", VisibleControls(name.node),
                             name.zone, several ? "were" : "was", it),
      .detail = fmt::format("So says the label `{0}`. podctl leaves {1} alone, and {2}.\n"
                            "1. To take {1} over: podctl import {3} {4}{5}\n"
                            "2. To delete {1}: gcloud compute tpus {6} --project {7} --zone {8}\n"
                            "3. Where another state has {1} by now, take that label off.",
                            kLineageLabel, it, several ? "they cost" : "it costs",
                            ShellQuote(PodAddress(pod).Text()),
                            ShellQuote(fmt::format("{}/{}/{}", one.project, one.zone, one.node)),
                            flags, way, ShellQuote(name.project), ShellQuote(name.zone))};
}

}  // namespace

std::vector<Diagnostic> WarnOfUnknownNodes(const PodSurvey& survey, const State& state,
                                           const std::function<std::vector<NodeName>()>& named,
                                           const std::string& flags) {
  std::vector<Diagnostic> warnings;
  if (state.lineage.empty()) return warnings;
  KnownNodes known(state, named);
  std::size_t more = 0;
  for (const auto& [name, node] : survey.nodes) {
    if (LineageOf(node) != state.lineage || known.Has(name, node) || IsGoing(&node)) continue;
    // A slice is told of with the others.
    if (!IsJoined(node) && node["multisliceNode"].AsBool()) continue;
    if (warnings.size() < kMostTold) {
      warnings.push_back(UnknownNode(name, node, state, flags));
    } else {
      ++more;
    }
  }
  if (more > 0) {
    warnings.push_back(
        {.severity = Severity::kWarning,
         .summary = fmt::format("{} more were made with this state, which does not know them",
                                Plural(more, "node")),
         .detail = fmt::format("gcloud compute tpus tpu-vm list --filter=labels.{}={} lists them.",
                               kLineageLabel, ShellQuote(state.lineage))});
  }
  return warnings;
}

std::string PendingWords(const PendingAction& pending, const std::string& node) {
  return fmt::format("{} of {}, begun at {}, {}", PendingVerb(pending.kind), VisibleControls(node),
                     VisibleControls(pending.begun_at),
                     pending.operation.empty() ? "of which no answer was heard"
                                               : "of which the end was not heard");
}

std::optional<Diagnostic> WhyKept(const Address& address, const PodRecord& record,
                                  const std::string& now, const std::string& flags) {
  // As long as a process may be stopped between what it wrote down and its request.
  constexpr std::chrono::hours kMayArrive{1};
  const auto pending = record.pending();
  if (!pending || !IsUnheard(record) || !pending->operation.empty()) return std::nullopt;
  const auto begun = ParseTimestamp(pending->begun_at);
  const auto today = ParseTimestamp(now);
  if (!begun || !today) return std::nullopt;
  // One that begins much later than now was begun by a clock that tells nothing.
  if (*today - *begun >= kMayArrive || *begun - *today >= kMayArrive) return std::nullopt;
  return Diagnostic{
      .severity = Severity::kWarning,
      .summary = fmt::format("{} stays in the state: its node may still come", address),
      .context = address.Text(),
      .detail = fmt::format(
          "Nothing is seen of the {}: the request may still be on its way. If the node comes after "
          "all, the next apply deletes it. An apply from {} on forgets it.\nTo forget it now: "
          "podctl state rm --force-forget {}{}\nWhat that risks: {}",
          PendingWords(*pending, record.current.locator), FormatTimestamp(*begun + kMayArrive),
          ShellQuote(address.Text()), flags, ForgetRisk(record.project, record.zone))};
}

std::string ForgetRisk(const std::string& project, const std::string& zone) {
  return fmt::format(
      "a node that is there after all lives on and costs, and no state knows it. `gcloud compute "
      "tpus tpu-vm list --project {} --zone {}` shows it to who may look, and `podctl import` "
      "takes it over.",
      ShellQuote(project), ShellQuote(zone));
}

std::string PendingHint(const State& state, const std::string& project, const std::string& zone,
                        const std::string& flags) {
  std::string pending;
  std::string addresses;
  for (const auto& [address, record] : Pods(state)) {
    if (record.project != project || record.zone != zone) continue;
    const std::size_t before = pending.size();
    if (record.pending()) {
      pending += fmt::format("  {}: {}\n", address,
                             PendingWords(*record.pending(), record.current.locator));
    }
    for (const Object& deposed : record.deposed) {
      if (!deposed.pending()) continue;
      pending +=
          fmt::format("  {}: {}\n", address, PendingWords(*deposed.pending(), deposed.locator));
    }
    if (pending.size() > before) addresses += " " + ShellQuote(address.Text());
  }
  if (pending.empty()) return {};
  return fmt::format(
      "An earlier run left something under way in this zone:\n{}Once the zone answers, the same "
      "command finds out what became of it and goes on.\nTo go on without knowing:\n"
      "    podctl state rm --force-forget{}{}\nWhat that risks: {}",
      pending, addresses, flags, ForgetRisk(project, zone));
}

}  // namespace podctl
