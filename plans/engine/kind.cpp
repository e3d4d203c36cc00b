#include "plans/engine/kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>

#include "plans/kinds/pod/refresh.h"
#include "plans/spec/spec.h"

namespace podctl {
namespace {

class SeparatePlan final : public KindPlan {
 public:
  SeparatePlan(const Kind& kind, Verdict (*judge)(const Kind&, const Judged&))
      : kind_(kind), judge_(judge) {}

  Verdict Judge(const Judged& it) override {
    Verdict verdict = judge_(kind_, it);
    if (it.mode == PlanMode::kRefreshOnly) {
      verdict.planned = false;
    } else if (it.record != nullptr && LivesOn(verdict.change)) {
      verdict.published = &published_.emplace_back(kind_.Published(*it.record));
    }
    return verdict;
  }

 private:
  const Kind& kind_;
  Verdict (*const judge_)(const Kind&, const Judged&);
  std::list<Value> published_;
};

}  // namespace

std::vector<Declared> Kind::DeclaredIn(const Spec& spec) const {
  std::vector<Declared> own;
  std::copy_if(spec.declared.begin(), spec.declared.end(), std::back_inserter(own),
               [&](const Declared& each) { return each.wanted.kind() == this; });
  return own;
}

void Kind::Accept(const Drift& drift, const Observation& observation, State* state) const {
  const auto record = state->records.find(drift.address);
  const Value* seen = observation.Seen(drift.address);
  if (record == state->records.end() || seen == nullptr) return;
  const bool stays = codec().Accept(*seen, state->digest_key, &record->second);
  if (!stays) state->records.erase(record);
}

std::string Kind::WorkerLabel(const Change& change, int worker,
                              const ReferenceLookup& /*nodes*/) const {
  return fmt::format("{}/{}", change.address, worker);
}

std::unique_ptr<KindPlan> EachByItself(const Kind& kind,
                                       Verdict (*judge)(const Kind& kind, const Judged& it)) {
  return std::make_unique<SeparatePlan>(kind, judge);
}

Address WholeOf(Kinds kinds, const Address& address) {
  const Kind* kind = FindKind(kinds, address.kind);
  return kind == nullptr ? address : kind->WholeOf(address);
}

const Kind* FindKind(Kinds kinds, std::string_view name) {
  for (const Kind* kind : kinds) {
    if (kind->name() == name) return kind;
  }
  return nullptr;
}

ChangeWords WordsOf(const Change& change) {
  const Kind* kind = change.payload.kind();
  return kind == nullptr ? ChangeWords{} : kind->WordsOf(change);
}

}  // namespace podctl
