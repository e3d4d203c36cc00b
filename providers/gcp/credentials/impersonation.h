// Tokens in the name of a service account, which IAM gives to who may act as it
// (iamcredentials.googleapis.com, generateAccessToken).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "providers/gcp/credentials/credential_file.h"

namespace podctl::gcp {

struct Impersonation {
  std::string url;  // …/serviceAccounts/E-MAIL:generateAccessToken
  std::vector<std::string> delegates;
  std::int64_t lifetime = 3600;  // seconds
  std::string where;             // for messages

  std::string Account() const;  // the e-mail in the URL, or ""
  // With the token of who may act as the account.
  Result<AccessToken> Fetch(const CredentialDoors& doors, const Secret& base,
                            const std::stop_token& stop) const;
};

// `impersonated_service_account`: its `source_credentials` are of any type.
Result<std::unique_ptr<TokenSource>> MakeImpersonatedAccount(const CredentialDoors& doors,
                                                             const Fields& fields, int depth);

}  // namespace podctl::gcp
