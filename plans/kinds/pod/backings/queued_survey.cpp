#include <fmt/format.h>

#include <utility>

#include "plans/kinds/pod/backings/queued.h"
#include "plans/kinds/pod/backings/survey.h"
#include "plans/kinds/pod/node_view.h"
#include "providers/gcp/queued_resource.h"
#include "providers/slices.h"

namespace podctl {
namespace {

// Slices of the state that the service does not show. While their request is being fulfilled they
// are still to come.
void CountSlices(const BackedPods& pods, PodSurvey* seen) {
  for (const PodRecord* record : pods.known) {
    if (record->queued->slices < 2) continue;
    const auto node = seen->nodes.find(NameOf(*record));
    if (node == seen->nodes.end() || !IsJoined(node->second)) continue;
    ExpectSlices(&node->second, record->queued->slices);
    const Value* queued = FindQueued(*seen, QueuedNameOf(*record));
    const auto phase =
        queued == nullptr ? gcp::QueuedPhase::kActive : gcp::PhaseOf(gcp::QueuedState(*queued));
    const bool coming =
        phase == gcp::QueuedPhase::kQueued || phase == gcp::QueuedPhase::kProvisioning;
    if (coming && NodeState(node->second) == kMissingSlice) node->second.Set("state", "CREATING");
  }
}

class QueueSurvey final : public KindSurvey {
 public:
  QueueSurvey(const SurveyQuestion& question, BackedPods pods)
      : refresh_(question.refresh), pods_(std::move(pods)) {}

  std::vector<Errand> Next(Observation* observation) override {
    std::vector<Errand> errands;
    if (!std::exchange(asked_, true)) Ask(&errands);
    CountSlices(pods_, &PodsIn(observation));
    return errands;
  }

 private:
  void Ask(std::vector<Errand>* errands) const {
    if (refresh_) {
      for (const auto& [zone, version] : ZonesOf(pods_)) ListQueue(zone, version, errands);
      return;
    }
    for (const PodRecord* record : pods_.known) {
      if (record->pending()) GetQueued(QueuedNameOf(*record), record->api_version, errands);
    }
  }

  static void ListQueue(const ZoneName& zone, ApiVersion version, std::vector<Errand>* errands) {
    errands->push_back(MakeErrand(
        [=](Provider& provider, const std::stop_token& stop) -> Result<std::vector<Value>> {
          QueuedResources* queue = provider.Speaking(version).queued();
          if (queue == nullptr) return std::vector<Value>();
          return queue->List(zone.first, zone.second, stop);
        },
        [zone](Result<std::vector<Value>>& found, PodSurvey* seen) -> Result<void> {
          if (!found) {
            const Error& error = found.error();
            return MakeError(error.code,
                             fmt::format("cannot list the queued resources of {} in {}: {}",
                                         zone.first, zone.second, error.message),
                             error.hint);
          }
          for (Value& queued : *found) {
            const QueuedName name{zone.first, zone.second, gcp::QueuedId(queued)};
            seen->auxiliary[name.Resource()] = std::move(queued);
          }
          return {};
        }));
  }

  static void GetQueued(const QueuedName& name, ApiVersion version, std::vector<Errand>* errands) {
    errands->push_back(MakeErrand(
        [=](Provider& provider, const std::stop_token& stop) -> Result<Value> {
          QueuedResources* queue = provider.Speaking(version).queued();
          if (queue == nullptr) return MakeError(ErrorCode::kNotFound, "there is no queue");
          return queue->Get(name, stop);
        },
        [name](Result<Value>& queued, PodSurvey* seen) -> Result<void> {
          if (queued) {
            seen->auxiliary[name.Resource()] = std::move(*queued);
          } else if (queued.error().code != ErrorCode::kNotFound) {
            const Error& error = queued.error();
            return MakeError(error.code,
                             fmt::format("cannot look at {}: {}", name.Resource(), error.message),
                             error.hint);
          }
          return {};
        }));
  }

  const bool refresh_;
  const BackedPods pods_;
  bool asked_ = false;
};

}  // namespace

std::unique_ptr<KindSurvey> QueuedBacking::Survey(const SurveyQuestion& question,
                                                  BackedPods pods) const {
  return std::make_unique<QueueSurvey>(question, std::move(pods));
}

}  // namespace podctl
