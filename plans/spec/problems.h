// Collects the problems found while a spec is read: each once, in the order of the files, and no
// more than a person (or this machine's memory) can bear.
#pragma once

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "plans/spec/yaml_tree.h"
#include "providers/base/diagnostic.h"

namespace podctl {

class Problems {
 public:
  // Beyond this many, problems are only counted. Warnings never keep an error from being listed.
  static constexpr std::size_t kMostErrors = 1000;
  static constexpr std::size_t kMostWarnings = 200;

  // The same summary at the same place is kept once: what stands in `defaults` or behind an alias
  // is read for every pod.
  void Add(Diagnostic diagnostic);
  // A problem of a whole file, or of none.
  void AddForFile(const std::string& file, std::string summary, std::string suggestion = {});

  // No further error will be listed, so none need be explained.
  bool is_full() const { return errors_ >= kMostErrors; }
  // Hands over everything, by file, line and column; what has no place comes first.
  void MoveTo(Diagnostics& diagnostics);

 private:
  std::vector<Diagnostic> items_;
  std::set<std::tuple<std::string, int, int, std::string>> seen_;
  std::size_t errors_ = 0;
  std::size_t warnings_ = 0;
  std::size_t errors_left_out_ = 0;
  std::size_t warnings_left_out_ = 0;
};

// A diagnostic at a place of a spec file, with its source line.
Diagnostic DiagnosticAt(const YamlNode& node, const SourcePlace& place, std::string summary);

}  // namespace podctl
