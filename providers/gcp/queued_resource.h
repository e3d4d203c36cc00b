// What a queued resource (Cloud TPU API v2, and what v2alpha1 has beyond it,
// projects.locations.queuedResources) consists of as podctl treats it: one table of its terms,
// which drives the spec's validation, the plan and the request; and its state in words. Knows no
// transport.
//
// Sources: the API's discovery document; the requests of gcloud.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "providers/base/api_version.h"
#include "providers/base/value.h"
#include "providers/provider.h"

namespace podctl::gcp {

enum class TermType {
  kTier,      // an empty message: true, or a map of members
  kMessage,   // a map of members, at most one where `exclusive`
  kDuration,  // "6h" in a spec, "21600s" on the wire
  kTime,      // RFC 3339
  kFlag,      // true or false
  kEnum,
  kText
};

struct Term {
  std::string_view path;  // as in the API: "queueingPolicy.validUntilDuration"
  TermType type;
  std::string_view doc;                  // one sentence
  ApiVersion version = ApiVersion::kV2;  // the first that has it
  std::string_view words = {};           // blank separated, for kEnum
  bool exclusive = false;                // of a message: one member only
};

// Of v2alpha1's multiNodeParams, while all others stand in the queued resource itself.
inline constexpr std::string_view kWorkloadType = "workloadType";

// Every term, a message before its members. A change of any of them replaces the pod: queued
// resources have no update.
std::span<const Term> QueuedTerms();
const Term* FindQueuedTerm(std::string_view path);  // nullptr when there is none

// The body of queuedResources.create. `terms` as in a spec with durations on the wire's form
// (`spot: true`); `node`: the body of a nodes.create; `slices` above 1 asks for a multislice.
Value QueuedBody(const Value& terms, const NodeName& name, const Value& node, int slices,
                 ApiVersion version);
// The terms in the spec's form, of a queued resource as the service shows it.
Value TermsOf(const Value& queued);
// The terms with durations as people write them, "6h" for "21600s".
Value TermsAsWritten(Value terms);

// What a queued resource's state means for whoever waits for it.
enum class QueuedPhase {
  kQueued,        // CREATING, ACCEPTED, WAITING_FOR_RESOURCES, and what podctl does not know
  kProvisioning,  // PROVISIONING: capacity was found, nodes are being made
  kActive,        // ACTIVE: all nodes are there
  kOver,          // FAILED, SUSPENDED: nothing will come of it; it holds its name and quota
  kGoing          // SUSPENDING, DELETING: on its way to the end
};
QueuedPhase PhaseOf(std::string_view state);
std::string QueuedState(const Value& queued);  // "STATE_UNSPECIFIED" when absent
std::string QueuedId(const Value& queued);     // the last part of its name
// The service's words for the state and for who brought it about: "SUSPENDED by the service".
std::string QueuedStateWords(const std::string& state, const std::string& initiator);
// "is FAILED: no more capacity", "is SUSPENDED by the service".
std::string QueuedSentence(const Value& queued);

}  // namespace podctl::gcp
