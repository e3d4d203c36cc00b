// What hostile or broken bytes do: a diagnostic with a place, never a crash, never minutes.
#include "plans/spec/yaml_tree.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "plans/spec/spec_writer.h"

namespace podctl {
namespace {

struct Parsed {
  std::unique_ptr<SourceFile> file;
  YamlNodePtr root;
  Diagnostics diagnostics;
  std::string FirstProblem() const {
    return diagnostics.items().empty() ? "" : diagnostics.items()[0].summary;
  }
};

Parsed Parse(std::string text, const YamlLimits& limits = {}) {
  Parsed parsed;
  parsed.file = std::make_unique<SourceFile>("x.yaml", std::move(text));
  parsed.root = ParseYaml(*parsed.file, parsed.diagnostics, limits);
  return parsed;
}

std::string Repeat(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(YamlTreeTest, EveryNodeHasItsPlace) {
  const Parsed parsed = Parse("a: 1\nb:\n  - 'x y'\n  - &n {c: \"d\"}\n");
  const YamlEntry* b = parsed.root->Find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->key->Place().line, 2);
  const SourcePlace quoted = b->value->items.at(0)->Place();
  EXPECT_EQ(quoted.line, 3);
  EXPECT_EQ(quoted.column, 5);
  EXPECT_EQ(quoted.length, 5);
  EXPECT_EQ(quoted.byte, 12);
  EXPECT_EQ(b->value->items.at(1)->Find("c")->value->Place().column, 12);
  EXPECT_TRUE(parsed.root->Find("a")->value->plain);
  EXPECT_FALSE(b->value->items.at(0)->plain);
}

TEST(YamlTreeTest, PlacesCountBytesAfterAByteOrderMarkAndCarriageReturns) {
  const Parsed parsed = Parse(
      "\xEF\xBB\xBF"
      "a: 1\r\nb: \xC3\xA4 # x\r\nc: 2\r\n");
  ASSERT_NE(parsed.root, nullptr);
  EXPECT_EQ(parsed.root->Find("b")->value->text, "\xC3\xA4");
  EXPECT_EQ(parsed.root->Find("c")->key->Place().line, 3);
  EXPECT_EQ(parsed.root->Find("c")->value->Place().column, 4);
  EXPECT_EQ(parsed.file->Line(2), "b: \xC3\xA4 # x");
}

// Everything that is to be seen of a tree, and of what was said of it.
void Describe(const YamlNode& node, std::string* text) {
  const SourcePlace place = node.Place();
  *text += fmt::format("{}{}{} {}:{}+{} {}/{} `{}`\n", static_cast<int>(node.kind), node.plain,
                       node.block, place.line, place.column, place.length, node.size, node.height,
                       node.text);
  for (const YamlEntry& entry : node.entries) {
    Describe(*entry.key, text);
    Describe(*entry.value, text);
  }
  for (const YamlNodePtr& item : node.items) Describe(*item, text);
}

std::string Described(const std::string& yaml, const YamlLimits& limits) {
  const Parsed parsed = Parse(yaml, limits);
  std::string text;
  if (parsed.root != nullptr) Describe(*parsed.root, &text);
  for (const Diagnostic& problem : parsed.diagnostics.items()) {
    text += fmt::format("{} {}:{} {}\n", problem.summary, problem.place.line, problem.place.column,
                        problem.suggestion);
  }
  return text;
}

TEST(YamlTreeTest, ATextReadInHalvesIsWhatItIsAsAWhole) {
  const std::string pod = "  a1:\n    x: 1\n";
  const std::string more = "  b1:\n    labels: {team: \"v\"}\n  # a comment\n  b2:\n    y: 'q'\n";
  const std::vector<std::string> texts = {
      "project: p\npods:\n" + pod + more,
      "pods: # all\r\n" + pod + "\r\n" + more + "\r\n",
      "\xEF\xBB\xBFpods:\n\n  # first\n" + pod + more + "state: x\nzone: us-east5-a\n",
      "project: p\npods:\n" + pod + more + "project: again\n",
      "pods:\n" + pod + more + "  a1: {}\n",
      "pods:\n" + pod + "  a2: &n {k: 1}\n" + more + "  b3: *n\n  b4: *none\n",
      "base: &b {b3: {k: 1}}\npods:\n" + pod + "  <<: *b\n" + more,
      "pods:\n" + pod + "  a2:\n    text: \"begins\n" + more + "  ends: \"\n",
      "pods:\n" + pod + "  a2:\n    text: 'begins\n" + more,
      "pods:\n" + pod + "  a2: {k: [1,\n" + more + "  2]}\n",
      "pods:\n" + pod + "  a2: |\n    one\n\n   \n" + more,
      "pods:\n" + pod + "  a2: |+\n    one\n\n\n" + more,
      "pods:\n" + pod + "  a2:\n" + more,
      "pods:\n" + pod + more + "---\npods: {}\n",
      "pods: |\n" + pod + more,
      "pods:\n" + pod + "  ? a2\n  : {}\n" + more,
      "pods:\n" + pod + more + "\tb3: 1\n",
      "pods:\n- a\n- b\n- c\n- d\n",
      "x: \"\npods:\n" + pod + more + "\"\n",
      "text: |\n pods:\n" + more + more,
      "project: p\npods:\n",
      "pods:\n" + pod,
  };
  YamlLimits halves;
  halves.halves_from = 0;
  YamlLimits whole;
  whole.halves_from = std::string::npos;
  for (const std::string& text : texts) {
    // Lines of comment move the middle, and with it the cut, over the whole text.
    for (int before = 0; before < 12; ++before) {
      for (int behind = 0; behind < 12; ++behind) {
        const std::string yaml = Repeat("# 4567\n", before) + text + Repeat("# 4567\n", behind);
        ASSERT_EQ(Described(yaml, halves), Described(yaml, whole)) << yaml;
      }
    }
  }
}

TEST(YamlTreeTest, ALongTextIsCutBeforeAPod) {
  const std::string text = "project: p\npods:\n  a:\n    x: 1\n  b:\n    x: 1\n  c: {}\n";
  EXPECT_EQ(FindPodsCut(text), text.find("  b:"));
  EXPECT_EQ(FindPodsCut("pods:\n  a:\n    x: 1\n"), std::nullopt);
  EXPECT_EQ(FindPodsCut(""), std::nullopt);
  EXPECT_EQ(FindPodsCut("pods:"), std::nullopt);
}

TEST(YamlTreeTest, DeepNestingIsRefusedInEveryForm) {
  constexpr int kDeep = 100'000;
  const std::string expected = "nested deeper than 64 levels";
  EXPECT_EQ(Parse(Repeat("[", kDeep)).FirstProblem(), expected);
  EXPECT_EQ(Parse(Repeat("{", kDeep)).FirstProblem(), expected);
  EXPECT_EQ(Parse(Repeat("{a: ", kDeep)).FirstProblem(), expected);
  EXPECT_EQ(Parse(Repeat("- ", kDeep)).FirstProblem(), expected);
  EXPECT_EQ(Parse("a: " + Repeat("[", kDeep) + Repeat("]", kDeep)).FirstProblem(), expected);
  EXPECT_NE(Parse(Repeat("? ", kDeep)).FirstProblem(), "");
  EXPECT_NE(Parse(Repeat("[{", kDeep)).FirstProblem(), "");
  EXPECT_NE(Parse(Repeat("&a ", kDeep)).FirstProblem(), "");
  std::string stairs;
  for (int i = 0; i < 1000; ++i) stairs += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_EQ(Parse(stairs).FirstProblem(), expected);
}

TEST(YamlTreeTest, AliasesCountAsOftenAsTheyAreUsed) {
  const std::string text = "a: &a [1, 2, 3]\nb: &b [*a, *a]\nc: [*b, *b]\n";
  EXPECT_EQ(Parse(text).FirstProblem(), "");
  YamlLimits limits;
  limits.max_aliased = 24;  // 2 * 4 + 2 * 9, twice what stands in the text
  EXPECT_EQ(Parse(text, limits).FirstProblem(),
            "aliases make more than 24 values of this file, counted as often as they are used");
  limits.max_aliased = 26;
  EXPECT_EQ(Parse(text, limits).FirstProblem(), "");
}

// Also where the halves of a text are read at once.
TEST(YamlTreeTest, WhatStandsInTheTextIsNotCountedAsAliases) {
  std::string text = "pods:\n";
  for (int i = 0; i < 100; ++i) text += "  p" + std::to_string(i) + ": {a: 1, b: [2, 3]}\n";
  for (const std::size_t halves_from : {std::size_t{1}, std::size_t{1} << 20}) {
    YamlLimits limits;
    limits.halves_from = halves_from;
    limits.max_aliased = 3;
    EXPECT_EQ(Parse(text, limits).FirstProblem(), "");
    limits.max_values = 700;
    EXPECT_EQ(Parse(text, limits).FirstProblem(), "more than 700 values");
  }
}

TEST(YamlTreeTest, AliasesCannotBuildDepth) {
  std::string text = "a0: &a0 [x]\n";
  for (int i = 1; i < 100; ++i) {
    const std::string number = std::to_string(i);
    text += "a" + number + ": &a" + number + " [*a" + std::to_string(i - 1) + "]\n";
  }
  EXPECT_EQ(Parse(text).FirstProblem(), "nested deeper than 64 levels");
}

// Of the YAML test suite: 236B, 7MNF, 9CWY.
TEST(YamlTreeTest, AKeyWithoutItsColonIsRefused) {
  for (const std::string text : {"foo:\n  bar\ninvalid\n", "top1:\n  key1: val1\ntop2\n",
                                 "key:\n - item1\n - item2\ninvalid"}) {
    const Parsed parsed = Parse(text, {});
    EXPECT_EQ(parsed.root, nullptr) << text;
    ASSERT_EQ(parsed.diagnostics.items().size(), 1U) << text;
    const Diagnostic& problem = parsed.diagnostics.items().front();
    EXPECT_THAT(problem.summary, ::testing::EndsWith("` has no `:`")) << text;
    EXPECT_THAT(text.substr(static_cast<std::size_t>(problem.place.byte)),
                ::testing::AnyOf(::testing::StartsWith("invalid"), ::testing::StartsWith("top2")))
        << text;
  }
  for (const std::string text : {"a:\nb:\n", "a :\n'b'  :\n", "a: &x k\n*x :\n", "- &x k\n- *x :\n",
                                 "? a\n? b\n", "{a, b}\n", "&n a:\nb: ~\n", "a: [b, {c}]\nd:\n"}) {
    const Parsed parsed = Parse(text, {});
    EXPECT_NE(parsed.root, nullptr) << text;
    EXPECT_TRUE(parsed.diagnostics.items().empty()) << text;
  }
}

TEST(YamlTreeTest, DuplicateKeysKeepTheFirst) {
  const Parsed parsed = Parse("a: 1\n'a': 2\n");
  ASSERT_EQ(parsed.diagnostics.items().size(), 1u);
  EXPECT_EQ(parsed.diagnostics.items()[0].place.line, 2);
  EXPECT_EQ(parsed.diagnostics.items()[0].related.at(0).place.line, 1);
  ASSERT_EQ(parsed.root->entries.size(), 1u);
  EXPECT_EQ(parsed.root->entries[0].value->text, "1");
}

TEST(YamlTreeTest, BytesThatAreNoTextAreRefused) {
  EXPECT_EQ(Parse(std::string("a: \0", 4)).FirstProblem(), "a NUL byte: this is no text file");
  EXPECT_EQ(Parse("a: \x04").FirstProblem(), "the control character 0x04 is not allowed");
  EXPECT_EQ(Parse("a: \xC3").FirstProblem(), "this is not UTF-8 text");
  EXPECT_EQ(Parse("a: \xED\xA0\x80").FirstProblem(), "this is not UTF-8 text");
  EXPECT_EQ(Parse("\xFF\xFE"
                  "a")
                .FirstProblem(),
            "this is not UTF-8 text");
  YamlLimits limits;
  limits.max_bytes = 3;
  EXPECT_EQ(Parse("a: 1", limits).FirstProblem(), "the file is larger than 0 MiB");
}

// Of the YAML test suite: SU5Z, 9JBA, CVW2, X4QW.
TEST(YamlTreeTest, ACommentRightBehindAValueIsRefused) {
  for (const std::string text :
       {"key: \"v\"# c\n", "key: 'it''s'# c\n", "key: \"a\n  b\"# c\n", "[a, b]#c\n",
        "key: [a, {b: c}]# c\n", "key: [a,#c\n  b]\n", "key: [a, {b: c}#c\n]\n",
        "key: [\"x]\", 'y'#c\n]\n", "key: &n [a]#c\n", "key: {a: b,#c\n}\n", "key: |#c\n  x\n",
        "key: >-# c\n  x\n", "key: [#c\n]\n"}) {
    const Parsed parsed = Parse(text, {});
    EXPECT_EQ(parsed.root, nullptr) << text;
    ASSERT_EQ(parsed.diagnostics.items().size(), 1U) << text;
    const Diagnostic& problem = parsed.diagnostics.items().front();
    EXPECT_EQ(problem.summary, "a comment right behind a value") << text;
    EXPECT_EQ(text[static_cast<std::size_t>(problem.place.byte)], '#') << text;
  }
  for (const std::string text :
       {"key: \"v\" # c\n", "key: v#c\n", "key: a]#c\n", "key: [a#c, \"]#\", ']#', it's]\n",
        "key: [a, b] # c]#\n", "key: [a, # c,#\n  b]\n", "key: |\n  [a]#c\n", "key: \"a\"\n",
        "key: [!!str \"x]#\", &n '}#']\n", "a: '#'\n", "# ]#\nkey: x\n", "k: {a: \"},#\"}\n"}) {
    const Parsed parsed = Parse(text, {});
    EXPECT_NE(parsed.root, nullptr) << text;
    EXPECT_TRUE(parsed.diagnostics.items().empty()) << text;
  }
}

TEST(YamlTreeTest, ManyProblemsCostLittle) {
  std::string text = "{";
  for (int i = 0; i < 50'000; ++i) text += "a: 1, ";
  const Parsed parsed = Parse(text + "}");
  EXPECT_LE(parsed.diagnostics.items().size(), 200u);
}

// Mutations of a file that uses all of YAML that a spec may: each ends, in a tree or in a
// diagnostic.
TEST(YamlTreeTest, SurvivesMutations) {
  const std::string seed =
      "a: &x {b: [1, 'two', \"three\\n\"], ? c : d}\n"
      "e: *x\nf:\n  <<: *x\n  g: |\n    text\n   \n  h: >-\n    folded\n- - i\n---\n...\n"
      "%YAML 1.2\n!!str j: !<tag> k # comment\n";
  const std::string alphabet = "{}[]:,-?|>&*!%@`'\"#~ \t\n\\ab0\x85\xC3\xA4.<";
  std::mt19937 random(2026);  // NOLINT: the same mutations every time
  for (int round = 0; round < 20'000; ++round) {
    std::string text = seed;
    const int changes = 1 + static_cast<int>(random() % 6);
    for (int i = 0; i < changes; ++i) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = alphabet[random() % alphabet.size()];
          break;
        case 1:
          text.erase(at, 1 + random() % 5);
          break;
        case 2:
          text.insert(at, 1, alphabet[random() % alphabet.size()]);
          break;
        default:
          text.resize(at + 1);
      }
      if (text.empty()) text = "a";
    }
    const Parsed parsed = Parse(text);
    const auto first = text.find_first_not_of(" \t\n");
    const bool is_empty = first == std::string::npos || text[first] == '#' || text[first] == '%';
    EXPECT_TRUE(parsed.root != nullptr || parsed.diagnostics.has_errors() || is_empty) << text;
  }
}

}  // namespace
}  // namespace podctl
