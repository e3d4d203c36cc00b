// The manual for man(1): podctl(1), a page for each command, and podctl.yaml(5). Made from the
// tables that parsing, help and the reader of specs go by.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace podctl {

struct Shape;  // plans/spec/shape.h

struct ManualPage {
  std::string name;  // "podctl-plan"
  int section = 1;
  std::string text;  // roff

  std::string FileName() const { return name + "." + std::to_string(section); }
};

// Of all commands that are not hidden, in the order of their table. `date`: YYYY-MM-DD, of the
// build. `spec`: what a file of a spec may look like (SpecShape of plans/spec/schema.h).
std::vector<ManualPage> ManualPages(std::string_view date, const Shape& spec);

// ---- In spec_manual.cpp.

ManualPage SpecPage(std::string_view date, std::string_view source, const Shape& spec);

}  // namespace podctl
