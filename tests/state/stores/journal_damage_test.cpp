// What cannot be what a run of podctl wrote is damage: it is told, and never taken for no state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "providers/base/digest.h"
#include "providers/base/json.h"
#include "state/stores/journal_store.h"
#include "tests/state/stores/journal_bench.h"

namespace podctl::testing {
namespace {

using ::testing::HasSubstr;

struct DamagedCase {
  const char* name;
  std::function<void(FakePlace&)> damage;
  const char* message;
};

// Entries 1 and 2 are in the snapshot, 3 to 5 follow it.
// The text of an entry with another head or other changes, and a checksum that fits them.
std::string Forged(std::string text, const std::string& was, const std::string& is) {
  constexpr std::string_view kSum = ",\"checksum\":";
  text.resize(text.rfind(kSum));
  const std::size_t at = text.find(was);
  PODCTL_CHECK(at != std::string::npos);
  text.replace(at, was.size(), is);
  return text + std::string(kSum) + "\"sha256:" + Sha256Hex(text) + "\"}\n";
}

DamagedCase WithChanges(const char* name, const char* changes) {
  return {name,
          [changes](FakePlace& place) {
            const std::string text = *place.Text(EntryName(5));
            const std::size_t begin = text.find("\"changes\":");
            const std::string was = text.substr(begin, text.rfind(",\"checksum\":") - begin);
            place.Set(EntryName(5), Forged(text, was, changes));
          },
          "journal/000000000005.json cannot be read: `changes` is not an object"};
}

DamagedCase WithHead(const char* name, const char* was, const char* is, const char* message) {
  return {name,
          [=](FakePlace& place) {
            place.Set(EntryName(5), Forged(*place.Text(EntryName(5)), was, is));
          },
          message};
}

class DamageTest : public ::testing::TestWithParam<DamagedCase> {};

TEST_P(DamageTest, IsTold) {
  JournalWorld world;
  auto first = world.OpenWithSample();
  ASSERT_TRUE(first->Mark("2"));
  first->store.Compact();
  auto second = world.OpenWithSample();
  for (const char* mark : {"3", "4", "5"}) ASSERT_TRUE(second->Mark(mark));
  const State whole = MustRead(world);
  GetParam().damage(world.place);
  auto reader = world.Open();
  auto loaded = reader->Load();
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kDataLoss);
  EXPECT_THAT(loaded.error().message, HasSubstr("the state fake://bucket/prefix"));
  EXPECT_THAT(loaded.error().message, HasSubstr(GetParam().message));
  EXPECT_FALSE(loaded.error().hint.empty());

