// The nodes and queued resources of the emulated service and what happens to them over time.
//
// Every mutating call answers at once with an operation; one thread settles operations when they
// are due and the machines are as far, and serves the queue. State is written to the journal before
// a call answers, so a restarted emulator goes on with operations and requests in flight. Knows
// neither HTTP nor processes. Thread safe: one lock guards everything.
//
// service.cpp takes the calls for nodes, settlement.cpp ends operations, queue.cpp takes the calls
// for queued resources and queue_life.cpp is what becomes of them, room.cpp counts what is in use,
// accidents.cpp is what users and tests do to nodes, service_logins.cpp is who enters them,
// custom_jobs.cpp takes the calls for the custom jobs of Vertex AI.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

#include "providers/base/error.h"
#include "providers/base/value.h"
#include "providers/emulator/api_error.h"
#include "providers/emulator/custom_job_rules.h"
#include "providers/emulator/journal.h"
#include "providers/emulator/limits.h"
#include "providers/emulator/node_rules.h"
#include "providers/emulator/operations.h"
#include "providers/emulator/os_login.h"
#include "providers/emulator/page.h"
#include "providers/emulator/queue_rules.h"
#include "providers/emulator/service_clock.h"
#include "providers/emulator/worker_farm.h"

namespace podctl::emulator {

// A list is kept as text: a thousand nodes are not worth building a thousand trees for each
// request.
using TextAnswer = std::variant<std::string, ApiError>;

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();  // as a time

// What a call brings beside its resource.
struct CallContext {
  ApiVersion version = ApiVersion::kV2;
  std::string request_id;  // the same one again is answered with the same operation
  // google.rpc.Status: the operation is accepted and ends so, without an effect. Code 0: it ends as
  // if it had been done. Null: nothing of the kind.
  Value failure;
};

// The key under which a request's operation is found again; "" without a request id.
std::string RequestKey(std::string_view method, const Place& place, const CallContext& context);

// The answer to a delete: google.protobuf.Empty, whatever it is declared to be.
Value TypedEmpty();

class Service {
 public:
  struct Settings {
    std::chrono::milliseconds operation_delay{2000};
    // How long after READY the workers are switched on; 0: before, and READY waits for them.
    std::chrono::milliseconds worker_boot_delay{0};
    std::uint32_t address_seed = 0;  // where in 127.64.0.0/10 the first worker's address is taken
  };

  // Both are lent and outlive the service.
  Service(Settings settings, Limits limits, Journal* journal, WorkerFarm* farm);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Reads the journal, boots the workers of READY nodes and starts the clockwork.
  Result<void> Start();
  void Stop();

  Answer CreateNode(const Place& place, const std::string& node_id, const Value& body,
                    const CallContext& context = {});
  TextAnswer GetNode(const Place& place, const std::string& node_id, ApiVersion version);
  // place.zone "-": all zones of the project.
  TextAnswer ListNodes(const Place& place, const PageRequest& page, ApiVersion version);
  Answer PatchNode(const Place& place, const std::string& node_id, std::string_view mask,
                   const Value& body, const CallContext& context = {});
  Answer DeleteNode(const Place& place, const std::string& node_id,
                    const CallContext& context = {});
  Answer StopNode(const Place& place, const std::string& node_id, const CallContext& context = {});
  Answer StartNode(const Place& place, const std::string& node_id, const CallContext& context = {});
  // Reboots the workers with the health of a node under maintenance; `workers` empty: all.
  Answer MaintainNode(const Place& place, const std::string& node_id, const Value::List& workers,
                      const CallContext& context = {});
  Answer GuestAttributes(const Place& place, const std::string& node_id, const Value& request);

  Answer CreateQueued(const Place& place, const std::string& id, const Value& body,
                      const CallContext& context = {});
  Answer GetQueued(const Place& place, const std::string& id, ApiVersion version);
  // place.zone "-": all zones of the project.
  Answer ListQueued(const Place& place, const PageRequest& page, ApiVersion version);
  Answer DeleteQueued(const Place& place, const std::string& id, bool force,
                      const CallContext& context = {});
  Answer ResetQueued(const Place& place, const std::string& id, const CallContext& context = {});
  // `node_names`: ids or full names of nodes that it has.
  Answer MaintainQueued(const Place& place, const std::string& id, const Value::List& node_names,
                        const CallContext& context = {});
  // What is coming to the nodes that it has.
  Answer QueuedMaintenance(const Place& place, const std::string& id);
  Answer ListReservations(const Place& place, const PageRequest& page);

