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
