// Colours of the terminal (ECMA-48), or nothing.
#pragma once

#include <string>
#include <string_view>

namespace podctl {

enum class Ink { kBold, kDim, kRed, kGreen, kYellow, kCyan };

class Paint {
 public:
  explicit Paint(bool color) : color_(color) {}
  std::string operator()(Ink ink, std::string_view text) const {
    if (!color_) return std::string(text);
    constexpr std::string_view kCodes[] = {"1", "2", "31", "32", "33", "36"};
    return "\x1b[" + std::string(kCodes[static_cast<int>(ink)]) + "m" + std::string(text) +
           "\x1b[0m";
  }

 private:
  bool color_;
};

}  // namespace podctl