  // Custom jobs, which belong to a region: place.zone is one.
  Answer CreateJob(const Place& place, const Value& body);
  Answer GetJob(const Place& place, const std::string& id);
  Answer ListJobs(const Place& place, const PageRequest& page, std::string_view filter);
  Answer CancelJob(const Place& place, const std::string& id);
  Answer DeleteJob(const Place& place, const std::string& id);

  Answer GetOperation(const std::string& name);
  Answer ListOperations(const Place& place, const PageRequest& page);
  Answer DeleteOperation(const std::string& name);
  Answer CancelOperation(const std::string& name);

  // What an accident or Google would do. `state` and `health` may be empty.
  Answer Afflict(const std::string& node_name, const std::string& state, const std::string& health);
  Answer ActOnWorker(const std::string& node_name, int worker, const std::string& action);
  // "preempt" (a spot node only), "terminate", "break", "repair", "maintain", "heal".
  Answer StrikeNode(const std::string& node_name, std::string_view verb);
  // "suspend", "fail".
  Answer StrikeQueued(const std::string& name, std::string_view verb);
  // "fail", "succeed".
  Answer StrikeJob(const std::string& name, std::string_view verb);
  // The full names of the resources with this id, or this full name itself if there is one.
  std::vector<std::string> FindNodes(const std::string& id);
  std::vector<std::string> FindQueued(const std::string& id);
  // Also by display name.
  std::vector<std::string> FindJobs(const std::string& id);
  Answer SetCapacity(const std::string& rule);
  // OS Login's v1: who is known under an e-mail, and a key of his for a while.
  Answer LoginProfile(const std::string& email);
  Answer ImportLoginKey(const std::string& email, const Value& key);
  // Of all projects: what holds for machines that say nothing themselves.
  void SetProjectMetadata(const Value& metadata);
  Value ProjectMetadata();

  // What is limited, and how it stands with all nodes and queued resources, in short.
  Value Overview();
  // Moves the service's time on: what would have happened meanwhile happens now.
  void Advance(std::chrono::milliseconds by);

 private:
  struct Node {
    Value resource;
    int workers = 0;
    std::string uid;
    std::string host;
    std::vector<std::string> addresses;
    bool holds_room = false;  // of the pool of its type, or of its reservation
    std::string reservation;  // whose room
    std::string queued;       // resource name of the queued resource that asked for it
    // `resource` as JSON for each version, made when it changes; the second only where it differs.
    std::string text;
    std::string alpha_text;
  };

  struct Queued {
    NewQueued request;  // request.resource is what is shown
    ApiVersion version = ApiVersion::kV2;
    std::int64_t arrived_ms = 0;
    std::int64_t since_ms = 0;      // of the state
    std::int64_t run_until_ms = 0;  // 0: nobody ends it
    std::int64_t look_ms = 0;       // when there may be something to do; not kept
    Value failure;                  // google.rpc.Status: why a node of it could not be made

    const std::string& state() const { return request.resource["state"]["state"].AsString(); }
  };

  // Stores the node under its name and writes it down.
  Result<void> SaveNode(const std::string& name);
  void EraseNode(const std::string& name);
  // The node in its place, with addresses; its workers are not switched on yet.
  Refusal AddNode(const std::string& name, NewNode fresh, Node node);
  Answer Begin(const Place& place, std::string_view verb, const std::string& name, Value payload,
               const CallContext& context, const std::string& request = {});
  Answer Power(const Place& place, const std::string& node_id, bool on, const CallContext& context);
  MachineSet Machines(const Node& node) const;
  // service_logins.cpp
  bool IsOsLogin(const Node& node) const;
  std::string AccountsOf(const Node& node) const;
  void TellMachines();  // those that run, of a change that concerns them all
  std::vector<std::string> TakeAddresses(int count);
  // Before its workers start: those whose address somebody else took meanwhile get another one.
  // Waits for `patience` at most for the address to come free.
  Result<void> RenewAddresses(const std::string& name, std::chrono::milliseconds patience);
  void ShowEndpoints(Node* node);
  // Has this request been made before? Its operation, or why its id cannot be used.
  std::optional<Answer> Replay(const std::string& request, const CallContext& context,
                               const std::string& target);

