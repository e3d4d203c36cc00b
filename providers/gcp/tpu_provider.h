// The Cloud TPU API v2 (projects.locations.nodes) as a Provider, over any http::Transport.
#pragma once

#include "providers/gcp/rest_client.h"
#include "providers/provider.h"

namespace podctl::gcp {

// Thread safe. Owns nothing that its doors own; they must outlive it.
class TpuProvider final : public Provider {
 public:
  TpuProvider(Endpoint endpoint, http::Transport& transport, Credentials& credentials, Clock& clock,
              Random& random, http::RetryPolicy policy = {});

  Result<std::vector<Value>> ListNodes(const std::string& project, const std::string& zone,
                                       std::stop_token stop) override;
  Result<Value> GetNode(const NodeName& name, std::stop_token stop) override;
  // kReplyLost also for an answer of 408 or 5xx, and for one that names no operation: what happened
  // must be settled by GetNode.
  Result<Operation> CreateNode(const NodeName& name, const Value& node,
                               std::stop_token stop) override;
  Result<Operation> PatchNode(const NodeName& name, const Value& node,
                              const std::vector<std::string>& update_mask,
                              std::stop_token stop) override;
  Result<Operation> DeleteNode(const NodeName& name, std::stop_token stop) override;
  Result<Operation> GetOperation(const std::string& operation, std::stop_token stop) override;
  Result<std::vector<Operation>> ListOperations(const std::string& project, const std::string& zone,
                                                std::stop_token stop) override;
  Result<std::vector<WorkerAttributes>> GetGuestAttributes(const NodeName& name,
                                                           const std::string& query_path,
                                                           std::stop_token stop) override;

 private:
  // The members named `collection` ("nodes") of every page of a list.
  Result<std::vector<Value>> ListAll(const std::string& project, const std::string& zone,
                                     const std::string& collection, const std::stop_token& stop);

  RestClient client_;
};

}  // namespace podctl::gcp
