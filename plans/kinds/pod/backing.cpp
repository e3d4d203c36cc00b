#include "plans/kinds/pod/backing.h"

#include <fmt/format.h>

#include "plans/kinds/pod/backings/node.h"
#include "plans/kinds/pod/backings/queued.h"

namespace podctl {
namespace {

constinit const NodeBacking kNodes{};
constinit const QueuedBacking kQueued(kNodes);

}  // namespace

const Backing& BackingOf(const PodSpec& pod) {
  if (pod.queued) return kQueued;
  return kNodes;
}

const Backing& BackingOf(const PodRecord& record) {
  if (record.queued) return kQueued;
  return kNodes;
}

const std::vector<const Backing*>& Backings() {
  static const std::vector<const Backing*> kAll = {&kNodes, &kQueued};
  return kAll;
}

std::string RequestWords(const NodeRequest& request) {
  if (request.since.empty()) return request.sentence;
  // The service counts nanoseconds.
  const auto dot = request.since.find('.');
  const std::string since =
      dot == std::string::npos ? request.since : request.since.substr(0, dot) + "Z";
  return fmt::format("{}, {} {}", request.sentence, request.waits ? "since" : "as was found at",
                     since);
}

Terms TermsOf(const Value& scheduling, const Value* terms_asked) {
  static const Value kNone = Value::EmptyMap();
  const Value& asked = terms_asked == nullptr ? kNone : *terms_asked;
  const auto is = [&](const char* model) {
    return scheduling["provisioningModel"] == Value(model) ||
           asked["provisioningModel"] == Value(model);
  };
  Terms terms;
  terms.spot = scheduling["spot"].AsBool() || scheduling["preemptible"].AsBool() ||
               asked.Find("spot") != nullptr || is("SPOT");
  terms.reserved = scheduling["reserved"].AsBool() ||
                   scheduling.Find("reservationName") != nullptr ||
                   asked.Find("reservationName") != nullptr ||
                   asked["guaranteed"]["reserved"].AsBool() || is("RESERVATION_BOUND");
  terms.flex_start = is("FLEX_START");
  terms.waits = terms_asked != nullptr;
  return terms;
}

std::string WhyNoNode(const PodRecord& record, bool spot) {
  if (record.exists() && spot) return "its node is gone: preempted, or deleted outside of podctl";
  if (IsRecovering(record)) return "it was " + RecoveryStory(*record.recovery());
  if (!record.capacity_since().empty()) {
    return fmt::format("capacity for it is sought since {}", record.capacity_since());
  }
  return record.exists() ? "its node is gone: deleted outside of podctl" : "";
}

NodeName NameOf(const PodSpec& pod) {
  return {pod.project, pod.zone, pod.node_id, BackingOf(pod).SlicesOf(pod)};
}
NodeName NameOf(const PodRecord& record) {
  return {record.project, record.zone, record.current.locator, BackingOf(record).SlicesOf(record)};
}
NodeName NameOf(const PodRecord& record, const Object& deposed) {
  return {record.project, record.zone, deposed.locator};
}

}  // namespace podctl
