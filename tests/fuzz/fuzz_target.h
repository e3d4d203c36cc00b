// What a fuzz target is: one function that takes any bytes and aborts when a promise is broken.
//
// The same function is called by libFuzzer (preset `fuzz`, clang) and by driver.cpp, with which the
// suite runs the corpus and a fixed number of mutations of it. A target keeps nothing from one
// input to the next, contacts nobody, and reads no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "providers/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace podctl::fuzz {

inline std::string_view TextOf(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Aborts, saying `promise` and showing `text` in JSON form, unless `kept`.
void Expect(bool kept, std::string_view promise, std::string_view text = {});

// For texts that reach a terminal: no control characters. kOneLine, a message, is also no longer
// than a person would read; kLines may be longer and have newlines.
enum class Shape { kOneLine, kLines };
void ExpectShowable(std::string_view text, Shape shape = Shape::kOneLine);
void ExpectShowable(const Error& error);

}  // namespace podctl::fuzz
