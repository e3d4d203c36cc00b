// A Cloud TPU API that remembers every request as it came over the wire, and answers well: what is
// asked for is done at the first look at its operation. For tests of what podctl sends; of what
// the service refuses it knows nothing (the emulator does).
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "providers/base/value.h"
#include "providers/http/transport.h"

namespace podctl::testing {

class WireCloud final : public http::Transport {
 public:
  struct Request {
    std::string method;
    std::string path;                                        // "/v2/projects/…", decoded
    std::vector<std::pair<std::string, std::string>> query;  // decoded, without alt
    Value body;                                              // null when there was none
  };

  Result<http::Response> Send(const http::Request& request, std::stop_token stop) override;

  std::vector<Request> Requests() const;
  void Forget();  // what was asked so far; the nodes stay

 private:
  Value Answer(const Request& request, int* status);
  Value AnswerNode(const Request& request, const std::string& id, const std::string& verb,
                   int* status);
  Value MakeNode(const std::string& name, Value node);
  Value AnswerQueued(const Request& request, const std::string& name);
  Value Begin(const std::string& target, const std::string& verb);
  Value List(const std::string& member, const std::map<std::string, Value>& items) const;

  mutable std::mutex mutex_;
  std::vector<Request> requests_;
  std::map<std::string, Value> nodes_;   // by resource name
  std::map<std::string, Value> queued_;  // by resource name
  std::map<std::string, Value> operations_;
  int serial_ = 0;
};

}  // namespace podctl::testing
