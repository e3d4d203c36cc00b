#include "plans/kinds/pod/words.h"

#include <fmt/format.h>

#include <algorithm>

#include "plans/kinds/pod/change.h"
#include "plans/kinds/step/runtime_unit.h"
#include "plans/spec/runtime_flags.h"
#include "providers/gcp/accelerator_catalog.h"

namespace podctl {
namespace {

void SayReplacement(const Change& change, const PodChange& pod, ChangeWords* words) {
  words->says_why = change.reason_code == ReasonCode::kByRequest;
  if (change.reason_code != ReasonCode::kTainted || !pod.node_state) return;
  words->says_why = true;
  words->headline = fmt::format("is {}, so must be replaced",
                                *pod.node_state == "DELETING" ? "being deleted" : *pod.node_state);
}

void SayPower(const PodChange& pod, ChangeWords* words) {
  if (!pod.power) return;
  const bool stops = *pod.power == Power::kStop;
  if (!pod.fields.empty()) {
    words->headline =
        stops ? "will be updated in-place, then stopped" : "will be started, then updated in-place";
    words->action = stops ? "update in-place, then stop" : "start, then update in-place";
    return;
  }
  words->headline = stops ? "will be stopped" : "will be started";
  words->action = stops ? "stop" : "start";
  words->doing = stops ? "Stopping" : "Starting";
  words->still = stops ? "Still stopping" : "Still starting";
  words->done = stops ? "Stopped" : "Started";
}

// On several hosts one would expect a restart, which such an image has no need of.
std::string WhoTakesFlags(const Change& change, const PodChange& pod) {
  const std::string entry = std::string("metadata.") + kRuntimeVariablesKey;
  const bool flags = std::any_of(change.attributes.begin(), change.attributes.end(),
                                 [&](const auto& attribute) { return attribute.path == entry; });
  const Value& node = pod.wanted.node;
  if (!flags || IsDelete(change) || gcp::ExpectedWorkers(node).value_or(1) < 2) return {};
  const auto unit = ImageHasRuntimeUnit(node["runtimeVersion"].AsString());
  if (!unit || *unit) return {};
  return "no tpu-runtime on this image: what podctl starts takes these variables";
}

}  // namespace

ChangeWords WordsOfPod(const Change& change) {
  ChangeWords words;
  if (IsKeep(change) && change.previous_address.empty()) return words;
  const PodChange& pod = *AsPod(change);
  words.title = fmt::format("{} (node {} in {})", change.address.WithoutDeposed(), pod.node.node,
                            pod.node.zone);
  if (IsReplace(change)) SayReplacement(change, pod, &words);
  if (change.verb == Verb::kUpdate) SayPower(pod, &words);
  words.note = WhoTakesFlags(change, pod);
  return words;
}

}  // namespace podctl
