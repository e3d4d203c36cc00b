#include "state/record_json.h"

#include <fmt/format.h>

#include "state/state_writer.h"
#include "state/transitions.h"

namespace podctl {
namespace {

Intent ReadIntent(ObjectReader& in) {
  Intent intent;
  intent.operation = in.Text("operation");
  intent.begun_at = in.Text("begun_at");
  intent.run = static_cast<std::uint64_t>(in.Number("run", 0, INT64_MAX));
  intent.request_id = in.SpareText("request_id");
  return intent;
}

Intent IntentFromValue(Value& value, const std::string& where, std::string& problem) {
  ObjectReader in(value, where, problem);
  Intent intent = ReadIntent(in);
  in.RefuseUnknownMembers();
  return intent;
}

Life ReadLife(ObjectReader& in, const std::string& where, std::string& problem) {
  const std::string word = in.Text("life");
  const auto intent = [&] { return IntentFromValue(in.At("intent"), where + ".intent", problem); };
  if (word == LifeName(Absent{})) return Absent{};
  if (word == LifeName(Present{})) return Present{};
  if (word == LifeName(Changing{})) return Changing{intent()};
  if (word == LifeName(Creating{})) return Creating{intent(), in.Flag("seen")};
  if (word == LifeName(Deleting{})) return Deleting{intent(), in.Flag("seen")};
  in.Fail(fmt::format("has an unknown `life`, `{}`", word));
  return Absent{};
}

Goal GoalFromValue(Value& value, const std::string& where, std::string& problem) {
  ObjectReader in(value, where, problem);
  const std::string word = in.Text("goal");
  Goal goal;
  if (word == GoalName(Seeking{})) {
    goal = Seeking{in.Text("since")};
  } else if (word == GoalName(Recovering{})) {
    Recovering recovering{in.Text("because"), in.Text("since")};
    recovering.seeking_since = in.SpareText("seeking_since");
    recovering.replace_because = in.SpareText("replace_because");
    goal = std::move(recovering);
  } else if (word == GoalName(Replacing{})) {
    Replacing replacing{in.Text("because")};
    replacing.seeking_since = in.SpareText("seeking_since");
    goal = std::move(replacing);
  } else if (word == GoalName(Leaving{})) {
    goal = Leaving{};
  } else {
    in.Fail(fmt::format("is unknown: `{}`", word));
  }
  in.RefuseUnknownMembers();
  return goal;
}

Recovery RecoveryFromValue(Value& value, const std::string& where, std::string& problem) {
  ObjectReader in(value, where, problem);
  Recovery recovery;
  recovery.because = in.Text("because");
  recovery.since = in.Text("since");
  recovery.done = in.Text("done");
  recovery.times = static_cast<int>(in.Number("times", 1, INT32_MAX));
  in.RefuseUnknownMembers();
  return recovery;
}

// ---- Before version 5.

PendingAction PendingFromValue(Value& value, const std::string& where, std::string& problem) {
  ObjectReader in(value, where, problem);
  const std::string kind = in.Text("kind");
  PendingAction pending(PendingAction::Kind::kCreate, ReadIntent(in));
  bool known = false;
  for (auto candidate :
       {PendingAction::Kind::kCreate, PendingAction::Kind::kPatch, PendingAction::Kind::kDelete}) {
    if (PendingKindName(candidate) != kind) continue;
    pending.kind = candidate;
    known = true;
  }
  if (!known) in.Fail(fmt::format("has an unknown kind `{}`", kind));
  in.RefuseUnknownMembers();
  return pending;
}

Life LifeOf(const std::optional<PendingAction>& pending, bool exists) {
  if (!pending) return exists ? Life(Present{}) : Life(Absent{});
  switch (pending->kind) {
    case PendingAction::Kind::kCreate:
      return Creating{*pending, exists};
    case PendingAction::Kind::kPatch:
      return Changing{*pending};
    case PendingAction::Kind::kDelete:
      return Deleting{*pending, exists};
  }
  return Absent{};
}

std::optional<PendingAction> SparePending(ObjectReader& in, const std::string& where,
                                          std::string& problem) {
  Value* pending = in.Optional("pending");
  if (pending == nullptr) return std::nullopt;
  return PendingFromValue(*pending, where + ".pending", problem);
}

bool IsCreate(const std::optional<PendingAction>& pending) {
  return pending && pending->kind == PendingAction::Kind::kCreate;
}

void ReadDeposed(Value::List& list, const std::string& where, Record* record,
                 std::string& problem) {
  for (Value& value : list) {
    ObjectReader in(value, where, problem);
    Object& object = record->deposed.emplace_back();
    object.locator = in.Text("node_id");
    object.uid = in.Text("uid");
    object.life = LifeOf(SparePending(in, where, problem), true);
    in.RefuseUnknownMembers();
  }
}

}  // namespace

std::string_view PendingKindName(PendingAction::Kind kind) {
  switch (kind) {
    case PendingAction::Kind::kCreate:
      return "create";
    case PendingAction::Kind::kPatch:
      return "patch";
    case PendingAction::Kind::kDelete:
      return "delete";
  }
  return "";
}

void ReadRecord(ObjectReader& in, const std::string& address, Record* record,
                std::string& problem) {
  bool has_current = false;
  for (Value& value : in.List("objects")) {
    ObjectReader one(value, address + ".objects", problem);
    const std::string role = one.Text("role");
    Object object;
    object.locator = one.Text("locator");
    object.uid = one.SpareText("uid");
    object.life = ReadLife(one, address + ".objects", problem);
    one.RefuseUnknownMembers();
    if (role == kCurrentRole && !has_current) {
      record->current = std::move(object);
      has_current = true;
    } else if (role == kDeposedRole) {
      record->deposed.push_back(std::move(object));
    } else if (role == kAuxiliaryRole) {
      record->auxiliary.push_back(std::move(object));
    } else {
      one.Fail(fmt::format("has an object too many, or of an unknown role: `{}`", role));
    }
  }
  if (!has_current) in.Fail("has no current object");
  if (Value* goal = in.Optional("goal")) {
    record->goal = GoalFromValue(*goal, address + ".goal", problem);
  }
  if (Value* recovered = in.Optional("recovered")) {
    record->recovered = RecoveryFromValue(*recovered, address + ".recovered", problem);
  }
  // What stands for nothing is no damage: the next run forgets it.
  const std::string_view why = WhatCannotBe(*record);
  if (!why.empty() && !IsEmpty(*record)) in.Fail(std::string(why));
}

void ReadRecordBefore5(ObjectReader& in, const std::string& address, std::string_view locator,
                       Record* record, std::string& problem) {
  record->current.locator = in.Text(locator);
  record->current.uid = in.SpareText("uid");
  const bool exists = in.IsThere("exists") ? in.Flag("exists") : !record->current.locator.empty();
  const auto pending = SparePending(in, address, problem);
  const bool queued = in.IsThere("queued");
  if (queued && !(pending && pending->kind == PendingAction::Kind::kPatch)) {
    // What was under way was the queued resource's; its node comes and goes with it.
    record->current.life = LifeOf(std::nullopt, exists);
    record->auxiliary.push_back(
        {in.TextIn("queued", "id"), "", LifeOf(pending, !IsCreate(pending))});
  } else {
    record->current.life = LifeOf(pending, exists);
    if (queued) record->auxiliary.push_back({in.TextIn("queued", "id"), "", Present{}});
  }
  if (in.IsThere("deposed")) {
    ReadDeposed(in.List("deposed"), address + ".deposed", record, problem);
  }
  const std::string because = in.SpareText("replace_because");
  if (!because.empty()) WantReplacement(because, record);
  if (Value* value = in.Optional("recovery")) {
    Recovery recovery = RecoveryFromValue(*value, address + ".recovery", problem);
    if (!recovery.done.empty()) {
      record->recovered = std::move(recovery);
    } else {
      BeginRecovery(recovery.because, recovery.since, record);
      // The one before it was not kept, but that there was one.
      if (recovery.times > 1) record->recovered = Recovery{"", "", "", recovery.times - 1};
    }
  }
  const std::string since = in.SpareText("capacity_since");
  if (!since.empty()) Seek(since, record);
}

}  // namespace podctl
