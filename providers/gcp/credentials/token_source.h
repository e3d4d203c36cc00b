// What every kind of credential is: something that gives access tokens, and knows whose they are.
//
// A source does not keep tokens: credentials.h does, and asks one source for one token at a time.
#pragma once

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

enum class Need {
  kAny,
  kNew,  // the one that was given last was refused
};

// Not thread safe: its owner asks it from one thread at a time.
class TokenSource {
 public:
  virtual ~TokenSource() = default;

  // kUnauthenticated when it has none, kUnavailable when whom it asks does not answer, kCancelled
  // on `stop`. Never kReplyLost: what the token was for has not been sent. Errors name the file and
  // the field, never a secret.
  virtual Result<AccessToken> Fetch(Need need, const std::stop_token& stop) = 0;

  // The e-mail in whose name the tokens are; "" where nobody can tell. May ask the network.
  virtual std::string Account(const std::stop_token& stop) = 0;

  // What a credential file's `type` calls it: "service_account", "authorized_user", …; for the rest
  // "access_token", "metadata_server", "gcloud".
  virtual std::string Type() const = 0;

  // The file's `quota_project_id`, or "".
  virtual std::string QuotaProject() const { return {}; }
};

}  // namespace podctl::gcp
