#include "state/transitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plans/kinds/kinds.h"
#include "plans/kinds/pod/record.h"
#include "state/state_json.h"
#include "tests/support/addresses.h"

namespace podctl {
namespace {

constexpr const char* kHeard = "projects/p/locations/europe-west4-a/operations/op";

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Intent kIntent{"", "2026-11-22T08:00:00Z", 3, "id"};
constexpr char kNow[] = "2026-11-22T09:00:00Z";

Record There() {
  Record record;
  record.current = {"a", "1", Present{}};
  return record;
}

TEST(Transitions, ACreationIsBegunHeardSeenAndFinished) {
  Record record;
  BeginCreate("a", "", kIntent, &record);
  EXPECT_TRUE(IsUnheard(record));
  NoteOperation("", "op", &record);
  EXPECT_EQ(record.pending()->operation, "op");
  EXPECT_EQ(record.pending()->request_id, "id");
  See("1", &record);
  EXPECT_TRUE(record.exists());
  EXPECT_FALSE(IsUnheard(record));
  EXPECT_TRUE(record.pending());
  Finish(&record);
  EXPECT_EQ(record, There());
}

TEST(Transitions, ACreationThatCameToNothingLeavesNothing) {
  Record record;
  BeginCreate("a", "", kIntent, &record);
  Withdraw("", &record);
  EXPECT_TRUE(podctl::IsEmpty(record));
}

TEST(Transitions, AHalfMadeObjectStaysWhenItsCreationIsWithdrawn) {
  Record record;
  BeginCreate("a", "", kIntent, &record);
  See("1", &record);
  Withdraw("", &record);
  EXPECT_EQ(record, There());
}

TEST(Transitions, WhatIsMadeThroughAnotherObjectHasItsIntentThere) {
  Record record;
  BeginCreate("a", "queue", kIntent, &record);
  EXPECT_FALSE(record.current.pending());
  EXPECT_EQ(record.auxiliary.front().locator, "queue");
  EXPECT_EQ(record.pending()->kind, PendingAction::Kind::kCreate);
  See("1", &record);
  EXPECT_TRUE(record.pending()) << "the queue is not done because a node is there";
  Finish(&record);
  EXPECT_FALSE(record.pending());
  BeginDelete("", kIntent, &record);
  EXPECT_FALSE(record.current.pending());
  EXPECT_EQ(record.pending()->kind, PendingAction::Kind::kDelete);
  Withdraw("", &record);
  EXPECT_EQ(record.auxiliary.size(), 1U);
  Lose("", &record);
  EXPECT_TRUE(podctl::IsEmpty(record));
}

TEST(Transitions, AQueueThatComesToNothingIsStillThere) {
  Record record;
  BeginCreate("a", "queue", kIntent, &record);
  EndRequest("", &record);
  EXPECT_FALSE(record.pending());
  EXPECT_EQ(WhatCannotBe(record), "");
  EXPECT_FALSE(podctl::IsEmpty(record));
}

TEST(Transitions, TheDeposedObjectComesBackWhenItsSuccessorDoesNot) {
  Record record = There();
  BeginChange(kIntent, &record);
  Depose(&record);
  BeginCreate("a-2", "", kIntent, &record);
  EXPECT_EQ(record.deposed.front().pending()->kind, PendingAction::Kind::kPatch);
  Withdraw("", &record);
  EXPECT_EQ(record.current.locator, "a");
  EXPECT_EQ(record.current.uid, "1");
  EXPECT_EQ(record.pending()->kind, PendingAction::Kind::kPatch);
  EXPECT_THAT(record.deposed, IsEmpty());
}

TEST(Transitions, ADeposedObjectIsDeletedByItself) {
  Record record = There();
  Depose(&record);
  BeginCreate("a-2", "", kIntent, &record);
  Finish(&record);
  BeginDelete("a", kIntent, &record);
  EXPECT_FALSE(record.pending()) << "of the current one";
  NoteOperation("a", "op", &record);
  EXPECT_EQ(record.deposed.front().pending()->operation, "op");
  Withdraw("a", &record);
  EXPECT_EQ(record.deposed.front().life, Life(Present{}));
  Lose("a", &record);
  EXPECT_THAT(record.deposed, IsEmpty());
  EXPECT_TRUE(record.exists());
}

TEST(Transitions, ALossIsRememberedWithItsNumber) {
  Record record = There();
  BeginRecovery("PREEMPTED", "t1", &record);
  BeginRecovery("gone", "t2", &record);  // it recovers already
  EXPECT_EQ(record.recovery(), (Recovery{"PREEMPTED", "t1", "", 1}));
  Lose("", &record);
  EXPECT_FALSE(podctl::IsEmpty(record)) << "it is to be made anew";
  BeginCreate("a", "", kIntent, &record);
  Finish(&record);
  EndRecovery("t3", &record);
  EXPECT_FALSE(IsRecovering(record));
  EXPECT_EQ(record.recovery(), (Recovery{"PREEMPTED", "t1", "t3", 1}));
  BeginRecovery("gone", "t4", &record);
  EXPECT_EQ(record.recovery(), (Recovery{"gone", "t4", "", 2}));
}

TEST(Transitions, AReplacementIsWantedUntilItWasMade) {
  Record record = There();
  WantReplacement("pod.b was replaced", &record);
  Seek("t1", &record);
  EXPECT_EQ(record.replace_because(), "pod.b was replaced");
  BeginRecovery("PREEMPTED", "t2", &record);
  EXPECT_EQ(record.replace_because(), "pod.b was replaced");
  EXPECT_EQ(record.capacity_since(), "t1");
  StopSeeking(&record);
  EndRecovery("t3", &record);
  EXPECT_EQ(record.goal, Goal(Replacing{"pod.b was replaced"}));
  Depose(&record);
  BeginCreate("a-2", "", kIntent, &record);
  EXPECT_EQ(record.replace_because(), "pod.b was replaced") << "the old one may come back";
  NoteReplaced(&record);
  EXPECT_EQ(record.goal, Goal(Settled{}));
}

TEST(Transitions, APlaceIsSoughtSinceTheFirstTime) {
  Record record;
  Seek("t1", &record);
  Seek("t2", &record);
  EXPECT_EQ(record.capacity_since(), "t1");
  EXPECT_TRUE(IsSought(record));
  StopSeeking(&record);
  EXPECT_TRUE(podctl::IsEmpty(record));
}

TEST(Transitions, WhatLeavesIsNotSoughtAndMayStay) {
  Record record = There();
  BeginRecovery("PREEMPTED", "t1", &record);
  Leave(&record);
  EXPECT_FALSE(IsSought(record));
  Stay(&record);
  EXPECT_EQ(record.goal, Goal(Settled{}));
  Leave(&record);
  BeginCreate("a", "", kIntent, &record);
  EXPECT_EQ(record.goal, Goal(Settled{})) << "the spec wants it again";
}

// ---- Random walks: any event, in any state.

struct Event {
  std::string name;
  std::function<void(Record*)> happen;
};

std::vector<Event> Events() {
  std::vector<Event> events;
  const auto add = [&](std::string name, std::function<void(Record*)> happen) {
    events.push_back({std::move(name), std::move(happen)});
  };
  for (const std::string id : {"a", "b"}) {
    add("create " + id, [id](Record* r) { BeginCreate(id, "", kIntent, r); });
    add("create before delete " + id, [id](Record* r) {
      Depose(r);
      BeginCreate(id, "", kIntent, r);
    });
    add("delete deposed " + id, [id](Record* r) { BeginDelete(id, kIntent, r); });
    add("heard of deposed " + id, [id](Record* r) { NoteOperation(id, kHeard, r); });
    add("end deposed " + id, [id](Record* r) { EndRequest(id, r); });
    add("withdraw deposed " + id, [id](Record* r) { Withdraw(id, r); });
    add("lose deposed " + id, [id](Record* r) { Lose(id, r); });
    add("see " + id, [id](Record* r) { See(id + "-uid", r); });
  }
  add("create through", [](Record* r) { BeginCreate("a", "queue", kIntent, r); });
  add("come from", [](Record* r) { ComeFrom("queue", r); });
  add("change", [](Record* r) { BeginChange(kIntent, r); });
  add("delete", [](Record* r) { BeginDelete("", kIntent, r); });
  add("heard", [](Record* r) { NoteOperation("", kHeard, r); });
  add("end", [](Record* r) { EndRequest("", r); });
  add("withdraw", [](Record* r) { Withdraw("", r); });
  add("finish", [](Record* r) { Finish(r); });
  add("lose", [](Record* r) { Lose("", r); });
  add("reinstate", [](Record* r) { Reinstate(r); });
  add("recover", [](Record* r) { BeginRecovery("PREEMPTED", kNow, r); });
  add("recovered", [](Record* r) { EndRecovery(kNow, r); });
  add("seek", [](Record* r) { Seek(kNow, r); });
  add("found", [](Record* r) { StopSeeking(r); });
  add("want replacement", [](Record* r) { WantReplacement("because", r); });
  add("replaced", [](Record* r) { NoteReplaced(r); });
  add("leave", [](Record* r) { Leave(r); });
  add("stay", [](Record* r) { Stay(r); });
  return events;
}

// Which objects there may be at the service, as far as the record knows.
std::set<std::string> MayExist(const Record& record) {
  std::set<std::string> known;
  const auto note = [&](const Object& object) {
    if (object.exists() || object.pending()) known.insert(object.locator);
  };
  note(record.current);
  for (const Object& object : record.deposed) note(object);
  return known;
}

State With(const Record& record) {
  State state;
  state.lineage = "8f14e45f-ceea-467f-a0e6-c1a5b1b7d3aa";
  PodRecord& pod = Pods(state)[Addr("pod.a")];
  static_cast<Record&>(pod) = record;
  pod.project = "p";
  pod.zone = "europe-west4-a";
  if (pod.current.locator.empty()) pod.current.locator = "a";
  pod.applied = Value::EmptyMap();
  pod.observed = Value::EmptyMap();
  if (!record.auxiliary.empty()) {
    pod.queued = QueuedRecord{record.auxiliary.front().locator, Value::EmptyMap(), 1, ""};
  }
  return state;
}

TEST(TransitionsWalk, EveryEventLeavesWhatCanBeOrNothing) {
  const std::vector<Event> events = Events();
  std::set<std::pair<std::size_t, std::size_t>> reached;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    Record record;
    std::string story = "seed " + std::to_string(seed);
    for (int step = 0; step < 40; ++step) {
      const Event& event = events[random() % events.size()];
      const Record before = record;
      event.happen(&record);
      story += ", " + event.name;
      SCOPED_TRACE(story);
      if (podctl::IsEmpty(record) && record.goal != Goal(Leaving{})) {
        record = {};  // whoever asked for it forgets it
        continue;
      }
      ASSERT_EQ(WhatCannotBe(record), "");
      reached.emplace(record.current.life.index(), record.goal.index());
      const auto read = StateFromJson(StateToJson(With(record)), "x", RememberedKinds());
      ASSERT_TRUE(read) << read.error().message;
      ASSERT_EQ(*read, With(record));
      // Only who saw that an object is gone, or withdrew its creation, forgets it; and a creation
      // takes the place of what has been forgotten before.
      const bool may_forget = event.name.starts_with("lose") ||
                              event.name.starts_with("withdraw") || event.name.starts_with("end") ||
                              event.name.starts_with("create") || event.name == "reinstate";
      for (const std::string& known : MayExist(before)) {
        ASSERT_TRUE(may_forget || MayExist(record).contains(known)) << known;
      }
    }
  }
  // The table allows nothing that never comes about.
  EXPECT_EQ(reached.size(), std::variant_size_v<Life> * std::variant_size_v<Goal>);
}

TEST(TransitionsWalk, NothingIsDeposedTwice) {
  Record record = There();
  Depose(&record);
  Depose(&record);
  std::vector<std::string> ids;
  for (const Object& object : record.deposed) ids.push_back(object.locator);
  EXPECT_THAT(ids, ElementsAre("a"));
}

}  // namespace
}  // namespace podctl
