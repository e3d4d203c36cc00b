#include "cmd/views/terraform_resource.h"

#include <algorithm>

#include "plans/engine/overlay.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/shown.h"

namespace podctl {
namespace {

// As terraform writes its own built-in provider: there is no registry to look it up in.
constexpr std::string_view kProviderName = "terraform.io/builtin/podctl";

}  // namespace

ShownSides SidesOf(const Drift& drift, const State& state) {
  ShownSides sides;
  const auto there = state.records.find(drift.address);
  if (there == state.records.end()) return sides;
  const PodRecord* record = Pods(state).Get(drift.address);
  sides.before = record == nullptr ? there->second.codec().Shown(there->second) : ObjectOf(*record);
  if (drift.kind == Drift::Kind::kVanished) return sides;
  sides.after = sides.before;
  Overlay(drift.attributes, Side::kBefore, &sides.before);
  Overlay(drift.attributes, Side::kAfter, &sides.after);
  if (drift.kind == Drift::Kind::kUnhealthy) {
    sides.before.values.Set("health", "HEALTHY");
    sides.before.values.Erase("healthDescription");
  } else if (drift.kind != Drift::Kind::kChanged) {
    sides.before.values.Set("state", "READY");
  }
  return sides;
}

bool IsPartOfReplacement(const Change& change, const Plan& plan) {
  if (!IsDelete(change) || change.address.deposed.empty()) return false;
  const Address pod = change.address.WithoutDeposed();
  const auto& waits_for = change.waits_for;
  return std::count(waits_for.begin(), waits_for.end(), pod) > 0 &&
         std::any_of(plan.changes.begin(), plan.changes.end(), [&](const Change& other) {
           return other.address == pod && other.verb == Verb::kCreateThenDelete;
         });
}

Value TerraformName(const Address& address) {
  Value name;
  name.Set("address", address.WithoutDeposed().Text());
  name.Set("mode", "managed");
  name.Set("type", address.kind);
  name.Set("name", address.name);
  name.Set("provider_name", kProviderName);
  if (!address.deposed.empty()) name.Set("deposed", address.deposed);
  return name;
}

}  // namespace podctl
