// Federation from AWS: a request to AWS that says who the machine is (GetCallerIdentity), signed
// but not sent; Google sends it, and sees whose it is.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "providers/gcp/credentials/subject_token.h"

namespace podctl::gcp {

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
Result<std::unique_ptr<SubjectToken>> MakeAwsRequest(const CredentialDoors& doors,
                                                     const Fields& source, Federation federation);

}  // namespace podctl::gcp
