// YAML text as a row of events, each with its place. The only room that includes libyaml.
//
// Knows nothing of trees or specs. The text must be valid UTF-8 without a byte order mark; offsets
// are bytes in it. Not thread safe.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace podctl {

struct YamlEvent {
  enum class Kind { kDocument, kAlias, kScalar, kListStart, kMapStart, kEnd, kStreamEnd };
  Kind kind = Kind::kStreamEnd;  // kEnd: of the innermost list or map
  std::size_t offset = 0;        // of its first byte, anchor and tag included
  std::string anchor;            // of what is named; for kAlias the name it refers to
  std::string tag;               // "tag:yaml.org,2002:str"; empty: none is written
  std::string text;              // of a scalar
  bool plain_style = false;      // a scalar without quotes, | or >
};

// Why a text is no YAML, in libyaml's words.
struct YamlError {
  std::string problem;                        // "did not find expected key"
  std::size_t offset = 0;                     // where
  std::string context;                        // "while parsing a block mapping"; may be empty
  std::optional<std::size_t> context_offset;  // where that began
};

class YamlEvents {
 public:
  explicit YamlEvents(std::string_view text);  // `text` must outlive this
  ~YamlEvents();
  YamlEvents(const YamlEvents&) = delete;
  YamlEvents& operator=(const YamlEvents&) = delete;

  // The next event; after kStreamEnd none may be asked for. nullopt: error() says why.
  std::optional<YamlEvent> Next();
  const YamlError& error() const { return error_; }

 private:
  struct Parser;

  // libyaml counts characters.
  std::size_t ByteOf(std::size_t character) const;
  void TakeError();

  const std::string_view text_;
  std::vector<std::size_t> steps_;  // the byte of every kStep-th character; empty: all are ASCII
  std::unique_ptr<Parser> parser_;
  YamlError error_;
};

}  // namespace podctl
