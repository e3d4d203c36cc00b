// Clients of a service whose regions have hosts of their own.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "providers/gcp/rest_client.h"

namespace podctl::gcp {

// Thread safe. The doors must outlive it.
class RegionalClients {
 public:
  // `endpoint`: for all regions; nullopt: each region's own, whose URL `url_of` tells.
  RegionalClients(std::optional<Endpoint> endpoint,
                  std::string (*url_of)(const std::string& region), http::Transport& transport,
                  Credentials& credentials, Clock& clock, Random& random, http::RetryPolicy policy)
      : endpoint_(std::move(endpoint)),
        url_of_(url_of),
        transport_(transport),
        credentials_(credentials),
        clock_(clock),
        random_(random),
        policy_(std::move(policy)) {}

  // kInvalidArgument for what is no name of a region: it becomes a part of the host.
  Result<RestClient*> Of(const std::string& region);
  RestClient& Global() { return Client(""); }

 private:
  RestClient& Client(const std::string& region);

  const std::optional<Endpoint> endpoint_;
  std::string (*const url_of_)(const std::string& region);  // "": of what is in no region
  http::Transport& transport_;
  Credentials& credentials_;
  Clock& clock_;
  Random& random_;
  const http::RetryPolicy policy_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<RestClient>> clients_;  // by region; "" with an endpoint
};

}  // namespace podctl::gcp
