#include "plans/kinds/pod/backing.h"

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
