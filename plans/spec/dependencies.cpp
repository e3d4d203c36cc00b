#include "plans/spec/dependencies.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "plans/kinds/pod/record.h"
#include "plans/spec/near_words.h"
#include "plans/spec/node_fields.h"
#include "providers/base/text.h"
#include "state/state.h"

namespace podctl {
namespace {

using gcp::FieldType;

// podctl's own step, which every pod of several workers has (planner.h).
constexpr std::string_view kRestartStep = "tpu-runtime";

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

class Resolver {
 public:
  Resolver(std::vector<ReadPod>& pods, Problems& problems) : pods_(pods), problems_(problems) {
    for (std::size_t i = 0; i < pods.size(); ++i) index_.emplace(pods[i].pod.name, i);
  }

  void Resolve() {
    edges_.resize(pods_.size());
    for (std::size_t i = 0; i < pods_.size(); ++i) {
      for (const FoundReference& reference : pods_[i].references) Follow(i, reference);
    }
    FindCircles();
  }

  std::vector<Address> TargetsOf(const std::vector<FoundReference>& references) {
    std::vector<Address> addresses;
    for (const FoundReference& reference : references) {
      if (Target(reference)) AddOnce(PodAddress(reference.pod), &addresses);
    }
    return addresses;
  }

 private:
  void Report(const FoundReference& reference, std::string summary, std::string suggestion) {
    Diagnostic diagnostic = reference.at;
    diagnostic.summary = std::move(summary);
    diagnostic.suggestion = std::move(suggestion);
    problems_.Add(std::move(diagnostic));
  }

  void Follow(std::size_t from, const FoundReference& reference) {
    PodSpec& pod = pods_[from].pod;
    if (index_.contains(reference.pod) && index_.at(reference.pod) == from) {
      Report(reference, fmt::format("`{}` refers to itself", pod.name), "");
      return;
    }
    const auto to = Target(reference);
    if (to && AddOnce(PodAddress(reference.pod), &pod.depends_on)) edges_[from].push_back(*to);
  }

  // The pod it leads to; nullopt after a report.
  std::optional<std::size_t> Target(const FoundReference& reference) {
    const auto it = index_.find(reference.pod);
    if (it == index_.end()) {
      const std::string near = Suggest(reference.pod);
      Report(reference, fmt::format("there is no pod `{}`", reference.pod),
             near.empty() ? "" : fmt::format("did you mean `{}`?", near));
      return std::nullopt;
    }
    if (!reference.path.empty() && !CheckPath(reference)) return std::nullopt;
    if (!reference.step.empty() && !CheckStep(reference, pods_[it->second].pod)) {
      return std::nullopt;
    }
    return it->second;
  }

  static bool AddOnce(Address address, std::vector<Address>* addresses) {
    if (std::find(addresses->begin(), addresses->end(), address) != addresses->end()) return false;
    addresses->push_back(std::move(address));
    return true;
  }

  // For the first ones only: each costs a look at every name, and a spec may have 20,000 of them.
  std::string Suggest(const std::string& pod) {
    if (++suggestions_ > kMostSuggestions) return {};
    if (names_.empty()) {
      for (const auto& [name, index] : index_) names_.push_back(name);
    }
    return SuggestWord(pod, names_);
  }

  bool CheckStep(const FoundReference& reference, const PodSpec& pod) {
    std::vector<std::string> names = {std::string(kRestartStep)};
    for (const StepSpec& step : pod.bootstrap) names.push_back(step.name);
    if (std::find(names.begin(), names.end(), reference.step) != names.end()) return true;
    const std::string near = SuggestWord(reference.step, names);
    Report(reference, fmt::format("the pod `{}` has no step `{}`", pod.name, reference.step),
           near.empty() ? "" : fmt::format("did you mean `bootstrap.{}.{}`?", pod.name, near));
    return false;
  }

  bool CheckPath(const FoundReference& reference) {
    const auto problem = CheckReferencePath(reference.path, reference.trigger);
    if (problem) Report(reference, problem->summary, problem->suggestion);
    return !problem;
  }

