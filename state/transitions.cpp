#include "state/transitions.h"

#include <algorithm>
#include <utility>

namespace podctl {
namespace {

Object* DeposedOf(const std::string& locator, Record* record) {
  const auto found = std::find_if(record->deposed.begin(), record->deposed.end(),
                                  [&](const Object& object) { return object.locator == locator; });
  return found == record->deposed.end() ? nullptr : &*found;
}

// The object that has what is under way; nullptr for none.
Object* OpenOf(const std::string& deposed, Record* record) {
  if (!deposed.empty()) {
    Object* object = DeposedOf(deposed, record);
    return object != nullptr && IntentOf(object->life) != nullptr ? object : nullptr;
  }
  if (IntentOf(record->current.life) != nullptr) return &record->current;
  for (Object& object : record->auxiliary) {
    if (IntentOf(object.life) != nullptr) return &object;
  }
  return nullptr;
}

void DropIntent(Object* object) {
  object->life = object->exists() ? Life(Present{}) : Life(Absent{});
}

// The goal where there is none of its own: a place may be sought all the same.
Goal PlainGoal(const std::string& seeking_since) {
  if (seeking_since.empty()) return Settled{};
  return Seeking{seeking_since};
}

void SetSeeking(const std::string& since, Record* record) {
  if (auto* recovering = std::get_if<Recovering>(&record->goal)) {
    recovering->seeking_since = since;
  } else if (auto* replacing = std::get_if<Replacing>(&record->goal)) {
    replacing->seeking_since = since;
  } else {
    record->goal = PlainGoal(since);
  }
}

void ForgetCurrent(Record* record) {
  record->current.uid.clear();
  record->current.life = Absent{};
  record->auxiliary.clear();
}

}  // namespace

void BeginCreate(const std::string& locator, const std::string& through, Intent intent,
                 Record* record) {
  Stay(record);
  // What was to be replaced is gone by now, unless it waits for this one.
  if (record->deposed.empty()) NoteReplaced(record);
  record->current = {locator, "", Absent{}};
  record->auxiliary.clear();
  Object& made = through.empty() ? record->current
                                 : record->auxiliary.emplace_back(Object{through, "", Absent{}});
  made.life = Creating{std::move(intent)};
}

void Depose(Record* record) {
  if (!record->current.exists() && !record->current.pending()) return;
  record->deposed.push_back(std::exchange(record->current, Object{record->current.locator}));
}

void BeginChange(Intent intent, Record* record) {
  if (!record->exists()) return;
  Stay(record);
  EndRequest({}, record);
  record->current.life = Changing{std::move(intent)};
}

void BeginDelete(const std::string& deposed, Intent intent, Record* record) {
  Object* object = &record->current;
  if (!deposed.empty()) {
    object = DeposedOf(deposed, record);
    if (object == nullptr) return;
  } else if (!record->auxiliary.empty()) {
    if (record->current.pending()) DropIntent(&record->current);
    object = &record->auxiliary.front();
  }
  const bool seen = object->exists();
  object->life = Deleting{std::move(intent), seen};
}

void NoteOperation(const std::string& deposed, const std::string& operation, Record* record) {
  const auto note = [&](auto& life) {
    if constexpr (requires { life.intent; }) life.intent.operation = operation;
  };
  if (Object* object = OpenOf(deposed, record)) std::visit(note, object->life);
}

void EndRequest(const std::string& deposed, Record* record) {
  Object* object = OpenOf(deposed, record);
  if (object == nullptr) return;
  if (deposed.empty() && object != &record->current) {
    object->life = Present{};
    return;
  }
  DropIntent(object);
  if (!deposed.empty() && !object->exists()) Lose(deposed, record);
}

void Withdraw(const std::string& deposed, Record* record) {
  const Object* open = OpenOf(deposed, record);
  const bool deletes = open != nullptr && std::holds_alternative<Deleting>(open->life);
  EndRequest(deposed, record);
  if (!deposed.empty() || record->exists() || (deletes && !record->auxiliary.empty())) return;
  if (!Reinstate(record)) ForgetCurrent(record);
}

void See(const std::string& uid, Record* record) {
  Object& current = record->current;
  current.uid = uid;
  if (auto* creating = std::get_if<Creating>(&current.life)) {
    creating->seen = true;
  } else if (auto* deleting = std::get_if<Deleting>(&current.life)) {
    deleting->seen = true;
  } else if (std::holds_alternative<Absent>(current.life)) {
    current.life = Present{};
  }
}

void Finish(Record* record) {
  record->current.life = Present{};
  for (Object& object : record->auxiliary) object.life = Present{};
}

void ComeFrom(const std::string& through, Record* record) {
  if (record->current.pending()) return;
  record->auxiliary.clear();
  if (!through.empty()) record->auxiliary.push_back({through, "", Present{}});
}

void Lose(const std::string& deposed, Record* record) {
  if (deposed.empty()) return ForgetCurrent(record);
  std::erase_if(record->deposed, [&](const Object& object) { return object.locator == deposed; });
}

bool Reinstate(Record* record) {
  if (record->deposed.empty()) return false;
  record->current = std::move(record->deposed.back());
  record->deposed.pop_back();
  record->auxiliary.clear();
  return true;
}

void BeginRecovery(const std::string& because, const std::string& now, Record* record) {
  if (IsRecovering(*record)) return;
  record->goal = Recovering{because, now, record->capacity_since(), record->replace_because()};
}

void EndRecovery(const std::string& now, Record* record) {
  if (!IsRecovering(*record)) return;
  record->recovered = record->recovery();
  record->recovered->done = now;
  const std::string because = record->replace_because();
  const std::string since = record->capacity_since();
  record->goal = because.empty() ? PlainGoal(since) : Goal(Replacing{because, since});
}

void Seek(const std::string& now, Record* record) {
  if (record->capacity_since().empty()) SetSeeking(now, record);
}

void StopSeeking(Record* record) {
  if (!record->capacity_since().empty()) SetSeeking({}, record);
}

void WantReplacement(const std::string& because, Record* record) {
  if (auto* recovering = std::get_if<Recovering>(&record->goal)) {
    recovering->replace_because = because;
  } else {
    record->goal = Replacing{because, record->capacity_since()};
  }
}

void NoteReplaced(Record* record) {
  if (auto* recovering = std::get_if<Recovering>(&record->goal)) {
    recovering->replace_because.clear();
  } else if (auto* replacing = std::get_if<Replacing>(&record->goal)) {
    record->goal = PlainGoal(replacing->seeking_since);
  }
}

void Leave(Record* record) {
  record->goal = Leaving{};
  // Of a loss that an older podctl wrote down, only the number is known.
  if (record->recovered && record->recovered->done.empty()) record->recovered.reset();
}

void Stay(Record* record) {
  if (std::holds_alternative<Leaving>(record->goal)) record->goal = Settled{};
}

}  // namespace podctl
