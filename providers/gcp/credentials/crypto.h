// The signature that credentials are made of, RS256 (RFC 7518, 3.3). The only part of this room
// that includes OpenSSL.
#pragma once

#include <string>
#include <string_view>

#include "providers/base/error.h"

namespace podctl::gcp {

// RSASSA-PKCS1-v1_5 with SHA-256 by a private key in PEM, PKCS #8 or #1. kInvalidArgument when the
// text is not such a key; the message does not hold it.
Result<std::string> SignRs256(const std::string& private_key, std::string_view text);

}  // namespace podctl::gcp
