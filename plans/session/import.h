// Takes over a node that somebody else made: finds it, writes the spec that matches it, and puts it
// into the state.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/session/plan.h"
#include "providers/os/clock.h"
#include "providers/provider.h"
#include "state/state.h"

namespace podctl {

struct ImportOptions {
  std::string address;     // "pod.research"
  std::string id;          // of the node
  std::string write_spec;  // a file; empty: none
};

struct ImportRequest : ImportOptions {
  LoadOptions load;
  StateChoice state;
  LockRequest lock;
};

struct Imported {
  Address address;
  NodeName name;
  Value node;
  std::string blind;                   // why it was not read in the version that shows all
  std::optional<QueuedRecord> queued;  // what it came from
  bool waits = false;                  // there is no node yet
  std::string text;                    // the spec that matches; empty: there was one
  std::string target;                  // the file that it was written to; empty: none
  std::vector<std::string> differs;    // what the spec wants otherwise
  PodSpec pod;
  bool restarts_runtime = false;  // the state has a step for it
  bool known = false;             // the state had it: only its spec was wanted
  // By its label podctl made it with the state of this lineage, another than that which has it now.
  std::string made_with;
  std::vector<std::string> warnings;       // of the store
  std::optional<std::string> no_key = {};  // NoKeyNote
};

struct NoImport {
  std::string summary = {};
  std::optional<Error> error = {};  // nullopt: the listener has heard of the spec's
  std::vector<std::string> warnings = {};
};

// The listener hears of problems of the spec, too.
std::variant<Imported, NoImport> Import(const PlanDoors& doors, Clock& clock, Random& random,
                                        const ImportRequest& request, PlanListener& listener);

}  // namespace podctl
