// YAML text as a tree whose every node knows its place. The only room that includes yaml-cpp.
//
// Knows nothing of specs: no types, no known keys. A scalar keeps its text and whether it was
// plain, so that the reader decides by what it wants (`no` is text where text is wanted).
//
// Aliases share the node they name; merge keys (`<<`, yaml.org/type/merge.html) are carried out. A
// text that would blow up (size, nesting, aliases of aliases) is refused by limits, and so is what
// is no UTF-8 text; nothing here recurses deeper than the limit on nesting.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plans/spec/source_file.h"
#include "providers/base/diagnostic.h"

namespace podctl {

struct YamlNode;
using YamlNodePtr = std::shared_ptr<const YamlNode>;

struct YamlEntry {
  YamlNodePtr key;  // always a scalar
  YamlNodePtr value;
};

struct YamlNode {
  enum class Kind { kNull, kScalar, kMap, kList };
  Kind kind = Kind::kNull;
  bool plain = false;              // a scalar without quotes
  bool block = false;              // a scalar after | or >
  std::string text;                // of a scalar
  std::vector<YamlEntry> entries;  // of a map, in the order of the file, keys unique
  std::vector<YamlNodePtr> items;  // of a list

  const SourceFile* file = nullptr;  // must outlive the node
  std::size_t offset = 0;            // byte in the file
  std::size_t length = 1;            // bytes to underline

  std::size_t size = 1;    // nodes in this subtree, aliases counted as often as they are used
  std::size_t height = 1;  // levels of this subtree

  bool is_map() const { return kind == Kind::kMap; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_null() const { return kind == Kind::kNull; }
  const YamlEntry* Find(std::string_view key) const;  // nullptr when absent
  SourcePlace Place() const { return file->PlaceAt(offset, length); }
};

struct YamlLimits {
  std::size_t max_bytes = 4u << 20;
  std::size_t max_depth = 64;
  std::size_t max_values = 1'000'000;   // that stand in the text
  std::size_t max_aliased = 200'000;    // that aliases add to them, expanded
  std::size_t halves_from = 64u << 10;  // bytes of a text whose halves are read at once
};

// The document, or nullptr when it could not be read (a diagnostic says why) or is empty (no
// diagnostic). Duplicate keys are reported, and the first one counts.
YamlNodePtr ParseYaml(const SourceFile& file, Diagnostics& diagnostics,
                      const YamlLimits& limits = {});

}  // namespace podctl
