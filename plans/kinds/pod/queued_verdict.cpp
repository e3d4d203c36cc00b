#include "plans/kinds/pod/queued_verdict.h"

#include <fmt/format.h>

#include "plans/kinds/pod/capacity.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/spec.h"
#include "providers/gcp/queued_resource.h"

namespace podctl {

QueuedVerdict JudgeQueued(const PodRecord& record, const Value& queued, bool has_node) {
  using gcp::QueuedPhase;
  using Fate = QueuedVerdict::Kind;
  const std::string& id = record.queued->id;
  const std::string state = gcp::QueuedState(queued);
  const QueuedPhase phase = gcp::PhaseOf(state);
  if (phase == QueuedPhase::kOver || phase == QueuedPhase::kGoing) {
    const bool suspended = state == "SUSPENDING" || state == "SUSPENDED";
    const bool by_user = queued["state"]["stateInitiator"] == Value("USER");
    return {Fate::kDead, fmt::format("its queued resource {} {}", id, gcp::QueuedSentence(queued)),
            suspended && !by_user ? "SUSPENDED" : ""};
  }
  if (has_node) return {};
  if (phase == QueuedPhase::kActive && !record.pending()) {
    return {Fate::kDead, fmt::format("its queued resource {} is ACTIVE, but its node is gone", id),
            AsksForSpot(record.queued->terms) ? "gone" : ""};
  }
  return {Fate::kWaits, fmt::format("its queued resource {} is {}", id, state), ""};
}

Diagnostic QueueTaken(const PodSpec& pod, const Address& address, const Value& queued,
                      const State& state, const StatePlace& place) {
  const bool going = gcp::QueuedState(queued) == "DELETING";
  Diagnostic diagnostic;
  diagnostic.summary =
      fmt::format("a queued resource named `{}` {} {}", QueuedNameOf(pod).id,
                  going ? "is still being deleted in" : "already exists in", pod.zone);
  diagnostic.place = pod.place;
  diagnostic.context = address.Text();
  diagnostic.detail =
      going ? GoingHint("queuedResource.id") : QueueTakenHint(pod, address, state, place);
  return diagnostic;
}

}  // namespace podctl
