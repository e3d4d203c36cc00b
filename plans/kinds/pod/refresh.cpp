#include "plans/kinds/pod/refresh.h"

#include "plans/kinds/pod/backing.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"

namespace podctl {
namespace {

// An RFC 3339 time in UTC without its fraction: the service gives nanoseconds, this machine none,
// and as texts "05.123Z" stands before "05Z".
std::string_view ToSeconds(std::string_view time) {
  constexpr std::size_t kSeconds = 19;
  return time.substr(0, kSeconds);
}

// Those of `backing`, and those of others that become its objects.
BackedPods PodsOf(const Backing& backing, const Spec& spec, const State& state) {
  const auto is_its = [&](const auto& pod) {
    const Backing& its = BackingOf(pod);
    return &its == &backing || its.below() == &backing;
  };
  BackedPods pods;
  for (const PodSpec* pod : DeclaredPods(spec)) {
    if (is_its(*pod)) pods.wanted.push_back(pod);
  }
  for (const auto& [address, record] : Pods(state)) {
    if (is_its(record)) pods.known.push_back(&record);
  }
  return pods;
}

}  // namespace

const Value* PodSurvey::Find(const NodeName& name) const {
  auto it = nodes.find(name);
  return it == nodes.end() ? nullptr : &it->second;
}

bool PodSurvey::IsRunning(const PendingAction& pending) const {
  auto it = operations.find(pending.operation);
  return it != operations.end() && !it->second.done;
}

const Operation* FindCreate(const std::vector<Operation>& operations, const NodeName& name,
                            const std::string& begun_at) {
  const std::string target = name.Resource();
  const Operation* newest = nullptr;
  for (const Operation& operation : operations) {
    if (operation.target != target || operation.verb != "create") continue;
    // The clocks of the service and of this machine need not agree: what still runs is ours, since
    // nobody else can have begun it while we did; what is over may be an older one.
    if (operation.done && ToSeconds(operation.create_time) < ToSeconds(begun_at)) continue;
    if (newest == nullptr || newest->create_time < operation.create_time) newest = &operation;
  }
  return newest;
}

const PodSurvey& PodsIn(const Observation& observation) {
  static const PodSurvey kNone;
  const auto found = observation.surveys.find(kPodKind);
  const auto* survey = found == observation.surveys.end() ? nullptr : found->second.As<PodSurvey>();
  return survey == nullptr ? kNone : *survey;
}

PodSurvey& PodsIn(Observation* observation) {
  Payload& survey = observation->surveys[std::string(kPodKind)];
  if (survey.As<PodSurvey>() == nullptr) survey = PodSurvey();
  return *survey.Edit<PodSurvey>();
}

KindSurveys SurveyPods(const SurveyInput& input) {
  KindSurveys surveys;
  for (const Backing* backing : Backings()) {
    surveys.push_back(backing->Survey(input, PodsOf(*backing, input.spec, input.state)));
  }
  return surveys;
}

}  // namespace podctl
