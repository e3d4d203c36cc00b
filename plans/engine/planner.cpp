#include "plans/engine/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include "plans/engine/graph.h"
#include "plans/spec/names.h"

namespace podctl {
namespace {

struct HashOfAddress {
  std::size_t operator()(const Address& address) const {
    const std::hash<std::string_view> hash;
    return hash(address.name) ^ (hash(address.kind) << 1) ^ (hash(address.key) << 2);
  }
};

// What can be meant by `text`: it with a kind before it, or what is written nearly so.
std::string NearAddress(const std::string& text, const std::set<Address>& known, Kinds kinds) {
  for (const Kind* kind : kinds) {
    const Address address(std::string(kind->name()), text);
    if (known.contains(address)) return address.Text();
  }
  std::vector<std::string> texts;
  for (const Address& each : known) texts.push_back(each.Text());
  return SuggestWord(text, texts);
}

// "Pods are written `pod.NAME`, steps `bootstrap.NAME.STEP`."
std::string Forms(Kinds kinds) {
  std::string forms;
  for (const Kind* kind : kinds) {
    std::string noun(kind->codec().noun());
    if (forms.empty()) noun[0] = static_cast<char>(std::toupper(noun[0]));
    forms += fmt::format("{}{}s{} `{}`", forms.empty() ? "" : ", ", noun,
                         forms.empty() ? " are written" : "", kind->codec().form());
  }
  return forms + ".";
}

// Those that can be read; CheckAddresses names the others.
std::set<Address> AddressesIn(const std::vector<std::string>& texts) {
  std::set<Address> addresses;
  for (const std::string& text : texts) {
    if (auto address = ParseAddress(text)) addresses.insert(*std::move(address));
  }
  return addresses;
}

// An error for each of `given` that is not among `known`; `flag` is "--target" or "--replace".
void CheckAddresses(const std::string& flag, const std::vector<std::string>& given,
                    const std::set<Address>& known, Kinds kinds, Diagnostics& diagnostics) {
  for (const std::string& text : given) {
    const auto address = ParseAddress(text);
    if (address && known.contains(*address)) continue;
    const std::string near = NearAddress(text, known, kinds);
    diagnostics.Add({.summary = fmt::format("{}: there is no `{}`", flag, text),
                     .detail = near.empty()
                                   ? "Neither the spec nor the state has it. " + Forms(kinds)
                                   : fmt::format("Did you mean `{}`?", near)});
  }
}

// The addresses of the changes that the targets name, and of all those that they wait for. A thing
// stands for its parts too. `plan` must still have its waits for what is kept (graph.h).
std::set<Address> ReachOf(const std::set<Address>& targets, const Plan& plan, Kinds kinds) {
  struct Open {
    const Change* change;
    bool from_delete;
  };
  std::map<Address, const Change*> by_address;
  std::vector<Open> open;
  for (const Change& change : plan.changes) {
    by_address[change.address] = &change;
    const Address whole = WholeOf(kinds, change.address.WithoutDeposed());
    if (targets.contains(change.address) || targets.contains(whole)) {
      open.push_back({&change, false});
    }
  }
  std::set<Address> reach;
  while (!open.empty()) {
    const auto [change, from_delete] = open.back();
    open.pop_back();
    if (!reach.insert(change->address).second) continue;
    // Who depends on what goes, and stays as it is, needs nothing for that.
    if (from_delete && IsKeep(*change)) continue;
    const bool deletes = IsDelete(*change);
    for (const Address& address : change->waits_for) {
      const auto next = by_address.find(address);
      if (next != by_address.end()) open.push_back({next->second, deletes});
    }
  }
  return reach;
}

// Where a plan is narrowed to what targets reach: each move of what is not in reach is
// refused, for the state is moved as a whole, or a part of it would be saved that nobody was shown.
// `moved`: the address now -> what the stored state calls it.
void RefuseMovesLeftOut(const std::map<Address, Address>& moved, const std::set<Address>& reach,
                        Diagnostics& diagnostics) {
  for (const auto& [now, before] : moved) {
    if (reach.contains(now)) continue;
    diagnostics.Add(
        {.summary = fmt::format("{} has moved to {}, and --target leaves it out", before, now),
         .context = now.Text(),
         .detail = fmt::format("Add `--target {}`, or apply the moves first.", now)});
  }
}

class Planner {
 public:
  Planner(const Spec& spec, const State& state, const Observation& observation,
          const PlanOptions& options, Kinds kinds, Diagnostics& diagnostics)
      : state_(state),
        observation_(observation),
        options_(options),
        kinds_(kinds),
        diagnostics_(diagnostics),
        again_(AddressesIn(options.replace)),
        nodes_([this](const Address& of) {
          const Planned* planned = Find(of);
          return planned == nullptr ? nullptr : planned->published;
        }),
        lookup_([this](const Address& of) {
          const Planned* planned = Find(of);
          return planned == nullptr || !planned->facts ? nullptr : &*planned->facts;
        }) {
    planned_.reserve(state.records.size());
    for (const Kind* kind : kinds) {
      Things& own = things_[kind];
      if (options.mode != PlanMode::kDestroy) {
        own.declared = InDependencyOrder(DeclaredIn(spec, *kind));
      }
      own.plan = kind->Begin({own.declared, state, observation, options, nodes_, lookup_});
    }
  }

