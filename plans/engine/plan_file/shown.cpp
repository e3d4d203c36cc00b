#include "plans/engine/plan_file/shown.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/power.h"
#include "plans/kinds/pod/record.h"

namespace podctl {
namespace {

using Nodes = std::map<std::string, const Value*>;  // by pod

// The nodes that references could be read from when the plan was made.
Nodes NodesOf(const SavedPlan& saved) {
  Nodes nodes;
  for (const Change& change : saved.plan.changes) {
    const PodChange* pod = AsPod(change);
    if (pod == nullptr || !LivesOn(change)) continue;
    for (const SavedNode& node : saved.nodes) {
      if (node.there && node.name == pod->node) nodes[change.address.name] = &node.fields;
    }
  }
  return nodes;
}

// `derived` from the payload may know less: a reference to what the file does not hold.
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

std::string CheckChange(const Change& change, bool has_prior, const ReferenceLookup& lookup) {
  const bool acts_on_there =
      change.begun || change.verb == Verb::kUpdate || IsReplace(change) || IsDelete(change);
  if (!has_prior && acts_on_there) {
    return fmt::format("it acts on {}, which no state knew when it was made", change.address);
  }
  const bool told = change.verb == Verb::kCreate && !change.begun;
  return told ? CompareLines(change, change.payload.kind()->ShownOf(change, lookup)) : "";
}

}  // namespace

std::string WhyShownOtherwise(const SavedPlan& saved) {
  const Nodes nodes = NodesOf(saved);
  const ReferenceLookup lookup = [&](const Address& of) -> const Value* {
    const auto found = of.kind == kPodKind ? nodes.find(of.name) : nodes.end();
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
