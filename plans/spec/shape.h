// What a value of a spec may look like: the tables from which readers know their keys, words and
// limits, and of which the schema for editors is made (schema.h). Knows neither YAML nor JSON, and
// nothing of what values mean together: that is told by who reads them.
//
// A shape is a plain value. Those of a kind stand in its room, made once (a function with a
// static).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace podctl {

// Which expressions a text may hold.
enum class Expressions {
  kNone,    // `${` is an error
  kInputs,  // variables and the environment
  kThings,  // references to other things, and outputs of other states, too
};

// What a whole text, or the name of an entry, has to be.
struct Pattern {
  std::string_view regex;  // ECMA-262 and Python alike, without ^ and $
  std::string_view words;  // for people: "letters, digits, - and _"
  // What else than a text may be one as it stands in YAML, of "integer", "number", "boolean".
  std::string_view scalars = {};
};

struct Key;

struct Shape {
  enum class Form {
    kText,    // a scalar, as it stands
    kBool,    // true or false
    kNumber,  // a whole one, from `min` to `max`
    kReal,    // from `min`
    kWord,    // one of `words`
    kMap,     // of `keys`; where there are none, of any names, each like `of`
    kList,    // of any number of items, each like `of`
    kEither,  // like one of `of`
    kNull,    // nothing
  };
  Form form = Form::kText;
  std::string name;  // in the schema, of what is used more than once or is large; empty: none
  Expressions expressions = Expressions::kInputs;  // of what is no map or list
  // Of a text without expressions, or of the names of a map; empty: any.
  std::string regex;
  std::string regex_words;
  std::string scalars;                // with `regex`: of Pattern
  std::vector<std::string> words;     // of kWord
  std::vector<std::string> examples;  // values that are known, where others may come
  std::int64_t min = 0;               // of kNumber, and of a number in a text's place
  std::int64_t max = 0;
  std::size_t least = 0;  // characters of a text, items, entries
  std::size_t most = 0;   // 0: any number
  std::vector<Key> keys;
  std::vector<Shape> of;
  // Of a map: keys that exclude each other, and keys of which one has to be there.
  std::vector<std::pair<std::string, std::string>> exclusive;
  std::vector<std::string> needs_one_of;

  // The key of that name; nullptr: there is none.
  const Key* Find(std::string_view key) const;
  // What is below a key that the table has.
  const Shape& At(std::string_view key) const;
  std::vector<std::string> Names() const;

  // The same with one thing more.
  Shape Named(std::string_view schema_name) const;
  Shape Like(const Pattern& pattern) const;
  Shape Between(std::int64_t fewest, std::int64_t greatest) const;  // a number in its place
  Shape With(Expressions expressions_allowed) const;
  Shape Such(std::vector<std::string> as) const;
  Shape Within(std::size_t fewest, std::size_t greatest) const;
  Shape NotBoth(std::string_view first, std::string_view second) const;
  Shape NeedsOneOf(std::vector<std::string> names) const;
};

// A key of a map.
struct Key {
  std::string name;
  std::string doc;  // sentences, for people
  Shape shape;
  bool required = false;
};

// ---- Ways to write one down.

namespace shape {

Shape Text();
Shape ThingText();  // that may refer to other things
Shape Bool();
Shape Number(std::int64_t min, std::int64_t max);
Shape Real();
Shape Duration();
Shape Workers();  // all, numbers and ranges
Shape Word(std::vector<std::string> words);
Shape Null();
Shape Map(std::vector<Key> keys);
// Entries of any names; `names` says which.
Shape MapOf(Shape value);
Shape MapOf(const Pattern& names, Shape value);
Shape ListOf(Shape item);
Shape Either(std::vector<Shape> choices);

Key Required(std::string name, std::string doc, Shape value);

}  // namespace shape

// ---- What texts and names have to be. Each says what a function decides for readers; a test holds
// the two together.

inline constexpr Pattern kThingNamePattern{"[A-Za-z0-9_][A-Za-z0-9_-]{0,62}",
                                           "letters, digits, - and _"};
inline constexpr Pattern kEnvironmentNamePattern{"[A-Za-z_][A-Za-z0-9_]*", "letters, digits and _"};
inline constexpr Pattern kDurationPattern{"(?:(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:ms|s|m|h|d))+",
                                          "a duration, such as 90s, 10m or 1h30m"};
inline constexpr Pattern kProjectPattern{
    "[a-z0-9.:-]+", "a project id: lower-case letters, digits and -", "number boolean"};
inline constexpr Pattern kZonePattern{"[a-z]+(?:-[a-z]+)+[0-9]+-(?:ai[0-9])?[a-z]",
                                      "a zone, such as europe-west4-a"};
inline constexpr Pattern kNodeIdPattern{"(?!\\.{1,2}$)[A-Za-z0-9_.~+%-]+",
                                        "letters, digits and _ . ~ + % -", "number boolean"};
inline constexpr Pattern kUserNamePattern{"[A-Za-z0-9_.][A-Za-z0-9_.-]*",
                                          "letters, digits and - _ .", "number boolean"};
inline constexpr Pattern kFlagNamePattern{"(?:--)?[A-Za-z0-9_.][A-Za-z0-9_.-]*",
                                          "a flag, such as xla_jf_conv_full_precision"};
inline constexpr Pattern kWorkersPattern{
    "\\s*(?:!?(?:(?:\\[[0-9,\\s-]+\\]|[0-9]+)/)?(?:all|[0-9]+(?:-[0-9]+(?:/[0-9]+)?)?)|"
    "!?\\[[0-9,\\s-]+\\])"
    "(?:\\s*,\\s*(?:!?(?:(?:\\[[0-9,\\s-]+\\]|[0-9]+)/)?(?:all|[0-9]+(?:-[0-9]+(?:/[0-9]+)?)?)|"
    "!?\\[[0-9,\\s-]+\\]))*\\s*",
    "all, or numbers and ranges such as 0,2-3", "integer"};

}  // namespace podctl
