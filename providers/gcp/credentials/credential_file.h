// Credential files: the JSON that gcloud, the console and CI systems write, and the source of
// tokens that each `type` stands for.
//
// Nothing is asked of anybody while a file is read. Errors name the file and the field, never a
// value.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "providers/base/value.h"
#include "providers/gcp/credentials/token_source.h"

namespace podctl::gcp {

// The fields of one object of a file, with words for what is wrong with them.
class Fields {
 public:
  // `where` begins the messages: the file's path, and which object in it.
  Fields(const Value& object, std::string where) : object_(object), where_(std::move(where)) {}

  const std::string& where() const { return where_; }
  const Value& operator[](std::string_view name) const { return object_[name]; }
  std::string Named(std::string_view name) const;  // "FILE: `name`", for messages

  // A text that must be there. kUnauthenticated when it is missing, empty or no text.
  Result<std::string> Text(std::string_view name) const;
  // Several of them, each put into its string.
  Result<void> Take(std::initializer_list<std::pair<std::string_view, std::string*>> texts) const;
  // One that need not be there: then `fallback`.
  std::string TextOr(std::string_view name, const std::string& fallback = {}) const;
  Error Wrong(std::string_view name, std::string_view what) const;

 private:
  Value object_;
  std::string where_;
};

// What the tokens are for.
enum class TokenUse {
  kTpuApi,     // where it is allowed, a token that only the Cloud TPU API takes
  kAnyGoogle,  // one that Google's other APIs take too
};

// kUnauthenticated for a type that is not known, or when a field is missing. `depth` counts the
// files within files (impersonated_service_account).
Result<TokenSource> MakeTokenSource(const CredentialDoors& doors, const Fields& fields,
                                    TokenUse use, int depth = 0);

// Reads `path` and makes its source.
Result<TokenSource> ReadCredentialFile(const CredentialDoors& doors, const std::string& path);

// ---- One for each type.

// A service account's key: tokens that it signs itself (RFC 7523), or has exchanged. For the Cloud
// TPU API a JWT is signed for that API alone and sent as it is, without a question to anybody
// (AIP-4111). When the API refuses one, and for all other uses, a JWT is exchanged for an access
// token at the file's `token_uri`.
Result<TokenSource> MakeServiceAccount(const CredentialDoors& doors, const Fields& fields,
                                       TokenUse use);

// Logins of people: a refresh token that is exchanged for access tokens (RFC 6749, 6).
// `authorized_user`, as `gcloud auth application-default login` writes it. The file's `token_uri`
// is honoured.
Result<TokenSource> MakeAuthorizedUser(const CredentialDoors& doors, const Fields& fields);
// `external_account_authorized_user`: a login by workforce identity federation. A refresh token
// that the server replaces is kept for this run; the file is left as it is.
Result<TokenSource> MakeExternalUser(const CredentialDoors& doors, const Fields& fields);

// Workload and workforce identity federation: another party's token, exchanged at Google's security
// token service (RFC 8693), and where the file says so for one of a service account.
Result<TokenSource> MakeExternalAccount(const CredentialDoors& doors, const Fields& fields);

// `impersonated_service_account`: its `source_credentials` are of any type.
Result<TokenSource> MakeImpersonatedAccount(const CredentialDoors& doors, const Fields& fields,
                                            int depth);

// Tokens in the name of a service account, which IAM gives to who may act as it
// (iamcredentials.googleapis.com, generateAccessToken).
struct Impersonation {
  std::string url;  // …/serviceAccounts/E-MAIL:generateAccessToken
  std::vector<std::string> delegates = {};
  std::int64_t lifetime = 3600;  // seconds
  std::string where = {};        // for messages

  std::string Account() const;  // the e-mail in the URL, or ""
  // With the token of who may act as the account.
  Result<AccessToken> Fetch(const CredentialDoors& doors, const Secret& base,
                            const std::stop_token& stop) const;
};

}  // namespace podctl::gcp
