#include "plans/engine/planner.h"

#include <map>
#include <memory>
#include <set>
#include <utility>

#include "plans/engine/graph.h"
#include "plans/engine/moves.h"
#include "plans/engine/targets.h"

namespace podctl {
namespace {

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
          const auto found = published_.find(of);
          return found == published_.end() ? nullptr : found->second;
        }),
        lookup_([this](const Address& of) {
          const auto found = facts_.find(of);
          return found == facts_.end() ? nullptr : &found->second;
        }) {
    for (const Kind* kind : kinds) {
      Things& own = things_[kind];
      if (options.mode != PlanMode::kDestroy) own.declared = kind->DeclaredIn(spec);
      own.ordered = InDependencyOrder(own.declared);
      own.plan = kind->Begin({own.ordered, state, observation, options, nodes_, lookup_});
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
    std::vector<Declared> declared;
    std::vector<const Declared*> ordered;
    std::unique_ptr<KindPlan> plan;
  };

  // Every address that may be named.
  std::set<Address> KnownAddresses() const {
    std::set<Address> known;
    for (const auto& [kind, things] : things_) {
      for (const Declared& declared : things.declared) {
        known.insert(declared.address);
        for (const Kind* other : kinds_) {
          for (const Declared& part : other->PartsOf(declared)) known.insert(part.address);
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
      for (const Address& base : kind->BuiltOn(record)) dependents_[base].push_back(address);
    }
    for (const auto& [kind, things] : things_) {
      for (const Declared& declared : things.declared) {
        for (const Address& base : declared.builds_on) {
          dependents_[base].push_back(declared.address);
        }
      }
    }
  }

  void PlanThings(const Kind& kind) {
    std::set<Address> named;
    for (const Declared* declared : things_.at(&kind).ordered) {
      named.insert(declared->address);
      Judge(kind, declared->address, declared);
      for (const Kind* other : kinds_) {
        for (const Declared& part : other->PartsOf(*declared)) {
          Judge(*other, part.address, &part);
        }
      }
    }
    for (const auto& [address, record] : state_.records) {
      const bool leaves = address.kind == kind.name() && !named.contains(address);
      if (leaves && kind.WholeOf(address) == address) Judge(kind, address, nullptr);
    }
    for (Change& change : things_.at(&kind).plan->Rest()) {
      const Address whole = change.address.WithoutDeposed();
      AddWaits(whole, &change);
      // Where that goes as well, neither object has to wait for the other.
      if (gone_.contains(whole)) std::erase(change.waits_for, whole);
      for (const Address& dependent : dependents_[whole]) AddWaits(dependent, &change);
      Add(std::move(change));
    }
  }

  // Nothing is done; what has drifted is shown, to be taken into the state.
  void PlanRefresh(const Kind& kind) {
    std::map<Address, const Declared*> declared;
    for (const Declared& each : things_.at(&kind).declared) declared[each.address] = &each;
    for (const auto& [address, record] : state_.records) {
      if (address.kind != kind.name()) continue;
      const auto found = declared.find(address);
      Judge(kind, address, found == declared.end() ? nullptr : found->second);
    }
  }

  void Judge(const Kind& kind, const Address& address, const Declared* declared) {
    const auto record = state_.records.find(address);
    Verdict verdict = things_.at(&kind).plan->Judge(
        {address, declared, record == state_.records.end() ? nullptr : &record->second,
         observation_.Seen(address), again_.contains(address), options_.mode, nodes_, state_});
    std::move(verdict.drift.begin(), verdict.drift.end(), std::back_inserter(plan_.drift));
    const SourcePlace place = declared == nullptr ? SourcePlace{} : declared->place;
    for (Diagnostic& refusal : verdict.refusals) {
      if (refusal.place.line == 0) refusal.place = place;
      if (refusal.context.empty()) refusal.context = address.Text();
      refusals_.emplace_back(address, std::move(refusal));
    }
    if (!verdict.planned) return;
    if (verdict.published != nullptr) published_.emplace(address, verdict.published);
    facts_.insert_or_assign(address, std::move(verdict.facts));
    Change& change = verdict.change;
    change.address = address;
    change.place = place;
    if (declared != nullptr) {
      for (const Address& base : declared->builds_on) AddWaits(base, &change);
    } else {
      if (options_.mode == PlanMode::kNormal) {
        change.reason_code = ReasonCode::kNoConfiguration;
        change.reason = "it is not in the spec";
      }
      // Whoever was built on it goes, or is changed, before it does.
      change.waits_for = dependents_[address];
      gone_.insert(address);
    }
    Add(std::move(change));
  }

  void Add(Change change) {
    if (const auto moved = options_.moved.find(change.address); moved != options_.moved.end()) {
      change.previous_address = moved->second;
    }
    const Address whole = WholeOf(kinds_, change.address.WithoutDeposed());
    of_whole_[whole].push_back(plan_.changes.size());
    plan_.changes.push_back(std::move(change));
  }

  // Who builds on a thing waits for its parts too, as it expects one that works.
  void AddWaits(const Address& base, Change* change) const {
    const auto changes = of_whole_.find(base);
    // Not planned yet, or not at all: DropIdleWaits finds out.
    if (changes == of_whole_.end()) return change->waits_for.push_back(base);
    for (const std::size_t index : changes->second) {
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
  std::map<Address, const Value*> published_;  // what references may be read from
  std::map<Address, Facts> facts_;
  std::map<Address, std::vector<Address>> dependents_;
  std::map<Address, std::vector<std::size_t>> of_whole_;  // indices of changes
  std::set<Address> gone_;                                // what is not in the spec
  std::vector<std::pair<Address, Diagnostic>> refusals_;  // by address
};

}  // namespace

Plan MakePlan(const Spec& spec, const State& state, const Observation& observation,
              const PlanOptions& options, Kinds kinds, Diagnostics& diagnostics) {
  return Planner(spec, state, observation, options, kinds, diagnostics).Run();
}

}  // namespace podctl
