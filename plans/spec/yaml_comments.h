// Comments where YAML allows none: right behind a value, without a blank between them. yaml-cpp
// takes them for comments, every other reader refuses the file or reads something else.
#pragma once

#include <cstddef>
#include <string_view>

namespace podctl {

// `begin`: of an outermost [ ] or { }. Where a `#` stands right behind it, or right behind a
// bracket or comma in it; npos: nowhere. Quoted texts in it are passed over.
std::size_t CommentInFlow(std::string_view source, std::size_t begin);

// `begin`: of a | or >. Likewise for the `#` of ">#".
std::size_t CommentAtBlock(std::string_view source, std::size_t begin);

}  // namespace podctl
