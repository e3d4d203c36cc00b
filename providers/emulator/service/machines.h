// The nodes that there are, and the machines behind them: on, off, in maintenance, lost.
//
// Knows nothing of calls and operations' outcomes (nodes.h), and of queued resources only that a
// node may have an owner, who hears what becomes of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/error.h"
#include "providers/base/value.h"
#include "providers/emulator/service/addresses.h"
#include "providers/emulator/service/core.h"
#include "providers/emulator/service/node_rules.h"
#include "providers/emulator/service/os_login.h"

namespace podctl::emulator {

// Who asked for nodes.
class NodeOwner {
 public:
  enum class Event {
    kChanged,   // there may be something to do
    kDeleted,   // by the user
    kLost,      // Google took it back
    kCapacity,  // there may be capacity; of no node, and for all owners
  };
  virtual ~NodeOwner() = default;
  virtual void Hear(Event event, const std::string& owner) = 0;
  // It could not be made; google.rpc.Status.
  virtual void HearFailure(const std::string& owner, const Value& error) = 0;
  // The full names of the nodes of a multislice that are there, and how many there will be.
  virtual std::vector<std::string> NodesOf(const std::string& owner) const = 0;
  virtual std::size_t SlicesOf(const std::string& owner) const = 0;
};

class Machines {
 public:
  // All are lent and outlive it.
  Machines(Core* core, const OsLogin* logins, NodeOwner* owner);

  std::map<std::string, Node>& rows() { return nodes_.rows(); }
  const std::map<std::string, Node>& rows() const { return nodes_.rows(); }
  Node* Find(const std::string& name) { return nodes_.Find(name); }
  std::vector<std::string> NamesOf(const std::string& id) const { return nodes_.NamesOf(id); }

  // The node in its place, with addresses; its workers are not switched on yet.
  Refusal Add(const std::string& name, Node node);
  void Erase(const std::string& name);
  // Writes down a change of the node.
  void Keep(const std::string& name);
  void Restore(const std::string& name, const Value& record);

  // After a restart: the workers of nodes that live.
  Result<void> Resume();
  // Before they start: with another address where somebody else took one meanwhile. Waits for
  // `patience` at most for it to come free.
  Result<void> RenewAddresses(const std::string& name, std::chrono::milliseconds patience);
  void Boot(const Node& node);
  void BootAfterDelay(const std::string& name);
  std::int64_t TendBoots(std::int64_t now);
  // Of a change that concerns it.
  void Tell(const Node& node);
  void ShowEndpoints(Node* node);

  // Whether the workers are up: null, or a google.rpc.Status why they never will be; nullopt: not
  // yet. Rebooted switches them on first, all or those of the list.
  std::optional<Value> Ready(const Operation& operation, const Node& node);
  std::optional<Value> Rebooted(const Operation& operation, const Node& node,
                                const Value::List& workers);

  // Workers and all; the node is DELETING.
  void TakeDown(const std::string& name);
  // Google takes it back. `state`: PREEMPTED or TERMINATED.
  void Lose(const std::string& name, std::string_view state);
  // The workers go down, all or those of the list; the operation's settlement brings them up.
  void BeginMaintenance(const std::string& name, const Value::List& workers);
  void EndMaintenance(const std::string& name);
  // Its owner is told.
  void Hear(NodeOwner::Event event, const Node& node) { owner_->Hear(event, node.owner()); }
  void HearFailure(const Node& node, const Value& error) {
    owner_->HearFailure(node.owner(), error);
  }

 private:
  MachineSet Describe(const Node& node) const;

  Core* const core_;
  const OsLogin* const logins_;
  NodeOwner* const owner_;
  Table<Node> nodes_;
  Addresses addresses_;
  std::multimap<std::int64_t, std::string> boots_;  // due -> name
};

}  // namespace podctl::emulator
