#include "cmd/views/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "cmd/views/cost_view.h"
#include "cmd/views/output_view.h"
#include "cmd/views/plan_view.h"
#include "cmd/views/terraform_json.h"
#include "cmd/views/text_diff.h"
#include "plans/engine/kind.h"
#include "plans/kinds/pod/shown.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

// Below 65,536 with room for what a pipeline adds around it. Bytes, which are never fewer than
// characters.
constexpr std::size_t kMostCommentBytes = 60'000;
constexpr std::size_t kMostRows = 50;
constexpr std::size_t kMostTableBytes = 24'000;
constexpr std::size_t kMostItems = 20;
constexpr std::size_t kMostListBytes = 6'000;
constexpr std::size_t kMostCellBytes = 300;
// Of lines that differ, in a cell: as many as anybody decides by.
constexpr std::size_t kMostReported = 10;
constexpr std::size_t kMostReportedBytes = 90;
constexpr std::size_t kMostValueBytes = 30;  // of each side, where both do not fit

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

// How many lines went and came.
std::string CountedLines(const AttributeChange& attribute) {
  const auto hunks = DiffHunks(attribute.before->AsString(), attribute.after->AsString());
  if (!hunks) return "many lines";
  const auto with = [&](char mark) {
    return std::count_if(hunks->begin(), hunks->end(),
                         [&](const std::string& line) { return line.front() == mark; });
  };
  return fmt::format("+{} -{} lines", with('+'), with('-'));
}

std::optional<Value> ShortValue(const std::optional<Value>& value) {
  if (!value || !value->is_string()) return value;
  return Value(Cut(value->AsString(), kMostValueBytes));
}

// "~ labels.team = "vision" -> "speech"", with what is long cut.
std::string Described(const AttributeChange& attribute) {
  const bool after = attribute.after || !attribute.known;
  const char sign = !attribute.before ? '+' : after ? '~' : '-';
  const std::string name = fmt::format("{} {}", sign, attribute.path);
  if (IsText(attribute)) return Code(fmt::format("{} ({})", name, CountedLines(attribute)));
  AttributeChange value = attribute;
  if (sign == '-') std::swap(value.before, value.after);  // its sign says that it goes
  const std::string origin = value.origin ? " # " + *value.origin : "";
  const std::string whole = fmt::format("{} = {}{}", name, ValuesOf(value), origin);
  if (whole.size() <= kMostReportedBytes) return Code(whole);
  value.before = ShortValue(value.before);
  value.after = ShortValue(value.after);
  const std::string cut = fmt::format("{} = {}{}", name, ValuesOf(value), origin);
  return Code(cut.size() > kMostReportedBytes + name.size() ? name : cut);
}

constexpr std::string_view kInACell = "<br>";
constexpr std::string_view kInAList = ", ";

// What one has to know first: what makes the thing anew, texts that run as root, what goes.
int RankOf(const AttributeChange& attribute) {
  if (attribute.forces_replacement) return 0;
  if (IsText(attribute)) return 1;
  return attribute.after || !attribute.known ? 3 : 2;
}

std::string DescriptionOf(const std::vector<AttributeChange>& attributes,
                          std::string_view separator) {
  std::vector<std::string> reported;
  std::vector<AttributeChange> lines = WithFlagsApart(attributes);
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return RankOf(a) < RankOf(b); });
  for (std::size_t i = 0; i < std::min(lines.size(), kMostReported); ++i) {
    reported.push_back(Described(lines[i]));
  }
  if (lines.size() > kMostReported) {
    reported.push_back(fmt::format("and {} more", lines.size() - kMostReported));
  }
  return Join(reported, separator);
}

// Where a change speaks for itself, in a plan's text.
std::string_view PlainReason(const Change& change, PlanMode mode) {
  switch (change.verb) {
    case Verb::kKeep:
      return "`moved` of the spec says so";
    case Verb::kCreate:
      return "it is new: not in the state yet";
    case Verb::kUpdate:
      return "the spec differs";
    case Verb::kDelete:
    case Verb::kForget:
      return mode == PlanMode::kDestroy ? "a destroy was asked for" : "it is no longer in the spec";
    case Verb::kRun:
      return "it has not run yet";
    case Verb::kDeleteThenCreate:
    case Verb::kCreateThenDelete:
      break;
  }
  return "it cannot be changed in place";
}

