#include "providers/gcp/credentials/crypto.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>

#include <algorithm>
#include <array>
#include <memory>

namespace podctl::gcp {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Error NotAKey(const char* why) {
  ERR_clear_error();  // OpenSSL's own words may quote the key
  return MakeError(ErrorCode::kInvalidArgument, why);
}

// OpenSSL would ask the terminal for a key's password.
int NoPassword(char*, int, int, void*) {
  return 0;
}

std::string Encode(std::string_view bytes, std::string_view alphabet, bool padded) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    unsigned group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      if (k <= count) {
        text += alphabet[group >> (18 - 6 * k) & 63U];
      } else if (padded) {
        text += '=';
      }
    }
  }
  return text;
}

}  // namespace

Result<std::string> SignRs256(const std::string& private_key, std::string_view text) {
  std::unique_ptr<BIO, Free> bio(
      BIO_new_mem_buf(private_key.data(), static_cast<int>(private_key.size())));
  std::unique_ptr<EVP_PKEY, Free> key(
      bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, &NoPassword, nullptr) : nullptr);
  if (!key) return NotAKey("it is not a private key in PEM");
  if (EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_RSA) return NotAKey("it is not an RSA key");
  std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  std::size_t size = 0;
  if (!context ||
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, Bytes(text), text.size()) != 1) {
    return NotAKey("it cannot sign");
  }
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     Bytes(text), text.size()) != 1) {
    return NotAKey("it cannot sign");
  }
  signature.resize(size);
  return signature;
}

std::string Sha256Bytes(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  PODCTL_CHECK(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) ==
               1);
  return {reinterpret_cast<const char*>(digest.data()), size};
}

std::string HmacSha256(std::string_view key, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  PODCTL_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), Bytes(text),
                    text.size(), digest.data(), &size) != nullptr);
  return {reinterpret_cast<const char*>(digest.data()), size};
}

std::string Hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15U];
  }
  return text;
}

std::string Base64(std::string_view bytes) {
  return Encode(bytes, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", true);
}

std::string Base64Url(std::string_view bytes) {
  return Encode(bytes, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", false);
}

}  // namespace podctl::gcp
