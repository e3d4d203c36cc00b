// What workload identity federation exchanges: a token (OIDC, SAML, a signed AWS request) that
// somebody else vouches for, from where a file's `credential_source` says it is.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "providers/gcp/credentials/credential_file.h"

namespace podctl::gcp {

// What the sources want to know of the file around them.
struct Federation {
  std::string audience;
  std::string subject_token_type;
  std::string impersonated;  // the service account's e-mail, or ""
};

// Not thread safe. Each time it is asked it looks anew: such tokens live for minutes. Errors as
// TokenSource's.
using SubjectToken = std::function<Result<Secret>(const std::stop_token& stop)>;

// By `credential_source`: file, url, executable or environment_id (AWS).
Result<SubjectToken> MakeSubjectToken(const CredentialDoors& doors, const Fields& source,
                                      Federation federation);

// ---- A program that prints the token to be exchanged (google's "executable-sourced credentials").

// The program runs only where GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES is 1, without a shell, its
// words cut at blanks, for at most `timeout_millis` (5,000 to 120,000; 30,000 by default). What it
// left in `output_file` serves until its `expiration_time`. What it prints to stderr is not shown.
Result<SubjectToken> MakeExecutableToken(const CredentialDoors& doors, const Fields& source,
                                         Federation federation);

// ---- Federation from AWS: a request to AWS that says who the machine is (GetCallerIdentity),
// signed but not sent; Google sends it, and sees whose it is.

struct AwsKey {
  std::string id;
  Secret secret;
  std::string session_token;  // "" for a key that lasts
};

// A request as AWS's Signature Version 4 sees it. Header names in lower case.
struct AwsRequest {
  std::string method = "POST";
  std::string host;
  std::string path = "/";
  std::string query;  // sorted and encoded already
  std::vector<std::pair<std::string, std::string>> headers;
  std::string region;
  std::string service;
};

// The headers with `host`, `x-amz-date` and `authorization` added, sorted by name.
std::vector<std::pair<std::string, std::string>> SignForAws(const AwsRequest& request,
                                                            const AwsKey& key,
                                                            Clock::SystemTime now);

// The key comes from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, the region
// from AWS_REGION or AWS_DEFAULT_REGION; what is not there is asked of the machine's metadata
// server (IMDSv2 where the file names its URL).
Result<SubjectToken> MakeAwsRequest(const CredentialDoors& doors, const Fields& source,
                                    Federation federation);

}  // namespace podctl::gcp
