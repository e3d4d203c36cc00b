#include "plans/session/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "plans/kinds/pod/backing.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/node_view.h"
#include "providers/base/text.h"
#include "providers/gcp/available_types.h"

namespace podctl {
namespace {

std::string TierOf(const Terms& terms) {
  return std::string(terms.spot         ? kSpot
                     : terms.flex_start ? kFlexStart
                     : terms.reserved   ? kReserved
                                        : kOnDemand);
}

ChipUse UseOf(const Value& node, const Value* terms, const std::string& zone, int slices) {
  ChipUse use;
  use.accelerator = node["acceleratorType"].AsString();
  use.type = gcp::ChipTypeOf(node);
  use.region = RegionOfZone(zone);
  use.tier = TierOf(TermsOf(node["schedulingConfig"], terms));
  if (const auto known = gcp::AcceleratorOf(node)) use.chips = known->chips * slices;
  return use;
}

}  // namespace

std::string ChipUse::Words() const {
  const std::string what =
      chips ? fmt::format("{} {} chip{}", *chips, type, *chips == 1 ? "" : "s") : accelerator;
  return fmt::format("{}, {}, {}", what, tier, region);
}

ChipUse UseOf(const PodSpec& pod) {
  return pod.queued ? UseOf(pod.node, &pod.queued->terms, pod.zone, pod.queued->slices)
                    : UseOf(pod.node, nullptr, pod.zone, 1);
}

ChipUse UseOf(const PodRecord& record) {
  Value node = record.applied.is_map() ? record.applied : Value::EmptyMap();
  // Of one that was imported, or asked for by its config, the service says more.
  for (const char* key : {"acceleratorType", "acceleratorConfig", "schedulingConfig"}) {
    if (node.Find(key) == nullptr && record.observed.is_map() &&
        record.observed.Find(key) != nullptr) {
      node.Set(key, record.observed[key]);
    }
  }
  return record.queued ? UseOf(node, &record.queued->terms, record.zone, record.queued->slices)
                       : UseOf(node, nullptr, record.zone, 1);
}

bool IsPaid(const PodRecord& record) {
  if (!record.exists() || !record.observed.is_map()) return false;  // gone, as it was last seen
  return !IsStopped(record.observed) && !IsTerminalState(record.observed["state"].AsString());
}

Rate RateOf(const ChipUse& use, const PriceBook* prices) {
  Rate rate;
  if (prices == nullptr) {
    rate.unknown = "the spec names no prices";
  } else if (!use.chips) {
    rate.unknown = fmt::format("how many chips {} has is not known",
                               use.accelerator.empty() ? "its node" : use.accelerator);
  } else if (const auto price = prices->Find(use.type, use.region, use.tier)) {
    rate.per_hour = *price * *use.chips;
  } else {
    rate.unknown = fmt::format("no price of {}, {}, {}", use.type, use.tier, use.region);
  }
  return rate;
}

namespace {

// One side of a change: free, or at a rate.
struct Cost {
  Rate rate = {0.0, ""};
  std::optional<ChipUse> use = {};
};

Cost CostOf(const ChipUse& use, const PriceBook& prices) {
  return {RateOf(use, &prices), use};
}

// Where the node may come to be in one of several zones, that of the dearest one.
Cost CostOf(const PodSpec& pod, const PriceBook& prices) {
  Cost dearest = CostOf(UseOf(pod), prices);
  if (!pod.capacity) return dearest;
  for (const std::string& zone : pod.capacity->zones) {
    ChipUse use = UseOf(pod);
    use.region = RegionOfZone(zone);
    const Cost there = CostOf(use, prices);
    if (!dearest.rate.per_hour) break;
    if (!there.rate.per_hour || *there.rate.per_hour > *dearest.rate.per_hour) dearest = there;
  }
  return dearest;
}

class Reckoning {
 public:
  Reckoning(const State& state, const PriceBook& prices) : state_(state), prices_(prices) {
    cost_.as_of = prices.as_of;
    cost_.currency = prices.currency;
  }

