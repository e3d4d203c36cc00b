// Logins of people: a refresh token that is exchanged for access tokens (RFC 6749, 6).
#pragma once

#include <memory>

#include "providers/gcp/credentials/credential_file.h"

namespace podctl::gcp {

// `authorized_user`, as `gcloud auth application-default login` writes it. The file's `token_uri`
// is honoured.
Result<std::unique_ptr<TokenSource>> MakeAuthorizedUser(const CredentialDoors& doors,
                                                        const Fields& fields);

// `external_account_authorized_user`: a login by workforce identity federation. A refresh token
// that the server replaces is kept for this run; the file is left as it is.
Result<std::unique_ptr<TokenSource>> MakeExternalUser(const CredentialDoors& doors,
                                                      const Fields& fields);

}  // namespace podctl::gcp
