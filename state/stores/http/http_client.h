// The requests of Terraform's http protocol, and what their answers mean in words.
//
// It keeps nothing and compares nothing: that is http_store.h's. Requests that write a state are
// repeated here only when they surely were not carried out.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "providers/http/retry.h"
#include "providers/http/transport.h"
#include "providers/os/clock.h"
#include "state/stores/http/http_lock_text.h"
#include "state/stores/http/http_place.h"

namespace podctl {

// What was asked for, for the words of an error.
enum class HttpDeed { kRead, kSave, kLock, kUnlock };

// A wait that is long enough to tell of, as http::RetryPolicy has it.
using OnLongWait = std::function<void(std::chrono::milliseconds wait, const std::string& why)>;

// Thread safe, as far as its doors are, which must outlive it.
class HttpStateClient {
 public:
  HttpStateClient(HttpPlace place, http::Transport& transport, Clock& clock, Random& random,
                  OnLongWait on_long_wait);

  const HttpPlace& place() const { return place_; }
  const http::RetryPolicy& policy() const { return policy_; }
  // How long a whole save may take, with its looks and repeats.
  std::chrono::milliseconds save_patience() const;
  // That a save will be sent once more after `wait`, since `why`.
  void TellOfAnother(std::chrono::milliseconds wait, const Error& why) const;

  // The stored text; nullopt: there is none. What comes damaged (Content-MD5) is read again.
  // `most`: no request begins later than that, or lasts longer.
  Result<std::optional<std::string>> Read(
      const std::stop_token& stop,
      std::chrono::milliseconds most = std::chrono::milliseconds::max());
  // An earlier generation; nullopt: it is not kept.
  Result<std::optional<std::string>> ReadSerial(std::uint64_t serial, const std::stop_token& stop);
  // Errors as of http::Transport; a status is the caller's to judge. `lock_id`: empty: none is
  // held. `most`: as for Read.
  Result<http::Response> Save(const std::string& text, const std::string& lock_id,
                              std::chrono::milliseconds most = std::chrono::milliseconds::max());
  Result<http::Response> Lock(const HttpLock& lock, const std::stop_token& stop);
  Result<http::Response> Unlock(const HttpLock& lock, std::chrono::milliseconds patience);
  // Gitea says to who would save without the lock who holds it, before it looks at the state, which
  // is none here.
  Result<http::Response> AskWhoLocks();

  // What an answer that is no success is told as. Names no password.
  Error ErrorOf(HttpDeed deed, const http::Response& response) const;
  // The same for an exchange that failed.
  Error ErrorOf(HttpDeed deed, Error error) const;

 private:
  http::Request RequestOf(const std::string& method, const std::string& url, std::string body,
                          std::string content_type) const;
  Result<http::Response> Fetch(const std::string& url, std::chrono::milliseconds most,
                               const std::stop_token& stop);
  Result<std::optional<std::string>> ReadAt(const std::string& url, std::chrono::milliseconds most,
                                            const std::stop_token& stop);
  http::RetryPolicy PolicyWithin(std::chrono::milliseconds most) const;
  std::string HintFor(HttpDeed deed, int status) const;
  std::string SaidBy(const http::Response& response) const;

  const HttpPlace place_;
  http::Transport& transport_;
  Clock& clock_;
  Random& random_;
  http::RetryPolicy policy_;
};

}  // namespace podctl
