// The state with a kind of which it knows nothing.
#include <gtest/gtest.h>

#include "state/record_codec.h"
#include "state/state.h"
#include "state/state_json.h"
#include "tests/support/addresses.h"

namespace podctl {
namespace {

struct DiskRecord : Record {
  static constexpr std::string_view kKind = "disk";
  static const RecordCodec& Codec();

  int gigabytes = 0;

  friend bool operator==(const DiskRecord&, const DiskRecord&) = default;
};

struct LabelRecord {
  static constexpr std::string_view kKind = "label";
  static const RecordCodec& Codec();

  std::string text;

  friend bool operator==(const LabelRecord&, const LabelRecord&) = default;
};

class DiskCodec final : public RecordCodecOf<DiskRecord> {
 public:
  std::string_view noun() const override { return "disk"; }
  std::string_view form() const override { return "disk.NAME"; }

 private:
  void Read(ObjectReader& in, int, DiskRecord* disk) const override {
    disk->gigabytes = static_cast<int>(in.Number("gigabytes", 1, 1000));
  }
  void Write(const DiskRecord& disk, ObjectWriter& out) const override {
    out.Member("gigabytes", disk.gigabytes);
  }
};

class LabelCodec final : public RecordCodecOf<LabelRecord> {
 public:
  std::string_view noun() const override { return "label"; }
  std::string_view form() const override { return "label.NAME"; }

 private:
  void Read(ObjectReader& in, int, LabelRecord* label) const override {
    label->text = in.Text("text");
  }
  void Write(const LabelRecord& label, ObjectWriter& out) const override {
    out.Member("text", label.text);
  }
};

const RecordCodec& DiskRecord::Codec() {
  static const DiskCodec codec;
  return codec;
}

const RecordCodec& LabelRecord::Codec() {
  static const LabelCodec codec;
  return codec;
}

const RecordCodec* const kKinds[] = {&DiskRecord::Codec(), &LabelRecord::Codec()};

using Disks = RecordsOf<DiskRecord>;
using EditableDisks = EditableRecordsOf<DiskRecord>;
using EditableLabels = EditableRecordsOf<LabelRecord>;

State TwoDisksAndALabel() {
  State state;
  state.lineage = "d1ced1ce-ceea-467f-a0e6-c1a5b1b7d3aa";
  for (const char* name : {"a", "b"}) {
    DiskRecord& disk = EditableDisks(state)[Address("disk", name)];
    disk.gigabytes = 7;
    disk.current = {name, "4711", Present{}};
  }
  EditableLabels(state)[Address("label", "a")].text = "x";
  return state;
}

TEST(AnyRecord, ACopyOfAStateSeesNothingOfALaterChange) {
  State state = TwoDisksAndALabel();
  const State before = state;
  EXPECT_EQ(state, before);
  EditableDisks(state)[Address("disk", "a")].gigabytes = 8;
  EXPECT_EQ(Disks(before).at(Address("disk", "a")).gigabytes, 7);
  EXPECT_EQ(Disks(state).at(Address("disk", "a")).gigabytes, 8);
  EXPECT_FALSE(state == before);
  // What was not changed is still one and the same.
  EXPECT_EQ(Disks(state).Get(Address("disk", "b")), Disks(before).Get(Address("disk", "b")));
}

TEST(AnyRecord, RecordsOfAKindAreThoseOfNoOther) {
  State state = TwoDisksAndALabel();
  EXPECT_EQ(Disks(state).size(), 2U);
  EXPECT_FALSE(Disks(state).contains(Address("label", "a")));
  EXPECT_FALSE(EditableDisks(state).erase(Address("label", "a")));
  std::string names;
  for (const auto& [address, disk] : Disks(state)) names += address.name;
  EXPECT_EQ(names, "ab");
  EditableDisks(state).EraseIf(
      [](const Address& address, const DiskRecord&) { return address.name == "a"; });
  EXPECT_EQ(Disks(state).begin()->first, Address("disk", "b"));
  EditableDisks(state).clear();
  EXPECT_TRUE(Disks(state).empty());
  EXPECT_EQ(state.records.size(), 1U);
}

TEST(AnyRecord, AKindThatTheStateKnowsNothingOfIsWrittenAndReadBack) {
  const State state = TwoDisksAndALabel();
  const std::string text = StateToJson(state);
  const auto read = StateFromJson(text, "x", kKinds);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, state);
  EXPECT_EQ(RecordCounts(state), (std::map<std::string, std::size_t>{{"disk", 2}, {"label", 1}}));
}

TEST(AnyRecord, AKindThatNobodyHandedInIsDamage) {
  const auto read =
      StateFromJson(StateToJson(TwoDisksAndALabel()), "x", std::span(kKinds).subspan(0, 1));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kDataLoss);
  EXPECT_NE(read.error().message.find("`label.a` of the wrong type `label`"), std::string::npos)
      << read.error().message;
}

TEST(AnyRecordDeathTest, ARecordIsNotOpenedAsAnotherKind) {
  const State state = TwoDisksAndALabel();
  EXPECT_DEATH(state.records.at(Address("label", "a")).As<DiskRecord>(), "");
}

}  // namespace
}  // namespace podctl
