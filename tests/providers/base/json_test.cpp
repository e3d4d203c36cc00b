#include "providers/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace podctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ParseJson, ReadsEveryKind) {
  const auto value =
      ParseJson(R"({"n":null,"b":true,"i":-3,"d":1.5,"s":"ä\u00e4\n","l":[1,[]],"m":{}})");
  ASSERT_TRUE(value.has_value());
  EXPECT_TRUE((*value)["n"].is_null());
  EXPECT_NE(value->Find("n"), nullptr);
  EXPECT_TRUE((*value)["b"].AsBool());
  EXPECT_EQ((*value)["i"].AsInt(), -3);
  EXPECT_EQ((*value)["d"].AsDouble(), 1.5);
  EXPECT_EQ((*value)["s"].AsString(), "ää\n");
  EXPECT_EQ((*value)["l"].AsList().size(), 2U);
  EXPECT_TRUE((*value)["m"].is_map());
}

TEST(ParseJson, ReadsScalarsAtTheTop) {
  EXPECT_EQ(ParseJson(" 7 ")->AsInt(), 7);
  EXPECT_TRUE(ParseJson("null")->is_null());
}

TEST(ParseJson, KeepsLargeNumbers) {
  EXPECT_EQ(ParseJson("9223372036854775807")->AsInt(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(ParseJson("-9223372036854775808")->AsInt(), std::numeric_limits<std::int64_t>::min());
  EXPECT_TRUE(ParseJson("9223372036854775808")->is_double());
}

TEST(ParseJson, RefusesWhatIsNotOneStrictDocument) {
  for (const char* text :
       {"", " ", "{", "[1,]", "{\"a\":1}x", "{\"a\":1} {}", "{a:1}", "{'a':1}", "// c\n1", "NaN",
        "1e999", "\"\xff\"", "\"\x01\"", "01", "{\"a\":1,\"a\":2}", "\xef\xbb\xbf"}) {
    const auto value = ParseJson(text);
    ASSERT_FALSE(value.has_value()) << text;
    EXPECT_EQ(value.error().code, ErrorCode::kInvalidArgument);
    EXPECT_FALSE(value.error().message.empty());
  }
}

TEST(ParseJson, RefusesDepthBeforeItHurts) {
  EXPECT_TRUE(ParseJson(std::string(200, '[') + std::string(200, ']')).has_value());
  EXPECT_FALSE(ParseJson(std::string(201, '[') + std::string(201, ']')).has_value());
  EXPECT_FALSE(ParseJson(std::string(1'000'000, '[')).has_value());
}

TEST(ParseJson, NeverQuotesTheText) {
  const auto value = ParseJson(R"({"token":"ya29.secret" "x"})");
  ASSERT_FALSE(value.has_value());
  EXPECT_THAT(value.error().message, HasSubstr("byte"));
  EXPECT_THAT(value.error().message, Not(HasSubstr("ya29")));
}

TEST(ToJson, SortsKeysAndIndentsLikeTerraform) {
  Value value;
  value.Set("b", Value::List{1, "x"});
  value.Set("a", Value::EmptyMap());
  EXPECT_EQ(ToJson(value), R"({"a":{},"b":[1,"x"]})");
  EXPECT_EQ(ToJson(value, JsonStyle::kIndented),
            "{\n  \"a\": {},\n  \"b\": [\n    1,\n    \"x\"\n  ]\n}");
}

TEST(ToJson, EscapesWhatJsonDoesNotHold) {
  std::string all;
  for (char c = 0; c < 127; ++c) all += c;
  all += "\x7f é \xF0\x9F\x98\x80";
  const std::string text = ToJson(Value(all));
  EXPECT_EQ(ParseJson(text)->AsString(), all);
  EXPECT_EQ(ToJson(Value(std::string("\0\b\f\n\r\t\x1f\"\\/\x7f", 11))),
            "\"\\u0000\\b\\f\\n\\r\\t\\u001f\\\"\\\\/\x7f\"");
  EXPECT_EQ(ToJson(Value(0.1)), "0.1");
  EXPECT_EQ(ToJson(Value(1.0)), "1.0");
  EXPECT_EQ(ToJson(Value(std::numeric_limits<double>::infinity())), "null");
  EXPECT_EQ(ToJson(Value(std::numeric_limits<std::int64_t>::min())), "-9223372036854775808");
}

TEST(ToJson, LayoutGoesAndComesBack) {
  for (const char* compact :
       {"{}", "[]", "[[],{}]", R"({"a":{"b":[1,{"c":"x: [1, {}] \"\\"}]},"d":""})", "7", "\"{\"",
        R"(["{","}"])"}) {
    const std::string indented = ToJson(*ParseJson(compact), JsonStyle::kIndented);
    EXPECT_EQ(WithoutLayout(indented), compact);
    std::string deeper;
    AppendIndentedJson(compact, 3, &deeper);
    EXPECT_EQ(WithoutLayout(deeper), compact);
  }
}

TEST(ToJson, SurvivesInvalidUtf8) {
  EXPECT_EQ(ToJson(Value("a\xff"
                         "b")),
            "\"a\xef\xbf\xbd"
            "b\"");
}

TEST(ToJson, IsReadBackUnchanged) {
  Value value;
  value.Set("text", "quote \" back\\slash \x01 é 世界");
  value.Set("numbers", Value::List{0, -1, 0.1, 1e300});
  value.Set("nothing", Value());
  EXPECT_EQ(*ParseJson(ToJson(value)), value);
}

TEST(ToJson, KeepsDoublesDoubles) {
  EXPECT_EQ(*ParseJson(ToJson(Value(2.0))), Value(2.0));
}

}  // namespace
}  // namespace podctl
