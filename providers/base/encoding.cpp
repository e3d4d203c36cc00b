#include "providers/base/encoding.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>

namespace podctl {
namespace {

unsigned char* Bytes(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

}  // namespace

std::string Hex(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

std::string Base64Encode(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '\0');
  EVP_EncodeBlock(Bytes(text), reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
  return text;
}

std::string Base64Url(std::string_view bytes) {
  std::string text = Base64Encode(bytes);
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  std::erase(text, '=');
  return text;
}

std::optional<std::string> Base64Decode(std::string_view text) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr std::string_view kBlanks = " \t\r\n";
  std::string digits;
  digits.reserve(text.size() + 3);  // no growing: the bytes may be secret
  for (const char c : text) {
    if (kBlanks.find(c) == std::string_view::npos) digits += c;
  }
  const std::size_t count = std::min(digits.find_first_not_of(kAlphabet), digits.size());
  const std::size_t padding = digits.size() - count;
  if (digits.find_first_not_of('=', count) != std::string::npos || padding > 2 || count % 4 == 1) {
    return std::nullopt;
  }
  digits.resize(count);
  digits.append((4 - count % 4) % 4, 'A');
  std::string bytes(digits.size() / 4 * 3, '\0');
  EVP_DecodeBlock(Bytes(bytes), Bytes(digits), static_cast<int>(digits.size()));
  OPENSSL_cleanse(digits.data(), digits.size());
  bytes.resize(count * 3 / 4);
  return bytes;
}

}  // namespace podctl
