// A raw client of the emulator for its own tests: what is on the wire, nothing hidden.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "providers/base/value.h"

namespace podctl::emulator::testing {

struct Reply {
  int status = 0;  // 0: no answer came
  Value body;
  std::string text;
  std::map<std::string, std::string> headers = {};  // names in lower case
};

class ApiClient {
 public:
  explicit ApiClient(const std::string& url);
  ~ApiClient();

  // `body` is sent as it is, as application/json; "" sends none.
  Reply Send(const std::string& method, const std::string& path, const std::string& body = "");
  // With these headers and no others.
  Reply SendWith(const std::map<std::string, std::string>& headers, const std::string& method,
                 const std::string& path, const std::string& body);

  // Polls the operation in `reply` until it is done (at most 60 s) and returns it.
  Value Finish(const Reply& reply);

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace podctl::emulator::testing
