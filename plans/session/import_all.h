// Takes over all that somebody else made in a project: every node and every request that waits for
// its nodes, with one spec for all of them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "plans/session/adoption.h"
#include "plans/session/import.h"
#include "plans/session/plan.h"

namespace podctl {

struct ImportAllRequest {
  std::string zone;        // "-": all of the project (AIP-159); empty: the spec's
  std::string write_spec;  // a file; empty: none
  LoadOptions load;
  StateChoice state;
  LockRequest lock;
  std::string flags = {};  // as PlanRequest's
};

// What is taken over, or only needs its spec.
struct Candidate {
  Address address;
  Found found;
  bool in_spec = false;   // the spec has had it already
  bool in_state = false;  // and the state, as after an import that was killed
};

// What is not, and why.
struct NotImported {
  std::string resource;  // its name in the API
  std::string why;       // "it is being deleted"
  // "podctl import pod.x p/z/x", of what another state made and may not have any more; or empty.
  std::string way = {};
};

struct ImportSurvey {
  std::string project;
  std::string zone;  // "-": all
  std::vector<Candidate> candidates;
  std::vector<NotImported> left;
  std::size_t known = 0;  // that the state and the spec have: nothing is to be done
  std::string blind;      // why it was not read in the version that shows all
  std::string kept = {};  // HistoryHint of what is kept beside a state that is gone
};

class ImportListener : public PlanListener {
 public:
  // Called with at least one candidate: whether they are to be imported.
  virtual bool Approve(const ImportSurvey& survey) = 0;
  // The state holds it.
  virtual void OnTaken(const Imported& done) = 0;
};

struct ImportedAll {
  ImportSurvey survey;
  std::vector<Imported> done;  // of the candidates, in their order; without text and file
  std::string text;            // the one spec of those that no spec had; empty: there are none
  std::string target;          // the file that it was written to; empty: none
  bool declined = false;       // nothing was done
  // Why not all of them are in `done`. The state holds those that are.
  std::optional<Error> error = {};
  std::string summary = {};
  std::vector<std::string> warnings = {};  // of the store
};

// The state is saved as each is taken, and the spec is written before that: whenever it is killed,
// no node is in the state only, and another run goes on where it ended. Where the spec is printed,
// another run prints it with those that are in the state already.
std::variant<ImportedAll, NoImport> ImportAll(const PlanDoors& doors, Clock& clock, Random& random,
                                              const ImportAllRequest& request,
                                              ImportListener& listener);

}  // namespace podctl
