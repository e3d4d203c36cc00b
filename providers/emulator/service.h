// The nodes of the emulated service and what happens to them over time.
//
// Every mutating call answers at once with an operation; one thread settles operations when they
// are due and the machines are as far. State is written to the journal before a call answers, so a
// restarted emulator goes on with operations in flight. Knows neither HTTP nor processes.
// Thread safe: one lock guards everything.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
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
#include "providers/emulator/journal.h"
#include "providers/emulator/node_rules.h"
#include "providers/emulator/operations.h"
#include "providers/emulator/page.h"
#include "providers/emulator/worker_farm.h"

namespace podctl::emulator {

// A list is kept as text: a thousand nodes are not worth building a thousand trees for each
// request.
using TextAnswer = std::variant<std::string, ApiError>;

class Service {
 public:
  struct Settings {
    std::chrono::milliseconds operation_delay{2000};
    // How long after READY the workers are switched on; 0: before, and READY waits for them.
    std::chrono::milliseconds worker_boot_delay{0};
    std::uint32_t address_seed = 0;  // where in 127.64.0.0/10 the first worker's address is taken
  };

  // Both are lent and outlive the service.
  Service(Settings settings, Journal* journal, WorkerFarm* farm);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Reads the journal, boots the workers of READY nodes and starts the clockwork.
  Result<void> Start();
  void Stop();

  // `failure`: the operation is accepted and will end with this google.rpc.Status (a test's fault).
  Answer CreateNode(const Place& place, const std::string& node_id, const Value& body,
                    const Value& failure = {});
  TextAnswer GetNode(const Place& place, const std::string& node_id);
  // place.zone "-": all zones of the project.
  TextAnswer ListNodes(const Place& place, const PageRequest& page);
  Answer PatchNode(const Place& place, const std::string& node_id, std::string_view mask,
                   const Value& body, const Value& failure = {});
  Answer DeleteNode(const Place& place, const std::string& node_id, const Value& failure = {});
  Answer StopNode(const Place& place, const std::string& node_id, const Value& failure = {});
  Answer StartNode(const Place& place, const std::string& node_id, const Value& failure = {});
  Answer GuestAttributes(const Place& place, const std::string& node_id, const Value& request);

  Answer GetOperation(const std::string& name);
  Answer ListOperations(const Place& place, const PageRequest& page);
  Answer DeleteOperation(const std::string& name);
  Answer CancelOperation(const std::string& name);

  // For tests: what an accident or Google would do. `state` and `health` may be empty.
  Answer Afflict(const std::string& node_name, const std::string& state, const std::string& health);
  Answer ActOnWorker(const std::string& node_name, int worker, const std::string& action);

 private:
  struct Node {
    Value resource;
    int workers = 0;
    std::string uid;
    std::string host;
    std::vector<std::string> addresses;
    std::string text;  // `resource` as JSON, made when it changes
  };

  // Stores the node under its name and writes it down.
  Result<void> SaveNode(const std::string& name);
  void EraseNode(const std::string& name);
  Answer Begin(const Place& place, std::string_view verb, const std::string& name, Value payload,
               const Value& failure);
  Answer Power(const Place& place, const std::string& node_id, bool on, const Value& failure);
  MachineSet Machines(const Node& node) const;
  std::vector<std::string> TakeAddresses(int count);
  // Before its workers start: those whose address somebody else took meanwhile get another one.
  // Waits for `patience` at most for the address to come free.
  Result<void> RenewAddresses(const std::string& name, std::chrono::milliseconds patience);
  void ShowEndpoints(Node* node);

  void Restore(const std::string& key, const Value& record);
  void Run();
  // False: not yet, ask again soon.
  bool Settle(Operation* operation);
  bool SettleCreate(Operation* operation, const std::string& name, Node* node);
  bool SettleDelete(Operation* operation, const std::string& name, Node* node);
  bool SettleUpdate(Operation* operation, const std::string& name, Node* node);
  bool SettlePower(Operation* operation, const std::string& name, Node* node);
  bool WorkersReady(Operation* operation, const Node& node, std::optional<ApiError>* failed);

  const Settings settings_;
  Journal* const journal_;
  WorkerFarm* const farm_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Node> nodes_;  // by resource name
  OperationTable operations_;
  std::multimap<std::int64_t, std::string> agenda_;  // due (ms since the epoch) -> operation name
  std::multimap<std::int64_t, std::string> boots_;   // due -> node name, for worker_boot_delay
  std::set<std::string> taken_;                      // addresses in use
  std::uint32_t next_address_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace podctl::emulator
