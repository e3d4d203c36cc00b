#include "state/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>

#include "providers/base/error.h"

namespace podctl {
namespace {

constexpr std::size_t kSha256Bytes = 32;
using Digest = std::array<unsigned char, EVP_MAX_MD_SIZE>;

std::string Hex(const Digest& digest) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * kSha256Bytes);
  for (std::size_t i = 0; i < kSha256Bytes; ++i) {
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 0xF];
  }
  return text;
}

}  // namespace

std::string Sha256Hex(std::string_view text) {
  Digest digest{};
  unsigned size = 0;
  PODCTL_CHECK(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) ==
               1);
  PODCTL_CHECK(size == kSha256Bytes);
  return Hex(digest);
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
  PODCTL_CHECK(size == kSha256Bytes);
  return podctl::Hex(digest);
}

std::string HmacSha256Hex(std::string_view key, std::string_view text) {
  Digest digest{};
  unsigned size = 0;
  // An empty view may have no address, which HMAC would take as "the key of the call before".
  const char* key_bytes = key.empty() ? "" : key.data();
  PODCTL_CHECK(HMAC(EVP_sha256(), key_bytes, static_cast<int>(key.size()),
                    reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(),
                    &size) != nullptr);
  PODCTL_CHECK(size == kSha256Bytes);
  return Hex(digest);
}

std::string NewDigestKey(Random& random) {
  std::string key = random.Uuid() + random.Uuid();
  key.erase(std::remove(key.begin(), key.end(), '-'), key.end());
  return key;
}

}  // namespace podctl
