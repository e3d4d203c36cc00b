// The queue: which requests there are, and their life from the queue to their last node.
//
// A request is looked at when something may have changed for it (Hear) or when a time of its own
// has come (look_ms); what to do follows from its state alone, so a restart needs no more than the
// journal has. Knows nothing of calls (queued_resources.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/error.h"
#include "providers/base/value.h"
#include "providers/emulator/service/core.h"
#include "providers/emulator/service/machines.h"
#include "providers/emulator/service/queue_rules.h"

namespace podctl::emulator {

class Queue final : public NodeOwner {
 public:
  // Both are lent and outlive it.
  Queue(Core* core, Machines* machines)
      : core_(core), machines_(machines), queue_(core->journal, "queued") {}

  Table<Queued>& table() { return queue_; }
  const Table<Queued>& table() const { return queue_; }
  void Erase(const std::string& name);

  // `initiator`, `error`: as of SetQueuedState.
  void Enter(const std::string& name, std::string_view state, std::string_view initiator = {},
             const Value& error = {});
  // All its nodes go.
  void Suspend(const std::string& name, std::string_view initiator);
  // Does what is due; returns when to look again (ms since the epoch).
  std::int64_t Tend(std::int64_t now);

  // NodeOwner
  void Hear(Event event, const std::string& owner) override;
  void HearFailure(const std::string& owner, const Value& error) override;
  std::vector<std::string> NodesOf(const std::string& owner) const override;
  std::size_t SlicesOf(const std::string& owner) const override;

 private:
  std::int64_t TendOne(const std::string& name, std::int64_t now);
  std::int64_t TendWaiting(const std::string& name, std::int64_t now);
  std::int64_t TendProvisioning(const std::string& name);
  std::int64_t TendSuspending(const std::string& name, std::int64_t now);
  bool HasCapacityFor(const Place& place, const Queued& queued) const;
  void Provision(const std::string& name);
  Refusal AddNode(const std::string& name, const Queued& queued, std::size_t index,
                  const std::string& node_name);

  Core* const core_;
  Machines* const machines_;
  Table<Queued> queue_;
};

}  // namespace podctl::emulator
