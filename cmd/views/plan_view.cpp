#include "cmd/views/plan_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cmd/views/cost_view.h"
#include "cmd/views/live_block.h"
#include "cmd/views/output_view.h"
#include "cmd/views/paint.h"
#include "cmd/views/text_diff.h"
#include "plans/engine/kind.h"
#include "plans/kinds/pod/shown.h"
#include "providers/base/json.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

// `says_why`: nothing is told of the reason besides.
std::string ReplaceHeadline(ReasonCode reason, bool says_why) {
  switch (reason) {
    case ReasonCode::kByRequest:
      return says_why ? "will be replaced, as requested" : "will be replaced";
    case ReasonCode::kByTriggers:
      return "will be replaced due to changes in replaceTriggeredBy";
    default:
      return "must be replaced";
  }
}

std::string Title(const Change& change, const ChangeWords& words) {
  return VisibleControls(words.title.empty() ? change.address.Text() : words.title);
}

std::string Headline(const Change& change, const ChangeWords& words) {
  if (!words.headline.empty()) return VisibleControls(words.headline);
  switch (change.verb) {
    case Verb::kKeep:
    case Verb::kRun:
      break;
    case Verb::kCreate:
      return change.begun ? "is being created, and will be waited for" : "will be created";
    case Verb::kUpdate:
      return "will be updated in-place";
    case Verb::kDeleteThenCreate:
    case Verb::kCreateThenDelete:
      return ReplaceHeadline(change.reason_code, words.says_why);
    case Verb::kDelete:
      return "will be destroyed";
    case Verb::kForget:
      return "is gone already, and will be forgotten";
  }
  return {};
}

bool HasLines(const std::optional<Value>& value) {
  return value && value->AsString().find('\n') != std::string::npos;
}

std::string Shown(const AttributeChange& attribute, const std::optional<Value>& value) {
  if (!value) return "null";
  return attribute.sensitive ? "(sensitive value)" : VisibleControls(ShortJson(*value));
}

std::string ShownAfter(const AttributeChange& attribute) {
  return attribute.known ? Shown(attribute, attribute.after) : "(known after apply)";
}

constexpr std::string_view kNoChanges = "No changes.";

class PlanView {
 public:
  PlanView(const Plan& plan, const PlanViewOptions& options)
      : plan_(plan), options_(options), paint_(options.color) {}

  std::string Text() {
    ShowDrift();
    ShowRemarks();
    if (plan_.Empty()) {
      // Under an error "No changes" would mislead.
      if (!options_.failed) {
        const std::string why = NoChanges(plan_).substr(kNoChanges.size());
        text_ += paint_(Ink::kGreen, std::string(kNoChanges)) + why + "\n";
        for (const std::string& line : StandingCostLines(plan_)) text_ += line + "\n";
      }
      return std::move(text_);
    }
    if (plan_.mode == PlanMode::kRefreshOnly) ShowRefreshOnly();
    if (HasActions()) ShowLegend();
    for (const Change& change : plan_.changes) {
      if (IsValue(change)) continue;
      if (!IsKeep(change)) {
        ShowChange(change);
      } else if (!change.previous_address.empty()) {
        ShowMove(change);
      }
    }
    if (plan_.mode == PlanMode::kRefreshOnly) return std::move(text_);
    const bool only_outputs = !ChangesThings(plan_);
    if (!only_outputs) text_ += PlanSummary(plan_);
    ShowOutputs(only_outputs);
    return std::move(text_);
  }

 private:
  bool HasActions() const {
    return std::any_of(plan_.changes.begin(), plan_.changes.end(),
                       [](const Change& change) { return !IsKeep(change) && !IsValue(change); });
  }

  // In terraform's words.
  void ShowOutputs(bool only_they_change) {
    const std::vector<AttributeChange> outputs = OutputLines(plan_);
    // Of a plan that cannot be applied they would look like its result.
    if (outputs.empty() || options_.failed || !options_.outputs) return;
    text_ += only_they_change ? "Changes to Outputs:\n" : "\nChanges to Outputs:\n";
    indent_ = kOutputIndent;
    ShowAttributes(outputs);
    if (!only_they_change || plan_.mode != PlanMode::kNormal) return;
    text_ +=
        "\nYou can apply this plan to save these new output values to the state, without changing "
        "anything\nelse.\n";
  }

