// A cloud in memory, for the tests of all that decides and conducts. It keeps the promises of
// provider.h (tests/conformance/provider_suite.h is run against it) and can break them on order.
//
// Time: operations advance with looks, not with clocks. Every GetOperation, GetNode or ListNodes
// that shows an unfinished operation (or its node) moves it one look on; it is done at look
// `Options::looks`. A patch becomes visible when its operation is done. Thread safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "providers/provider.h"
#include "tests/support/fake_jobs.h"

namespace podctl::testing {

class FakeProvider;

// Its queued resources. They advance with looks too: each Get moves one a state on, from
// WAITING_FOR_RESOURCES only while there is capacity, and from ACTIVE never.
class FakeQueue final : public QueuedResources {
 public:
  explicit FakeQueue(FakeProvider& owner) : owner_(owner) {}

  Result<std::vector<Value>> List(const std::string& project, const std::string& zone,
                                  std::stop_token stop) override;
  Result<Value> Get(const QueuedName& name, std::stop_token stop) override;
  Result<Operation> Create(const QueuedName& name, const Value& body, const std::string& request_id,
                           std::stop_token stop) override;
  Result<Operation> Delete(const QueuedName& name, bool force, const std::string& request_id,
                           std::stop_token stop) override;

  bool capacity = true;
  int deletes_to_drop = 0;  // that many are accepted and forgotten
  // As somebody else, or the service: the state, with `why` for FAILED.
  void Put(const QueuedName& name, const std::string& state, const std::string& why = {});
  void Lose(const QueuedName& name) { items_.erase(name.Resource()); }  // its nodes stay
  std::string StateOf(const QueuedName& name) const;                    // "" when there is none
  std::size_t Count() const { return items_.size(); }

 private:
  void Advance(const std::string& resource);
  void MakeNodes(const std::string& resource, const Value& item);
  void RemoveNodes(const Value& item);
  Operation Done(const QueuedName& name, const std::string& verb);

  FakeProvider& owner_;
  std::map<std::string, Value> items_;              // by resource name
  std::map<std::string, Operation> by_request_id_;  // of creates
};

class FakeProvider final : public Provider {
 public:
  // The methods' names in faults and records: "list", "get", "create", "patch", "delete", "start",
  // "stop", "operation", "operations", "attributes".
  struct Call {
    std::string method;
    std::string target;  // "projects/p/locations/z[/nodes/n]", or the operation's name
    Value node;          // what create and patch sent
    std::vector<std::string> mask;
    std::string request_id = {};
  };

  struct Options {
    int looks = 2;          // looks until an operation is done; 0: done at once
    bool host_keys = true;  // whether guest attributes hold hostkeys/
    bool external_ips = true;
  };

  FakeProvider() = default;
  explicit FakeProvider(Options options) : options_(options) {}

  // --- The door.
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
  // Does not count as a look.
  Result<std::vector<Operation>> ListOperations(const std::string& project, const std::string& zone,
                                                std::stop_token stop) override;
  Result<std::vector<WorkerAttributes>> GetGuestAttributes(const NodeName& name,
                                                           const std::string& query_path,
                                                           std::stop_token stop) override;
  // Methods: "queue list", "queue get", "queue create", "queue delete"; the mask of the last two
  // holds the request id, and of a delete "force" after it.
  QueuedResources* queued() override { return &queue; }
  FakeQueue queue{*this};
  CustomJobs* custom_jobs() override { return &jobs; }
  FakeJobs jobs;

