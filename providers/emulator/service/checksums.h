// Bytes as base64, and sums over them, as Google's services write them. Of another make than the
// client's. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace podctl::emulator {

// Of either alphabet, with or without padding, as protobuf's JSON takes it; nullopt: it is none.
std::optional<std::string> Base64Bytes(std::string_view text);
std::string Base64Text(std::string_view bytes);  // with padding

std::uint32_t Crc32cOf(std::string_view bytes);
// The same in base64 of its bytes, the highest first, as Cloud Storage writes it.
std::string Crc32cText(std::string_view bytes);
std::string Md5Text(std::string_view bytes);  // RFC 1321, in base64

}  // namespace podctl::emulator
