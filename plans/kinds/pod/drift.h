// What is otherwise than podctl left it: finding it, telling it apart, taking it into the state.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "plans/engine/change.h"
#include "plans/kinds/pod/backing.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "providers/base/value.h"
#include "state/state.h"

namespace podctl {

struct DriftInput {
  const PodSpec& pod;  // what it says to ignore is no drift
  const PodRecord& record;
  const Value* node = nullptr;  // nullptr: it is gone
  const std::string& digest_key;
  // Only what `record.observed` does not say already: for plans that take drift into the state,
  // after which it is drift no more.
  bool only_news = false;
  const BackingStatus& backing_status;
};
std::vector<Drift> FindDrift(const Address& address, const DriftInput& input);

// Takes it for right: values as they are now, a vanished pod is forgotten. `state`: a settled one.
void AcceptDrift(const Drift& drift, State* state);

}  // namespace podctl