  // Depth first with a stack of our own: a chain of pods may be as long as the spec.
  void FindCircles() {
    enum class Color { kWhite, kGrey, kBlack };
    std::vector<Color> colors(pods_.size(), Color::kWhite);
    for (std::size_t start = 0; start < pods_.size(); ++start) {
      if (colors[start] != Color::kWhite) continue;
      std::vector<std::pair<std::size_t, std::size_t>> path = {{start, 0}};
      colors[start] = Color::kGrey;
      while (!path.empty()) {
        auto& [pod, next] = path.back();
        if (next == edges_[pod].size()) {
          colors[pod] = Color::kBlack;
          path.pop_back();
          continue;
        }
        const std::size_t target = edges_[pod][next++];
        if (colors[target] == Color::kGrey) {
          ReportCircle(path, target);
        } else if (colors[target] == Color::kWhite) {
          colors[target] = Color::kGrey;
          path.emplace_back(target, 0);
        }
      }
    }
  }

  void ReportCircle(const std::vector<std::pair<std::size_t, std::size_t>>& path,
                    std::size_t first) {
    constexpr std::size_t kMostNamed = 10;
    std::vector<std::string> names;
    bool inside = false;
    for (const auto& [pod, next] : path) {
      inside = inside || pod == first;
      if (!inside) continue;
      if (names.size() < kMostNamed) {
        names.push_back(PodAddress(pods_[pod].pod.name).Text());
      } else if (names.size() == kMostNamed) {
        names.emplace_back("…");
      }
    }
    names.push_back(PodAddress(pods_[first].pod.name).Text());
    // Shown where the last pod of the circle refers back to the first.
    const ReadPod& last = pods_[path.back().first];
    for (const FoundReference& reference : last.references) {
      if (reference.pod != pods_[first].pod.name) continue;
      Report(reference, "pods wait for each other: " + Join(names, " -> "), "");
      return;
    }
  }

  static constexpr int kMostSuggestions = 100;  // as many problems as are shown

  std::vector<ReadPod>& pods_;
  Problems& problems_;
  std::map<std::string, std::size_t> index_;
  std::vector<std::string> names_;
  int suggestions_ = 0;
  std::vector<std::vector<std::size_t>> edges_;
};

}  // namespace

std::optional<PathProblem> CheckReferencePath(const std::string& path, bool trigger) {
  if (path == "libtpuFlags" || path == "runtimeEnv") {
    return PathProblem{fmt::format("`{}` is no field of a node", path),
                       "write `metadata.tensorflow-env-vars`"};
  }
  const PathCheck check = CheckNodePath(path);
  if (!check.ok) return PathProblem{check.problem, check.suggestion};
  const std::string why = trigger ? "" : WhyNoText(path, check);
  if (why.empty()) return std::nullopt;
  return PathProblem{fmt::format("`{}` cannot be put in a text", path), why};
}

void ResolveDependencies(std::vector<ReadPod>& pods, Problems& problems) {
  Resolver(pods, problems).Resolve();
}

std::vector<std::vector<Address>> ResolveReferences(
    const std::vector<std::vector<FoundReference>>& of_things, std::vector<ReadPod>& pods,
    Problems& problems) {
  std::vector<std::vector<Address>> targets;
  targets.reserve(of_things.size());
  Resolver resolver(pods, problems);
  for (const auto& references : of_things) targets.push_back(resolver.TargetsOf(references));
  return targets;
}

void CheckSameNode(const std::vector<ReadPod>& pods, Problems& problems) {
  std::map<std::tuple<std::string, std::string, std::string>, const ReadPod*> nodes;
  for (const ReadPod& read : pods) {
    const PodSpec& pod = read.pod;
    if (pod.project.empty() || pod.zone.empty() || pod.node_id.empty()) continue;
    // With `capacity.zones` the pod may come to be in any of them.
    std::vector<std::string> zones{pod.zone};
    if (pod.capacity) zones = pod.capacity->zones;
    const auto taken = std::find_if(zones.begin(), zones.end(), [&](const std::string& zone) {
      return nodes.contains({pod.project, zone, pod.node_id});
    });
    if (taken == zones.end()) {
      for (const std::string& zone : zones) nodes[{pod.project, zone, pod.node_id}] = &read;
      continue;
    }
    const auto it = nodes.find({pod.project, *taken, pod.node_id});
    const bool sure = *taken == pod.zone && it->second->pod.zone == *taken;
    Diagnostic diagnostic;
    diagnostic.summary = fmt::format("two pods {} the node `{}` of {} in {}",
                                     sure ? "are" : "may become", pod.node_id, pod.project, *taken);
    diagnostic.place = pod.place;
    diagnostic.source_line = read.source_line;
    diagnostic.context = "pods";
    diagnostic.suggestion = "give one of them another `nodeId`";
    diagnostic.related.push_back(
        {it->second->pod.place, it->second->source_line, "the other one is here"});
    problems.Add(std::move(diagnostic));
  }
}

}  // namespace podctl
