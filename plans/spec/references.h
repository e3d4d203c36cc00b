// The three expressions of a spec, `${var.x}`, `${env.X}` and `${KIND.NAME.PATH}` such as
// `${pod.other.state}`, as they stand in a text: their form, which knows neither values nor which
// kinds there are; and of the third, finding and rendering it in template text. An output of
// another state, `${state.NAME.outputs.OUTPUT}`, has the form of the third, and is put in as the
// first two are when the spec is read (value_reader.h).
//
// `$${` is a literal `${`. Nothing else is special: `$HOME` and `$(date)` are plain text.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/value.h"
#include "state/address.h"

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

struct Reference {
  Address of;        // `pod.other`
  std::string path;  // "networkEndpoints[0].ipAddress"; of a pod relative to the Node resource
};

// References in the order they stand. `$${` is skipped.
std::vector<Reference> FindReferences(std::string_view template_text);

// A literal text as template text: "${" becomes "$${".
std::string EscapeTemplate(std::string_view literal);

// What references to a thing are read from (of a pod its node), or nullptr while it is not known.
using ReferenceLookup = std::function<const Value*(const Address& of)>;

// What a text with references is to become. What they stand for others wrote: it must not begin a
// line of its own, nor be read as more than a word where a shell reads it, nor as more than one
// flag in a line of them.
enum class ReferenceUse {
  kText,
  kShellText,    // of a step's `run`, which has an `env`
  kGuestScript,  // of metadata that the guest executes
  kDockerText,   // of a hand-written `tensorflow-env-vars`
  kFlags,        // of libtpu
};

// Plain text, or nullopt when a referenced thing or path is not known yet, or its value may not
// stand there (FindUnusable).
std::optional<std::string> RenderText(std::string_view template_text, const ReferenceLookup& lookup,
                                      ReferenceUse use = ReferenceUse::kText);

// The first reference to a thing that is known whose value may not stand there: there is none, it
// holds a control character or one that nobody sees, is no IP address where the service has one,
// or holds what a shell would read.
struct UnusableReference {
  bool missing = false;  // there is no such path
  std::string words;     // "`${pod.a.labels.x}`, which is not there"; no value, it may be a secret
  std::string hint;
};
std::optional<UnusableReference> FindUnusable(std::string_view template_text,
                                              const ReferenceLookup& lookup,
                                              ReferenceUse use = ReferenceUse::kText);
// Why `value` may not stand where `reference` does; nullopt: it may.
std::optional<UnusableReference> WhyUnfit(const TemplatePart& reference, const std::string& value,
                                          ReferenceUse use);
// The same for all strings in `value`.
std::optional<UnusableReference> FindUnusableIn(const Value& value, const ReferenceLookup& lookup);

// The values of references that are known, by how they are written: what a reviewer wants to see.
std::map<std::string, std::string> KnownReferences(std::string_view template_text,
                                                   const ReferenceLookup& lookup);

// Nothing that a shell reads as more than itself, nor a program as an option.
bool IsPlainWord(std::string_view text);

// Renders every string in `value`. Paths that cannot be rendered yet are left out of the result and
// listed in `unknown` (dotted, e.g. "labels.peer").
Value RenderValue(const Value& value, const ReferenceLookup& lookup,
                  std::vector<std::string>* unknown);

// "networkEndpoints[0].ipAddress" within a node; nullptr when absent.
const Value* FindNodePath(const Value& node, std::string_view path);

}  // namespace podctl
