#include "plans/spec/references.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "providers/base/json.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;

class ReferencesTest : public ::testing::Test {
 protected:
  ReferencesTest() {
    node_ = *ParseJson(R"({"id": "7", "port": 8470, "ok": true, "labels": {"a-b": "c"},
        "networkEndpoints": [{"ipAddress": "10.0.0.2"}, {"ipAddress": "10.0.0.3"}]})");
  }
  ReferenceLookup Lookup() {
    return [this](const Address& of) { return of == Address("pod", "b") ? &node_ : nullptr; };
  }
  Value node_;
};

TEST_F(ReferencesTest, FindsReferencesAndSkipsEscapes) {
  const auto found = FindReferences("x ${pod.b.id} $${pod.c.id} ${ pod.d.labels.x }");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].of.Text(), "pod.b");
  EXPECT_EQ(found[0].path, "id");
  EXPECT_EQ(found[1].of.Text(), "pod.d");
  EXPECT_EQ(found[1].path, "labels.x");
}

TEST_F(ReferencesTest, EscapingAndRenderingIsTheSameText) {
  for (const char* text : {"", "$", "$$", "${", "$${", "$$${", "${pod.b.id}", "a${b}c", "$${${",
                           "}", "$$$${x}", "\n${\n"}) {
    EXPECT_EQ(RenderText(EscapeTemplate(text), Lookup()), text);
    EXPECT_TRUE(FindReferences(EscapeTemplate(text)).empty()) << text;
  }
}

TEST_F(ReferencesTest, RendersScalarsOfEveryKind) {
  EXPECT_EQ(
      RenderText("${pod.b.networkEndpoints[1].ipAddress}:${pod.b.port} ${pod.b.ok}", Lookup()),
      "10.0.0.3:8470 true");
  EXPECT_EQ(RenderText("${pod.b.labels.a-b}", Lookup()), "c");
}

TEST_F(ReferencesTest, IsUnknownWhenThePodOrThePathIs) {
  EXPECT_EQ(RenderText("${pod.c.id}", Lookup()), std::nullopt);
  EXPECT_EQ(RenderText("${pod.b.state}", Lookup()), std::nullopt);
  EXPECT_EQ(RenderText("${pod.b.networkEndpoints[2].ipAddress}", Lookup()), std::nullopt);
  EXPECT_EQ(RenderText("${pod.b.networkEndpoints}", Lookup()), std::nullopt);
}

TEST_F(ReferencesTest, WhatHidesIsNoValue) {
  for (const std::string odd :
       {"a\u200b", "\ufeff", "x\u00ady", "\u2060", "\U000e0041", "\u202e"}) {
    node_.Set("description", odd);
    EXPECT_EQ(RenderText("${pod.b.description}", Lookup()), std::nullopt) << odd;
  }
  node_.Set("description", "\u200b");
  EXPECT_EQ(FindUnusable("${pod.b.description}", Lookup())->words,
            "`${pod.b.description}`, which holds the control character \\u200b (at byte 0)");
  // Joiners belong to words of people.
  node_.Set("description", "\u0645\u06cc\u200c\u0634\u0648\u062f");
  EXPECT_TRUE(RenderText("${pod.b.description}", Lookup()));
}

TEST_F(ReferencesTest, AWordOfAShellIsNoOption) {
  for (const auto use :
       {ReferenceUse::kShellText, ReferenceUse::kGuestScript, ReferenceUse::kDockerText}) {
    for (const char* odd : {"-rf", "--privileged", "-", "", "a b", "$x", "a;b"}) {
      node_.Set("description", odd);
      EXPECT_EQ(RenderText("${pod.b.description}", Lookup(), use), std::nullopt) << odd;
    }
    node_.Set("description", "a-b");
    EXPECT_EQ(RenderText("${pod.b.description}", Lookup(), use), "a-b");
  }
}

TEST_F(ReferencesTest, AValueLacksWhatIsUnknown) {
  Value value;
  value.Set("known", "${pod.b.id}");
  value.SetPath("labels.peer", "${pod.c.id}");
  value.SetPath("labels.team", "vision");
  value.Set("tags", Value::List{"x", "${pod.c.id}"});
  value.Set("flag", true);
  std::vector<std::string> unknown;
  const Value rendered = RenderValue(value, Lookup(), &unknown);
  EXPECT_EQ(ToJson(rendered), R"({"flag":true,"known":"7","labels":{"team":"vision"}})");
  EXPECT_THAT(unknown, ElementsAre("labels.peer", "tags"));
}

TEST_F(ReferencesTest, FindsPaths) {
  EXPECT_EQ(FindNodePath(node_, "networkEndpoints[0].ipAddress")->AsString(), "10.0.0.2");
  EXPECT_EQ(FindNodePath(node_, "networkEndpoints[x]"), nullptr);
  EXPECT_EQ(FindNodePath(node_, "id.x"), nullptr);
  EXPECT_EQ(FindNodePath(node_, ""), nullptr);
}

TEST(ExpressionsTest, SaysWhatIsWrong) {
  const auto problem = [](const char* text) {
    const auto parts = SplitTemplate(text);
    return parts.empty() ? "" : parts[0].problem + " / " + parts[0].suggestion;
  };
  EXPECT_EQ(problem("${HOME}"),
            "unknown expression `${HOME}` / write `$${HOME}` for the text itself");
  EXPECT_EQ(problem("${vra.x}"), "unknown expression `${vra.x}` / did you mean `${var.x}`?");
  EXPECT_EQ(problem("${var.}"), "`${var.}` names nothing / write `${var.NAME}`");
  EXPECT_EQ(problem("${pod.a}"), "`${pod.a}` is no reference to a pod / write `${pod.NAME.PATH}`");
  EXPECT_EQ(problem("${pod.a.b[x]}"),
            "`${pod.a.b[x]}` is no reference to a pod / write `${pod.NAME.PATH}`");
  EXPECT_EQ(problem("${var.x"), "`${` is not closed / write `$${` for the text itself");
  EXPECT_EQ(problem("${var.x\n}"), "`${` is not closed / write `$${` for the text itself");
}

}  // namespace
}  // namespace podctl