  // Put aside, it is no state any more, and nobody who knew it can add to it.
  const auto aside = reader->store.SetAside();
  ASSERT_TRUE(aside) << aside.error().message;
  auto fresh = world.Open();
  auto nothing = fresh->Load();
  ASSERT_TRUE(nothing) << nothing.error().message;
  EXPECT_FALSE(nothing->state);
  EXPECT_TRUE(nothing->generation.none());
  EXPECT_FALSE(second->Mark("6"));
  fresh->state = whole;
  const auto pushed = fresh->store.Push(fresh->state, &fresh->at);
  ASSERT_TRUE(pushed) << pushed.error().message;
  EXPECT_EQ(MustRead(world).records, whole.records);
}

std::string Half(const std::string& text) {
  return text.substr(0, text.size() / 2);
}

INSTANTIATE_TEST_SUITE_P(
    Objects, DamageTest,
    ::testing::Values(
        DamagedCase{"EntryMissing", [](FakePlace& place) { place.Remove(EntryName(4)); },
                    "journal/000000000004.json is missing"},
        DamagedCase{"FirstEntryMissing", [](FakePlace& place) { place.Remove(EntryName(3)); },
                    "journal/000000000003.json is missing"},
        DamagedCase{
            "EntryTorn",
            [](FakePlace& place) { place.Set(EntryName(4), Half(*place.Text(EntryName(4)))); },
            "journal/000000000004.json is cut"},
        DamagedCase{"EntryEmpty", [](FakePlace& place) { place.Set(EntryName(5), ""); },
                    "journal/000000000005.json is empty"},
        DamagedCase{"EntryTwice",
                    [](FakePlace& place) { place.Set(EntryName(6), *place.Text(EntryName(5))); },
                    "journal/000000000006.json holds entry 5"},
        DamagedCase{"EntryOfAnotherJournal",
                    [](FakePlace& place) {
                      JournalEntry entry;
                      entry.id = {6, "another"};
                      entry.previous = "one that is not here";
                      entry.epoch = 2;
                      entry.serial = 99;
                      place.Set(EntryName(6), EntryText(entry));
                    },
                    "journal/000000000006.json does not follow"},
        DamagedCase{"EntryOfAnOvertakenRun",
                    [](FakePlace& place) {
                      JournalEntry entry;
                      entry.id = {6, "another"};
                      entry.previous = EntryIn(place, 5)["entry"]["write_id"].AsString();
                      entry.epoch = 1;
                      entry.serial = 99;
                      place.Set(EntryName(6), EntryText(entry));
                    },
                    "journal/000000000006.json does not follow"},
        DamagedCase{"EntryChanged",
                    [](FakePlace& place) {
                      std::string text = *place.Text(EntryName(4));
                      text.replace(text.find("\"uid\":\"4\""), 9, "\"uid\":\"9\"");
                      place.Set(EntryName(4), text);
                    },
                    "journal/000000000004.json is cut, changed"},
        WithChanges("EntryWithAListOfChanges", R"("changes":[1,2])"),
        WithChanges("EntryWithNullForChanges", R"("changes":null)"),
        WithChanges("EntryWithTextForChanges", R"("changes":"x")"),
        WithChanges("EntryWithoutChanges", R"("other":{})"),
        WithHead("EntryWithAMoveThatIsNone", R"("entry":{)", R"("entry":{"move":7,)",
                 "journal/000000000005.json cannot be read: `move` of entry is not an object"),
        WithHead("EntryOfAnotherLineage", R"("lineage":")", R"("lineage":"another )",
                 "journal/000000000005.json is of the state with lineage another "),
        WithHead("EntryInPlaceOfAnotherLineage", R"("lineage":")",
                 R"("replaces":"a third","lineage":"another )",
                 "journal/000000000005.json is of the state with lineage another "),
        WithHead("EntryWithTheLastSerialOfAll", R"("serial":5)", R"("serial":9223372036854775807)",
                 "journal/000000000005.json cannot be read: `serial` of entry is out of range"),
        DamagedCase{
            "SnapshotTorn",
            [](FakePlace& place) { place.Set(kSnapshotName, Half(*place.Text(kSnapshotName))); },
            "state.json"},
        DamagedCase{"SnapshotEmpty", [](FakePlace& place) { place.Set(kSnapshotName, ""); },
                    "state.json is empty"},
        DamagedCase{"SnapshotChanged",
                    [](FakePlace& place) {
                      std::string text = *place.Text(kSnapshotName);
                      text.replace(text.find("\"journal_from\":3"), 16, "\"journal_from\":4");
                      place.Set(kSnapshotName, text);
                    },
                    "state.json does not match its checksum"},
        DamagedCase{"SnapshotNotPodctls", [](FakePlace& place) { place.Set(kSnapshotName, "{}"); },
                    "state.json cannot be read: it is no snapshot of podctl"}),
    [](const auto& one) { return one.param.name; });

TEST(JournalStore, ASnapshotThatWasLaidOutAnewIsRead) {
  JournalWorld world;
  auto run = world.OpenWithSample();
  run->store.Compact();
  const auto document = ParseJson(*world.place.Text(kSnapshotName));
  ASSERT_TRUE(document);
  world.place.Set(kSnapshotName, ToJson(*document, JsonStyle::kIndented));
  EXPECT_EQ(MustRead(world), run->state);
}

TEST(JournalStore, ALostSnapshotIsNoEmptyState) {
  JournalWorld world;
  auto run = world.OpenWithSample();
  ASSERT_TRUE(run->Mark("2"));
  run->store.Compact();
  world.place.Remove(kSnapshotName);
  // The entries are all there still, and say the same.
  EXPECT_EQ(MustRead(world), run->state);
  world.place.Remove(EntryName(1));
  EXPECT_EQ(world.Open()->Load().error().code, ErrorCode::kDataLoss);
}

TEST(JournalStore, ANewerPodctlsObjectsNameIt) {
  JournalWorld world;
  auto run = world.OpenWithSample();
  std::string text = *world.place.Text(EntryName(1));
  const std::string needs = "\"needs\":{\"format\":1,\"podctl\":\"";
  text.replace(text.find(needs), needs.size(), "\"needs\":{\"format\":3,\"podctl\":\"9");
  world.place.Set(EntryName(1), text);
  const auto loaded = world.Open()->Load();
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kUnimplemented);
  EXPECT_THAT(loaded.error().hint, HasSubstr("Use podctl 9"));
}

TEST(JournalStore, AReaderThatMayNotWriteReads) {
  JournalWorld world;
  auto run = world.OpenWithSample();
  run->store.Compact();
  auto document = ParseJson(*world.place.Text(kSnapshotName));
  ASSERT_TRUE(document);
  document->SetPath("journal.least_writer.format", 3);
  document->Set("journal", [&] {
    Value head = (*document)["journal"];
    head.Erase("checksum");
    head.Set("checksum", "sha256:" + Sha256Hex(ToJson(head)));
    return head;
  }());
  world.place.Set(kSnapshotName, ToJson(*document));
  auto reader = world.OpenWithSample();
  EXPECT_EQ(reader->state, run->state);
  const auto saved = reader->Mark("x");
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, ErrorCode::kUnimplemented);
}

}  // namespace
}  // namespace podctl::testing
