#include "plans/plan_file/shown.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/record.h"
#include "plans/power.h"
#include "plans/training_plan.h"

namespace podctl {
namespace {

using Nodes = std::map<std::string, const Value*>;  // by pod

// The nodes that references could be read from when the plan was made.
Nodes NodesOf(const SavedPlan& saved) {
  Nodes nodes;
  for (const Change& change : saved.plan.changes) {
    const bool lives_on =
        std::holds_alternative<Keep>(change.action) || std::holds_alternative<Patch>(change.action);
    if (!lives_on || change.training) continue;
    for (const SavedNode& node : saved.nodes) {
      if (node.there && node.name == change.node) nodes[change.pod] = &node.fields;
    }
  }
  return nodes;
}

// `derived` from the action may know less: a reference to what the file does not hold.
bool IsSameLine(const AttributeChange& shown, const AttributeChange& derived) {
  if (shown.path != derived.path || shown.before) return false;
  if (!derived.known || (derived.sensitive && !shown.known)) return true;
  if (!shown.known || shown.sensitive != derived.sensitive) return false;
  return derived.sensitive || shown.after == derived.after;
}

std::string CompareLines(const Change& change, const std::vector<AttributeChange>& derived) {
  const std::vector<AttributeChange>& shown = change.attributes;
  for (std::size_t i = 0; i < std::max(shown.size(), derived.size()); ++i) {
    if (i < shown.size() && i < derived.size() && IsSameLine(shown[i], derived[i])) continue;
    const bool said = i < shown.size() && (i >= derived.size() || shown[i].path <= derived[i].path);
    return fmt::format("what it shows of {} is not what it does: {}", change.address,
                       said ? shown[i].path : derived[i].path);
  }
  return {};
}

const PodSpec* PodOf(const Action& action) {
  if (const auto* create = std::get_if<Create>(&action)) return &create->pod;
  if (const auto* patch = std::get_if<Patch>(&action)) return &patch->pod;
  if (const auto* replace = std::get_if<Replace>(&action)) return &replace->pod;
  return nullptr;
}

// The headline names one pod and node, and the action holds another.
std::string CompareNames(const Change& change) {
  bool same = true;
  if (const PodSpec* pod = PodOf(change.action)) {
    same = pod->name == change.pod && change.address == PodAddress(pod->name) &&
           change.node == NodeName{pod->project, pod->zone, pod->node_id};
  } else if (std::holds_alternative<RunStep>(change.action)) {
    same = change.address.kind == kStepKind && change.address.name.starts_with(change.pod + ".");
  } else {
    same = change.address.WithoutDeposed() == PodAddress(change.pod);
  }
  return same ? "" : fmt::format("{} is the name of something else in it", change.address);
}

std::string CheckChange(const Change& change, bool has_prior, const NodeLookup& lookup) {
  const auto* create = std::get_if<Create>(&change.action);
  const bool acts_on_there = (create != nullptr && create->resume) ||
                             std::holds_alternative<Patch>(change.action) ||
                             std::holds_alternative<Replace>(change.action) ||
                             std::holds_alternative<Delete>(change.action);
  if (!has_prior && acts_on_there) {
    return fmt::format("it acts on {}, which no state knew when it was made", change.address);
  }
  if (change.training) {
    const bool submits = create != nullptr && !create->resume;
    return submits ? CompareLines(change, SubmitAttributes(*change.training)) : "";
  }
  if (std::string problem = CompareNames(change); !problem.empty()) return problem;
  return create == nullptr ? "" : CompareLines(change, NewAttributes(create->pod, lookup));
}

}  // namespace

std::string WhyShownOtherwise(const SavedPlan& saved) {
  const Nodes nodes = NodesOf(saved);
  const NodeLookup lookup = [&](const std::string& pod) -> const Value* {
    const auto found = nodes.find(pod);
    return found == nodes.end() ? nullptr : found->second;
  };
  for (const Change& change : saved.plan.changes) {
    if (std::string problem = CheckChange(change, saved.prior.has_value(), lookup);
        !problem.empty()) {
      return problem;
    }
  }
  return {};
}

}  // namespace podctl
