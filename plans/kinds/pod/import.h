// Taking over a node that somebody else made: which lines of a spec describe it, and what the state
// remembers of it from then on. Pure: contacts nothing, reads and writes no file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plans/kinds/pod/spec.h"
#include "plans/spec/references.h"
#include "plans/spec/spec_writer.h"
#include "providers/base/error.h"
#include "providers/provider.h"
#include "state/state.h"

namespace podctl {

// The node that `id` names: "NODE", "ZONE/NODE", "PROJECT/ZONE/NODE" or
// "projects/P/locations/Z/nodes/N", with or without the service's URL before it; or a queued
// resource that is still to make one, "projects/P/locations/Z/queuedResources/Q". What `id` leaves
// out is taken from `otherwise`. kInvalidArgument when it is none of these, or when the project or
// the zone is left open by both.
Result<NodeName> NodeNameFromId(std::string_view id, const NodeName& otherwise);

// What a spec has to say about `node` (of the API) so that a pod made from it would be the same:
// every writable field that is not what the service sets by itself. Of the metadata only what
// starts and stops the guest, and the runtime's variables where they can be taken apart; the names
// of the other entries stand in a comment, for their values may be secret.
PodDraft DraftOf(const std::string& pod, const NodeName& name, const Value& node);

// Entries of the metadata that are no texts, which the API does not promise: what they are on the
// node is not known, so no spec says them.
std::vector<std::string> StrangeMetadata(const Value& node);

// Settles what the spec around the draft (its `defaults`) would change on the node: where the pod
// can say otherwise, the draft does. `pod` is the draft as loaded within its spec. Returns whether
// the draft is another one now.
bool Insist(const PodSpec& pod, const Value& node, PodDraft* draft);

// The paths in which `node` is otherwise than `pod` wants it.
std::vector<std::string> DifferingPaths(const PodSpec& pod, const Value& node,
                                        const ReferenceLookup& lookup);

// The state with the node taken over as `pod` of the spec: podctl owns what the spec sets and the
// node has, with the values the node has. Its runtime counts as started with the present variables,
// for nothing tells otherwise. `now`: RFC 3339. The address must not be in the state yet.
void TakeOver(const PodSpec& pod, const NodeName& name, const Value& node,
              const ReferenceLookup& lookup, const std::string& now, State* state);

// Why the node cannot be taken over as it is; empty when it can.
std::string WhyNotNow(const Value& node);

}  // namespace podctl
