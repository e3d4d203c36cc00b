// Where credentials are looked for, and in which order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "providers/gcp/credentials/token_source.h"

namespace podctl::gcp {

// One place that was looked at.
struct Look {
  std::string place;    // "GOOGLE_APPLICATION_CREDENTIALS", "gcloud's application default …"
  std::string finding;  // "not set", a path, …
};

struct Search {
  std::vector<Look> looks;  // in order; the last one decided
  std::string file;         // of the credentials; "" where they come from no file
  // One of the two: what gives tokens, or why what was found cannot.
  std::optional<TokenSource> source;
  std::optional<Error> error;
};

// Looks until something is found. What somebody named on purpose and cannot be used is an error,
// never a reason to look on.
Search FindCredentials(const CredentialDoors& doors, const std::stop_token& stop);

// A token that was handed over as it is: no question to anybody, no file but the token's own.
// nullopt when there is none.
std::optional<TokenSource> FindGivenToken(const CredentialDoors& doors);

}  // namespace podctl::gcp
