// Addresses as tests write them.
#pragma once

#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "state/address.h"

namespace podctl {

inline bool operator==(const Address& address, std::string_view text) {
  return address.Text() == text;
}
inline std::string operator+(const std::string& text, const Address& address) {
  return text + address.Text();
}
inline std::ostream& operator<<(std::ostream& out, const Address& address) {
  return out << address.Text();
}

// The address that `text` is.
inline Address Addr(const std::string& text) {
  auto address = ParseAddress(text);
  if (!address) throw std::invalid_argument(text + " is no address");
  return *address;
}

}  // namespace podctl
