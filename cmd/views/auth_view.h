// Which credentials are in use, as text and as a document. Never a token: it is given none.
#pragma once

#include <string>

#include "providers/base/value.h"
#include "providers/gcp/credentials/credentials.h"
#include "providers/os/clock.h"

namespace podctl {

struct AuthReport {
  gcp::CredentialStatus status;
  std::string endpoint;
  bool on_loopback = false;  // the endpoint: it needs no token
  Clock::SystemTime now;
};

// Whether requests can be sent as they are: with a token, or to where none is needed.
bool IsUsable(const AuthReport& report);
// Ends with the places that were looked at, in their order. Why there is no token is not in it.
std::string AuthText(const AuthReport& report);
Value AuthDocument(const AuthReport& report);

}  // namespace podctl
