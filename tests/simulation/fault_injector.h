// What goes wrong by itself while a run is under way: the cloud refuses, loses answers and fails
// operations, somebody else changes nodes, workers do not answer, the user interrupts, and the
// process or the machine dies. All of it by dice, so that a seed brings it back.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "providers/bootstrap/step_runner.h"
#include "providers/provider.h"
#include "tests/plans/harness.h"
#include "tests/simulation/dice.h"

namespace podctl::simulation {

// The odds at each call.
struct FaultRates {
  double refusal = 0;     // the call answers an error and does nothing
  double lost_reply = 0;  // it acts, and the answer is lost
  double failed_operation = 0;
  double other_people = 0;       // somebody changes a node in between
  double bad_worker = 0;         // a step fails on a worker
  bool half_made_nodes = false;  // failed creates leave one; else operations may be forgotten
  int dies_at = 0;               // the call at which the process dies; 0: at none
  int interrupted_at = 0;        // the call at which the user presses Ctrl-C
};

// What became of the world, for whoever judges a run by it.
struct Record {
  std::vector<std::string> lines;      // what happened, for people
  int faults = 0;                      // in this run: of any kind
  int meddling = 0;                    // in this run: by somebody else
  int calls = 0;                       // in this run
  std::map<std::string, int> creates;  // accepted, by node id, since the last edit of the spec
  std::set<std::string> excused;       // node ids whose loss or replacement is not podctl's
  std::map<std::string, std::string> foreign;  // node uid -> a metadata value somebody else set
  // By node uid and worker: the last script that ran for each step, and what its runtime reads.
  std::map<std::pair<std::string, int>, std::map<std::string, std::string>> scripts;
  std::map<std::pair<std::string, int>, std::string> runtime;
};

class FaultInjector final : public Provider, public StepRunner {
 public:
  FaultInjector(testing::Harness& harness, Dice& dice) : harness_(harness), dice_(dice) {}

  // From now on; `record` counts of a run begin anew.
  void Set(const FaultRates& rates);
  Record& record() { return record_; }
  const Record& record() const { return record_; }

  Result<std::vector<Value>> ListNodes(const std::string& project, const std::string& zone,
                                       std::stop_token stop) override;
  Result<Value> GetNode(const NodeName& name, std::stop_token stop) override;
  Result<Operation> CreateNode(const NodeName& name, const Value& node,
                               const std::string& request_id, std::stop_token stop) override;
  Result<Operation> PatchNode(const NodeName& name, const Value& node,
                              const std::vector<std::string>& update_mask,
                              std::stop_token stop) override;
  Result<Operation> DeleteNode(const NodeName& name, const std::string& request_id,
                               std::stop_token stop) override;
  Result<Operation> StartNode(const NodeName& name, std::stop_token stop) override;
  Result<Operation> StopNode(const NodeName& name, std::stop_token stop) override;
  Result<Operation> GetOperation(const std::string& operation, std::stop_token stop) override;
  Result<std::vector<Operation>> ListOperations(const std::string& project, const std::string& zone,
                                                std::stop_token stop) override;
  Result<std::vector<WorkerAttributes>> GetGuestAttributes(const NodeName& name,
                                                           const std::string& query_path,
                                                           std::stop_token stop) override;
  std::vector<StepOutcome> Run(const Step& step, const std::vector<WorkerAccess>& workers,
                               StepObserver& observer, std::stop_token stop) override;

 private:
  void Note(std::string line) { record_.lines.push_back("    " + std::move(line)); }
  // An error that strikes before the call acts.
  std::optional<Error> Before(const std::string& call);
  std::optional<Error> Dead() const;
  bool Die(const std::string& when);  // whether this is the moment
  void MaybeFailOperation(const std::string& method, const std::string& node);
  Result<Operation> After(const std::string& call, Result<Operation> result);
  void Meddle();
  StepOutcome RunOn(const Step& step, const WorkerAccess& worker, StepObserver& observer);

  testing::Harness& harness_;
  Dice& dice_;
  FaultRates rates_;
  Record record_;
  bool dies_after_ = false;
};

}  // namespace podctl::simulation