  void ShowRefreshOnly() {
    if (plan_.drift.empty()) return;
    text_ +=
        "This is a refresh-only plan: podctl will not undo these changes. Applying it takes them "
        "into the\nstate; nothing else is changed.\n\n";
  }

  void ShowMove(const Change& change) {
    text_ += fmt::format("  # {} has moved to {}\n",
                         paint_(Ink::kBold, VisibleControls(change.previous_address.Text())),
                         paint_(Ink::kBold, VisibleControls(change.address.Text())));
    text_ += fmt::format("    {}\n\n", Title(change, WordsOf(change)));
  }

  void ShowDrift() {
    if (plan_.drift.empty()) return;
    text_ += paint_(Ink::kBold, "Note:") + " Objects have changed outside of podctl\n\n";
    for (const Drift& drift : plan_.drift) {
      text_ += fmt::format("  # {} {}\n", paint_(Ink::kBold, VisibleControls(drift.address.Text())),
                           VisibleControls(drift.sentence));
      if (drift.attributes.empty()) continue;
      ShowAttributes(drift.attributes);
    }
    text_ += "\n";
  }

  // What stays as it is, and looks as if there were nothing to say.
  void ShowRemarks() {
    bool any = false;
    for (const Change& change : plan_.changes) {
      const ChangeWords words = WordsOf(change);
      if (words.remark.empty()) continue;
      text_ +=
          fmt::format("{}: {}.\n  {}\n", paint_(Ink::kBold, VisibleControls(change.address.Text())),
                      VisibleControls(words.remark), VisibleControls(words.advice));
      any = true;
    }
    if (any) text_ += "\n";
  }

  void ShowLegend() {
    text_ += options_.failed
                 ? "podctl planned the following actions, but then encountered a problem (below):\n"
                 : fmt::format("podctl will perform the following actions{}:\n",
                               options_.legend ? ", marked with these symbols" : "");
    if (options_.legend) ShowSymbols();
    text_ += "\n";
  }

  void ShowSymbols() {
    for (Verb verb : {Verb::kCreate, Verb::kUpdate, Verb::kDelete, Verb::kDeleteThenCreate,
                      Verb::kCreateThenDelete, Verb::kRun}) {
      const Symbol symbol = SymbolOf(verb);
      const bool used =
          std::any_of(plan_.changes.begin(), plan_.changes.end(), [&](const Change& change) {
            return !IsValue(change) && SymbolOf(change.verb).text == symbol.text;
          });
      if (!used) continue;
      text_ += fmt::format("{}{} {}\n", std::string(5 - symbol.text.size(), ' '),
                           paint_(symbol.ink, symbol.text), symbol.meaning);
    }
  }

  void ShowChange(const Change& change) {
    const Symbol symbol = SymbolOf(change.verb);
    const ChangeWords words = WordsOf(change);
    text_ += fmt::format("  # {} {}\n", paint_(Ink::kBold, VisibleControls(change.address.Text())),
                         Headline(change, words));
    if (!change.previous_address.empty()) {
      text_ +=
          fmt::format("  # (moved from {})\n", VisibleControls(change.previous_address.Text()));
    }
    // In a destroy it goes without saying that nothing is in the spec.
    const bool plain = words.says_why || (plan_.mode == PlanMode::kDestroy &&
                                          change.reason_code == ReasonCode::kNoConfiguration);
    if (!change.reason.empty() && !plain) {
      text_ += fmt::format("  # (because {})\n", VisibleControls(change.reason));
    }
    Mark(3 - symbol.text.size(), symbol.text, symbol.ink);
    text_ += " " + Title(change, words);
    if (!words.body.empty()) {
      ShowBody(words, change.attributes);
    } else if (change.attributes.empty()) {
      text_ += "\n";
    } else {
      text_ += " {\n";
      ShowAttributes(change.attributes);
      if (!words.note.empty()) text_ += fmt::format("        # {}\n", words.note);
      text_ += "    }\n";
    }
    text_ += "\n";
  }

