// One spec file's text and the places in it. Knows no YAML.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/diagnostic.h"

namespace podctl {

class SourceFile {
 public:
  // `name` is the path as messages show it; `text` is kept as it is.
  SourceFile(std::string name, std::string text);

  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }

  // The place of `length` bytes at a byte offset; an offset past the end is the end.
  SourcePlace PlaceAt(std::size_t offset, std::size_t length = 1) const;
  // A line (counted from 1) without its newline; "" when there is none.
  std::string_view Line(int line) const;
  // The same for a message: empty when the line is too long to be worth keeping, and when it may
  // hold a secret: in a file of variables, or beside a key `sensitive`, even a misspelled one.
  std::string ShownLine(int line) const;
  // A file of variables, of which any may be sensitive: none of its lines is shown.
  void HideLines() { hidden_ = true; }
  // The offset of a line's first byte; of the end of the text when there is no such line.
  std::size_t LineStart(int line) const;
  // The folder the file is in, against which its relative paths are read.
  std::string Folder() const;

 private:
  bool MayHoldSecret(int line) const;

  bool hidden_ = false;
  std::string name_;
  std::string text_;
  std::vector<std::size_t> line_starts_;
};

}  // namespace podctl
