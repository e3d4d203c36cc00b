// The door to HTTP. A status such as 404 or 503 is a value here, not an error.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "providers/base/error.h"

namespace podctl::http {

struct Request {
  std::string method = "GET";
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::chrono::milliseconds timeout{60'000};  // for the whole exchange
  bool once = false;                          // a second time it would mean something else
  bool repeatable = false;                    // it may come twice, whatever its method
  bool settled = false;                       // its sender finds out what a lost answer was
  bool no_proxy = false;                      // straight to the server, whatever proxies there are
};

struct Response {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  const std::string* Header(std::string_view lower_case_name) const;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Thread safe. Errors: kUnavailable when the connection could not be made (the server never saw
  // the request), kReplyLost when it was sent but no whole answer came back, kCancelled when `stop`
  // was requested (the request may have been sent), kInvalidArgument for a bad URL,
  // kFailedPrecondition when the server's certificate is not trusted (nothing was sent).
  virtual Result<Response> Send(const Request& request, std::stop_token stop) = 0;
};

}  // namespace podctl::http