  void Restore(const std::string& key, const Value& record);
  void Run();
  // False: not yet, ask again soon.
  bool Settle(Operation* operation);
  bool SettleCreate(Operation* operation, const std::string& name, Node* node);
  bool SettleDelete(Operation* operation, const std::string& name, Node* node);
  bool SettleUpdate(Operation* operation, const std::string& name, Node* node);
  bool SettlePower(Operation* operation, const std::string& name, Node* node);
  bool SettleMaintenance(Operation* operation, const std::string& name, Node* node);
  bool WorkersReady(Operation* operation, const Node& node, std::optional<ApiError>* failed);
  // As WorkersReady, for workers that were switched off to be switched on again: all, or those of
  // the list.
  bool Rebooted(Operation* operation, const Node& node, const Value::List& workers,
                std::optional<ApiError>* failed);
  // The workers go down; the operation's settlement brings them up.
  void BeginMaintenance(const std::string& name, Node* node, const Value::List& workers);
  void EndMaintenance(const std::string& name, Node* node);

  // queue.cpp, queue_life.cpp
  Result<void> SaveQueued(const std::string& name);
  void EraseQueued(const std::string& name);
  void RestoreQueued(const std::string& name, const Value& record);
  void Enter(const std::string& name, Queued* queued, std::string_view state,
             std::string_view initiator = {}, const Value& error = {});
  bool SettleQueued(Operation* operation);
  bool SettleQueuedDelete(Operation* operation, const std::string& name, Queued* queued);
  bool SettleQueuedReboot(Operation* operation, const std::string& name, Queued* queued);
  // Does what is due; returns when to look again (ms since the epoch).
  std::int64_t TendQueue(std::int64_t now);
  std::int64_t Tend(const std::string& name, Queued* queued, std::int64_t now);
  std::int64_t TendWaiting(const std::string& name, Queued* queued, std::int64_t now);
  std::int64_t TendProvisioning(const std::string& name, Queued* queued, std::int64_t now);
  std::int64_t TendSuspending(const std::string& name, Queued* queued, std::int64_t now);
  void Provision(const std::string& name, Queued* queued);
  void Suspend(const std::string& name, Queued* queued, std::string_view initiator);
  std::vector<std::string> NodesOf(const std::string& name, const Queued& queued) const;
  void TakeDown(const std::string& node_name);  // workers and all; the node is DELETING
  Refusal NameIsTaken(const NewQueued& request) const;
  void Poke(const std::string& queued_name);  // something happened to one of its nodes
  void WakeQueue();                           // there may be room
  // One of its nodes is being deleted by the user; the last one takes the request with it.
  void NoteDeletion(const std::string& queued_name);
  std::int64_t DelayMs() const { return settings_.operation_delay.count(); }

  // custom_jobs.cpp
  Result<void> SaveJob(const std::string& name);
  void RestoreJob(const std::string& name, const Value& record);

  // room.cpp
  // The reservation whose room `count` more nodes would take, "" for the pool; nullopt: none.
  std::optional<std::string> FindRoom(std::string_view zone, const std::string& type,
                                      const std::string& reservation, int count) const;
  bool HasRoomFor(const Place& place, const Queued& queued) const;
  int UsedRoom(std::string_view zone, const std::string& type,
               const std::string& reservation) const;
  // Quota and rate: would the project hold too much with these types, or ask too often?
  Refusal Admit(const Place& place, const std::vector<std::string>& types, bool is_spot,
                const std::string& reservation);
  int HeldQuota(const QuotaUse& use) const;

  // accidents.cpp
  void LoseNode(const std::string& name, Node* node, std::string_view state);

  const Settings settings_;
  Journal* const journal_;
  WorkerFarm* const farm_;
  ServiceClock clock_;

  std::mutex mutex_;
  std::condition_variable changed_;
  Limits limits_;
  OsLogin os_login_;
  Value project_metadata_ = Value::EmptyMap();
  std::map<std::string, Node> nodes_;      // by resource name
  std::map<std::string, Queued> queue_;    // by resource name
  std::map<std::string, CustomJob> jobs_;  // by resource name
  OperationTable operations_;
  std::multimap<std::int64_t, std::string> agenda_;  // due (ms since the epoch) -> operation name
  std::multimap<std::int64_t, std::string> boots_;   // due -> node name, for worker_boot_delay
  std::set<std::string> taken_;                      // addresses in use
  std::uint32_t next_address_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

// The zone in a resource name, and the name without its last two parts.
Place PlaceOf(std::string_view resource_name);
// The last part of a resource name.
std::string IdOf(std::string_view resource_name);
// The node as an operation's response.
Value TypedNode(const Value& resource, ApiVersion version);

}  // namespace podctl::emulator
