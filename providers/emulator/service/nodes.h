// Cloud TPU nodes: what may be called on them, and how their operations end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/value.h"
#include "providers/emulator/service/core.h"
#include "providers/emulator/service/machines.h"

namespace podctl::emulator {

class Nodes final : public Collection {
 public:
  // Both are lent and outlive it.
  Nodes(Core* core, Machines* machines)
      : Collection("nodes", "node"), core_(core), machines_(machines) {}

  // place.zone "-": all zones of the project.
  Answer List(const Call& call);
  Answer Get(const Call& call);
  Answer Create(const Call& call);
  Answer Patch(const Call& call);
  Answer Delete(const Call& call);
  Answer Start(const Call& call) { return Power(call, true); }
  Answer Stop(const Call& call) { return Power(call, false); }
  // Reboots the workers with the health of a node under maintenance: all, or the one that the call
  // names, worker 0 when it names none.
  Answer PerformMaintenance(const Call& call) { return Maintain(call, {}); }
  Answer SimulateMaintenance(const Call& call);
  Answer GuestAttributes(const Call& call);

  // `state` and `health` may be empty.
  Answer Afflict(const std::string& name, const std::string& state, const std::string& health);
  Answer ActOnWorker(const std::string& name, int worker, const std::string& action);

  // Collection
  void Restore(const std::string& name, const Value& record) override;
  std::vector<std::string> NamesOf(const std::string& id) const override;
  // "preempt" (a spot node only), "terminate", "break", "repair", "maintain", "heal".
  Answer Incident(const std::string& name, std::string_view verb) override;
  bool Settle(Operation* operation) override;
  void Withdraw(const std::string& name) override;
  std::int64_t Tend(std::int64_t now) override { return machines_->TendBoots(now); }
  Value::List Overview() const override;
  int Used(const Pool& pool) const override;
  int Held(const QuotaUse& use) const override;

 private:
  Answer Power(const Call& call, bool on);
  Answer Maintain(const Call& call, Value::List workers);

  Core* const core_;
  Machines* const machines_;
};

}  // namespace podctl::emulator