  // Of a script that was another one before, what is otherwise.
  void ShowBody(const ChangeWords& words, const std::vector<AttributeChange>& attributes) {
    text_ += " {\n";
    for (const std::string& line : words.body) {
      text_ += fmt::format("        {}\n", VisibleControls(line));
    }
    const bool changed = attributes.size() == 1 && attributes.front().before;
    const auto hunks =
        changed ? DiffHunks(attributes.front().before->AsString(), words.script) : std::nullopt;
    const bool tells = hunks && !hunks->empty();
    if (tells) ShowHunks(*hunks);
    // Who reviews what others saved sees what is run, whatever that says was there before.
    if (!words.script.empty() && (!tells || options_.whole)) ShowScript(words.script);
    text_ += "    }\n";
  }

  void ShowScript(const std::string& script) {
    constexpr std::size_t kMostLines = 12;
    const auto lines = SplitLines(script);
    const std::size_t shown = options_.whole ? lines.size() : std::min(lines.size(), kMostLines);
    for (std::size_t i = 0; i < shown; ++i) {
      text_ += fmt::format("        | {}\n", VisibleControls(lines[i]));
    }
    if (lines.size() > shown) {
      text_ += fmt::format("        | … {}\n", Plural(lines.size() - shown, "more line"));
    }
  }

  // `text`: "+", "-/+"; what is only run has no place in a diff.
  void Mark(std::size_t indent, std::string_view text, Ink ink) {
    const std::string blanks(indent, ' ');
    if (!options_.marks_first || text == SymbolOf(Verb::kRun).text) {
      text_ += blanks + paint_(ink, text);
      return;
    }
    text_ += (text == SymbolOf(Verb::kUpdate).text ? "!" : std::string(text)) + blanks;
  }

  void ShowAttributes(const std::vector<AttributeChange>& attributes) {
    const std::vector<AttributeChange> lines = WithFlagsApart(attributes);
    std::size_t width = 0;
    for (const AttributeChange& attribute : lines) {
      width = std::max(width, VisibleControls(attribute.path).size());
    }
    for (const AttributeChange& attribute : lines) ShowAttribute(attribute, width);
  }

  void ShowAttribute(const AttributeChange& attribute, std::size_t width) {
    constexpr std::size_t kWidest = 100;
    const std::size_t indent = indent_ + 2;  // with the mark and the blank behind it
    MarkAttribute(attribute);
    text_ += fmt::format(" {:<{}} = ", VisibleControls(attribute.path), width);
    const auto hunks = HunksOf(attribute);
    if (hunks) {
      text_ += fmt::format("({})", Plural(SplitLines(attribute.after->AsString()).size(), "line"));
    } else {
      const std::string before = attribute.before ? Shown(attribute, attribute.before) : "";
      const std::string after = ShownAfter(attribute);
      const std::size_t columns =
          indent + width + 3 + ScreenColumns(before) + 4 + ScreenColumns(after);
      const bool fits = columns <= kWidest || after == "null";
      if (attribute.before) {
        text_ += before + (fits ? " " : "\n" + std::string(indent + width, ' ')) + "-> ";
      }
      text_ += after;
    }
    if (attribute.forces_replacement) text_ += paint_(Ink::kRed, " # forces replacement");
    if (attribute.origin) text_ += " # " + VisibleControls(*attribute.origin);
    if (SaysTheSame(attribute)) text_ += " # the same flags, written in another way";
    text_ += "\n";
    if (hunks) return ShowHunks(*hunks);
    if (!options_.whole || !HasLines(attribute.after) || attribute.sensitive) return;
    std::vector<std::string> lines = SplitLines(attribute.after->AsString());
    for (std::string& line : lines) line.insert(0, "+");
    ShowHunks(lines);
  }

  // A text of several lines that changes, line by line; nullopt when it is too long for that.
  static std::optional<std::vector<std::string>> HunksOf(const AttributeChange& attribute) {
    if (!IsText(attribute)) return std::nullopt;
    return DiffHunks(attribute.before->AsString(), attribute.after->AsString());
  }

  void ShowHunks(const std::vector<std::string>& lines) {
    const std::string indent(indent_ + 4, ' ');
    for (const std::string& line : lines) {
      const char mark = line.front();
      const std::string shown = VisibleControls(line);
      if (options_.marks_first && (mark == '+' || mark == '-')) {
        text_ += shown.front() + indent + shown.substr(1);
      } else if (options_.marks_first && mark == '@') {
        text_ += shown;
      } else {
        text_ += indent + (mark == ' ' ? shown : paint_(InkOf(mark), shown));
      }
      text_ += "\n";
    }
  }