  // --- Faults. All count from the moment they are ordered.
  // The next `times` calls of `method` ("" = any) answer `error` and do nothing.
  void FailNext(const std::string& method, Error error, int times = 1);
  // The k-th call from now (1 = the next), of any method, answers `error` and does nothing.
  void FailCall(int k, Error error);
  // The next `times` calls of `method` act, and then answer kReplyLost.
  void LoseReply(const std::string& method, int times = 1);
  // The next operation that `method` starts ends with `error`, its effect undone. For a create,
  // `leaves_node`: a half-made node stays behind, in state CREATING.
  void FailOperation(const std::string& method, Error error, bool leaves_node = false);
  // Zones in which every creation ends for lack of capacity. For the tests' own thread only, or
  // from within a call.
  std::set<std::string> sold_out;
  // Forgets every fault that has not struck yet.
  void Calm();
  // What Google answers when a zone has no TPUs left.
  static Error NoCapacity(const std::string& zone = "europe-west4-a");
  // Runs `act` just before the next call of `method` ("" = any) is looked at: somebody else is
  // faster. `act` may use the world below, but not the door.
  void Before(const std::string& method, std::function<void(FakeProvider&)> act);

  // --- The world, as somebody else sees and changes it.
  // Puts a READY node there as if it had been created, with the server's own fields.
  void PutNode(const NodeName& name, Value node);
  std::optional<Value> Node(const NodeName& name) const;  // does not count as a look
  void EditNode(const NodeName& name, const std::function<void(Value&)>& edit);
  void RemoveNode(const NodeName& name);
  // Reads the node, lets `edit` change it and patches the masked fields with the result, all at
  // once, with an operation that the service remembers.
  void PatchAsSomebodyElse(const NodeName& name, const std::vector<std::string>& mask,
                           const std::function<void(Value&)>& edit);
  std::size_t NodeCount() const;
  void FinishOperations();
  bool HasUnfinishedOperations() const;

  // --- The record.
  std::vector<Call> Calls() const;
  std::vector<Call> Calls(const std::string& method) const;
  int MutatingCalls() const;  // all but those that read, those that were made to fail too
  void ForgetCalls();

 private:
  friend class FakeQueue;
  // A zone of "-" stands for all.
  static bool IsBelow(const std::string& resource, const std::string& project,
                      const std::string& zone);
  struct Work {
    Operation operation;
    std::string method;
    std::string target;  // the node's resource name
    Value node;          // create: the node; patch: the body
    std::vector<std::string> mask;
    int looks_left = 0;
    std::optional<Error> failure;
    bool leaves_node = false;
  };
  struct Fault {
    std::string method;
    Error error;
    int in = 1;  // the number of matching calls until it strikes
    int times = 1;
  };
  struct OperationFault {
    std::string method;
    Error error;
    bool leaves_node = false;
  };
  struct Interloper {
    std::string method;
    std::function<void(FakeProvider&)> act;
  };

  // Records the call, lets an interloper act, and tells which fault strikes, if any.
  std::optional<Error> Enter(const Call& call, const std::stop_token& stop);
  // The answer to a request that was sent before under the same id; nullopt when it was not.
  std::optional<Operation> Repeated(const std::string& request_id) const;
  Result<Operation> Power(const std::string& method, const NodeName& name,
                          const std::stop_token& stop);
  bool ReplyIsLost(const std::string& method);
  Result<Operation> Answer(const std::string& method, Operation operation);
  Operation Start(const std::string& method, const NodeName& name, Value node,
                  std::vector<std::string> mask);
  Value ServerView(const NodeName& name, Value node) const;
  void Look(Work& work);
  void LookAt(const std::string& resource);  // all unfinished operations of a node
  void Finish(Work& work);
  void ApplyPatch(const Work& work);

  Options options_;
  mutable std::recursive_mutex
      mutex_;  // recursive: an interloper uses the world from within a call
  std::map<std::string, Value> nodes_;           // by resource name
  std::map<std::string, Work> works_;            // by operation name
  std::map<std::string, std::string> requests_;  // request id -> operation name
  std::vector<Call> calls_;
  std::vector<Fault> faults_;
  std::vector<Fault> lost_replies_;
  std::vector<OperationFault> operation_faults_;
  std::vector<Interloper> interlopers_;
  int serial_ = 0;
};

}  // namespace podctl::testing
