// A spec after loading: typed, with defaults merged, variables and environment put in. What it
// declares of each kind is opened in that kind's room.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plans/engine/payload.h"
#include "plans/spec/job_spec.h"
#include "plans/spec/other_states.h"
#include "plans/spec/prices.h"
#include "providers/base/diagnostic.h"
#include "providers/os/withheld_files.h"
#include "state/address.h"

namespace podctl {

// An entry of `moved`: what the state knows under `from` is `to` from now on.
struct MovedSpec {
  Address from;
  Address to;
  SourcePlace place;
};

struct VariableValue {
  std::string text;
  bool sensitive = false;  // never leaves the process
};

struct Spec {
  std::vector<Declared> declared;  // kind by kind, each in the order of the files
  std::vector<JobSpec> jobs;       // in the order of the files
  std::vector<MovedSpec> moved;
  std::map<std::string, VariableValue> variables;  // as set for this run
  std::string digest;   // SHA-256 over the files' contents, in hex: tells whether a spec was edited
  std::string project;  // of things that name none; empty: there is no such project
  std::string zone;
  std::vector<OtherState> other_states;  // in the order of the files
  std::string state;                     // `state:` of the spec; empty: podctl.state.json beside it
  SourcePlace state_place;               // of that
  std::optional<PriceBook> prices;       // of the file that `prices` names
  std::optional<CostLimit> max_cost;     // only where there are prices
  std::vector<std::string> files;
  // From what the spec names; never null.
  std::shared_ptr<const WithheldFiles> withheld = std::make_shared<WithheldFiles>();
};

}  // namespace podctl
