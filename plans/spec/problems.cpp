#include "plans/spec/problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace podctl {

void Problems::Add(Diagnostic diagnostic) {
  const SourcePlace& place = diagnostic.place;
  if (!seen_.emplace(place.file, place.line, place.column, diagnostic.summary).second) return;
  if (items_.size() >= kMost) {
    ++left_out_;
    return;
  }
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
  if (left_out_ > 0) {
    Diagnostic more;
    more.summary = fmt::format("{} further problems are not listed", left_out_);
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
