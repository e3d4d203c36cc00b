// The nodes of a multislice as one node, so that whoever plans, applies and connects need not know
// of slices: workers are numbered through, 0 … slices × workers - 1, and only names say which slice
// one is of ("research[1]/3").
//
// Joined is what the service shows of each: endpoints in slice order, the state and health that is
// worst, of labels and metadata what all slices agree on, `id` of all ids, and `slices`, a list of
// {nodeId, id, state, health, workers}. A slice that is not there has the state MISSING. Where the
// slices let in different keys, `sliceKeys` holds the `ssh-keys` of each. Contacts nobody by
// itself.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "providers/provider.h"

namespace podctl {

inline constexpr const char* kMissingSlice = "MISSING";
inline constexpr const char* kSliceKeys = "sliceKeys";

NodeName SliceName(const NodeName& multislice, int slice);  // "research" -> "research-1"
// `slices` by number; those of 0 … name.slices - 1 that lack are MISSING.
Value JoinSlices(const NodeName& name, const std::map<int, Value>& slices);
// The multislices among the nodes of one project and zone, each as one node.
std::vector<Value> FindMultislices(const NodeName& zone, const std::vector<Value>& nodes);
// Makes a joined node that was found with fewer slices one of `count`.
void ExpectSlices(Value* joined, int count);
bool IsJoined(const Value& node);

// A provider for which a NodeName with several slices is one node. An operation on it is named by
// the names of its slices' operations, with blanks in between. `provider` is lent. Thread safe as
// far as that is.
class SlicedProvider final : public Provider {
 public:
  explicit SlicedProvider(Provider& provider) : provider_(provider) {}

  // Multislices come beside their nodes.
  Result<std::vector<Value>> ListNodes(const std::string& project, const std::string& zone,
                                       std::stop_token stop) override;
  Result<Value> GetNode(const NodeName& name, std::stop_token stop) override;
  // kInvalidArgument for a multislice: only a queued resource makes one.
  Result<Operation> CreateNode(const NodeName& name, const Value& node,
                               const std::string& request_id, std::stop_token stop) override;
  // What differs from the joined node is changed on each slice; what slices have of their own
  // stays.
  Result<Operation> PatchNode(const NodeName& name, const Value& node,
                              const std::vector<std::string>& update_mask,
                              std::stop_token stop) override;
  Result<Operation> DeleteNode(const NodeName& name, const std::string& request_id,
                               std::stop_token stop) override;
  // Of single-host nodes, which are never slices of one.
  Result<Operation> StartNode(const NodeName& name, std::stop_token stop) override {
    return provider_.StartNode(name, std::move(stop));
  }
  Result<Operation> StopNode(const NodeName& name, std::stop_token stop) override {
    return provider_.StopNode(name, std::move(stop));
  }
  Result<Operation> GetOperation(const std::string& operation, std::stop_token stop) override;
  Result<std::vector<Operation>> ListOperations(const std::string& project, const std::string& zone,
                                                std::stop_token stop) override;
  Result<std::vector<WorkerAttributes>> GetGuestAttributes(const NodeName& name,
                                                           const std::string& query_path,
                                                           std::stop_token stop) override;
  QueuedResources* queued() override { return provider_.queued(); }
  CustomJobs* custom_jobs() override { return provider_.custom_jobs(); }
  Provider& InVersion(ApiVersion version) override;

 private:
  Result<std::map<int, Value>> GetSlices(const NodeName& name, const std::stop_token& stop);

  Provider& provider_;
  std::mutex mutex_;
  std::map<Provider*, std::unique_ptr<SlicedProvider>> versions_;  // other versions of the API
};

}  // namespace podctl
