// What every kind of credential is: something that gives access tokens, and knows whose they are;
// and those that come from no credential file (credential_file.h).
//
// A source does not keep tokens: credentials.h does, and asks one source for one token at a time.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "providers/base/error.h"
#include "providers/http/transport.h"
#include "providers/os/clock.h"
#include "providers/os/environment.h"
#include "providers/os/file_system.h"
#include "providers/os/process.h"

namespace podctl::gcp {

// ---- Text that does not get into messages by accident: it can be read on purpose only.

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  const std::string& Reveal() const { return text_; }
  friend bool operator==(const Secret&, const Secret&) = default;

 private:
  std::string text_;
};

// How credentials reach the world. All are lent, and must outlive who holds this.
struct CredentialDoors {
  const Environment& environment;
  FileSystem& files;
  ProcessRunner& processes;
  http::Transport& http;
  Clock& clock;
  Random& random;
};

struct AccessToken {
  Secret secret;
  std::optional<Clock::SystemTime> expires;  // nullopt: the source does not tell
};

enum class TokenFreshness {
  kAny,
  kNew,  // the one that was given last was refused
};

// Not thread safe: its owner asks it from one thread at a time.
struct TokenSource {
  // What a credential file's `type` calls it: "service_account", "authorized_user", …; for the rest
  // "access_token", "metadata_server", "gcloud".
  std::string type;
  // kUnauthenticated when it has none, kUnavailable when whom it asks does not answer, kCancelled
  // on `stop`. Never kReplyLost: what the token was for has not been sent. Errors name the file and
  // the field, never a secret.
  std::function<Result<AccessToken>(TokenFreshness freshness, const std::stop_token& stop)> fetch;
  // The e-mail in whose name the tokens are; "" where nobody can tell. May ask the network.
  std::function<std::string(const std::stop_token& stop)> account;
  std::string quota_project = {};  // the file's `quota_project_id`, or ""
};

// ---- The metadata server of a machine that runs at Google: tokens of the service account attached
// to it. It is asked directly, never by a proxy.

struct MetadataServer {
  std::optional<TokenSource> source;  // nullopt: there is none
  std::string finding;                // where it is, or why there is none: "this machine is …"
};

// GCE_METADATA_HOST ("host" or "host:port") names it, and is believed. Otherwise the machine's
// maker (/sys/class/dmi/id/product_name) tells; where that cannot be read, who answers at
// 169.254.169.254 within a second (GCE_METADATA_TIMEOUT: seconds), with Google's own header.
// NO_GCE_CHECK=true: it is not looked for.
Result<MetadataServer> FindMetadataServer(const CredentialDoors& doors,
                                          const std::stop_token& stop);

// ---- The login of the program gcloud (`gcloud auth login`), asked of gcloud itself.

// Starting gcloud takes a second; nothing is started before a token is wanted. Its token comes with
// its expiry, and is renewed by gcloud when less than five minutes are left.
TokenSource MakeGcloud(const CredentialDoors& doors);

}  // namespace podctl::gcp
