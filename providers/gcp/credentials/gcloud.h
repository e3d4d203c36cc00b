// The login of the program gcloud (`gcloud auth login`), asked of gcloud itself.
#pragma once

#include <memory>

#include "providers/gcp/credentials/token_source.h"

namespace podctl::gcp {

// Starting gcloud takes a second; nothing is started before a token is wanted. Its token comes with
// its expiry, and is renewed by gcloud when less than five minutes are left.
std::unique_ptr<TokenSource> MakeGcloud(const CredentialDoors& doors);

}  // namespace podctl::gcp
