// Access tokens for Google's APIs, kept and renewed in time.
//
// Where they come from is search.h's matter, and how they are got that of the sources; here they
// are kept, and asked for once however many threads want one. It knows nothing of any API. Tokens
// never stand in errors or logs.
#pragma once

#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "providers/gcp/credentials/search.h"
#include "providers/gcp/credentials/token_source.h"

namespace podctl::gcp {

// What `podctl auth status` tells. No secret.
struct CredentialStatus {
  std::vector<Look> looks;
  std::string type;           // as TokenSource::type; "" when there is none
  std::string file;           // "" where they come from no file
  std::string account;        // e-mail; "" when nobody tells
  std::string quota_project;  // "" when there is none
  std::string quota_from;     // what names it
  std::optional<Clock::SystemTime> expires;
  std::optional<Error> error;  // why there is no token
};

// Thread safe. The doors must outlive it.
class Credentials {
 public:
  explicit Credentials(const CredentialDoors& doors) : doors_(doors) {}

  // A token that will serve for some minutes yet: kept for the process, and renewed from its source
  // when less than 3 min 45 s are left. When that fails, the kept one serves until it expires, and
  // for three seconds nobody asks again, so that many threads do not fail one after the other.
  // kUnauthenticated when there is none; a source that is named but unusable is an error, not a
  // reason to try the next one. kCancelled on `stop`.
  Result<Secret> Token(const std::stop_token& stop = {});

  // For a server that needs none: one that was handed over (a token's file or variable), if it is
  // usable. Nobody is asked.
  std::optional<Secret> TokenIfGiven();

  // After the API refused `refused` (401): a newer one from the same source. kUnauthenticated when
  // the source has no other. Of several threads that come with the same token one asks, and the
  // others get what it found.
  Result<Secret> TokenAfter(const Secret& refused, const std::stop_token& stop = {});

  // For x-goog-user-project: GOOGLE_CLOUD_QUOTA_PROJECT, CLOUDSDK_BILLING_QUOTA_PROJECT, that of
  // the credential file in use, else gcloud's billing/quota_project. nullopt: none.
  std::optional<std::string> QuotaProject();

  // Gets a token, and where neither the file nor the source tells whose it is, asks Google.
  CredentialStatus Status(const std::stop_token& stop);

 private:
  // All with the mutex held.
  Result<Secret> Renew(TokenFreshness freshness, const std::stop_token& stop);
  bool LivesOn(const AccessToken& token, std::chrono::seconds margin);
  std::pair<std::string, std::string> QuotaAndOrigin();
  void AskWhose(const Secret& token, const std::stop_token& stop, CredentialStatus* status);

  const CredentialDoors doors_;
  std::mutex mutex_;  // held while a source is asked: one question is enough for all threads
  Search search_;
  std::optional<AccessToken> token_;
  std::optional<Error> failure_;  // the last one, which is told again for a while
  Clock::SteadyTime failed_at_{};
  std::optional<std::pair<std::string, std::string>> gcloud_quota_;  // read once
};

}  // namespace podctl::gcp
