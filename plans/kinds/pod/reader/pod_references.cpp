#include "plans/kinds/pod/reader/pod_references.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "plans/kinds/pod/reader/node_fields.h"
#include "plans/kinds/step/record.h"
#include "plans/spec/near_words.h"

namespace podctl {
namespace {

using gcp::FieldType;

// Why a node's path has no text to put in, or "".
std::string WhyNoText(const std::string& path, const PathCheck& check) {
  if (check.field->path == "metadata") return "metadata may hold secrets";
  const bool is_in_map = check.field->type == FieldType::kStringMap && path != check.field->path;
  const bool is_item = check.field->type == FieldType::kStringList && path.ends_with(']');
  const bool is_scalar =
      check.field->type != FieldType::kMessage && check.field->type != FieldType::kMessageList &&
      check.field->type != FieldType::kStringMap && check.field->type != FieldType::kStringList;
  return is_scalar || is_in_map || is_item ? "" : "it is no single value";
}

// `trigger`: it is looked at for a change, and its value is put in no text.
std::optional<ReferenceProblem> CheckPath(const std::string& path, bool trigger) {
  if (path == "libtpuFlags" || path == "runtimeEnv") {
    return ReferenceProblem{fmt::format("`{}` is no field of a node", path),
                            "write `metadata.tensorflow-env-vars`"};
  }
  const PathCheck check = CheckNodePath(path);
  if (!check.ok) return ReferenceProblem{check.problem, check.suggestion};
  const std::string why = trigger ? "" : WhyNoText(path, check);
  if (why.empty()) return std::nullopt;
  return ReferenceProblem{fmt::format("`{}` cannot be put in a text", path), why};
}

// podctl's own step, which every pod of several workers has, can be named as well.
std::optional<ReferenceProblem> CheckStep(const std::string& step, const PodSpec& pod) {
  std::vector<std::string> names = {std::string(kRuntimeStepName)};
  for (const StepSpec& each : pod.bootstrap) names.push_back(each.name);
  if (std::find(names.begin(), names.end(), step) != names.end()) return std::nullopt;
  const std::string near = SuggestWord(step, names);
  return ReferenceProblem{
      fmt::format("the pod `{}` has no step `{}`", pod.name, step),
      near.empty() ? "" : fmt::format("did you mean `bootstrap.{}.{}`?", pod.name, near)};
}

}  // namespace

std::optional<ReferenceProblem> CheckPodReference(const FoundReference& reference,
                                                  const PodSpec& pod) {
  std::optional<ReferenceProblem> problem;
  if (!reference.path.empty()) problem = CheckPath(reference.path, reference.trigger);
  if (!problem && !reference.step.empty()) problem = CheckStep(reference.step, pod);
  return problem;
}

std::vector<std::string> PublishedMembers() {
  std::vector<std::string> members;
  for (const gcp::Field& field : gcp::NodeFields()) {
    if (field.path.find('.') == std::string_view::npos) members.emplace_back(field.path);
  }
  return members;
}

std::vector<Diagnostic> PodsOfOneNode(const std::vector<const Declared*>& pods) {
  std::vector<Diagnostic> conflicts;
  std::map<std::tuple<std::string, std::string, std::string>, const PodSpec*> nodes;
  for (const Declared* declared : pods) {
    const PodSpec& pod = WantedPod(*declared);
    if (pod.project.empty() || pod.zone.empty() || pod.node_id.empty()) continue;
    // With `capacity.zones` the pod may come to be in any of them.
    std::vector<std::string> zones{pod.zone};
    if (pod.capacity) zones = pod.capacity->zones;
    const auto taken = std::find_if(zones.begin(), zones.end(), [&](const std::string& zone) {
      return nodes.contains({pod.project, zone, pod.node_id});
    });
    if (taken == zones.end()) {
      for (const std::string& zone : zones) nodes[{pod.project, zone, pod.node_id}] = &pod;
      continue;
    }
    const auto it = nodes.find({pod.project, *taken, pod.node_id});
    const bool sure = *taken == pod.zone && it->second->zone == *taken;
    Diagnostic diagnostic;
    diagnostic.summary = fmt::format("two pods {} the node `{}` of {} in {}",
                                     sure ? "are" : "may become", pod.node_id, pod.project, *taken);
    diagnostic.place = pod.place;
    diagnostic.context = "pods";
    diagnostic.suggestion = "give one of them another `nodeId`";
    diagnostic.related.push_back({it->second->place, "", "the other one is here"});
    conflicts.push_back(std::move(diagnostic));
  }
  return conflicts;
}

}  // namespace podctl
