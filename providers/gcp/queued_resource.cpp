#include "providers/gcp/queued_resource.h"

#include <fmt/format.h>

#include <algorithm>

namespace podctl::gcp {
namespace {

using enum TermType;

constexpr Term kTerms[] = {
    {"guaranteed", kTier, false, "Capacity that is guaranteed to last."},
    {"guaranteed.minDuration", kDuration, false,
     "How long it has to last; without it there is no capacity to be had."},
    {"queueingPolicy", kMessage, true, "When the request may be fulfilled."},
    {"queueingPolicy.validAfterDuration", kDuration, false, "Not before this much time is over."},
    {"queueingPolicy.validAfterTime", kTime, false, "Not before this moment."},
    {"queueingPolicy.validInterval", kMessage, false, "Between two moments."},
    {"queueingPolicy.validInterval.endTime", kTime, false, "Before this moment."},
    {"queueingPolicy.validInterval.startTime", kTime, false, "Not before this moment."},
    {"queueingPolicy.validUntilDuration", kDuration, false,
     "Until this much time is over; then the request fails."},
    {"queueingPolicy.validUntilTime", kTime, false, "Until this moment; then the request fails."},
    {"reservationName", kText, false,
     "The reservation, projects/P/locations/Z/reservations/R; - for any of the project."},
    {"spot", kTier, false, "Spare capacity, which may be taken back at any time."},
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

Value QueuedBody(const Value& terms, const NodeName& name, const Value& node, int slices) {
  Value body = terms.is_map() ? terms : Value::EmptyMap();
  for (const Term& term : kTerms) {
    if (term.type != kTier || body[term.path] != Value(true)) continue;
    body.Set(term.path, Value::EmptyMap());
  }
  Value spec = Value::EmptyMap();
  spec.Set("parent", name.Parent());
  if (slices > 1) {
    spec.SetPath("multisliceParams.nodeCount", slices);
    spec.SetPath("multisliceParams.nodeIdPrefix", name.node);
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
    if (term.type == kTier) {
      terms.Set(term.path, true);
    } else if (term.type != kMessage) {
      terms.SetPath(term.path, *there);
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
  const auto slash = name.rfind('/');
  return slash == std::string::npos ? name : name.substr(slash + 1);
}

std::string QueuedSentence(const Value& queued) {
  const std::string state = QueuedState(queued);
  const std::string& why = queued["state"]["failedData"]["error"]["message"].AsString();
  if (!why.empty()) return fmt::format("is {}: {}", state, why);
  const std::string& initiator = queued["state"]["stateInitiator"].AsString();
  if (initiator == "SERVICE") return fmt::format("is {} by the service", state);
  if (initiator == "USER") return fmt::format("is {} by a user", state);
  return "is " + state;
}

}  // namespace podctl::gcp
