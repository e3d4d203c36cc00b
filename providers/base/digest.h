// SHA-256 (FIPS 180-4), HMAC (RFC 2104), MD5 (RFC 1321) and CRC-32C (RFC 3720). Pure and thread
// safe; out of memory aborts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace podctl {

std::string Sha256Bytes(std::string_view text);  // 32 of them
std::string Sha256Hex(std::string_view text);    // 64 lower-case digits

// The same for a text that comes in pieces.
class Sha256 {
 public:
  Sha256();
  void Add(std::string_view text);
  std::string Hex() &&;

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

std::string HmacSha256(std::string_view key, std::string_view text);  // bytes
// The bytes of `key` are the key as they stand: a key written in hex is not decoded first.
std::string HmacSha256Hex(std::string_view key, std::string_view text);
// Of what others have hashed so, such as known_hosts; for nothing new.
std::string HmacSha1(std::string_view key, std::string_view text);  // bytes

// Both tell what was damaged on its way, and nothing more.
std::string Md5Bytes(std::string_view text);  // 16 of them; none where the system forbids MD5
std::uint32_t Crc32c(std::string_view text);

}  // namespace podctl
