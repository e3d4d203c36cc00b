#include "plans/graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace podctl {
namespace {

bool Waits(const std::map<std::string, const Change*>& changes, const std::string& from,
           const std::string& target, std::set<std::string>* seen) {
  if (from == target) return true;
  if (!seen->insert(from).second) return false;
  auto it = changes.find(from);
  if (it == changes.end()) return false;
  return std::any_of(it->second->waits_for.begin(), it->second->waits_for.end(),
                     [&](const std::string& next) { return Waits(changes, next, target, seen); });
}

}  // namespace

std::vector<const PodSpec*> InDependencyOrder(const Spec& spec) {
  std::map<std::string, const PodSpec*> by_address;
  for (const PodSpec& pod : spec.pods) by_address[PodAddress(pod.name)] = &pod;
  std::vector<const PodSpec*> order;
  std::set<std::string> done;
  // Kahn's algorithm in rounds: each round takes, in the spec's order, every pod that is free.
  while (order.size() < spec.pods.size()) {
    const std::size_t before = order.size();
    for (const PodSpec& pod : spec.pods) {
      if (done.contains(PodAddress(pod.name))) continue;
      const bool free = std::all_of(
          pod.depends_on.begin(), pod.depends_on.end(), [&](const std::string& dependency) {
            return done.contains(dependency) || !by_address.contains(dependency);
          });
      if (!free) continue;
      order.push_back(&pod);
      done.insert(PodAddress(pod.name));
    }
    if (order.size() != before) continue;
    for (const PodSpec& pod : spec.pods) {
      if (done.insert(PodAddress(pod.name)).second) order.push_back(&pod);
    }
  }
  return order;
}

void DropIdleWaits(Plan* plan) {
  std::map<std::string, const Change*> active;
  for (const Change& change : plan->changes) {
    if (!IsKeep(change)) active[change.address] = &change;
  }
  for (Change& change : plan->changes) {
    std::erase_if(change.waits_for, [&](const std::string& address) {
      return address == change.address || !active.contains(address);
    });
    std::sort(change.waits_for.begin(), change.waits_for.end());
    change.waits_for.erase(std::unique(change.waits_for.begin(), change.waits_for.end()),
                           change.waits_for.end());
  }
  for (Change& change : plan->changes) {
    if (!std::holds_alternative<Delete>(change.action)) continue;
    std::erase_if(change.waits_for, [&](const std::string& address) {
      std::set<std::string> seen;
      return Waits(active, address, change.address, &seen);
    });
  }
}

}  // namespace podctl