// With what differs, where that is the reason.
std::string Why(const Change& change, PlanMode mode, std::string_view separator) {
  std::vector<AttributeChange> causes;
  for (const AttributeChange& attribute : change.attributes) {
    if (attribute.forces_replacement || change.verb == Verb::kUpdate) causes.push_back(attribute);
  }
  const std::string reported = DescriptionOf(causes, separator);
  if (change.reason.empty()) {
    return reported.empty() ? Prose(PlainReason(change, mode)) : reported;
  }
  return reported.empty() ? Prose(change.reason) : Prose(change.reason) + ": " + reported;
}

std::string Table(const Plan& plan) {
  std::string text = "| | address | action | because |\n|---|---|---|---|\n";
  std::size_t rows = 0;
  std::size_t left = 0;
  for (const Change& change : plan.changes) {
    if (IsValue(change) || (IsKeep(change) && change.previous_address.empty())) continue;
    if (++rows > kMostRows || text.size() > kMostTableBytes) {
      ++left;
      continue;
    }
    const PlanRow row = RowOf(change);
    text += fmt::format("| `{}` | {} | {} | {} |\n", row.symbol, Code(change.address.Text()),
                        Prose(row.what), Why(change, plan.mode, kInACell));
  }
  if (left > 0) text += fmt::format("\nand {}.\n", Plural(left, "more change"));
  return text;
}

std::string ItemsUnder(const std::string& title, const std::vector<std::string>& items) {
  if (items.empty()) return {};
  std::string text = fmt::format("\n**{}**\n\n", title);
  std::size_t shown = 0;
  for (; shown < std::min(items.size(), kMostItems) && text.size() < kMostListBytes; ++shown) {
    text += "- " + items[shown] + "\n";
  }
  if (items.size() > shown) text += fmt::format("- and {} more\n", items.size() - shown);
  return text;
}

// What is there now and will not be: what one has to know before anything else.
std::string Losses(const Plan& plan) {
  std::vector<std::string> items;
  std::size_t replaced = 0;
  for (const Change& change : plan.changes) {
    const bool replaces = IsReplace(change);
    if (IsValue(change)) continue;
    if (!replaces && change.verb != Verb::kDelete) continue;
    if (IsPartOfReplacement(change, plan)) continue;
    replaced += replaces ? 1 : 0;
    const std::string title = WordsOf(change).title;
    items.push_back(fmt::format("{}: {}, because {}",
                                Code(title.empty() ? change.address.Text() : title),
                                Prose(RowOf(change).what), Why(change, plan.mode, kInAList)));
  }
  const std::size_t destroyed = items.size() - replaced;
  std::vector<std::string> counts;
  if (replaced > 0) counts.push_back(fmt::format("{} replaced", replaced));
  if (destroyed > 0) counts.push_back(fmt::format("{} destroyed", destroyed));
  return ItemsUnder("⚠️ " + Join(counts, ", "), items);
}

