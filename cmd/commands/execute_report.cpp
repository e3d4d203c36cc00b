#include "cmd/commands/execute_report.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "plans/session/plan.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

// What to do about a state that could not be saved.
std::string SaveHint(const ExecuteResult& result) {
  if (!result.unsaved) {
    return "What was begun is written down in the state as it was last saved; once the cause is "
           "mended, `podctl apply` asks the API and goes on from there.";
  }
  if (result.aside_error) {
    return fmt::format(
        "What this run did since the last save is not written down: {}. What was begun stands in "
        "the state; once the cause is mended, `podctl apply` asks the API and goes on from there.",
        result.aside_error->message);
  }
  if (result.save_error->code == ErrorCode::kFailedPrecondition) {
    return fmt::format(
        "What this run knows is written to {0}. Compare it with the stored state "
        "(`podctl show`) before `podctl state push --force {0}`.",
        ShellQuote(result.saved_aside));
  }
  return fmt::format(
      "What could not be saved is written to {0}. Once the cause is mended, run "
      "`podctl state push {0}`",
      ShellQuote(result.saved_aside));
}

}  // namespace

Diagnostics FailureDiagnostics(FileSystem& files, const ExecuteResult& result) {
  Diagnostics diagnostics;
  for (const auto& failure : result.failures) {
    Diagnostic diagnostic;
    diagnostic.summary = fmt::format("{}: {}", failure.change.address, failure.error.message);
    diagnostic.place = failure.change.place;
    diagnostic.context = failure.change.address.Text();
    diagnostic.detail = Sentence(failure.error.hint);
    if (!failure.last_lines.empty()) {
      std::string lines = "Last lines of the output:";
      for (const std::string& line : failure.last_lines) lines += "\n  " + VisibleControls(line);
      diagnostic.detail = lines + (diagnostic.detail.empty() ? "" : "\n" + diagnostic.detail);
    }
    diagnostics.Add(std::move(diagnostic));
  }
  return WithSourceLines(files, diagnostics);
}

void ShowSaveError(Reporter& reporter, const ExecuteResult& result) {
  const Error& error = *result.save_error;
  reporter.ShowError("the state could not be saved",
                     MakeError(error.code, error.message, SaveHint(result)));
}

void ShowWarnings(Reporter& reporter, const ExecuteResult& result) {
  Diagnostics diagnostics;
  for (const std::string& warning : result.warnings) {
    Diagnostic diagnostic;
    diagnostic.severity = Severity::kWarning;
    diagnostic.summary = warning;
    diagnostics.Add(std::move(diagnostic));
  }
  reporter.Show(diagnostics);
}

}  // namespace podctl
