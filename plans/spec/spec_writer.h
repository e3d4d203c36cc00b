// Writes spec text: the loader's other direction, for `podctl import`. What is written loads as the
// draft says, whatever characters stand in it.
//
// Knows nothing of the service: which fields are worth writing is the caller's choice. An emitter
// of a YAML library does not serve: yaml-cpp's writes the text `true` like the truth value, and a
// block without its last newline like one with it.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plans/spec/runtime_flags.h"
#include "providers/base/value.h"

namespace podctl {

// A pod to be written. All text is literal: a `${` in it is written as `$${`.
struct PodDraft {
  std::string name;
  std::string node_id;  // of this and the next two: empty, not written
  std::string project;
  std::string zone;
  bool alpha = false;                           // `apiVersion: v2alpha1`, for what only that has
  Value node;                                   // fields of Node, without metadata
  std::map<std::string, std::string> metadata;  // without what `runtime` becomes
  RuntimeKeys runtime;
  std::vector<std::string> comments;  // a line each, below the pod's name
};

// "research:\n  acceleratorType: v3-32\n…", each line indented by `indent` blanks.
std::string WritePod(const PodDraft& draft, std::size_t indent);
// A spec with these pods; `project` and `zone` of all pods are left out when empty.
std::string WriteSpec(const std::string& project, const std::string& zone,
                      const std::vector<PodDraft>& drafts);

// One text as a YAML scalar: plain where no reader of YAML 1.1 or 1.2 takes it for anything but
// text, else a block of lines indented by `indent` blanks, else in double quotes.
std::string YamlScalar(std::string_view text, std::size_t indent);

// ---- YAML in the order in which it is written, with comments.
// All text is literal: a `${` in it is written as `$${`.

class YamlText {
 public:
  static constexpr std::size_t kStep = 2;  // blanks a level

  explicit YamlText(std::size_t indent = 0) : indent_(indent) {}
  // A line of its own; several lines stay several.
  void Comment(std::string_view text);
  void Blank() { out_ += "\n"; }
  // `value` may be anything; the members of maps come in the order of their names.
  void Member(std::string_view key, const Value& value);
  // A map of texts; nothing when there are none.
  void Members(std::string_view key, const std::map<std::string, std::string>& texts);
  // The members until End are those of this key.
  void Begin(std::string_view key);
  void End() { indent_ -= kStep; }
  const std::string& text() const { return out_; }

 private:
  void Line(const std::string& text);
  void Item(const Value& item);
  std::string Scalar(const Value& value) const;

  std::size_t indent_;
  std::string out_;
};

// ---- Where a long spec can be cut in two, so that both halves are read at once. Knows text, no
// YAML: whoever cuts must make sure that both halves are what the whole is.

// The offset of a line behind the middle of `text` that looks like the key of a pod: below a
// `pods:` that stands at the beginning of a line, and indented as the first pod is. nullopt: there
// is none.
std::optional<std::size_t> FindPodsCut(std::string_view text);

}  // namespace podctl
