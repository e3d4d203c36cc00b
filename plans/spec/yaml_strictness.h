// What yaml-cpp takes and every other reader of YAML refuses, or reads as something else: a comment
// right behind a value, without a blank between them, and a key without its colon. Texts are views
// of the file, places are bytes in it; npos: nowhere. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "plans/spec/source_file.h"

namespace podctl {

// `begin`: of a quote. The byte behind the one that closes it; npos: none does, where yaml-cpp
// takes the end of the file for one.
std::size_t BehindQuoted(std::string_view source, std::size_t begin);

// `begin`: of an outermost [ ] or { }. Where a `#` stands right behind it, or right behind a
// bracket or comma in it. Quoted texts in it are passed over.
std::size_t CommentInFlow(std::string_view source, std::size_t begin);

// `begin`: of a | or >. Likewise for the `#` of ">#".
std::size_t CommentAtBlock(std::string_view source, std::size_t begin);

// Whether no `:` stands behind the key of a block's map at byte `key`, `length` bytes long, which
// has no value. yaml-cpp takes the last line of a block for such a key: `spot` for `spot:`.
bool LacksColon(std::string_view source, std::size_t key, std::size_t length);

// Whether nothing stands in the line but blanks and a comment.
bool IsBlankOrComment(std::string_view line);

// ---- What people usually did where yaml-cpp says that a text is no YAML. Pure.

// A hint for what yaml-cpp says (`message`) of the byte at `offset`; "" when there is no usual one.
std::string UsualCause(const SourceFile& file, std::size_t offset, std::string_view message);

}  // namespace podctl
