// One forge's REST API over any http::Transport: requests with the token, pages, and what errors
// mean in words. It knows no path of any forge.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "providers/base/error.h"
#include "providers/base/value.h"
#include "providers/forges/place.h"
#include "providers/http/retry.h"
#include "providers/http/transport.h"
#include "providers/os/clock.h"

namespace podctl {

// All are lent.
struct ForgeDoors {
  http::Transport& transport;
  Clock& clock;
  Random& random;
  http::RetryPolicy policy = {};
};

class ForgeClient {
 public:
  using Query = std::vector<std::pair<std::string, std::string>>;

  // `headers`: of each request, the one with the token among them.
  ForgeClient(const ForgePlace& place, std::string name,
              std::vector<std::pair<std::string, std::string>> headers, const ForgeDoors& doors);

  const std::string& name() const { return name_; }

  // What is asked of `path`, below the API; a null value where the answer has no body.
  Result<Value> Get(const std::string& path, const Query& query, const std::stop_token& stop);
  Result<Value> Send(const std::string& method, const std::string& path, const Value& body,
                     const std::stop_token& stop);
  // GitHub's GraphQL; its errors are errors.
  Result<Value> AskGraph(const std::string& question, const Value& variables,
                         const std::stop_token& stop);
  // The items of all pages, each a map. `size`: of a page, as the forge gives it at most.
  Result<Value::List> Pages(const std::string& path, Query query, const char* size_name, int size,
                            const std::stop_token& stop);

 private:
  Result<Value> Ask(const std::string& method, const std::string& url, const Value* body,
                    const std::stop_token& stop);
  Error ErrorOf(int status, const std::string& body) const;

  const std::string name_;
  const std::string api_;
  const std::string graphql_;
  const std::string token_;
  const std::string token_from_;
  const std::vector<std::pair<std::string, std::string>> headers_;
  const ForgeDoors doors_;
  std::string server_;
};

}  // namespace podctl
