// Workload and workforce identity federation: another party's token, exchanged at Google's security
// token service (RFC 8693), and where the file says so for one of a service account.
#pragma once

#include <memory>

#include "providers/gcp/credentials/credential_file.h"

namespace podctl::gcp {

Result<std::unique_ptr<TokenSource>> MakeExternalAccount(const CredentialDoors& doors,
                                                         const Fields& fields);

}  // namespace podctl::gcp
