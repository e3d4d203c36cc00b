// Queued resources: what may be called on them, and how their operations end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/value.h"
#include "providers/emulator/service/core.h"
#include "providers/emulator/service/machines.h"
#include "providers/emulator/service/queue.h"

namespace podctl::emulator {

class QueuedResources final : public Collection {
 public:
  // All are lent and outlive it.
  QueuedResources(Core* core, Machines* machines, Queue* queue)
      : Collection("queuedResources", "queued"), core_(core), machines_(machines), queue_(queue) {}

  // place.zone "-": all zones of the project.
  Answer List(const Call& call) const;
  Answer Get(const Call& call) const;
  Answer Create(const Call& call);
  Answer Delete(const Call& call);
  Answer Reset(const Call& call);
  // The body's nodeNames: ids or full names of nodes that it has.
  Answer PerformMaintenance(const Call& call);
  // What is coming to the nodes that it has.
  Answer MaintenanceInfo(const Call& call);

  // Collection
  void Restore(const std::string& name, const Value& record) override;
  std::vector<std::string> NamesOf(const std::string& id) const override;
  // "suspend", "fail".
  Answer Incident(const std::string& name, std::string_view verb) override;
  bool Settle(Operation* operation) override;
  void Withdraw(const std::string& name) override { queue_->Erase(name); }
  std::int64_t Tend(std::int64_t now) override { return queue_->Tend(now); }
  Value::List Overview() const override;
  int Held(const QuotaUse& use) const override;

 private:
  Refusal NameIsTaken(const Queued& request) const;
  bool SettleDelete(Operation* operation, const std::string& name);
  bool SettleReboot(Operation* operation, const std::string& name);

  Core* const core_;
  Machines* const machines_;
  Queue* const queue_;
};

}  // namespace podctl::emulator
