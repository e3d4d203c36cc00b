#include "plans/engine/plan_file/staleness.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "plans/engine/kind.h"

namespace podctl {
namespace {

Digester DigesterOf(const SecretKey& key) {
  return [&key](const std::string& text) { return key.Digest(text); };
}

}  // namespace

std::vector<Precondition> TakePreconditions(const Plan& plan, const State& state,
                                            const Observation& observation, const SecretKey& key,
                                            Kinds kinds) {
  std::vector<Precondition> all;
  if (!plan.refreshed) return all;
  const Digester digest = DigesterOf(key);
  for (const Kind* kind : kinds) {
    std::vector<Precondition> own = kind->Preconditions({plan, state, observation, digest});
    std::move(own.begin(), own.end(), std::back_inserter(all));
  }
  return all;
}

std::vector<std::string> FindViolations(const std::vector<Precondition>& preconditions,
                                        const Observation& observation, const SecretKey& key,
                                        Kinds kinds) {
  const Digester digest = DigesterOf(key);
  std::vector<std::string> all;
  for (const Kind* kind : kinds) {
    const auto first = static_cast<std::ptrdiff_t>(all.size());
    for (const Precondition& precondition : preconditions) {
      if (precondition.address.kind != kind->name()) continue;
      const std::string clause = kind->ViolationOf(precondition, observation, digest);
      if (!clause.empty()) all.push_back(fmt::format("{}: {}", precondition.address, clause));
    }
    std::sort(all.begin() + first, all.end());
  }
  return all;
}

namespace {

// `derived` from the payload may know less: a reference to what the file does not hold.
bool IsSameLine(const AttributeChange& shown, const AttributeChange& derived) {
  if (shown.path != derived.path || shown.before || shown.origin != derived.origin) return false;
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
  const bool reported = change.verb == Verb::kCreate && !change.begun;
  return reported ? CompareLines(change, change.payload.kind()->ShownOf(change, lookup)) : "";
}

}  // namespace

std::string WhyShownOtherwise(const SavedPlan& saved, Kinds kinds) {
  // What references could be read from when the plan was made.
  std::map<Address, Value> published;
  for (const Kind* kind : kinds)
    published.merge(kind->PublishedThen(saved.plan, saved.preconditions));
  const ReferenceLookup lookup = [&](const Address& of) -> const Value* {
    const auto found = published.find(of);
    return found == published.end() ? nullptr : &found->second;
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
