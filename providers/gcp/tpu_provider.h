// The Cloud TPU API (projects.locations.nodes) as a Provider, over any http::Transport: v2, and by
// Speaking v2alpha1.
#pragma once

#include <memory>

#include "providers/gcp/rest_client.h"
#include "providers/provider.h"
#include "providers/zone_lookup.h"

namespace podctl::gcp {

// Thread safe. Owns nothing that its doors own; they must outlive it.
class TpuProvider final : public Provider,
                          public ZoneCatalogue,
                          public ZoneLookup,
                          public QueuedResources {
 public:
  TpuProvider(Endpoint endpoint, http::Transport& transport, Credentials& credentials, Clock& clock,
              Random& random, http::RetryPolicy policy = {});
  TpuProvider(const TpuProvider&) = delete;
  TpuProvider& operator=(const TpuProvider&) = delete;

  Result<std::vector<Value>> ListNodes(const std::string& project, const std::string& zone,
                                       std::stop_token stop) override;
  Result<Value> GetNode(const NodeName& name, std::stop_token stop) override;
  // kReplyLost also for an answer of 408 or 5xx, and for one that names no operation: what happened
  // must be settled by GetNode. With a `request_id` these are repeated instead.
  Result<Operation> CreateNode(const NodeName& name, const Value& node,
                               const std::string& request_id, std::stop_token stop) override;
  Result<Operation> PatchNode(const NodeName& name, const Value& node,
                              const std::vector<std::string>& update_mask,
                              std::stop_token stop) override;
  Result<Operation> DeleteNode(const NodeName& name, const std::string& request_id,
                               std::stop_token stop) override;
  Result<Operation> StartNode(const NodeName& name, std::stop_token stop) override;
  Result<Operation> StopNode(const NodeName& name, std::stop_token stop) override;
  Result<Operation> GetOperation(const std::string& operation, std::stop_token stop) override;
  Result<std::vector<Operation>> ListOperations(const std::string& project, const std::string& zone,
                                                std::stop_token stop) override;
  Result<std::vector<WorkerAttributes>> GetGuestAttributes(const NodeName& name,
                                                           const std::string& query_path,
                                                           std::stop_token stop) override;
  QueuedResources* queued() override { return this; }
  CustomJobs* custom_jobs() override { return jobs_; }
  // Training jobs are another service's, and lent. Before the provider is used.
  void LendJobs(CustomJobs* jobs) { jobs_ = jobs; }
  Provider& InVersion(ApiVersion version) override;

  Result<std::vector<Value>> ListAcceleratorTypes(const std::string& project,
                                                  const std::string& zone,
                                                  std::stop_token stop) override;
  Result<std::vector<Value>> ListRuntimeVersions(const std::string& project,
                                                 const std::string& zone,
                                                 std::stop_token stop) override;

  Result<bool> Has(const CatalogueEntry& entry, std::stop_token stop) override;
  Result<std::vector<std::string>> AllLike(const CatalogueEntry& entry,
                                           std::stop_token stop) override;

  // Its queued resources.
  Result<std::vector<Value>> List(const std::string& project, const std::string& zone,
                                  std::stop_token stop) override;
  Result<Value> Get(const QueuedName& name, std::stop_token stop) override;
  Result<Operation> Create(const QueuedName& name, const Value& body, const std::string& request_id,
                           std::stop_token stop) override;
  Result<Operation> Delete(const QueuedName& name, bool force, const std::string& request_id,
                           std::stop_token stop) override;

 private:
  TpuProvider(RestClient client, TpuProvider* v2);
  // "v2/projects/p/locations/z", percent-encoded, and what is below it.
  std::string ParentPath(const std::string& project, const std::string& zone) const;
  // A call about a node, or about a queued resource of that name; `path` goes on from the zone's.
  // An empty part would name the collection, or something else altogether: kInvalidArgument.
  Result<Value> Send(const NodeName& name, Call call, const std::stop_token& stop);
  Result<Operation> Power(const NodeName& name, const std::string& verb,
                          const std::stop_token& stop);
  // The members named `collection` ("nodes") of every page of a list.
  Result<std::vector<Value>> ListAll(const std::string& project, const std::string& zone,
                                     const std::string& collection, const std::stop_token& stop);

  RestClient client_;
  const ApiVersion version_ = ApiVersion::kV2;
  std::unique_ptr<TpuProvider> alpha_;  // v2alpha1; of the provider of v2
  TpuProvider* v2_ = nullptr;           // v2; of the provider of v2alpha1
  CustomJobs* jobs_ = nullptr;
};

// ---- Reads a long-running operation (google.longrunning.Operation with the OperationMetadata of
// the Cloud TPU API). Waiting for one is the executor's business.

// Reads google.longrunning.Operation; `done` absent is false.
Operation ParseOperation(const Value& json);

}  // namespace podctl::gcp
