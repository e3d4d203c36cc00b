// Problems in a user's file, each with its place: the second error channel beside Result.
//
// A Diagnostics collects all problems of all files, so that they are reported in one go.
// It prints nothing; cmd/views/snippet shows it. Not thread safe.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace podctl {

// A place in a text file. Lines and columns count from 1; a column counts bytes of the line up to
// the place plus one, as compilers do. line 0: the file as a whole.
struct SourcePlace {
  std::string file;
  int line = 0;
  int column = 0;
  int length = 1;  // bytes to underline, at least 1
  int byte = 0;    // of the place in the file, counted from 0

  friend bool operator==(const SourcePlace&, const SourcePlace&) = default;
};

enum class Severity { kError, kWarning };

// A second place that explains the first: where the key that is repeated stood before.
struct RelatedPlace {
  SourcePlace place;
  std::string source_line;
  std::string note;  // "first defined here"
};

struct Diagnostic {
  Severity severity = Severity::kError;
  std::string summary = {};      // "unknown key `runtimeVerson`"
  SourcePlace place = {};        // file empty: no place
  std::string context = {};      // "pods.research"; may be empty
  std::string source_line = {};  // the text of the line, without its newline
  std::string suggestion = {};   // "did you mean `runtimeVersion`?"; stands beside the caret
  std::string detail = {};       // further sentences; may be empty
  std::vector<RelatedPlace> related = {};
};

class Diagnostics {
 public:
  void Add(Diagnostic diagnostic) {
    has_errors_ = has_errors_ || diagnostic.severity == Severity::kError;
    items_.push_back(std::move(diagnostic));
  }
  bool has_errors() const { return has_errors_; }
  const std::vector<Diagnostic>& items() const { return items_; }

 private:
  std::vector<Diagnostic> items_;
  bool has_errors_ = false;
};

}  // namespace podctl
