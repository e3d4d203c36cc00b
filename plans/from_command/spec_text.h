// YAML in the order in which it is written, with comments: what `init --from-command` makes. All
// text is literal: a `${` in it is written as `$${`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "providers/base/value.h"

namespace podctl {

class SpecText {
 public:
  // A line of its own; several lines stay several.
  void Comment(std::string_view text);
  void Blank() { out_ += "\n"; }
  // `value` may be anything; the members of maps come in the order of their names.
  void Member(std::string_view key, const Value& value);
  // The members until End are those of this key.
  void Begin(std::string_view key);
  void End() { indent_ -= kStep; }
  const std::string& text() const { return out_; }

 private:
  static constexpr std::size_t kStep = 2;  // blanks a level

  void Line(const std::string& text);
  void Item(const Value& item);
  std::string Scalar(const Value& value) const;

  std::size_t indent_ = 0;
  std::string out_;
};

}  // namespace podctl
