#include "plans/engine/declared_plan.h"

#include <map>
#include <utility>

namespace podctl {
namespace {

// What those that live on publish, for later ones.
using Values = std::map<Address, Value>;

void JudgeThing(const DeclaredQuestion& it, const Kind& kind, const Address& address,
                const Declared* declared, Values* published, Plan* plan) {
  const auto record = it.state.records.find(address);
  const bool is_known = record != it.state.records.end();
  Verdict verdict =
      kind.Judge({address, declared, is_known ? &record->second : nullptr,
                  it.observation.Seen(address), it.again.contains(address), it.options.mode,
                  [&](const Address& of) {
                    const auto found = published->find(of);
                    return found == published->end() ? it.nodes(of) : &found->second;
                  },
                  it.state});
  std::move(verdict.drift.begin(), verdict.drift.end(), std::back_inserter(plan->drift));
  const SourcePlace place = declared == nullptr ? SourcePlace{} : declared->place;
  for (Diagnostic& refusal : verdict.refusals) {
    if (refusal.place.line == 0) refusal.place = place;
    if (refusal.context.empty()) refusal.context = address.Text();
    it.refuse(address, std::move(refusal));
  }
  if (it.options.mode == PlanMode::kRefreshOnly) return;
  Change& change = verdict.change;
  change.address = address;
  change.place = place;
  if (declared == nullptr && it.options.mode != PlanMode::kDestroy) {
    change.reason_code = ReasonCode::kNoConfiguration;
    change.reason = "it is not in the spec";
  }
  if (declared != nullptr) {
    for (const Address& base : declared->builds_on) it.add_waits(base, &change);
  }
  if (is_known && LivesOn(change)) published->emplace(address, kind.Published(record->second));
  plan->changes.push_back(std::move(change));
}

}  // namespace

void PlanDeclared(const DeclaredQuestion& it, Plan* plan) {
  std::set<Address> named;
  Values published;
  if (it.options.mode != PlanMode::kDestroy) {
    for (const Declared& declared : it.spec.declared) {
      named.insert(declared.address);
      JudgeThing(it, *declared.wanted.kind(), declared.address, &declared, &published, plan);
    }
  }
  for (const auto& [address, record] : it.state.records) {
    const Kind* kind = FindKind(it.options.kinds, address.kind);
    if (kind == nullptr || named.contains(address)) continue;
    JudgeThing(it, *kind, address, nullptr, &published, plan);
  }
}

}  // namespace podctl
