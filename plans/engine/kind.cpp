#include "plans/engine/kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <set>
#include <utility>

#include "plans/spec/shape.h"
#include "plans/spec/spec.h"
#include "plans/spec/value_reader.h"

namespace podctl {
namespace {

class SeparatePlan final : public KindPlan {
 public:
  SeparatePlan(const Kind& kind, Verdict (*judge)(const Kind&, const PlanInput&))
      : kind_(kind), judge_(judge) {}

  Verdict Judge(const PlanInput& it) override {
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
  Verdict (*const judge_)(const Kind&, const PlanInput&);
  std::list<Value> published_;
};

// A look at each thing that is declared or remembered.
class SeparateSurvey final : public KindSurvey {
 public:
  SeparateSurvey(const Kind& kind, const SurveyInput& input) : kind_(kind), input_(input) {}

  std::vector<Query> Next(Observation* /*observation*/) override {
    if (std::exchange(asked_, true)) return {};
    std::set<Address> named;
    for (const Declared* declared : DeclaredIn(input_.spec, kind_)) {
      const auto record = input_.state.records.find(declared->address);
      named.insert(declared->address);
      Add(declared->address, declared,
          record == input_.state.records.end() ? nullptr : &record->second);
    }
    for (const auto& [address, record] : input_.state.records) {
      if (address.kind == kind_.name() && !named.contains(address)) Add(address, nullptr, &record);
    }
    return std::move(queries_);
  }

 private:
  void Add(const Address& address, const Declared* declared, const AnyRecord* record) {
    auto look = kind_.Looks(declared, record, input_.refresh);
    if (!look) return;
    queries_.push_back([address, look = *std::move(look)](
                           Provider& provider, std::stop_token stop) -> ObservationUpdate {
      return [address, seen = look(provider, std::move(stop))](Observation* observation) {
        return Take(address, seen, observation);
      };
    });
  }

  static Result<void> Take(const Address& address, const Result<Value>& seen,
                           Observation* observation) {
    if (seen || seen.error().code == ErrorCode::kNotFound) {
      observation->seen[address] = seen ? *seen : Value();
    } else if (seen.error().code != ErrorCode::kUnimplemented) {
      const Error& error = seen.error();
      return MakeError(error.code, fmt::format("cannot look at {}: {}", address, error.message),
                       error.hint);
    }
    return {};
  }

  const Kind& kind_;
  const SurveyInput input_;
  bool asked_ = false;
  std::vector<Query> queries_;
};

}  // namespace

Key Kind::SectionKey() const {
  return {std::string(section()), "", {}};
}

KindSurveys Kind::Survey(const SurveyInput& input) const {
  KindSurveys surveys;
  surveys.push_back(std::make_unique<SeparateSurvey>(*this, input));
  return surveys;
}

void Kind::SettleAll(const Observation& observation, State* state,
                     std::vector<std::string>* notes) const {
  for (const auto& [address, seen] : observation.seen) {
    const auto record = state->records.find(address);
    if (address.kind != name() || record == state->records.end()) continue;
    if (!Settle(address, seen, state->digest_key, &record->second, notes)) {
      state->records.erase(record);
    }
  }
}

std::vector<const Declared*> DeclaredIn(const Spec& spec, const Kind& kind) {
  std::vector<const Declared*> own;
  for (const Declared& each : spec.declared) {
    if (each.wanted.kind() == &kind) own.push_back(&each);
  }
  return own;
}

std::optional<ReferenceProblem> Kind::CheckReference(const FoundReference& reference,
                                                     const Declared& /*to*/) const {
  const std::vector<std::string> paths = published();
  if (reference.path.empty()) return std::nullopt;  // the thing as a whole
  if (std::find(paths.begin(), paths.end(), reference.path) != paths.end()) return std::nullopt;
  return ReferenceProblem{
      fmt::format("a {} has no `{}` to refer to", codec().noun(), reference.path),
      fmt::format("known are `{}`", fmt::join(paths, "`, `"))};
}

void Kind::Accept(const Drift& drift, const Observation& observation, State* state) const {
  const auto record = state->records.find(drift.address);
  const Value* seen = observation.Seen(drift.address);
  if (record == state->records.end() || seen == nullptr) return;
  const bool stays = codec().Accept(*seen, state->digest_key, &record->second);
  if (!stays) state->records.erase(record);
}

std::vector<Precondition> Kind::Preconditions(const PreconditionInput& input) const {
  std::vector<Precondition> preconditions;
  for (const Change& change : input.plan.changes) {
    const Value* seen = input.observation.Seen(change.address);
    if (change.payload.kind() != this || seen == nullptr) continue;
    Value precondition = PreconditionOf(change, *seen);
    if (!precondition.is_null()) preconditions.push_back({change.address, std::move(precondition)});
  }
  return preconditions;
}

std::string Kind::ViolationOf(const Precondition& precondition, const Observation& observation,
                              const Digester& /*digest*/) const {
  const Value* now = observation.Seen(precondition.address);
  return now == nullptr ? "" : DiffersFrom(precondition.value, *now);
}

Result<void> Kind::Move(const Address& from, const Address& /*to*/, State* /*state*/) const {
  return MakeError(ErrorCode::kInvalidArgument, fmt::format("{} cannot have another name", from));
}

ShownSides Kind::SidesOf(const Change& change, const State& state) const {
  ShownSides sides;
  const auto record = state.records.find(change.address);
  if (record != state.records.end() && change.verb != Verb::kCreate) {
    sides.before = codec().Shown(record->second);
  }
  if (IsKeep(change)) {
    sides.after = sides.before;
  } else if (!IsDelete(change)) {
    sides.after = After(change);
  }
  return sides;
}

std::string Kind::WorkerLabel(const Change& change, int worker,
                              const ReferenceLookup& /*nodes*/) const {
  return fmt::format("{}/{}", change.address, worker);
}

std::unique_ptr<KindPlan> EachByItself(const Kind& kind,
                                       Verdict (*judge)(const Kind& kind, const PlanInput& it)) {
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

bool IsValue(const Change& change) {
  const Kind* kind = change.payload.kind();
  return kind != nullptr && kind->codec().is_value();
}

ChangeWords WordsOf(const Change& change) {
  const Kind* kind = change.payload.kind();
  return kind == nullptr ? ChangeWords{} : kind->WordsOf(change);
}

}  // namespace podctl
