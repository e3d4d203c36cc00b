#include "providers/base/openssl_version.h"

#include <openssl/crypto.h>

namespace podctl {

std::string OpenSslVersion() {
  return OpenSSL_version(OPENSSL_VERSION_STRING);
}

}  // namespace podctl