  Plan Run() {
    plan_.mode = options_.mode;
    plan_.targets = options_.targets;
    plan_.refreshed = options_.refresh;
    plan_.lineage = state_.lineage;
    plan_.serial = state_.serial;
    if (!options_.targets.empty() || !options_.replace.empty()) {
      const std::set<Address> known = KnownAddresses();
      CheckAddresses("--target", options_.targets, known, kinds_, diagnostics_);
      CheckAddresses("--replace", options_.replace, known, kinds_, diagnostics_);
    }
    plan_.changes.reserve(state_.records.size());
    FindDependents();
    for (const Kind* kind : kinds_) {
      if (options_.mode == PlanMode::kRefreshOnly) {
        PlanRefresh(*kind);
      } else {
        PlanThings(*kind);
      }
    }
    Narrow();
    DropIdleWaits(&plan_);
    return std::move(plan_);
  }

 private:
  // Of one kind.
  struct Things {
    std::vector<const Declared*> declared;  // in an order in which they may build on each other
    std::unique_ptr<KindPlan> plan;
  };

  // What becomes of one thing, as far as others have to know.
  struct Planned {
    const Value* published = nullptr;  // what references are read from
    std::optional<Facts> facts = {};
    std::vector<Address> dependents = {};   // who builds on it, or did
    std::vector<std::size_t> changes = {};  // its own and its parts', as indices
    bool declared = false;
    bool gone = false;  // not in the spec
  };

  const Planned* Find(const Address& address) const {
    const auto found = planned_.find(address);
    return found == planned_.end() ? nullptr : &found->second;
  }

  // Addresses are sorted by their kind first.
  template <typename Visit>
  void ForEachAddressOf(const Kind& kind, Visit visit) const {
    for (auto at = state_.records.lower_bound(Address(std::string(kind.name()), ""));
         at != state_.records.end() && at->first.kind == kind.name(); ++at) {
      visit(at->first);
    }
  }

  // Every address that may be named.
  std::set<Address> KnownAddresses() const {
    std::set<Address> known;
    for (const auto& [kind, things] : things_) {
      for (const Declared* declared : things.declared) {
        known.insert(declared->address);
        for (const Kind* other : kinds_) {
          for (const Declared& part : other->PartsOf(*declared)) known.insert(part.address);
        }
      }
    }
    for (const auto& [address, record] : state_.records) known.insert(address);
    return known;
  }

  void FindDependents() {
    for (const auto& [address, record] : state_.records) {
      const Kind* kind = FindKind(kinds_, address.kind);
      if (kind == nullptr) continue;
      for (const Address& base : kind->BuiltOn(record))
        planned_[base].dependents.push_back(address);
    }
    for (const auto& [kind, things] : things_) {
      for (const Declared* declared : things.declared) {
        for (const Address& base : declared->builds_on) {
          planned_[base].dependents.push_back(declared->address);
        }
      }
    }
  }

  void PlanThings(const Kind& kind) {
    for (const Declared* declared : things_.at(&kind).declared) {
      const Address& whole = declared->address;
      planned_[whole].declared = true;
      Judge(kind, whole, declared, whole);
      for (const Kind* other : kinds_) {
        for (const Declared& part : other->PartsOf(*declared)) {
          Judge(*other, part.address, &part, whole);
        }
      }
    }
    ForEachAddressOf(kind, [&](const Address& address) {
      if (kind.WholeOf(address) != address) return;
      const Planned* planned = Find(address);
      if (planned == nullptr || !planned->declared) Judge(kind, address, nullptr, address);
    });
    for (Change& change : things_.at(&kind).plan->Rest()) {
      const Address whole = change.address.WithoutDeposed();
      AddWaits(whole, &change);
      // Where that goes as well, neither object has to wait for the other.
      const Planned& planned = planned_[whole];
      if (planned.gone) std::erase(change.waits_for, whole);
      for (const Address& dependent : planned.dependents) AddWaits(dependent, &change);
      Add(std::move(change), whole);
    }
  }

