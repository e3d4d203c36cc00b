#include "providers/base/value.h"

#include <gtest/gtest.h>

namespace podctl {
namespace {

TEST(Value, ReadsForgivingly) {
  EXPECT_EQ(Value("x").AsInt(7), 7);
  EXPECT_EQ(Value("42").AsInt(), 42);  // int64 is a string in protobuf's JSON
  EXPECT_EQ(Value("42x").AsInt(7), 7);
  EXPECT_EQ(Value("").AsInt(7), 7);
  EXPECT_EQ(Value("9223372036854775808").AsInt(7), 7);
  EXPECT_EQ(Value(3).AsDouble(), 3.0);
  EXPECT_EQ(Value(3).AsString(), "");
  EXPECT_TRUE(Value("x").AsList().empty());
  EXPECT_TRUE(Value("x").AsMap().empty());
  EXPECT_TRUE(Value().AsBool(true));
  EXPECT_TRUE(Value("x")["y"]["z"].is_null());
}

TEST(Value, PathsMakeMapsOnTheWay) {
  Value value;
  value.SetPath("networkConfig.network", "default");
  EXPECT_EQ(value.FindPath("networkConfig.network")->AsString(), "default");
  EXPECT_EQ(value.FindPath("networkConfig.network.x"), nullptr);
  EXPECT_EQ(value.FindPath("other.network"), nullptr);
  EXPECT_EQ(value.FindPath(""), nullptr);
  value.SetPath("networkConfig.network.x", 1);  // a string in the way gives way to a map
  EXPECT_EQ(value.FindPath("networkConfig.network.x")->AsInt(), 1);
}

TEST(Value, ErasePathLeavesTheRestAlone) {
  Value value;
  value.SetPath("a.b", 1);
  value.SetPath("a.c", 2);
  value.ErasePath("a.b");
  EXPECT_EQ(value["a"].AsMap().size(), 1U);
  value.ErasePath("x.y");
  EXPECT_EQ(value.AsMap().size(), 1U);
  value.ErasePath("a");
  EXPECT_TRUE(value.AsMap().empty());
}

TEST(Value, ErasePathDoesNotTurnWhatIsNoMapIntoOne) {
  Value value;
  value.Set("a", "text");
  value.ErasePath("a.b");
  EXPECT_EQ(value["a"].AsString(), "text");
}

TEST(Value, SetMayTakeAPartOfItself) {
  Value value;
  value.SetPath("a.b", "inner");
  value.Set("a", value["a"]["b"]);
  EXPECT_EQ(value["a"].AsString(), "inner");
}

TEST(Value, AChangeIsSeenByNoCopy) {
  Value value;
  value.SetPath("a.b", "inner");
  value.Set("l", Value::List{1});
  const Value copy = value;
  Value other = value["a"];
  value.SetPath("a.b", "changed");
  value.MutableMap()["l"].MutableList().push_back(2);
  other.Erase("b");
  EXPECT_EQ(copy["a"]["b"].AsString(), "inner");
  EXPECT_EQ(copy["l"].AsList().size(), 1U);
  EXPECT_EQ(value["a"]["b"].AsString(), "changed");
  EXPECT_EQ(value["l"].AsList().size(), 2U);
  EXPECT_TRUE(other.AsMap().empty());
}

TEST(Value, ErasingWhatIsNotThereChangesNothing) {
  Value value = Value::EmptyMap();
  value.Erase("a");
  EXPECT_TRUE(value.is_map());
  Value text("t");
  text.Erase("a");
  EXPECT_EQ(text.AsString(), "t");
}

TEST(Value, WhatWasMovedFromReadsAsEmpty) {
  Value value = Value::EmptyMap();
  value.Set("a", 1);
  const Value taken = std::move(value);
  EXPECT_EQ(taken["a"].AsInt(), 1);
  EXPECT_TRUE(value.AsMap().empty());  // NOLINT(bugprone-use-after-move)
  value.Set("b", 2);
  EXPECT_EQ(value["b"].AsInt(), 2);
}

TEST(Value, ComparesByKindAndContent) {
  EXPECT_EQ(Value(1), Value(std::int64_t{1}));
  EXPECT_FALSE(Value(1) == Value(1.0));
  EXPECT_FALSE(Value("1") == Value(1));
  EXPECT_FALSE(Value(false) == Value());
  EXPECT_EQ(Value(Value::List{1, "a"}), Value(Value::List{1, "a"}));
  EXPECT_FALSE(Value(Value::List{1, "a"}) == Value(Value::List{1, "b"}));
  EXPECT_EQ(Value(Value::Map{{"k", 1}}), Value(Value::Map{{"k", 1}}));
  EXPECT_FALSE(Value(Value::Map{{"k", 1}}) == Value(Value::Map{{"k", 2}}));
  EXPECT_FALSE(Value::EmptyMap() == Value::EmptyList());
}

}  // namespace
}  // namespace podctl
