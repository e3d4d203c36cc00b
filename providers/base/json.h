// JSON text to Value and back: the only room that includes simdjson, which reads, and
// nlohmann_json, which reads what simdjson refuses, to tell why, and writes (RFC 8259).
#pragma once

#include <string>
#include <string_view>

#include "providers/base/error.h"
#include "providers/base/value.h"

namespace podctl {

// Strict JSON. Refused with kInvalidArgument: anything but one whole document, nesting deeper than
// 200, a duplicate key, invalid UTF-8. Integers beyond int64 are read as doubles. The message holds
// the byte offset, never the text itself (it may be a secret).
//
// `readable`: how many bytes may be read from the text's first one on, such as a string's capacity.
// Where they are some more than the text, the parser works in them and needs no copy of its own.
Result<Value> ParseJson(std::string_view text, std::size_t readable = 0);

enum class JsonStyle { kCompact, kIndented };  // kIndented: two blanks a level, as terraform does

// Keys sorted, no trailing newline. Invalid UTF-8 in a string is written as U+FFFD.
std::string ToJson(const Value& value, JsonStyle style = JsonStyle::kCompact);

// For who writes a large document piece by piece: append the compact text of a value, or of a
// string with its quotes.
void AppendJson(const Value& value, std::string* out);
void AppendJsonText(std::string_view text, std::string* out);

// Compact JSON, which must be valid, laid out in the indented style; `depth` is how deep in a
// document it stands (the first line is not indented).
void AppendIndentedJson(std::string_view compact, int depth, std::string* out);
// The reverse: JSON without the white space between its tokens.
std::string WithoutLayout(std::string_view text);

// For a line that people read: of a text of several lines the first, and how many there are.
std::string ShortJson(const Value& value);

}  // namespace podctl
