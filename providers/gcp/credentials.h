// Access tokens for Google's APIs: where they come from, and that they stay secret.
//
// It knows nothing of HTTP or of any API. Tokens never stand in errors or logs.
#pragma once

#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "providers/base/error.h"
#include "providers/os/environment.h"
#include "providers/os/file_system.h"
#include "providers/os/process.h"

namespace podctl::gcp {

// Text that does not get into messages by accident: it can be read on purpose only.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  const std::string& Reveal() const { return text_; }
  friend bool operator==(const Secret&, const Secret&) = default;

 private:
  std::string text_;
};

// Thread safe. The doors must outlive it.
class Credentials {
 public:
  Credentials(const Environment& environment, FileSystem& files, ProcessRunner& processes)
      : environment_(environment), files_(files), processes_(processes) {}

  // The token, found once and kept for the process: from the file named by
  // CLOUDSDK_AUTH_ACCESS_TOKEN_FILE, else GOOGLE_OAUTH_ACCESS_TOKEN, else what
  // `gcloud auth print-access-token` prints. kUnauthenticated when there is none; a source that is
  // named but unusable is an error, not a reason to try the next one. kCancelled on `stop`, which
  // ends gcloud.
  Result<Secret> Token(const std::stop_token& stop = {});

  // For a server that needs none: one from the environment, if a usable one is there. Never asks
  // gcloud.
  std::optional<Secret> TokenIfGiven();

  // After the API refused `refused` (401): a newer one from the same source. kUnauthenticated when
  // the source has no other. Of several threads that come with the same token one asks, and the
  // others get what it found.
  Result<Secret> TokenAfter(const Secret& refused, const std::stop_token& stop = {});

 private:
  Result<Secret> Find(const std::stop_token& stop);
  std::optional<Result<Secret>> FromEnvironment();  // nullopt: no variable is set
  Result<Secret> FromFile(const std::string& path);
  Result<Secret> FromGcloud(const std::stop_token& stop);

  const Environment& environment_;
  FileSystem& files_;
  ProcessRunner& processes_;
  std::mutex mutex_;  // held while gcloud runs: one question is enough for all threads
  std::optional<Secret> token_;
};

}  // namespace podctl::gcp
