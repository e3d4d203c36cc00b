// Shows diagnostics to people: the problem, its place, the source line and a caret under it.
//
//   Error: unknown key `runtimeVerson`
//     podctl.yaml:7:5, in pods.research
//      |
//    7 |     runtimeVerson: tpu-vm-tf-2.11.0-pod
//      |     ^^^^^^^^^^^^^ did you mean `runtimeVersion`?
//
// Knows nothing of specs. Source lines are data: control characters in them are made visible.
#pragma once

#include <string>

#include "providers/base/diagnostic.h"
#include "providers/base/error.h"

namespace podctl {

struct SnippetStyle {
  bool color = false;
  int width = 100;  // columns; a longer source line is cut around its caret
};

// An error as a diagnostic without a place, under `summary`, or when that is empty under its own
// first line.
Diagnostic DiagnosticOf(const std::string& summary, const Error& error);

// One diagnostic, with a newline at its end.
std::string FormatDiagnostic(const Diagnostic& diagnostic, const SnippetStyle& style);

// All of them, a blank line between two; after 100 the rest is counted ("… and 7 more").
std::string FormatDiagnostics(const Diagnostics& diagnostics, const SnippetStyle& style);

}  // namespace podctl
