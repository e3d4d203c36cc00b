#include "plans/spec/problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "providers/base/text.h"

namespace podctl {

void Problems::Add(Diagnostic diagnostic) {
  const SourcePlace& place = diagnostic.place;
  const bool is_error = diagnostic.severity == Severity::kError;
  if (is_error ? is_full() : warnings_ >= kMostWarnings) {
    ++(is_error ? errors_left_out_ : warnings_left_out_);
    return;
  }
  if (!seen_.emplace(place.file, place.line, place.column, diagnostic.summary).second) return;
  ++(is_error ? errors_ : warnings_);
  items_.push_back(std::move(diagnostic));
}

void Problems::AddForFile(const std::string& file, std::string summary, std::string suggestion) {
  Diagnostic diagnostic;
  diagnostic.summary = std::move(summary);
  diagnostic.place.file = file;
  diagnostic.suggestion = std::move(suggestion);
  Add(std::move(diagnostic));
}

void Problems::MoveTo(Diagnostics& diagnostics) {
  std::stable_sort(items_.begin(), items_.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.place.file, a.place.line, a.place.column) <
           std::tie(b.place.file, b.place.line, b.place.column);
  });
  for (Diagnostic& diagnostic : items_) diagnostics.Add(std::move(diagnostic));
  for (const Severity severity : {Severity::kError, Severity::kWarning}) {
    const bool is_error = severity == Severity::kError;
    const std::size_t left_out = is_error ? errors_left_out_ : warnings_left_out_;
    if (left_out == 0) continue;
    Diagnostic more;
    more.severity = severity;
    more.summary = fmt::format("{} not listed",
                               Plural(left_out, is_error ? "further error" : "further warning"));
    diagnostics.Add(std::move(more));
  }
  items_.clear();
  seen_.clear();
}

Diagnostic DiagnosticAt(const YamlNode& node, const SourcePlace& place, std::string summary) {
  Diagnostic diagnostic;
  diagnostic.summary = std::move(summary);
  diagnostic.place = place;
  diagnostic.source_line = node.file->ShownLine(place.line);
  return diagnostic;
}

}  // namespace podctl
