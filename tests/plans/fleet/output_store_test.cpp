// Many outputs, each distinct one kept once, in memory and beyond it.
#include "plans/fleet/exec/output_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace podctl {
namespace {

using Place = OutputStore::Place;

std::string TextAt(const OutputStore& store, Place place) {
  std::string text;
  const auto read = store.Read(place, [&](std::string_view piece) {
    text += piece;
    return true;
  });
  return read ? text : "error: " + read.error().message;
}

class OutputStoreTest : public ::testing::Test {
 protected:
  Place Write(std::initializer_list<std::string_view> pieces) {
    Place place;
    for (const std::string_view piece : pieces) store_.Add(place, piece);
    return place;
  }
  OutputStore store_{::testing::TempDir()};
};

TEST_F(OutputStoreTest, EqualOutputsEndAtTheSamePlaceHoweverTheyCame) {
  const Place one = Write({"hello\nworld\n"});
  EXPECT_EQ(Write({"hel", "lo\nwor", "ld\n"}), one);
  EXPECT_EQ(Write({"hello\nworld\n"}), one);
  EXPECT_EQ(TextAt(store_, one), "hello\nworld\n");
  EXPECT_EQ(store_.in_memory(), 12U) << "kept once";
}

TEST_F(OutputStoreTest, OutputsThatDifferShareTheirBeginning) {
  const Place one = Write({"hello world"});
  const Place two = Write({"hello there"});
  const Place short_one = Write({"hello"});
  const Place three = Write({"hello thing"});
  EXPECT_EQ(Write({"hello th", "ere"}), two);
  EXPECT_EQ(Write({"hello thing"}), three);
  EXPECT_EQ(TextAt(store_, one), "hello world");
  EXPECT_EQ(TextAt(store_, two), "hello there");
  EXPECT_EQ(TextAt(store_, three), "hello thing");
  EXPECT_EQ(TextAt(store_, short_one), "hello");
  EXPECT_EQ(store_.SizeOf(three), 11U);
  EXPECT_EQ(store_.in_memory(), 11U + 5 + 3);
}

TEST_F(OutputStoreTest, NoOutputIsAnOutput) {
  EXPECT_EQ(Write({}), Place{});
  EXPECT_EQ(Write({"", ""}), Place{});
  EXPECT_NE(Write({"x"}), Place{});
  EXPECT_EQ(TextAt(store_, Place{}), "");
}

// Many writers in turn, with outputs that part early, late and never; twice the same places.
TEST_F(OutputStoreTest, KeepsWhatIsTooMuchForMemoryInAFile) {
  OutputStore::Limits limits;
  limits.memory = 4'000;
  OutputStore store(::testing::TempDir(), limits);
  std::mt19937 dice(7);
  std::vector<std::string> texts;
  for (int i = 0; i < 8; ++i) {
    std::string text(static_cast<std::size_t>(i) * 5'000, 'a');
    while (text.size() < 60'000) text += static_cast<char>('a' + dice() % 4);
    texts.push_back(text);
    texts.push_back(text);
  }
  std::vector<Place> places(texts.size());
  std::vector<std::size_t> sent(texts.size());
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::size_t count = dice() % 700;
      store.Add(places[i], std::string_view(texts[i]).substr(sent[i], count));
      sent[i] = std::min(texts[i].size(), sent[i] + count);
      more = more || sent[i] < texts[i].size();
      EXPECT_LE(store.in_memory(), limits.memory);
    }
  }
  ASSERT_FALSE(store.trouble()) << store.trouble()->message;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(TextAt(store, places[i]), texts[i]) << i;
    EXPECT_EQ(places[i], places[i ^ 1U]) << i;
    if (i >= 2) {
      EXPECT_NE(places[i], places[i - 2]) << i;
    }
  }
}

TEST_F(OutputStoreTest, SaysWhenThereIsNoRoomLeft) {
  OutputStore::Limits limits;
  limits.memory = 10;
  OutputStore nowhere("/no/such/folder", limits);
  Place place;
  nowhere.Add(place, "12345678901");
  ASSERT_TRUE(nowhere.trouble());
  EXPECT_EQ(nowhere.trouble()->message,
            "cannot write to /no/such/folder: No such file or directory");
  nowhere.Add(place, "more");
  EXPECT_EQ(nowhere.in_memory(), 0U);

  limits.memory = 1 << 20;
  limits.scratch = 1 << 20;
  OutputStore small(::testing::TempDir(), limits);
  Place other;
  for (int i = 0; i < 3 && !small.trouble(); ++i) {
    small.Add(other, std::string((1 << 20) + 1, static_cast<char>('a' + i)));
  }
  ASSERT_TRUE(small.trouble());
  EXPECT_EQ(small.trouble()->code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace podctl
