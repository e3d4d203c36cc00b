// Certificates by which those who were given the same one know each other.
#pragma once

#include <string>

#include "providers/base/error.h"

namespace podctl {

// A new one with its private key, in PEM: of an elliptic curve (P-256), signed by itself, valid at
// any time (RFC 5280 4.1.2.5), since clocks differ and its key lives as long as what it is for.
// Secret. kInternal.
Result<std::string> MakeCertificate();

}  // namespace podctl
