// Where in a JSON text a value stands, for who has to say what is wrong with it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace podctl::emulator {

struct TextPlace {
  int line = 1;
  int column = 1;  // in bytes
};

TextPlace PlaceOfByte(std::string_view text, std::size_t byte);

// Of the value under the keys and list indexes; where one is not there, of the value above it. The
// text must be valid JSON.
TextPlace PlaceInJson(std::string_view text, const std::vector<std::string>& path);

}  // namespace podctl::emulator
