// A plan as text for people, in the habits of `terraform plan`.
#pragma once

#include <string>
#include <vector>

#include "cmd/views/paint.h"
#include "plans/engine/change.h"

namespace podctl {

// How a plan marks what it does.
struct Symbol {
  std::string_view text;
  Ink ink;
  std::string_view meaning;
};
Symbol SymbolOf(Verb verb);

struct PlanViewOptions {
  bool color = false;
  bool failed = false;  // something speaks against the plan, and is said after it
  bool whole = false;   // of texts with many lines each one is shown, none is left out
  bool legend = true;   // says what the symbols mean
  bool outputs = true;  // also what changes of them
  // Marks stand in the first column, `!` for `~`, where a `diff` block of Markdown looks for them.
  bool marks_first = false;
};

// Ends with a newline; "No changes. …" for an empty plan.
std::string ShowPlan(const Plan& plan, const PlanViewOptions& options);

// "No changes. Your infrastructure matches the configuration.", as the mode of an empty plan wants.
std::string NoChanges(const Plan& plan);

// "v3-8" -> "v3-32", as a plan has it; a text of several lines by its first one.
std::string ValuesOf(const AttributeChange& attribute);
// Whether it is a text that is shown line by line.
bool IsText(const AttributeChange& attribute);

// "Plan: 1 to add, 1 to change, 0 to destroy." and, where steps will run, the line on bootstrap.
std::string PlanSummary(const Plan& plan);

// "Jobs: train runs on pod.research, which is replaced." of what a plan means for the jobs of the
// spec, a clause each with further lines on what is started; "" when there is nothing to say. Ends
// without a newline.
std::string JobsText(const std::vector<std::string>& clauses);
// The same for a list of short notes.
std::vector<std::string> JobNotes(const std::vector<std::string>& clauses);

}  // namespace podctl
