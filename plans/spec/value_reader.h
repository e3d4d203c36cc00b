// Turns YAML nodes into typed values, with variables and the environment put in, and reports what
// does not fit with its place. Knows no keys: which value is wanted where is its callers' business.
//
// Every Read… returns nullopt after having reported why. Not thread safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plans/spec/other_states.h"
#include "plans/spec/problems.h"
#include "plans/spec/references.h"
#include "plans/spec/shape.h"
#include "plans/spec/yaml_tree.h"
#include "providers/os/environment.h"
#include "providers/os/withheld_files.h"
#include "state/address.h"

namespace podctl {

// Where a value stands: `key` in the map `context`, both as the user would say them.
struct Slot {
  std::string context;  // "pods.research"
  std::string key;      // "networkConfig"

  std::string Path() const { return context.empty() ? key : context + "." + key; }
  Slot Below(std::string_view child) const { return {Path(), std::string(child)}; }
};

struct Variable {
  std::optional<std::string> value;  // nullopt: none was given, which has been reported
  bool sensitive = false;
};
using Variables = std::map<std::string, Variable>;

// What a text may hold besides variables and environment.
struct TextRules {
  bool pods = false;     // references to pods; then the result is template text (references.h)
  bool things = false;   // references to what else there is of kinds before; likewise
  bool secrets = false;  // sensitive variables
  ReferenceUse use = ReferenceUse::kText;  // of what others wrote
};

struct TextValue {
  std::string text;
  bool sensitive = false;  // it holds a sensitive variable
};

// A reference to a declared thing, found while reading.
struct FoundReference {
  Address to;
  std::string path;  // empty: the thing as a whole
  Diagnostic at;     // its place, for what there may be to say about it
  // Of lifecycle.replaceTriggeredBy: its value is put in no text, and it may name a step.
  bool trigger = false;
  std::string step = {};
};
// What is wrong with one.
struct ReferenceProblem {
  std::string summary;
  std::string suggestion;
};

// What speaks against a spec's reading the environment variable `name`; "": nothing. What podctl
// logs in with is for nobody's node, log or plan.
std::string WhyNotReadable(const std::string& name, bool is_set);

class ValueReader {
 public:
  // `targets`: the kinds that can be referred to.
  // `withheld`: lent; null where what is read names no files.
  ValueReader(const Variables& variables, const Environment& environment, Problems& problems,
              std::vector<std::string> targets = {"pod"}, const WithheldFiles* withheld = nullptr)
      : variables_(variables),
        environment_(environment),
        problems_(problems),
        targets_(std::move(targets)),
        withheld_(withheld) {}

  // From now on a text that may refer to pods may refer to outputs of these states, too. `outputs`
  // is lent; null: they are not known yet, and such a reference stays as it is written.
  void UseStates(std::set<std::string> names, const OtherOutputs* outputs) {
    states_ = std::move(names);
    other_outputs_ = outputs;
  }

  void Error(const YamlNode& at, const Slot& slot, std::string summary, std::string suggestion = {},
             std::string detail = {});
  void Warn(const YamlNode& at, const Slot& slot, std::string summary, std::string suggestion = {},
            std::string detail = {});
  // Two things that do not go together, or one that is there twice.
  void Conflict(const YamlNode& at, const Slot& slot, std::string summary, const YamlNode& other,
                std::string note);
  // Unknown key, with the nearest of `known`, or all of them when there are few.
  void UnknownKey(const YamlNode& key, const std::string& context,
                  const std::vector<std::string>& known);
  // What the table says of a key of a map at `context`; nullptr: it is unknown, which is reported.
  const Key* KnownKey(const YamlNode& key, const std::string& context, const Shape& map);

  std::optional<TextValue> ReadText(const YamlNode& node, const Slot& slot, TextRules rules);
  // Plain text: no pods, no secrets.
  std::optional<std::string> ReadPlain(const YamlNode& node, const Slot& slot);
  std::optional<bool> ReadBool(const YamlNode& node, const Slot& slot);
  std::optional<std::int64_t> ReadInt(const YamlNode& node, const Slot& slot, std::int64_t min,
                                      std::int64_t max);
  std::optional<std::int64_t> ReadInt(const YamlNode& node, const Slot& slot, const Shape& shape) {
    return ReadInt(node, slot, shape.min, shape.max);
  }
  std::optional<std::chrono::milliseconds> ReadDuration(const YamlNode& node, const Slot& slot);
  // A map, by what reads the value of each key of its table; other keys are reported. False after a
  // report that it is none.
  using KeyReader = std::function<void(const YamlNode& value, const Slot& slot)>;
  bool ReadMap(const YamlNode& node, const Slot& slot, const Shape& map,
               const std::vector<std::pair<std::string, KeyReader>>& readers);
  // One of `words`, with the nearest as a suggestion.
  std::optional<std::string> ReadWord(const YamlNode& node, const Slot& slot,
                                      const std::vector<std::string>& words);
  std::optional<std::string> ReadWord(const YamlNode& node, const Slot& slot, const Shape& shape) {
    return ReadWord(node, slot, shape.words);
  }
  bool ExpectMap(const YamlNode& node, const Slot& slot);
  bool ExpectList(const YamlNode& node, const Slot& slot);

  // Of a reference, at its place.
  void Report(const FoundReference& reference, std::string summary, std::string suggestion);
  // One that stands in no text.
  void AddReference(FoundReference reference) { added_.push_back(std::move(reference)); }
  // References found since the last call: those that were added, then those in texts.
  std::vector<FoundReference> TakeReferences();

  // Enough problems have been found: what costs time to explain need not be.
  bool has_enough() const { return problems_.is_full(); }
  const Environment& environment() const { return environment_; }
  const WithheldFiles& withheld() const;
  // While set, source lines are left out of what is reported: they may show a secret.
  void HideSource(bool hide) { hide_source_ = hide; }

 private:
  // An expression where it stands.
  struct Expression {
    const TemplatePart& part;
    const YamlNode& node;
    const SourcePlace place;
    const Slot& slot;
    const TextRules rules;
  };
  void Report(Severity severity, const YamlNode& at, const SourcePlace& place, const Slot& slot,
              std::string summary, std::string suggestion, std::string detail);
  std::nullopt_t Refuse(const Expression& expression, std::string summary, std::string suggestion);
  // nullopt after a report.
  std::optional<std::string> ValueOf(const Expression& expression, bool& sensitive);
  std::optional<std::string> ReferenceIn(const Expression& expression);
  std::optional<std::string> OtherOutputIn(const Expression& expression);
  std::optional<std::string> VariableIn(const Expression& expression, bool& sensitive);

  const Variables& variables_;
  const Environment& environment_;
  Problems& problems_;
  const std::vector<std::string> targets_;
  const WithheldFiles* const withheld_;
  std::set<std::string> states_;
  const OtherOutputs* other_outputs_ = nullptr;
  std::vector<FoundReference> added_;
  std::vector<FoundReference> references_;
  bool hide_source_ = false;
};

// "did you mean `zone`?", of the nearest of `known`; "": none is near.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& known);

// "a map", "a list", "nothing", "`text`".
std::string FoundWords(const YamlNode& node);

}  // namespace podctl
