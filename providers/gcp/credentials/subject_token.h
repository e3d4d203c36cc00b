// What workload identity federation exchanges: a token (OIDC, SAML, a signed AWS request) that
// somebody else vouches for, from where a file's `credential_source` says it is.
#pragma once

#include <memory>
#include <string>

#include "providers/gcp/credentials/credential_file.h"

namespace podctl::gcp {

// What the sources want to know of the file around them.
struct Federation {
  std::string audience;
  std::string subject_token_type;
  std::string impersonated;  // the service account's e-mail, or ""
};

// Not thread safe. Each time it is asked it looks anew: such tokens live for minutes.
class SubjectToken {
 public:
  virtual ~SubjectToken() = default;
  // Errors as TokenSource's.
  virtual Result<Secret> Get(const std::stop_token& stop) = 0;
};

// By `credential_source`: file, url, executable or environment_id (AWS).
Result<std::unique_ptr<SubjectToken>> MakeSubjectToken(const CredentialDoors& doors,
                                                       const Fields& source, Federation federation);

// ---- A program that prints the token to be exchanged (google's "executable-sourced credentials").

// The program runs only where GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES is 1, without a shell, its
// words cut at blanks, for at most `timeout_millis` (5,000 to 120,000; 30,000 by default). What it
// left in `output_file` serves until its `expiration_time`. What it prints to stderr is not shown.
Result<std::unique_ptr<SubjectToken>> MakeExecutableToken(const CredentialDoors& doors,
                                                          const Fields& source,
                                                          Federation federation);

}  // namespace podctl::gcp
