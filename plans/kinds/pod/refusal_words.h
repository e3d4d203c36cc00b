// What the service's refusal to make a pod's node means for the pod, and what to do about it, in
// words. Decides nothing.
#pragma once

#include <string>

#include "plans/kinds/pod/spec.h"
#include "providers/base/error.h"
#include "providers/gcp/refusal.h"

namespace podctl {

// "v3-32", or "V4 2x2x2" where the spec describes it by topology.
std::string TypeOf(const PodSpec& pod);

// Why the service made no node for this pod.
gcp::Refusal RefusalOf(const Error& error, gcp::RefusedBy by, const PodSpec& pod);

// "no capacity for v3-32 in europe-west4-a", with the service's own words in the hint. An error
// that is none of these refusals keeps its words; where it names the pod's type or runtime version,
// its hint says what lists those there are.
Error InPodsWords(const Error& error, gcp::Refusal refusal, const PodSpec& pod);

}  // namespace podctl
