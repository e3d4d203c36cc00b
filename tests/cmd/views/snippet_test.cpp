#include "cmd/views/snippet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace podctl {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

Diagnostic At(std::string line, int column, int length) {
  Diagnostic diagnostic;
  diagnostic.summary = "what is wrong";
  diagnostic.place = {"podctl.yaml", 7, column, length, 0};
  diagnostic.source_line = std::move(line);
  return diagnostic;
}

TEST(SnippetTest, HasTheFormOfTheReadme) {
  Diagnostic diagnostic = At("    runtimeVerson: tpu-vm-tf-2.11.0-pod", 5, 13);
  diagnostic.summary = "unknown key `runtimeVerson`";
  diagnostic.context = "pods.research";
  diagnostic.suggestion = "did you mean `runtimeVersion`?";
  EXPECT_EQ(FormatDiagnostic(diagnostic, {}), R"(Error: unknown key `runtimeVerson`
  podctl.yaml:7:5, in pods.research
   |
 7 |     runtimeVerson: tpu-vm-tf-2.11.0-pod
   |     ^^^^^^^^^^^^^ did you mean `runtimeVersion`?
)");
}

TEST(SnippetTest, ShowsTheSecondPlaceAndTheDetail) {
  Diagnostic diagnostic = At("b: 2", 1, 1);
  diagnostic.severity = Severity::kWarning;
  diagnostic.place.line = 10;
  diagnostic.related.push_back({{"other.yaml", 9, 1, 1, 0}, "b: 1", "first defined here"});
  diagnostic.detail = "One.\nTwo.";
  EXPECT_EQ(FormatDiagnostic(diagnostic, {}), R"(Warning: what is wrong
  podctl.yaml:10:1
    |
 10 | b: 2
    | ^
  other.yaml:9:1: first defined here
   |
 9 | b: 1
   | ^
  One.
  Two.
)");
}

TEST(SnippetTest, ColoursOnlyWhenAsked) {
  const std::string plain = FormatDiagnostic(At("a: b", 4, 1), {});
  EXPECT_EQ(plain.find('\033'), std::string::npos);
  const std::string colored = FormatDiagnostic(At("a: b", 4, 1), {.color = true});
  EXPECT_THAT(colored, HasSubstr("\033[1;31mError:\033[0m"));
  EXPECT_THAT(colored, HasSubstr("\033[1;31m^\033[0m"));
}

// The column of the caret under a line, both without their gutters.
std::string CaretLine(const std::string& text) {
  const auto end = text.rfind('\n', text.size() - 2);
  return text.substr(end + 1 + std::string("   | ").size());
}

TEST(SnippetTest, TheCaretStandsUnderWideCharactersTabsAndControls) {
  // Two letters of two columns each, then a combining accent that has none.
  EXPECT_EQ(CaretLine(FormatDiagnostic(At("\xE4\xB8\xAD\xE6\x96\x87 x", 8, 1), {})), "     ^\n");
  EXPECT_EQ(CaretLine(FormatDiagnostic(At("\xE4\xB8\xAD\xE6\x96\x87", 4, 3), {})), "  ^^\n");
  EXPECT_EQ(CaretLine(FormatDiagnostic(At("e\xCC\x81 x", 5, 1), {})), "  ^\n");
  EXPECT_EQ(CaretLine(FormatDiagnostic(At("\xC3\xA4 x", 4, 1), {})), "  ^\n");
  EXPECT_EQ(CaretLine(FormatDiagnostic(At("a\tx", 3, 1), {})), "    ^\n");
  EXPECT_EQ(CaretLine(FormatDiagnostic(At("\x1b[31mx", 6, 1), {})), "        ^\n");
  EXPECT_EQ(FormatDiagnostic(At("\x1b[31mx", 6, 1), {}).find('\033'), std::string::npos);
}

TEST(SnippetTest, LongLinesAreCutAroundTheCaret) {
  const std::string line = std::string(300, 'a') + "BAD" + std::string(300, 'b');
  const std::string text = FormatDiagnostic(At(line, 301, 3), {.color = false, .width = 60});
  EXPECT_THAT(text, HasSubstr("…aaaaa"));
  EXPECT_THAT(text, HasSubstr("BADbb"));
  EXPECT_THAT(text, HasSubstr("bbb…\n"));
  EXPECT_THAT(text, EndsWith(" ^^^\n"));
  const std::string start = FormatDiagnostic(At(line, 1, 600), {.color = false, .width = 60});
  EXPECT_THAT(start, HasSubstr("| aaa"));
}

TEST(SnippetTest, AFileAsAWholeHasNoLine) {
  Diagnostic diagnostic;
  diagnostic.summary = "the file is empty";
  diagnostic.place.file = "podctl.yaml";
  diagnostic.suggestion = "write one";
  EXPECT_EQ(FormatDiagnostic(diagnostic, {}),
            "Error: the file is empty\n  podctl.yaml\n  write one\n");
}

TEST(SnippetTest, AHundredAreShownAndTheRestIsCounted) {
  Diagnostics diagnostics;
  for (int i = 0; i < 107; ++i) diagnostics.Add(At("a: b", 1, 1));
  const std::string text = FormatDiagnostics(diagnostics, {});
  EXPECT_THAT(text, EndsWith("\n… and 7 more\n"));
  std::size_t shown = 0;
  for (auto at = text.find("Error:"); at != std::string::npos; at = text.find("Error:", at + 1)) {
    ++shown;
  }
  EXPECT_EQ(shown, 100u);
}

TEST(SnippetTest, PlacesBeyondTheLineDoNoHarm) {
  EXPECT_THAT(FormatDiagnostic(At("ab", 50, 9), {}), HasSubstr("^"));
  EXPECT_THAT(FormatDiagnostic(At("\xFF\xC3", 1, 100), {}), HasSubstr("??"));
}

}  // namespace
}  // namespace podctl
