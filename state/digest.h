// SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104): the only place above providers/ssh that
// includes OpenSSL. Knows nothing of states or files. Pure and thread safe; out of memory aborts.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "providers/os/clock.h"

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace podctl {

// 64 lower-case hex digits.
std::string Sha256Hex(std::string_view text);

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

// The bytes of `key` are the key as they stand (a key written in hex is not decoded first), so that
// State::digest_key can be given as it is. 64 lower-case hex digits.
std::string HmacSha256Hex(std::string_view key, std::string_view text);

// A fresh key for State::digest_key: 64 hex digits that hold 244 random bits.
std::string NewDigestKey(Random& random);

}  // namespace podctl
