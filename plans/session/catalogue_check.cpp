#include "plans/session/catalogue_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/reader/type_zones.h"
#include "providers/base/text.h"
#include "providers/gcp/available_types.h"

namespace podctl {
namespace {

using What = CatalogueEntry::What;

// One thing that a node is made of, in each zone that the pod may live in.
using Wish = std::vector<CatalogueEntry>;

// A text that refers to others is known only when it is applied.
bool IsPlain(const std::string& name) {
  return !name.empty() && name.find("${") == std::string::npos;
}

std::vector<Wish> WishesOf(const PodChange& pod) {
  std::vector<std::string> zones = {pod.node.zone};
  if (pod.wanted.capacity && !pod.wanted.capacity->zones.empty()) {
    zones = pod.wanted.capacity->zones;
  }
  std::vector<Wish> wishes;
  for (const auto& [what, key] : {std::pair(What::kAcceleratorType, "acceleratorType"),
                                  std::pair(What::kRuntimeVersion, "runtimeVersion")}) {
    const std::string& name = pod.wanted.node[key].AsString();
    if (!IsPlain(name)) continue;
    Wish& wish = wishes.emplace_back();
    for (const std::string& zone : zones) {
      wish.push_back(
          {what, pod.node.project, zone, name, pod.wanted.api_version.value_or(ApiVersion::kV2)});
    }
  }
  return wishes;
}

// What an earlier run has sent is waited for, whatever it is.
bool IsAsked(const Change& change) {
  return AsPod(change) != nullptr && Makes(change) && !change.begun;
}

enum class Answer { kUnknown, kThere, kMissing };

class Judgement {
 public:
  Judgement(const Plan& plan, const CatalogueDoors& doors) : plan_(plan), doors_(doors) {}

  Diagnostics Run() {
    for (const Change& change : plan_.changes) {
      if (!IsAsked(change)) continue;
      for (const Wish& wish : WishesOf(*AsPod(change))) {
        for (const CatalogueEntry& entry : wish) answers_.emplace(entry, Answer::kUnknown);
      }
    }
    if (doors_.catalogue != nullptr) AskAll();
    for (const Change& change : plan_.changes) {
      if (IsAsked(change)) Judge(change);
    }
    Diagnostics all;
    for (Finding& each : findings_) {
      if (each.others > 0) {
        each.problem.detail +=
            fmt::format("\nThe same holds for {}.", Plural(each.others, "more pod"));
      }
      all.Add(std::move(each.problem));
    }
    return all;
  }

 private:
  struct Finding {
    Diagnostic problem;
    std::size_t others = 0;  // pods with the same one
  };

  void AskAll() {
    std::vector<std::pair<const CatalogueEntry, Answer>*> open;
    for (auto& each : answers_) open.push_back(&each);
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i = next++; i < open.size(); i = next++) {
        const auto has = doors_.catalogue->Has(open[i]->first, doors_.stop);
        if (has) open[i]->second = *has ? Answer::kThere : Answer::kMissing;
      }
    };
    const auto threads = std::min<std::size_t>(
        open.size(), static_cast<std::size_t>(std::max(1, doors_.parallelism)));
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < threads; ++i) helpers.emplace_back(work);
    work();
  }

  // All that there is of its sort; none where the service does not say. Asked for once.
  const std::vector<std::string>& AllLike(const CatalogueEntry& entry) {
    CatalogueEntry sort = entry;
    sort.name.clear();
    const auto known = lists_.find(sort);
    if (known != lists_.end()) return known->second;
    auto listed = doors_.catalogue->AllLike(entry, doors_.stop);
    return lists_[sort] = listed ? *std::move(listed) : std::vector<std::string>{};
  }

  // An answer "not found" may be of who does not know the question: who lists what there is does,
  // and does not list it.
  bool IsRefused(const Wish& wish) {
    return std::all_of(wish.begin(), wish.end(), [&](const CatalogueEntry& entry) {
      if (answers_.at(entry) != Answer::kMissing) return false;
      const auto& all = AllLike(entry);
      return !all.empty() && std::find(all.begin(), all.end(), entry.name) == all.end();
    });
  }

  void Judge(const Change& change) {
    const PodSpec& pod = AsPod(change)->wanted;
    for (const Wish& wish : WishesOf(*AsPod(change))) {
      const bool answered = std::any_of(wish.begin(), wish.end(), [&](const CatalogueEntry& entry) {
        return answers_.at(entry) == Answer::kThere;
      });
      if (IsRefused(wish)) {
        Add(Refusal(change, wish));
      } else if (!answered && wish.front().what == What::kAcceleratorType) {
        if (auto warning = UndocumentedType(pod)) Add(*std::move(warning));
      }
    }
  }

  Diagnostic Refusal(const Change& change, const Wish& wish) {
    const CatalogueEntry& entry = wish.front();
    const bool is_type = entry.what == What::kAcceleratorType;
    std::vector<std::string> zones;
    std::vector<std::string> all;
    for (const CatalogueEntry& each : wish) {
      zones.push_back(each.zone);
      const auto& there = AllLike(each);
      all.insert(all.end(), there.begin(), there.end());
    }
    Diagnostic problem;
    // Who makes a node loses nothing when the service refuses it; it may know what it does not
    // list.
    problem.severity = IsReplace(change) ? Severity::kError : Severity::kWarning;
    const std::string what = fmt::format(
        "{} `{}`", is_type ? "accelerator type" : "runtime version", VisibleControls(entry.name));
    problem.summary = zones.size() == 1 ? fmt::format("{} has no {}", zones.front(), what)
                                        : fmt::format("none of {} has {}", Join(zones, ", "), what);
    const PodSpec& pod = AsPod(change)->wanted;
    const SourcePlace& of_value = is_type ? pod.type_place : pod.version_place;
    problem.place = of_value.line > 0 ? of_value : change.place;
    problem.context = fmt::format("pods.{}", AsPod(change)->wanted.name);
    std::vector<std::string> elsewhere =
        is_type ? gcp::ZonesOf(entry.name) : std::vector<std::string>{};
    std::erase_if(elsewhere, [&](const std::string& zone) {
      return std::find(zones.begin(), zones.end(), zone) != zones.end();
    });
    const std::string nearest = NearestWord(entry.name, all);
    if (!elsewhere.empty()) {
      problem.detail = fmt::format("As far as podctl knows, it is in {}. ", Join(elsewhere, ", "));
    } else if (!nearest.empty()) {
      problem.suggestion = fmt::format("did you mean `{}`?", VisibleControls(nearest));
    }
    problem.detail += fmt::format("`podctl {} --zone {}` lists what there is.",
                                  is_type ? "types" : "versions", entry.zone);
    if (IsReplace(change)) problem.detail += " The node that there is stays as it is.";
    return problem;
  }

  // Of many pods with the same one the first is named.
  void Add(Diagnostic problem) {
    const auto same = std::find_if(findings_.begin(), findings_.end(), [&](const Finding& each) {
      return each.problem.summary == problem.summary && each.problem.severity == problem.severity;
    });
    if (same == findings_.end()) {
      findings_.push_back({std::move(problem)});
    } else {
      ++same->others;
    }
  }

  const Plan& plan_;
  const CatalogueDoors& doors_;
  std::map<CatalogueEntry, Answer> answers_;
  std::map<CatalogueEntry, std::vector<std::string>> lists_;  // by an entry without its name
  std::vector<Finding> findings_;
};

}  // namespace

Diagnostics CheckCatalogue(const Plan& plan, const CatalogueDoors& doors) {
  return Judgement(plan, doors).Run();
}

}  // namespace podctl
