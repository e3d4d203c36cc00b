#include "providers/ssh/keys/wire.h"

#include <openssl/crypto.h>

#include "providers/base/digest.h"
#include "providers/base/encoding.h"

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

std::string Fingerprint(std::string_view blob) {
  std::string text = Base64Encode(Sha256Bytes(blob));
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