  static Ink InkOf(char mark) {
    switch (mark) {
      case '+':
        return Ink::kGreen;
      case '-':
        return Ink::kRed;
      case '@':
        return Ink::kCyan;
      default:
        return Ink::kDim;
    }
  }

  void MarkAttribute(const AttributeChange& attribute) {
    const bool after = attribute.after || !attribute.known;
    if (attribute.before && after) return Mark(indent_, "~", Ink::kYellow);
    return after ? Mark(indent_, "+", Ink::kGreen) : Mark(indent_, "-", Ink::kRed);
  }

  static constexpr std::size_t kAttributeIndent = 6;
  static constexpr std::size_t kOutputIndent = 2;

  const Plan& plan_;
  const PlanViewOptions& options_;
  Paint paint_;
  std::size_t indent_ = kAttributeIndent;  // of the marks of attributes
  std::string text_;
};

}  // namespace

Symbol SymbolOf(Verb verb) {
  switch (verb) {
    case Verb::kKeep:
      break;
    case Verb::kCreate:
      return {"+", Ink::kGreen, "create"};
    case Verb::kUpdate:
      return {"~", Ink::kYellow, "update in-place"};
    case Verb::kDeleteThenCreate:
      return {"-/+", Ink::kRed, "destroy and then create replacement"};
    case Verb::kCreateThenDelete:
      return {"+/-", Ink::kRed, "create replacement and then destroy"};
    case Verb::kDelete:
    case Verb::kForget:
      return {"-", Ink::kRed, "destroy"};
    case Verb::kRun:
      return {">", Ink::kCyan, "run on workers"};
  }
  return {};
}

std::string ValuesOf(const AttributeChange& attribute) {
  const std::string after = ShownAfter(attribute);
  return attribute.before ? Shown(attribute, attribute.before) + " -> " + after : after;
}

bool IsText(const AttributeChange& attribute) {
  return attribute.before && attribute.after && attribute.before->is_string() &&
         attribute.after->is_string() && !attribute.sensitive &&
         (HasLines(attribute.before) || HasLines(attribute.after));
}

std::string ShowPlan(const Plan& plan, const PlanViewOptions& options) {
  return PlanView(plan, options).Text();
}

std::string NoChanges(const Plan& plan) {
  std::string text(kNoChanges);
  switch (plan.mode) {
    case PlanMode::kDestroy:
      return text + " No objects need to be destroyed.";
    case PlanMode::kRefreshOnly:
      return text + " Your infrastructure still matches the configuration.";
    case PlanMode::kNormal:
      break;
  }
  return text + " Your infrastructure matches the configuration.";
}

std::string PlanSummary(const Plan& plan) {
  const PlanCounts counts = plan.Counts();
  std::string text = fmt::format("Plan: {} to add, {} to change, {} to destroy.\n", counts.add,
                                 counts.change, counts.destroy);
  std::set<const Kind*> reported;
  for (const Change& change : plan.changes) {
    const Kind* kind = change.payload.kind();
    if (kind == nullptr || !reported.insert(kind).second) continue;
    if (const std::string line = kind->Summary(plan); !line.empty()) text += line + "\n";
  }
  if (plan.cost) {
    for (const std::string& line : CostLines(*plan.cost)) text += line + "\n";
  }
  return text;
}

std::string JobsText(const std::vector<std::string>& clauses) {
  std::string text;
  for (const std::string& clause : clauses) {
    const auto lines = SplitLines(clause);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      text += fmt::format("{}{}{}", text.empty() ? "Jobs: " : "\n      ", VisibleControls(lines[i]),
                          i == 0 ? "." : "");
    }
  }
  return text;
}

std::vector<std::string> JobNotes(const std::vector<std::string>& clauses) {
  std::vector<std::string> notes;
  for (const std::string& clause : clauses) {
    const auto lines = SplitLines(clause);
    const std::string job = clause.substr(0, clause.find(' '));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const bool inner = i > 0 && lines[i].starts_with("    ");
      if (inner && !notes.empty()) {
        notes.back() += " " + std::string(TrimBlanks(lines[i]));
      } else {
        notes.push_back(i == 0 ? fmt::format("Jobs: {}.", lines[i])
                               : fmt::format("{}, {}", job, TrimBlanks(lines[i])));
      }
    }
  }
  return notes;
}

}  // namespace podctl
