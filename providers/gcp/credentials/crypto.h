// The signatures that credentials are made of: RS256 (RFC 7518, 3.3) and HMAC-SHA256, and their
// encodings. The only part of this room that includes OpenSSL.
#pragma once

#include <string>
#include <string_view>

#include "providers/base/error.h"

namespace podctl::gcp {

// RSASSA-PKCS1-v1_5 with SHA-256 by a private key in PEM, PKCS #8 or #1. kInvalidArgument when the
// text is not such a key; the message does not hold it.
Result<std::string> SignRs256(const std::string& private_key, std::string_view text);

std::string Sha256Bytes(std::string_view text);
std::string HmacSha256(std::string_view key, std::string_view text);

std::string Hex(std::string_view bytes);        // lower case
std::string Base64(std::string_view bytes);     // RFC 4648, 4, with padding
std::string Base64Url(std::string_view bytes);  // RFC 4648, 5, without

}  // namespace podctl::gcp