// The plan's text, as much of it as there is room for.
std::string Details(const Plan& plan, bool failed, std::size_t room) {
  PlanViewOptions view;
  view.outputs = !failed;
  view.legend = false;  // the table says it in words, and `+ create` would look like a change
  view.marks_first = true;
  view.whole = true;
  std::string whole = ShowPlan(plan, view);
  if (whole.size() > room) {
    view.whole = false;
    whole = ShowPlan(plan, view);
  }
  const std::vector<std::string> lines = SplitLines(whole);
  std::string body;
  std::string fence = "```";
  std::size_t shown = 0;
  for (const std::string& line : lines) {
    const std::string needed(std::max(fence.size(), LongestRun(line, '`') + 1), '`');
    if (body.size() + line.size() + 1 + 2 * needed.size() > room) break;
    body += line + "\n";
    fence = needed;
    ++shown;
  }
  std::string text = fmt::format("\n<details><summary>Show the plan ({})</summary>\n\n",
                                 Plural(lines.size(), "line")) +
                     fence + "diff\n" + body + fence + "\n\n</details>\n";
  if (shown < lines.size()) {
    text +=
        fmt::format("\nThe plan is too long for a comment; {} not shown here.\n",
                    lines.size() - shown == 1 ? std::string("1 line is")
                                              : fmt::format("{} lines are", lines.size() - shown));
  }
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

bool OnlyOutputsChange(const Plan& plan) {
  return !plan.Empty() && plan.mode != PlanMode::kRefreshOnly && !ChangesThings(plan);
}

std::string TitleOf(const Plan& plan) {
  if (plan.Empty()) return "no changes";
  if (plan.mode == PlanMode::kRefreshOnly) {
    return fmt::format("{} changed outside, to be taken into the state",
                       Plural(plan.drift.size(), "object"));
  }
  if (OnlyOutputsChange(plan)) {
    return fmt::format("{} to change, and nothing else",
                       Plural(OutputLines(plan).size(), "output"));
  }
  const PlanCounts counts = plan.Counts();
  return fmt::format("{} to add, {} to change, {} to destroy", counts.add, counts.change,
                     counts.destroy);
}

std::string DriftItems(const Plan& plan) {
  std::vector<std::string> items;
  for (const Drift& one : plan.drift) {
    std::string item = Code(one.address.Text()) + " " + Prose(one.sentence);
    if (!one.attributes.empty()) item += ": " + DescriptionOf(one.attributes, kInAList);
    items.push_back(std::move(item));
  }
  return ItemsUnder("Changed outside of podctl", items);
}

std::string OutputItems(const Plan& plan) {
  std::vector<std::string> items;
  for (const AttributeChange& line : OutputLines(plan)) items.push_back(Described(line));
  return ItemsUnder("Changes to outputs", items);
}

// What will be done: how much, what is lost by it, each change with its reason.
std::string Actions(const Plan& plan, bool failed, bool past) {
  std::string text;
  const auto summary = SplitLines(PlanSummary(plan));
  const std::size_t costs = plan.cost ? CostLines(*plan.cost).size() : 0;
  for (std::size_t i = 1; i < summary.size() && !past; ++i) {
    // Of these a part was written by others: what a type is called.
    const bool is_cost = i + costs >= summary.size();
    text += "\n" + (is_cost ? Prose(summary[i]) : summary[i]) + "\n";
  }
  if (plan.mode == PlanMode::kRefreshOnly) return text;
  if (ChangesThings(plan)) text += (past ? "" : Losses(plan)) + "\n" + Table(plan);
  return failed ? text : text + OutputItems(plan);
}

}  // namespace

std::string PlanTitle(const Plan* plan, bool failed) {
  if (plan == nullptr || (failed && OnlyOutputsChange(*plan))) return "failed";
  return failed ? "failed, with " + TitleOf(*plan) : TitleOf(*plan);
}

std::string MarkdownCode(std::string_view text) {
  return Code(text);
}

std::string MarkdownOf(const Plan* plan, const Diagnostics& diagnostics,
                       const std::vector<std::string>& notes, const CommentForm& form) {
  const bool failed = diagnostics.has_errors();
  // The outputs of a plan that failed would look like its result.
  const bool acts = plan != nullptr && !plan->Empty() && !(failed && OnlyOutputsChange(*plan));
  std::string text = form.headline.empty()
                         ? fmt::format("### podctl plan: {}\n", PlanTitle(plan, failed))
                         : fmt::format("### {}\n", form.headline);
  if (!form.paragraph.empty()) text += "\n" + form.paragraph + "\n";
  text += ItemsUnder("Errors", Problems(diagnostics, Severity::kError));
  if (acts) {
    text += Actions(*plan, failed, form.acts_are_past);
  } else if (plan != nullptr && !failed) {  // under an error it would mislead
    text += "\n" + NoChanges(*plan) + "\n";
    for (const std::string& line : StandingCostLines(*plan)) text += "\n" + Prose(line) + "\n";
  }
  if (plan != nullptr) text += DriftItems(*plan);
  text += ItemsUnder("Warnings", Problems(diagnostics, Severity::kWarning));
  std::vector<std::string> remarks;
  for (const std::string& note : notes) remarks.push_back(Prose(note));
  text += ItemsUnder("Notes", remarks);

  text = Cut(std::move(text), kMostCommentBytes);
  constexpr std::size_t kAround = 400;  // what stands around the plan's text
  const std::size_t used = text.size() + kAround;
  if (acts) text += Details(*plan, failed, used < kMostCommentBytes ? kMostCommentBytes - used : 0);
  return form.last_line.empty() ? text : text + "\n" + form.last_line + "\n";
}

}  // namespace podctl
