// A service account's key: tokens that it signs itself (RFC 7523), or has exchanged.
#pragma once

#include <memory>

#include "providers/gcp/credentials/credential_file.h"

namespace podctl::gcp {

// For the Cloud TPU API a JWT is signed for that API alone and sent as it is, without a question to
// anybody (AIP-4111). When the API refuses one, and for all other uses, a JWT is exchanged for an
// access token at the file's `token_uri`.
Result<std::unique_ptr<TokenSource>> MakeServiceAccount(const CredentialDoors& doors,
                                                        const Fields& fields, TokenUse use);

}  // namespace podctl::gcp
