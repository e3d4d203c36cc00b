#include "cmd/views/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "cmd/views/plan_view.h"
#include "plans/engine/kind.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

// Below 65,536 with room for what a pipeline adds around it. Bytes, which are never fewer than
// characters.
constexpr std::size_t kMostCommentBytes = 60'000;
constexpr std::size_t kMostRows = 50;
constexpr std::size_t kMostCellBytes = 300;
// By which a pipeline finds its comment again to renew it.
constexpr std::string_view kMarker = "<!-- podctl plan -->\n";

std::size_t LongestRun(std::string_view text, char mark) {
  std::size_t longest = 0;
  std::size_t run = 0;
  for (char c : text) {
    run = c == mark ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

// Not in the middle of a UTF-8 character.
std::string Cut(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return text.substr(0, most) + "…";
}

std::string OneLine(std::string_view text) {
  std::string line = Join(SplitLines(text), " ");
  return Cut(VisibleControls(line), kMostCellBytes);
}

// A code span: nothing in it is markup or a mention.
std::string Code(std::string_view text) {
  std::string line = OneLine(text);
  const std::string ticks(LongestRun(line, '`') + 1, '`');
  if (line.starts_with('`') || line.ends_with('`')) line = " " + line + " ";
  std::string safe;
  for (char c : line) {
    if (c == '|') safe += '\\';  // a table's cell ends at it even here
    safe += c;
  }
  return ticks + safe + ticks;
}

// A clause that may hold words of the service or of a spec.
std::string Prose(std::string_view text) {
  if (text.find('@') != std::string_view::npos || text.find('#') != std::string_view::npos ||
      text.find("://") != std::string_view::npos) {
    return Code(text);
  }
  std::string safe;
  for (char c : OneLine(text)) {
    if (c == '<') {
      safe += "&lt;";
    } else if (c == '&') {
      safe += "&amp;";
    } else {
      if (std::string_view("\\`*_[]|~>").find(c) != std::string_view::npos) safe += '\\';
      safe += c;
    }
  }
  return safe;
}

struct PlanRow {
  std::string_view symbol;
  std::string what;
};

PlanRow RowOf(const Change& change) {
  if (IsKeep(change)) return {">", "move, from " + change.previous_address.Text()};
  const Symbol symbol = SymbolOf(change.verb);
  const std::string action = WordsOf(change).action;
  switch (change.verb) {
    case Verb::kRun:
      return {symbol.text, action.empty() ? "run" : action};
    case Verb::kForget:
      return {symbol.text, action.empty() ? "forget (it is gone already)" : action};
    case Verb::kUpdate:
    case Verb::kDelete:
      return {symbol.text, action.empty() ? std::string(symbol.meaning) : action};
    default:
      return {symbol.text, std::string(symbol.meaning)};
  }
}

std::string Table(const Plan& plan) {
  std::string text = "| | address | action | because |\n|---|---|---|---|\n";
  std::size_t rows = 0;
  std::size_t left = 0;
  for (const Change& change : plan.changes) {
    if (IsKeep(change) && change.previous_address.empty()) continue;
    if (++rows > kMostRows) {
      ++left;
      continue;
    }
    const PlanRow row = RowOf(change);
    text += fmt::format("| `{}` | {} | {} | {} |\n", row.symbol, Code(change.address.Text()),
                        Prose(row.what), change.reason.empty() ? "" : Prose(change.reason));
  }
  if (left > 0) text += fmt::format("\nand {}.\n", Plural(left, "more change"));
  return text;
}

// A line of the plan's text with its mark in the first column, where a `diff` block looks for it.
std::string MarkedLine(const std::string& line) {
  const auto begin = line.find_first_not_of(' ');
  if (begin == std::string::npos) return line;
  const auto end = std::min(line.find(' ', begin), line.size());
  const std::string mark = line.substr(begin, end - begin);
  if (mark == "~") return "!" + std::string(begin, ' ') + line.substr(end);
  if (mark == "+" || mark == "-" || mark == "-/+" || mark == "+/-") {
    return mark + std::string(begin, ' ') + line.substr(end);
  }
  return line;
}

std::string Details(const Plan& plan, std::size_t room) {
  PlanViewOptions view;
  view.legend = false;  // the table says it in words, and `+ create` would look like a change
  const std::vector<std::string> lines = SplitLines(ShowPlan(plan, view));
  std::string body;
  std::size_t shown = 0;
  for (const std::string& line : lines) {
    const std::string marked = MarkedLine(line);
    if (body.size() + marked.size() + 1 > room) break;
    body += marked + "\n";
    ++shown;
  }
  const std::string fence(std::max<std::size_t>(3, LongestRun(body, '`') + 1), '`');
  std::string text = "<details><summary>Show the plan</summary>\n\n" + fence + "diff\n" + body +
                     fence + "\n\n</details>\n";
  if (shown < lines.size()) {
    text +=
        fmt::format("\nThe plan is too long for a comment; {} not shown here.\n",
                    lines.size() - shown == 1 ? std::string("1 line is")
                                              : fmt::format("{} lines are", lines.size() - shown));
  }
  return text;
}

std::string ItemsUnder(const std::string& title, const std::vector<std::string>& items) {
  if (items.empty()) return {};
  std::string text = fmt::format("\n**{}**\n\n", title);
  for (std::size_t i = 0; i < std::min(items.size(), kMostRows); ++i)
    text += "- " + items[i] + "\n";
  if (items.size() > kMostRows) text += fmt::format("- and {} more\n", items.size() - kMostRows);
  return text;
}

std::vector<std::string> Problems(const Diagnostics& diagnostics, Severity severity) {
  std::vector<std::string> items;
  for (const Diagnostic& diagnostic : diagnostics.items()) {
    if (diagnostic.severity != severity) continue;
    std::string item = Prose(diagnostic.summary);
    if (!diagnostic.place.file.empty()) {
      item += " (" + Code(fmt::format("{}:{}", diagnostic.place.file, diagnostic.place.line)) + ")";
    }
    const std::string more = diagnostic.detail.empty() ? diagnostic.suggestion : diagnostic.detail;
    if (!more.empty()) item += ": " + Prose(more);
    items.push_back(std::move(item));
  }
  return items;
}

std::string Headline(const Plan* plan, bool failed) {
  if (plan == nullptr) return "### podctl plan: failed\n";
  const std::string_view title = failed ? "### podctl plan: failed, with" : "### podctl plan:";
  if (plan->Empty()) return fmt::format("{} no changes\n", title);
  if (plan->mode == PlanMode::kRefreshOnly) {
    return fmt::format("{} {} changed outside, to be taken into the state\n", title,
                       Plural(plan->drift.size(), "object"));
  }
  const PlanCounts counts = plan->Counts();
  return fmt::format("{} {} to add, {} to change, {} to destroy\n", title, counts.add,
                     counts.change, counts.destroy);
}

}  // namespace

std::string MarkdownOf(const Plan* plan, const Diagnostics& diagnostics,
                       const std::vector<std::string>& notes) {
  std::string rest;
  if (plan != nullptr) {
    std::vector<std::string> drift;
    for (const Drift& one : plan->drift) {
      std::string item = Code(one.address.Text()) + " " + Prose(one.sentence);
      std::vector<std::string> paths;
      for (const AttributeChange& attribute : one.attributes) paths.push_back(Code(attribute.path));
      if (!paths.empty()) item += ": " + Join(paths, ", ");
      drift.push_back(std::move(item));
    }
    rest += ItemsUnder("Changed outside of podctl", drift);
  }
  rest += ItemsUnder("Warnings", Problems(diagnostics, Severity::kWarning));
  std::vector<std::string> remarks;
  for (const std::string& note : notes) remarks.push_back(Prose(note));
  rest += ItemsUnder("Notes", remarks);

  std::string text = Headline(plan, diagnostics.has_errors());
  text += ItemsUnder("Errors", Problems(diagnostics, Severity::kError));
  if (plan != nullptr && plan->Empty()) {
    // Under an error it would mislead.
    if (!diagnostics.has_errors()) text += "\n" + NoChanges(*plan) + "\n";
  } else if (plan != nullptr) {
    const auto summary = SplitLines(PlanSummary(*plan));
    for (std::size_t i = 1; i < summary.size(); ++i) text += "\n" + summary[i] + "\n";
    if (plan->mode != PlanMode::kRefreshOnly) text += "\n" + Table(*plan);
    text += "\n";
    const std::size_t used = text.size() + rest.size() + 400;
    text += Details(*plan, used < kMostCommentBytes ? kMostCommentBytes - used : 0);
  }
  return Cut(text + rest, kMostCommentBytes) + "\n" + std::string(kMarker);
}

}  // namespace podctl
