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

// The headline names one pod and node, and the payload holds another.
std::string CompareNames(const Change& change, const PodChange& pod) {
  const PodSpec& wanted = pod.wanted;
  bool same = false;
  if (IsDelete(change)) {
    same = change.address.deposed.empty() || change.address.deposed == pod.node.node;
  } else {
    same = change.address == PodAddress(wanted.name) &&
           (IsKeep(change) || pod.node == NodeName{wanted.project, wanted.zone, wanted.node_id});
  }
  return same ? "" : fmt::format("{} is the name of something else in it", change.address);
}

std::string CheckChange(const Change& change, bool has_prior, const ReferenceLookup& lookup) {
  const bool acts_on_there =
      change.begun || change.verb == Verb::kUpdate || IsReplace(change) || IsDelete(change);
  if (!has_prior && acts_on_there) {
    return fmt::format("it acts on {}, which no state knew when it was made", change.address);
  }
  const bool creates = change.verb == Verb::kCreate;
  if (const Kind* kind = change.payload.kind()) {
    return creates && !change.begun ? CompareLines(change, kind->ShownOf(change, lookup)) : "";
  }
  const PodChange* pod = AsPod(change);
  if (pod == nullptr) return "";
  if (std::string problem = CompareNames(change, *pod); !problem.empty()) return problem;
  return creates ? CompareLines(change, NewAttributes(pod->wanted, lookup)) : "";
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
