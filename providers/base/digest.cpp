#include "providers/base/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "providers/base/encoding.h"
#include "providers/base/error.h"

namespace podctl {
namespace {

using Digest = std::array<unsigned char, EVP_MAX_MD_SIZE>;

std::string Bytes(const Digest& digest, unsigned size) {
  return {reinterpret_cast<const char*>(digest.data()), size};
}

std::string Hmac(const EVP_MD* kind, std::string_view key, std::string_view text) {
  Digest digest{};
  unsigned size = 0;
  // An empty view may have no address, which HMAC would take as "the key of the call before".
  const char* key_bytes = key.empty() ? "" : key.data();
  PODCTL_CHECK(HMAC(kind, key_bytes, static_cast<int>(key.size()),
                    reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(),
                    &size) != nullptr);
  return Bytes(digest, size);
}

}  // namespace

std::string Sha256Bytes(std::string_view text) {
  Digest digest{};
  unsigned size = 0;
  PODCTL_CHECK(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) ==
               1);
  return Bytes(digest, size);
}

std::string Md5Bytes(std::string_view text) {
  Digest digest{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_md5(), nullptr) != 1)
    return "";
  return Bytes(digest, size);
}

std::string Sha256Hex(std::string_view text) {
  return Hex(Sha256Bytes(text));
}

void Sha256::Free::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  PODCTL_CHECK(context_ != nullptr);
  PODCTL_CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}

void Sha256::Add(std::string_view text) {
  PODCTL_CHECK(EVP_DigestUpdate(context_.get(), text.data(), text.size()) == 1);
}

std::string Sha256::Hex() && {
  Digest digest{};
  unsigned size = 0;
  PODCTL_CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1);
  return podctl::Hex(Bytes(digest, size));
}

std::string HmacSha256(std::string_view key, std::string_view text) {
  return Hmac(EVP_sha256(), key, text);
}

std::string HmacSha256Hex(std::string_view key, std::string_view text) {
  return Hex(HmacSha256(key, text));
}

std::string HmacSha1(std::string_view key, std::string_view text) {
  return Hmac(EVP_sha1(), key, text);
}

std::uint32_t Crc32c(std::string_view text) {
  constexpr std::uint32_t kReversedPolynomial = 0x82F63B78;
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kReversedPolynomial : 0);
  }
  return ~crc;
}

}  // namespace podctl
