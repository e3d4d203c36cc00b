#include "state/record.h"

#include <algorithm>
#include <array>

namespace podctl {
namespace {

const std::string kNothing;

// kWithOthers: with a deposed or auxiliary object, or while a place for one is sought.
enum class Legal { kYes, kWithOthers };

// By Life and Goal, in the order of their alternatives. Where there is no object, something must
// keep the record.
constexpr Legal kYes = Legal::kYes;
constexpr Legal kOther = Legal::kWithOthers;
constexpr std::array<std::array<Legal, std::variant_size_v<Goal>>, std::variant_size_v<Life>>
    kLegal = {{
        // Settled Seeking Recovering Replacing Leaving
        {{kOther, kYes, kYes, kOther, kYes}},  // Absent
        {{kYes, kYes, kYes, kYes, kYes}},      // Creating
        {{kYes, kYes, kYes, kYes, kYes}},      // Present
        {{kYes, kYes, kYes, kYes, kYes}},      // Changing
        {{kYes, kYes, kYes, kYes, kYes}},      // Deleting
    }};

}  // namespace

const Intent* IntentOf(const Life& life) {
  if (const auto* creating = std::get_if<Creating>(&life)) return &creating->intent;
  if (const auto* changing = std::get_if<Changing>(&life)) return &changing->intent;
  if (const auto* deleting = std::get_if<Deleting>(&life)) return &deleting->intent;
  return nullptr;
}

bool Object::exists() const {
  if (const auto* creating = std::get_if<Creating>(&life)) return creating->seen;
  if (const auto* deleting = std::get_if<Deleting>(&life)) return deleting->seen;
  return !std::holds_alternative<Absent>(life);
}

std::optional<PendingAction> Object::pending() const {
  using Kind = PendingAction::Kind;
  const Intent* intent = IntentOf(life);
  if (intent == nullptr) return std::nullopt;
  const bool creates = std::holds_alternative<Creating>(life);
  const bool changes = std::holds_alternative<Changing>(life);
  return PendingAction(creates ? Kind::kCreate : changes ? Kind::kPatch : Kind::kDelete, *intent);
}

std::optional<PendingAction> Record::pending() const {
  auto pending = current.pending();
  for (auto object = auxiliary.begin(); !pending && object != auxiliary.end(); ++object) {
    pending = object->pending();
  }
  return pending;
}

const std::string& Record::capacity_since() const {
  if (const auto* seeking = std::get_if<Seeking>(&goal)) return seeking->since;
  if (const auto* recovering = std::get_if<Recovering>(&goal)) return recovering->seeking_since;
  if (const auto* replacing = std::get_if<Replacing>(&goal)) return replacing->seeking_since;
  return kNothing;
}

const std::string& Record::replace_because() const {
  if (const auto* recovering = std::get_if<Recovering>(&goal)) return recovering->replace_because;
  if (const auto* replacing = std::get_if<Replacing>(&goal)) return replacing->because;
  return kNothing;
}

std::optional<Recovery> Record::recovery() const {
  const auto* recovering = std::get_if<Recovering>(&goal);
  if (recovering == nullptr) return recovered;
  return Recovery{recovering->because, recovering->since, "", recovered ? recovered->times + 1 : 1};
}

bool IsRecovering(const Record& record) {
  return std::holds_alternative<Recovering>(record.goal);
}

bool IsSought(const Record& record) {
  return IsRecovering(record) || !record.capacity_since().empty();
}

bool IsUnheard(const Record& record) {
  const auto pending = record.pending();
  return !record.exists() && pending && pending->kind == PendingAction::Kind::kCreate;
}

bool IsEmpty(const Record& record) {
  return !record.exists() && !record.pending() && record.deposed.empty() &&
         record.auxiliary.empty() && !IsSought(record);
}

std::string_view WhatCannotBe(const Record& record) {
  const Legal legal = kLegal[record.current.life.index()][record.goal.index()];
  const bool alone = record.deposed.empty() && record.auxiliary.empty();
  if (legal == Legal::kWithOthers && alone && !IsSought(record)) {
    return "stands for no object, and has no goal that would make one";
  }
  const auto open = std::count_if(record.auxiliary.begin(), record.auxiliary.end(),
                                  [](const Object& object) { return object.pending(); });
  if (open + (record.current.pending() ? 1 : 0) > 1) return "has two requests under way at once";
  const bool absent =
      std::any_of(record.deposed.begin(), record.deposed.end(),
                  [](const Object& object) { return !object.exists() && !object.pending(); }) ||
      std::any_of(record.auxiliary.begin(), record.auxiliary.end(),
                  [](const Object& object) { return std::holds_alternative<Absent>(object.life); });
  return absent ? "remembers an object that is known not to exist" : "";
}

}  // namespace podctl
