#include "providers/ssh/wire.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include <vector>

namespace podctl::ssh {

std::string_view WireReader::Bytes(std::size_t count) {
  if (!ok_ || rest_.size() < count) {
    ok_ = false;
    return {};
  }
  const std::string_view bytes = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return bytes;
}

std::uint8_t WireReader::Byte() {
  const std::string_view bytes = Bytes(1);
  return bytes.empty() ? 0 : static_cast<std::uint8_t>(bytes[0]);
}

std::uint32_t WireReader::Number() {
  const std::string_view bytes = Bytes(4);
  std::uint32_t number = 0;
  for (const char c : bytes) number = number << 8 | static_cast<std::uint8_t>(c);
  return number;
}

std::string_view WireReader::String() {
  return Bytes(Number());
}

void AppendNumber(std::string& out, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(number >> shift));
}

void AppendString(std::string& out, std::string_view bytes) {
  AppendNumber(out, static_cast<std::uint32_t>(bytes.size()));
  out.append(bytes);
}

void AppendMpint(std::string& out, std::string_view big_endian) {
  while (!big_endian.empty() && big_endian.front() == '\0') big_endian.remove_prefix(1);
  const bool pad = !big_endian.empty() && (big_endian.front() & 0x80) != 0;
  AppendNumber(out, static_cast<std::uint32_t>(big_endian.size() + (pad ? 1 : 0)));
  if (pad) out.push_back('\0');
  out.append(big_endian);
}

std::string Base64Encode(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // EVP_EncodeBlock adds a zero byte
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

std::optional<std::string> Base64Decode(std::string_view text) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve(text.size() / 4 * 3 + 3);  // no growing: the bytes may be secret
  std::uint32_t bits = 0;
  int count = 0;
  int padding = 0;
  for (const char c : text) {
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos || padding > 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    if (++count % 4 == 0) {
      for (int shift = 16; shift >= 0; shift -= 8) out.push_back(static_cast<char>(bits >> shift));
      bits = 0;
    }
  }
  const int left = count % 4;
  if (left == 1 || padding > 2) return std::nullopt;
  if (left >= 2) out.push_back(static_cast<char>(bits >> (left == 2 ? 4 : 10)));
  if (left == 3) out.push_back(static_cast<char>(bits >> 2));
  return out;
}

std::string Fingerprint(std::string_view blob) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(blob.data()), blob.size(), digest);
  std::string text =
      Base64Encode(std::string_view(reinterpret_cast<const char*>(digest), sizeof(digest)));
  while (!text.empty() && text.back() == '=') text.pop_back();
  return "SHA256:" + text;
}

Secret::Secret(Secret&& other) noexcept : bytes_(std::move(other.bytes_)) {
  other.Wipe();
}

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this != &other) {
    Wipe();
    bytes_ = std::move(other.bytes_);
    other.Wipe();
  }
  return *this;
}

void Secret::Wipe() {
  OPENSSL_cleanse(bytes_.data(), bytes_.size());
  bytes_.clear();
}

}  // namespace podctl::ssh
