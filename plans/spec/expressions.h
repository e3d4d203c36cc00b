// The three expressions of a spec, `${var.x}`, `${env.X}` and `${KIND.NAME.PATH}` such as
// `${pod.other.state}`, as they stand in a text. Finds and checks their form; knows neither values
// nor which kinds there are.
//
// `$${` is a literal `${`. Nothing else is special: `$HOME` and `$(date)` are plain text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace podctl {

struct TemplatePart {
  enum class Kind {
    kLiteral,
    kVariable,
    kEnvironment,
    kReference,
    kBad,  // not one of the three; `problem` says why
  };
  Kind kind = Kind::kLiteral;
  std::string text;        // of a literal without its escapes; of an expression as written
  std::string target;      // of a reference: "pod"
  std::string name;        // of the variable, or of the thing that is referred to
  std::string path;        // of a reference: "networkEndpoints[0].ipAddress"
  std::string problem;     // of a bad one: "unknown expression `${HOME}`"
  std::string suggestion;  // of a bad one; may be empty
  std::size_t offset = 0;  // where it begins in the text

  bool is_expression() const { return kind != Kind::kLiteral; }
};

// A reference to a kind that there is not, or that nothing can refer to: the same part as a bad
// one. `targets`: those that there are.
TemplatePart AsUnknown(TemplatePart reference, const std::vector<std::string>& targets);

// The parts in order; neighbouring literals are one part.
std::vector<TemplatePart> SplitTemplate(std::string_view text);

}  // namespace podctl
