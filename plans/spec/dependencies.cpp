#include "plans/spec/dependencies.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "providers/base/text.h"

namespace podctl {
namespace {

class DependencyResolver {
 public:
  DependencyResolver(const std::vector<std::vector<FoundReference>>& references, Kinds kinds,
                     ValueReader& reader, std::vector<Declared>& declared)
      : references_(references), kinds_(kinds), reader_(reader), declared_(declared) {}

  void Resolve() {
    const bool none = std::all_of(references_.begin(), references_.end(),
                                  [](const auto& of_thing) { return of_thing.empty(); });
    if (none) return;
    for (std::size_t i = 0; i < declared_.size(); ++i) index_.emplace(declared_[i].address, i);
    edges_.resize(declared_.size());
    for (std::size_t i = 0; i < declared_.size(); ++i) {
      for (const FoundReference& reference : references_[i]) Follow(i, reference);
    }
    FindCircles();
  }

 private:
  void Follow(std::size_t from, const FoundReference& reference) {
    Declared& thing = declared_[from];
    if (reference.to == thing.address) {
      reader_.Report(reference, fmt::format("`{}` refers to itself", thing.address.name), "");
      return;
    }
    const auto to = Target(reference);
    std::vector<Address>& builds_on = thing.builds_on;
    if (!to || std::count(builds_on.begin(), builds_on.end(), reference.to) > 0) return;
    builds_on.push_back(reference.to);
    edges_[from].push_back(*to);
  }

  // The thing it leads to; nullopt after a report.
  std::optional<std::size_t> Target(const FoundReference& reference) {
    const auto it = index_.find(reference.to);
    if (it == index_.end()) {
      reader_.Report(reference,
                     fmt::format("there is no {} `{}`", NounOf(reference.to), reference.to.name),
                     Suggest(reference.to));
      return std::nullopt;
    }
    const Declared& to = declared_[it->second];
    const auto problem = to.wanted.kind()->CheckReference(reference, to);
    if (!problem) return it->second;
    reader_.Report(reference, problem->summary, problem->suggestion);
    return std::nullopt;
  }

  std::string NounOf(const Address& address) const {
    const Kind* kind = FindKind(kinds_, address.kind);
    return std::string(kind == nullptr ? address.kind : kind->codec().noun());
  }

  // For the first ones only: each costs a look at every name, and a spec may have 20,000 of them.
  std::string Suggest(const Address& address) {
    if (++suggestions_ > kMostSuggestions) return {};
    std::vector<std::string>& names = names_[address.kind];
    if (names.empty()) {
      for (const auto& [other, index] : index_) {
        if (other.kind == address.kind) names.push_back(other.name);
      }
    }
    return DidYouMean(address.name, names);
  }

  // Depth first with a stack of our own: a chain may be as long as the spec.
  void FindCircles() {
    enum class Color { kWhite, kGrey, kBlack };
    std::vector<Color> colors(declared_.size(), Color::kWhite);
    for (std::size_t start = 0; start < declared_.size(); ++start) {
      if (colors[start] != Color::kWhite) continue;
      std::vector<std::pair<std::size_t, std::size_t>> path = {{start, 0}};
      colors[start] = Color::kGrey;
      while (!path.empty()) {
        auto& [at, next] = path.back();
        if (next == edges_[at].size()) {
          colors[at] = Color::kBlack;
          path.pop_back();
          continue;
        }
        const std::size_t target = edges_[at][next++];
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
    if (reader_.has_enough()) return;
    constexpr std::size_t kMostNamed = 10;
    std::vector<std::string> names;
    bool inside = false;
    bool same_kind = true;
    for (const auto& [at, next] : path) {
      inside = inside || at == first;
      if (!inside) continue;
      same_kind = same_kind && declared_[at].address.kind == declared_[first].address.kind;
      if (names.size() < kMostNamed) {
        names.push_back(declared_[at].address.Text());
      } else if (names.size() == kMostNamed) {
        names.emplace_back("…");
      }
    }
    names.push_back(declared_[first].address.Text());
    const std::string who = same_kind ? NounOf(declared_[first].address) + "s" : "these";
    // Shown where the last of the circle refers back to the first.
    for (const FoundReference& reference : references_[path.back().first]) {
      if (reference.to != declared_[first].address) continue;
      reader_.Report(reference, fmt::format("{} wait for each other: {}", who, Join(names, " -> ")),
                     "");
      return;
    }
  }

  static constexpr int kMostSuggestions = 100;  // as many problems as are shown

  const std::vector<std::vector<FoundReference>>& references_;
  const Kinds kinds_;
  ValueReader& reader_;
  std::vector<Declared>& declared_;
  std::map<Address, std::size_t> index_;
  std::map<std::string, std::vector<std::string>> names_;  // by kind
  int suggestions_ = 0;
  std::vector<std::vector<std::size_t>> edges_;
};

}  // namespace

void ResolveReferences(const std::vector<std::vector<FoundReference>>& references, Kinds kinds,
                       ValueReader& reader, std::vector<Declared>* declared) {
  DependencyResolver(references, kinds, reader, *declared).Resolve();
}

}  // namespace podctl
