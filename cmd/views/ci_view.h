// The words of `podctl ci`: comments and issues, what a runner reads from its log (annotations),
// and reports in the forms of others.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cmd/output_filter.h"
#include "cmd/run_account.h"
#include "plans/engine/change.h"
#include "providers/base/diagnostic.h"
#include "providers/base/value.h"

namespace podctl {

// Which run of a pipeline it is, for a comment. What is no plain web address is no link.
struct RunWords {
  std::string project;  // "": the only one of its repository
  std::string run_url;
  std::string run_id;
  std::string commit;
};

// Of `ci plan`. Ends without the pipeline's mark.
std::string PlanComment(const RunAccount& account, const RunWords& words);

// How an apply of a pipeline ended.
enum class CiApplyEnd { kApplied, kNothingToDo, kFailed, kRefused, kInterrupted };
std::string ApplyComment(const RunAccount& account, CiApplyEnd end,
                         std::chrono::milliseconds elapsed, const RunWords& words);

// Of `ci drift`, while something has drifted.
std::string DriftTitle(const Plan& plan, const RunWords& words);
std::string DriftText(const RunAccount& account, const RunWords& words);

// What stays of an older comment.
std::string OutdatedLine();

// ---- For runners.

// `path` from the root of the repository, as annotations and reports want it. `here`: the current
// folder; `checkout`: where the repository lies, or "". What is elsewhere stays as it is.
std::string PathInRepository(const std::string& path, const std::string& here,
                             const std::string& checkout);

// A workflow command of GitHub's and Gitea's runners ("::error file=…,line=…::…"), by which the
// problem is shown at its line. Written past the filter that makes others' commands harmless.
void WriteAnnotation(std::ostream& stream, const Diagnostic& diagnostic, const std::string& path);

// GitLab's code quality report (its subset of Code Climate's format): a list with an entry for each
// problem. `path_of` gives the path from the root of the repository.
template <typename PathOf>
Value CodeQuality(const Diagnostics& diagnostics, const PathOf& path_of);
Value CodeQualityEntry(const Diagnostic& diagnostic, const std::string& path, std::size_t which);

// GitLab's terraform report, for the widget of a merge request: steps are not counted.
Value TerraformReport(const Plan& plan);

template <typename PathOf>
Value CodeQuality(const Diagnostics& diagnostics, const PathOf& path_of) {
  Value::List list;
  for (const Diagnostic& diagnostic : diagnostics.items()) {
    list.push_back(CodeQualityEntry(diagnostic, path_of(diagnostic.place.file), list.size()));
  }
  return Value(std::move(list));
}

}  // namespace podctl
