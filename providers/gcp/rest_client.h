// JSON requests to one of Google's APIs: URL, token, body, repeats, and errors as sentences.
//
// It knows nothing of TPUs. A token goes over https or to loopback, never over plain http
// elsewhere; to loopback none is needed: one from the environment is sent, gcloud is not asked.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "providers/base/value.h"
#include "providers/gcp/credentials/credentials.h"
#include "providers/http/retry.h"
#include "providers/http/transport.h"
#include "providers/os/clock.h"

namespace podctl::gcp {

struct Endpoint {
  std::string base_url = "https://tpu.googleapis.com/";
};

// Checks an endpoint that a user gave: an http or https URL without user, query or fragment; a
// missing slash at its end is added. kInvalidArgument otherwise.
Result<Endpoint> ParseEndpoint(const std::string& text);

struct Call {
  std::string method = "GET";
  std::string path;  // "v2/projects/p/…", its parts percent-encoded already
  std::vector<std::pair<std::string, std::string>> query = {};
  std::optional<Value> body = {};
  std::optional<std::string> content = {};  // in the place of `body`: bytes, of `content_type`
  std::string content_type = {};
  std::string alt = "json";  // how the answer comes; "media": the object's bytes, as stored
  http::Idempotency idempotency = http::Idempotency::kIdempotent;
  bool settled = false;                       // as of http::Request
  std::chrono::milliseconds timeout{60'000};  // of one attempt
  std::string if_denied = {};                 // what helps against a 403; "": as with TPUs
};

// Thread safe. The doors must outlive it.
class RestClient {
 public:
  RestClient(Endpoint endpoint, http::Transport& transport, Credentials& credentials, Clock& clock,
             Random& random, http::RetryPolicy policy = {});

  // The answer's JSON. Errors carry the service's code and words. For a call that is not safe to
  // repeat, kReplyLost stands for all that leaves open whether the server acted: a lost answer, one
  // that cannot be read, and the statuses 408 and 5xx (save 501).
  Result<Value> Send(const Call& call, const std::stop_token& stop);

  // The same request, and its answer as it is, whatever its status; errors are the transport's and
  // the credentials'. For who reads answers that are no JSON object.
  Result<http::Response> Exchange(const Call& call, const std::stop_token& stop);

  Clock& clock() const { return clock_; }

 private:
  Result<http::Response> SendAuthorized(http::Request request, http::Idempotency idempotency,
                                        const std::stop_token& stop);
  Result<http::Response> SendOnce(const http::Request& request, http::Idempotency idempotency,
                                  const std::stop_token& stop);
  Result<Value> Read(const Call& call, const http::Response& response) const;

  Endpoint endpoint_;
  http::Transport& transport_;
  Credentials& credentials_;
  Clock& clock_;
  Random& random_;
  http::RetryPolicy policy_;
  std::string server_;  // "tpu.googleapis.com", for messages
  bool loopback_ = false;
  bool encrypted_ = false;
};

}  // namespace podctl::gcp