  PlanCost Of(const Plan& plan) {
    for (const Change& change : plan.changes) {
      if (AsPod(change) == nullptr) continue;
      named_.insert(change.address);
      named_.insert(change.previous_address);
      // A node that was deposed costs what its pod's node does, or did: it is on its way out, and
      // nothing remembers of what type it is.
      if (change.address.deposed.empty()) Add(change);
    }
    for (const auto& [address, record] : Pods(state_)) {
      if (named_.contains(address)) continue;
      const Cost now = CostNow(record);
      // One that was asked for, and waits for capacity, comes whatever this plan is narrowed to.
      const bool comes = !record.exists() && IsSought(record);
      Count(address, now, comes ? CostOf(UseOf(record), prices_) : now);
    }
    return std::move(cost_);
  }

 private:
  Cost CostNow(const PodRecord& record) const {
    return IsPaid(record) ? CostOf(UseOf(record), prices_) : Cost();
  }

  void Add(const Change& change) {
    const PodRecord* record = nullptr;
    for (const Address& address : {change.previous_address, change.address}) {
      if (record == nullptr && !address.empty()) record = Pods(state_).Get(address);
    }
    const Cost before = record == nullptr ? Cost() : CostNow(*record);
    Count(change.address, before, After(change, record, before));
  }

  Cost After(const Change& change, const PodRecord* record, const Cost& before) const {
    if (IsDelete(change)) return {};
    const PodChange& pod = *AsPod(change);
    if (Makes(change)) {
      const bool stopped = pod.wanted.desired_state == "STOPPED";
      return stopped ? Cost() : CostOf(pod.wanted, prices_);
    }
    if (!pod.power || record == nullptr) return before;
    return *pod.power == Power::kStop ? Cost() : CostOf(UseOf(*record), prices_);
  }

  void Count(const Address& address, const Cost& before, const Cost& after) {
    cost_.before += before.rate.per_hour.value_or(0);
    cost_.after += after.rate.per_hour.value_or(0);
    const bool known = before.rate.per_hour && after.rate.per_hour;
    const bool same = before.rate.per_hour == after.rate.per_hour;
    if (known && same) return;
    ThingCost thing;
    thing.address = address;
    const auto& use = after.use ? after.use : before.use;
    if (use) thing.what = use->Words();
    thing.before = before.rate.per_hour;
    thing.after = after.rate.per_hour;
    thing.unknown = after.rate.unknown.empty() ? before.rate.unknown : after.rate.unknown;
    cost_.things.push_back(std::move(thing));
  }

  const State& state_;
  const PriceBook& prices_;
  PlanCost cost_;
  std::set<Address> named_;
};

}  // namespace

PlanCost CostOf(const Plan& plan, const State& state, const PriceBook& prices) {
  return Reckoning(state, prices).Of(plan);
}

std::optional<Diagnostic> WhyTooCostly(const PlanCost& cost, const CostLimit& limit) {
  if (!cost.Rises()) return std::nullopt;
  Diagnostic problem;
  problem.place = limit.place;
  problem.context = "maxCost";
  const double most = limit.per_hour;
  constexpr double kRounding = 1e-6;
  if (cost.after > most + kRounding) {
    const std::string unit = limit.text.substr(limit.text.find('/') + 1);
    const double hours = unit == "day" ? kHoursOfDay : unit == "month" ? kHoursOfMonth : 1;
    problem.summary =
        fmt::format("it would cost {:.2f} {} {} {}, and maxCost is {}", cost.after * hours,
                    cost.currency, unit == "hour" ? "an" : "a", unit, limit.text);
    problem.suggestion = "plan for less, or raise `maxCost`";
    return problem;
  }
  if (cost.UnknownAfter() == 0) return std::nullopt;
  std::vector<std::string> unknown;
  for (const ThingCost& thing : cost.things) {
    if (!thing.after) unknown.push_back(fmt::format("{} ({})", thing.address, thing.unknown));
  }
  constexpr std::size_t kMostNamed = 5;
  const std::size_t more = unknown.size() > kMostNamed ? unknown.size() - kMostNamed : 0;
  unknown.resize(unknown.size() - more);
  problem.summary =
      fmt::format("whether it keeps to maxCost, {}, is not known: of {}{}", limit.text,
                  Join(unknown, ", "), more == 0 ? "" : fmt::format(" and {} more", more));
  problem.suggestion = "add what is missing to the file of `prices`";
  return problem;
}

}  // namespace podctl
