// Vertex AI's custom jobs over any http::Transport: CustomJobs as the service of each region.
#pragma once

#include <optional>
#include <string>

#include "providers/custom_jobs.h"
#include "providers/gcp/regional_clients.h"

namespace podctl::gcp {

// Thread safe. The doors must outlive it.
class VertexJobs final : public CustomJobs {
 public:
  // `endpoint`: for all regions; nullopt: each region's own, REGION-aiplatform.googleapis.com.
  VertexJobs(std::optional<Endpoint> endpoint, http::Transport& transport, Credentials& credentials,
             Clock& clock, Random& random, http::RetryPolicy policy = {});
  VertexJobs(const VertexJobs&) = delete;
  VertexJobs& operator=(const VertexJobs&) = delete;

  Result<Value> Get(const std::string& job, std::stop_token stop) override;
  Result<Value> Find(const std::string& project, const std::string& region,
                     const std::string& label, const std::string& value,
                     std::stop_token stop) override;
  Result<Value> Create(const std::string& project, const std::string& region, const Value& body,
                       std::stop_token stop) override;
  Result<Value> Cancel(const std::string& job, std::stop_token stop) override;

 private:
  // About the job of that name.
  Result<Value> SendTo(const std::string& job, const std::string& verb, Call call,
                       std::stop_token stop);

  RegionalClients clients_;
};

}  // namespace podctl::gcp
