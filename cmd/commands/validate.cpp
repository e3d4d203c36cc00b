#include "cmd/commands/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cmd/views/snippet.h"
#include "plans/kinds/pod/reader/type_zones.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/source_file.h"
#include "providers/base/json.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr std::uint64_t kMostBytes = 4 << 20;

// Of what podctl itself knows (`podctl types`), which may be old: the service knows better.
Diagnostics TypesNotInZone(const Spec& spec) {
  Diagnostics problems;
  for (const PodSpec* pod : DeclaredPods(spec)) {
    if (auto warning = UndocumentedType(*pod)) problems.Add(*std::move(warning));
  }
  return problems;
}

Value Position(int line, int column, int byte) {
  return Value::Map{{"line", line}, {"column", column}, {"byte", byte}};
}

Value RangeOf(const SourcePlace& place) {
  Value range = Value::Map{{"filename", place.file}};
  // Of a file as a whole: its beginning, since whoever reads this wants both ends.
  const bool whole = place.line == 0;
  range.Set("start", whole ? Position(1, 1, 0) : Position(place.line, place.column, place.byte));
  range.Set("end",
            whole ? Position(1, 1, 0)
                  : Position(place.line, place.column + place.length, place.byte + place.length));
  return range;
}

Value SnippetOf(const Diagnostic& diagnostic) {
  const SourcePlace& place = diagnostic.place;
  const int length = static_cast<int>(diagnostic.source_line.size());
  return Value::Map{{"context", diagnostic.context.empty() ? Value() : Value(diagnostic.context)},
                    {"code", diagnostic.source_line},
                    {"start_line", place.line},
                    {"highlight_start_offset", std::min(place.column - 1, length)},
                    {"highlight_end_offset", std::min(place.column - 1 + place.length, length)},
                    {"values", Value::EmptyList()}};
}

// Terraform's summary and detail; what stands beside the caret for people belongs to the detail.
Value ToValue(const Diagnostic& diagnostic) {
  Value value =
      Value::Map{{"severity", diagnostic.severity == Severity::kError ? "error" : "warning"},
                 {"summary", diagnostic.summary}};
  std::string detail = diagnostic.suggestion;
  if (!diagnostic.detail.empty()) detail += (detail.empty() ? "" : "\n") + diagnostic.detail;
  for (const RelatedPlace& related : diagnostic.related) {
    detail += fmt::format("{}{}: {}:{}:{}", detail.empty() ? "" : "\n", related.note,
                          related.place.file, related.place.line, related.place.column);
  }
  value.Set("detail", detail);
  if (!diagnostic.place.file.empty()) {
    value.Set("range", RangeOf(diagnostic.place));
    if (!diagnostic.source_line.empty()) value.Set("snippet", SnippetOf(diagnostic));
  }
  return value;
}

std::size_t Count(const Diagnostics& diagnostics, Severity severity) {
  return static_cast<std::size_t>(
      std::count_if(diagnostics.items().begin(), diagnostics.items().end(),
                    [severity](const Diagnostic& item) { return item.severity == severity; }));
}

}  // namespace

Value DiagnosticsDocument(const Diagnostics& diagnostics) {
  Value::List list;
  for (const Diagnostic& diagnostic : diagnostics.items()) list.push_back(ToValue(diagnostic));
  return Value::Map{
      {"format_version", "1.0"},
      {"valid", !diagnostics.has_errors()},
      {"error_count", static_cast<std::int64_t>(Count(diagnostics, Severity::kError))},
      {"warning_count", static_cast<std::int64_t>(Count(diagnostics, Severity::kWarning))},
      {"diagnostics", std::move(list)}};
}

Validated ValidateSpec(const LoadOptions& load, FileSystem& files, const Environment& environment) {
  Validated validated;
  Diagnostics& diagnostics = validated.problems;
  const Spec& spec = validated.spec = LoadSpec(load, files, environment, diagnostics);
  if (!diagnostics.has_errors()) {
    const Diagnostics more = TypesNotInZone(spec);
    for (Diagnostic each : more.items()) {
      if (auto text = files.Read(each.place.file, kMostBytes)) {
        each.source_line = SourceFile(each.place.file, *std::move(text)).ShownLine(each.place.line);
      }
      diagnostics.Add(std::move(each));
    }
  }
  return validated;
}

int RunValidate(const LoadOptions& load, FileSystem& files, const Environment& environment,
                Streams& streams) {
  return ShowValidated(ValidateSpec(load, files, environment), load, streams);
}

int ShowValidated(const Validated& validated, const LoadOptions& load, Streams& streams) {
  const Diagnostics& diagnostics = validated.problems;
  const Spec& spec = validated.spec;
  const int exit_code = diagnostics.has_errors() ? 1 : 0;
  if (streams.json) {
    streams.out << ToJson(DiagnosticsDocument(diagnostics), JsonStyle::kIndented) << "\n";
    return exit_code;
  }
  const SnippetStyle style{streams.color && streams.err_is_terminal, streams.width};
  const std::size_t errors = Count(diagnostics, Severity::kError);
  const std::size_t warnings = Count(diagnostics, Severity::kWarning);
  streams.err << FormatDiagnostics(diagnostics, style);
  if (!diagnostics.items().empty()) streams.err << "\n";
  if (errors > 0) {
    streams.err << Plural(errors, "error");
    if (warnings > 0) streams.err << " and " << Plural(warnings, "warning");
    streams.err << " in " << Plural(spec.files.size(), "file") << ".\n";
    return exit_code;
  }
  std::size_t steps = 0;
  for (const PodSpec* pod : DeclaredPods(spec)) steps += pod->bootstrap.size();
  streams.out << "Success! The configuration is valid"
              << (warnings > 0 ? ", but there is something to look at.\n" : ".\n");
  std::vector<std::string> parts;
  for (const Kind* kind : load.kinds.all) {
    const std::size_t count = DeclaredIn(spec, *kind).size();
    const bool is_first = kind == load.kinds.all.front();
    if (count > 0 || (is_first && spec.declared.empty())) {
      parts.push_back(Plural(count, std::string(kind->codec().noun())));
    }
    if (is_first && steps > 0) parts.push_back(Plural(steps, "bootstrap step"));
    if (is_first && !spec.jobs.empty()) parts.push_back(Plural(spec.jobs.size(), "job"));
  }
  std::string last = std::move(parts.back());
  parts.pop_back();
  streams.out << Join(parts, ", ") << (parts.empty() ? "" : " and ") << last << " in "
              << Plural(spec.files.size(), "file") << ".\n";
  return exit_code;
}

}  // namespace podctl
