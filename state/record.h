// What a state knows of one thing that podctl looks after, whatever its kind: which objects of the
// service stand for it, what was begun with each, and what the record is kept for.
//
// Made so that it cannot say what does not exist: there is one current object, an intent belongs to
// the request that it was written down for, and a goal has just its own data. Lives and goals are
// changed by transitions.h alone. Plain values, no JSON (state_json.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace podctl {

// Written down before a request is sent, and removed once its result is known.
struct Intent {
  std::string operation;  // "projects/…/operations/…"; empty until the service has answered
  std::string begun_at;   // RFC 3339
  std::uint64_t run = 0;  // serial of the state when this was begun, to tell runs apart
  // By which the service knows a repeat of the request; empty where the method takes none.
  std::string request_id = {};

  friend bool operator==(const Intent&, const Intent&) = default;
};

// The life of an object, as far as it is known.
struct Absent {
  friend bool operator==(const Absent&, const Absent&) = default;
};
struct Creating {
  Intent intent;
  bool seen = false;  // it is there, but not finished
  friend bool operator==(const Creating&, const Creating&) = default;
};
struct Present {
  friend bool operator==(const Present&, const Present&) = default;
};
struct Changing {
  Intent intent;
  friend bool operator==(const Changing&, const Changing&) = default;
};
struct Deleting {
  Intent intent;
  bool seen = true;  // false: nobody ever saw it, and its creation may still come true
  friend bool operator==(const Deleting&, const Deleting&) = default;
};
using Life = std::variant<Absent, Creating, Present, Changing, Deleting>;

// What was begun with such an object; nullptr: nothing is under way. Lent by it.
const Intent* IntentOf(const Life& life);

// What an object's intent is of, with it.
struct PendingAction : Intent {
  enum class Kind { kCreate, kPatch, kDelete };
  PendingAction() = default;
  PendingAction(Kind its_kind, Intent intent) : Intent(std::move(intent)), kind(its_kind) {}
  Kind kind = Kind::kCreate;

  friend bool operator==(const PendingAction&, const PendingAction&) = default;
};

// One object of the service.
struct Object {
  // By which its kind finds it, and of no meaning to anybody else: a node's id, a custom job's
  // name.
  std::string locator;
  // The service's own number, which tells an object from one made later under the same name; empty:
  // never heard.
  std::string uid = {};
  Life life = {};

  // Somebody has seen it, and it is not known to be gone.
  bool exists() const;
  // nullopt: nothing is under way.
  std::optional<PendingAction> pending() const;

  friend bool operator==(const Object&, const Object&) = default;
};

// ---- What a record is kept for.

// The object is to stay as it is.
struct Settled {
  friend bool operator==(const Settled&, const Settled&) = default;
};
// A place with room for it is sought. Times are RFC 3339.
struct Seeking {
  std::string since;
  friend bool operator==(const Seeking&, const Seeking&) = default;
};
// It was lost, and is made anew.
struct Recovering {
  std::string because;               // "PREEMPTED", "SUSPENDED", "gone"
  std::string since;                 // when that was found
  std::string seeking_since = {};    // a place for the new one is sought; empty: none is
  std::string replace_because = {};  // as Replacing, should the lost one come back
  friend bool operator==(const Recovering&, const Recovering&) = default;
};
// It must be replaced although it is as the spec wants it. Kept until it is, so that an interrupted
// run does not lose it.
struct Replacing {
  std::string because;             // "pod.other was replaced"
  std::string seeking_since = {};  // as in Recovering
  friend bool operator==(const Replacing&, const Replacing&) = default;
};
// It is to go, and nothing is sought for it any more.
struct Leaving {
  friend bool operator==(const Leaving&, const Leaving&) = default;
};
using Goal = std::variant<Settled, Seeking, Recovering, Replacing, Leaving>;

// A loss, and how often there were some: of the past where `done` says when the new object worked.
struct Recovery {
  std::string because;  // as in Recovering
  std::string since;    // RFC 3339
  std::string done;     // RFC 3339, when the new one worked and its steps had run; empty: not yet
  int times = 1;        // how often it was lost, this one included

  friend bool operator==(const Recovery&, const Recovery&) = default;
};

struct Record {
  Object current;
  // Replaced by ones made before they were deleted, and still to be deleted; the newest last.
  std::vector<Object> deposed = {};
  // What the current object comes from: a queued resource. It is made and deleted in the current
  // one's stead, so that the intent of that stands here.
  std::vector<Object> auxiliary = {};
  Goal goal = {};
  std::optional<Recovery> recovered = std::nullopt;  // the last loss that is over

  bool exists() const { return current.exists(); }
  // Of the current object, or of what it comes from; of both there is never one.
  std::optional<PendingAction> pending() const;
  const std::string& uid() const { return current.uid; }
  // Since when a place with room is sought (RFC 3339); empty: none is.
  const std::string& capacity_since() const;
  // Why it must be replaced; empty: it need not.
  const std::string& replace_because() const;
  // The loss that it recovers from, or the last one that is over.
  std::optional<Recovery> recovery() const;

  friend bool operator==(const Record&, const Record&) = default;
};

bool IsRecovering(const Record& record);
// There may be no object, but one is to be made: the record is kept for that.
bool IsSought(const Record& record);
// A creation was begun whose object nobody has seen.
bool IsUnheard(const Record& record);
// Nothing is left that the record would stand for.
bool IsEmpty(const Record& record);

// "" where the record can be, else what is wrong with it: a table of lives and goals, at most one
// request under way, and nothing remembered that is known not to exist.
std::string_view WhatCannotBe(const Record& record);

}  // namespace podctl
