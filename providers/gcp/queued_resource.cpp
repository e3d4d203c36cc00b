#include "providers/gcp/queued_resource.h"

#include <fmt/format.h>

#include <algorithm>

#include "providers/base/text.h"

namespace podctl::gcp {
namespace {

constexpr Term kTerms[] = {
    {"bestEffort", TermType::kTier, "Spare capacity, as it was had before there was `spot`.",
     ApiVersion::kV2Alpha1},
    {"guaranteed", TermType::kTier, "Capacity that is guaranteed to last."},
    {"guaranteed.minDuration", TermType::kDuration,
     "How long it has to last; without it there is no capacity to be had."},
    {"guaranteed.reserved", TermType::kFlag, "Out of a reservation of the project.",
     ApiVersion::kV2Alpha1},
    {"provisioningModel", TermType::kEnum, "How capacity is given.", ApiVersion::kV2Alpha1,
     "STANDARD SPOT RESERVATION_BOUND FLEX_START"},
    {"queueingPolicy", TermType::kMessage, "When the request may be fulfilled.", ApiVersion::kV2,
     "", true},
    {"queueingPolicy.validAfterDuration", TermType::kDuration,
     "Not before this much time is over."},
    {"queueingPolicy.validAfterTime", TermType::kTime, "Not before this moment."},
    {"queueingPolicy.validInterval", TermType::kMessage, "Between two moments."},
    {"queueingPolicy.validInterval.endTime", TermType::kTime, "Before this moment."},
    {"queueingPolicy.validInterval.startTime", TermType::kTime, "Not before this moment."},
    {"queueingPolicy.validUntilDuration", TermType::kDuration,
     "Until this much time is over; then the request fails."},
    {"queueingPolicy.validUntilTime", TermType::kTime,
     "Until this moment; then the request fails."},
    {"reservationName", TermType::kText,
     "The reservation, projects/P/locations/Z/reservations/R; - for any of the project."},
    {"runDuration", TermType::kMessage, "When the nodes end.", ApiVersion::kV2Alpha1, "", true},
    {"runDuration.maxRunDuration", TermType::kDuration, "After this much time.",
     ApiVersion::kV2Alpha1},
    {"runDuration.terminationTime", TermType::kTime, "At this moment.", ApiVersion::kV2Alpha1},
    {"spot", TermType::kTier, "Spare capacity, which may be taken back at any time."},
    {kWorkloadType, TermType::kEnum, "What the slices are placed for.", ApiVersion::kV2Alpha1,
     "THROUGHPUT_OPTIMIZED AVAILABILITY_OPTIMIZED"},
};

}  // namespace

std::span<const Term> QueuedTerms() {
  return kTerms;
}

const Term* FindQueuedTerm(std::string_view path) {
  const auto* found = std::find_if(std::begin(kTerms), std::end(kTerms),
                                   [&](const Term& term) { return term.path == path; });
  return found == std::end(kTerms) ? nullptr : found;
}

Value QueuedBody(const Value& terms, const NodeName& name, const Value& node, int slices,
                 ApiVersion version) {
  Value body = terms.is_map() ? terms : Value::EmptyMap();
  for (const Term& term : kTerms) {
    if (term.type != TermType::kTier || body[term.path] != Value(true)) continue;
    body.Set(term.path, Value::EmptyMap());
  }
  body.Erase(kWorkloadType);
  Value spec = Value::EmptyMap();
  spec.Set("parent", name.Parent());
  if (slices > 1) {
    Value params = Value::EmptyMap();
    params.Set("nodeCount", slices);
    params.Set("nodeIdPrefix", name.node);
    if (const Value* workload = terms.Find(kWorkloadType)) params.Set(kWorkloadType, *workload);
    spec.Set(version == ApiVersion::kV2Alpha1 ? "multiNodeParams" : "multisliceParams", params);
  } else {
    spec.Set("nodeId", name.node);
  }
  spec.Set("node", node);
  body.SetPath("tpu.nodeSpec", Value::List{std::move(spec)});
  return body;
}

Value TermsOf(const Value& queued) {
  Value terms = Value::EmptyMap();
  for (const Term& term : kTerms) {
    const Value* there = queued.FindPath(term.path);
    if (there == nullptr) continue;
    if (term.type == TermType::kTier) {
      terms.Set(term.path, true);
    } else if (term.type != TermType::kMessage && *there != Value(false)) {
      terms.SetPath(term.path, *there);
    }
  }
  return terms;
}

Value TermsAsWritten(Value terms) {
  for (const Term& term : kTerms) {
    const Value* there = term.type == TermType::kDuration ? terms.FindPath(term.path) : nullptr;
    if (there == nullptr || there->AsString().find('.') != std::string::npos) continue;
    if (const auto duration = ParseDuration(there->AsString())) {
      terms.SetPath(term.path, FormatDuration(*duration));
    }
  }
  return terms;
}

QueuedPhase PhaseOf(std::string_view state) {
  if (state == "PROVISIONING") return QueuedPhase::kProvisioning;
  if (state == "ACTIVE") return QueuedPhase::kActive;
  if (state == "FAILED" || state == "SUSPENDED") return QueuedPhase::kOver;
  if (state == "SUSPENDING" || state == "DELETING") return QueuedPhase::kGoing;
  return QueuedPhase::kQueued;
}

std::string QueuedState(const Value& queued) {
  const std::string& state = queued["state"]["state"].AsString();
  return state.empty() ? "STATE_UNSPECIFIED" : state;
}

std::string QueuedId(const Value& queued) {
  const std::string& name = queued["name"].AsString();
  return name.substr(name.rfind('/') + 1);  // npos + 1 is 0
}

std::string QueuedStateWords(const std::string& state, const std::string& initiator) {
  if (initiator == "SERVICE") return state + " by the service";
  if (initiator == "USER") return state + " by a user";
  return state;
}

std::string QueuedSentence(const Value& queued) {
  const std::string state = QueuedState(queued);
  const std::string& why = queued["state"]["failedData"]["error"]["message"].AsString();
  if (!why.empty()) return fmt::format("is {}: {}", state, why);
  return "is " + QueuedStateWords(state, queued["state"]["stateInitiator"].AsString());
}

}  // namespace podctl::gcp