  // Nothing is done; what has drifted is shown, to be taken into the state.
  void PlanRefresh(const Kind& kind) {
    std::map<Address, const Declared*> declared;
    for (const Declared* each : things_.at(&kind).declared) declared[each->address] = each;
    ForEachAddressOf(kind, [&](const Address& address) {
      const auto found = declared.find(address);
      Judge(kind, address, found == declared.end() ? nullptr : found->second,
            kind.WholeOf(address));
    });
  }

  // `whole`: whose part it is, or itself.
  void Judge(const Kind& kind, const Address& address, const Declared* declared,
             const Address& whole) {
    const auto record = state_.records.find(address);
    Verdict verdict = things_.at(&kind).plan->Judge(
        {address, declared, record == state_.records.end() ? nullptr : &record->second,
         observation_.Seen(address), again_.contains(address), options_.mode, nodes_, state_,
         options_.at_work});
    std::move(verdict.drift.begin(), verdict.drift.end(), std::back_inserter(plan_.drift));
    const SourcePlace place = declared == nullptr ? SourcePlace{} : declared->place;
    for (Diagnostic& refusal : verdict.refusals) {
      if (refusal.place.line == 0) refusal.place = place;
      if (refusal.context.empty()) refusal.context = address.Text();
      refusals_.emplace_back(address, std::move(refusal));
    }
    if (!verdict.planned) return;
    Planned& planned = planned_[address];
    planned.published = verdict.published;
    planned.facts = std::move(verdict.facts);
    Change& change = verdict.change;
    change.address = address;
    change.place = place;
    if (declared != nullptr) {
      for (const Address& base : declared->builds_on) AddWaits(base, &change);
    } else {
      if (options_.mode == PlanMode::kNormal) {
        change.reason_code = ReasonCode::kNoConfiguration;
        change.reason = "it is no longer in the spec";
      }
      // Whoever was built on it goes, or is changed, before it does.
      change.waits_for = planned.dependents;
      planned.gone = true;
    }
    Add(std::move(change), whole);
  }

  void Add(Change change, const Address& whole) {
    if (const auto moved = options_.moved.find(change.address); moved != options_.moved.end()) {
      change.previous_address = moved->second;
    }
    planned_[whole].changes.push_back(plan_.changes.size());
    plan_.changes.push_back(std::move(change));
  }

  // Who builds on a thing waits for its parts too, as it expects one that works.
  void AddWaits(const Address& base, Change* change) const {
    const Planned* planned = Find(base);
    // Not planned yet, or not at all: DropIdleWaits finds out.
    if (planned == nullptr || planned->changes.empty()) return change->waits_for.push_back(base);
    for (const std::size_t index : planned->changes) {
      const Address& address = plan_.changes[index].address;
      if (address.deposed.empty()) change->waits_for.push_back(address);
    }
  }

  // Leaves of the plan what the targets reach, and of what speaks against it what concerns them.
  void Narrow() {
    std::set<Address> reach;
    const bool narrows = !options_.targets.empty();
    const std::set<Address> targets = AddressesIn(options_.targets);
    if (narrows) {
      reach = ReachOf(targets, plan_, kinds_);
      if (options_.mode == PlanMode::kRefreshOnly) {
        for (const Address& target : targets) reach.insert(WholeOf(kinds_, target));
      }
      RefuseMovesLeftOut(options_.moved, reach, diagnostics_);
      std::erase_if(plan_.changes,
                    [&](const Change& change) { return !reach.contains(change.address); });
      std::erase_if(plan_.drift,
                    [&](const Drift& drift) { return !reach.contains(drift.address); });
    }
    for (auto& [address, diagnostic] : refusals_) {
      const bool concerns =
          !narrows || reach.contains(address) || targets.contains(WholeOf(kinds_, address));
      if (concerns) diagnostics_.Add(std::move(diagnostic));
    }
  }

  const State& state_;
  const Observation& observation_;
  const PlanOptions& options_;
  const Kinds kinds_;
  Diagnostics& diagnostics_;
  const std::set<Address> again_;
  const ReferenceLookup nodes_;
  const FactsLookup lookup_;
  std::map<const Kind*, Things> things_;
  Plan plan_;
  std::unordered_map<Address, Planned, HashOfAddress> planned_;
  std::vector<std::pair<Address, Diagnostic>> refusals_;  // by address
};

}  // namespace

Plan MakePlan(const Spec& spec, const State& state, const Observation& observation,
              const PlanOptions& options, Kinds kinds, Diagnostics& diagnostics) {
  return Planner(spec, state, observation, options, kinds, diagnostics).Run();
}

}  // namespace podctl
