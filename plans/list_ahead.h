// Lists nodes before anybody asks: a provider that lends another one, and has begun to list some
// zones while its user still reads the spec and the state. Everything else it hands on.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "providers/provider.h"

namespace podctl {

using ZoneName = std::pair<std::string, std::string>;  // project, zone

class ListAhead final : public Provider {
 public:
  // `provider` is lent and must outlive this. The end of this, or of `stop`, stops what is under
  // way.
  ListAhead(Provider& provider, const std::stop_token& stop);
  ~ListAhead() override;
  ListAhead(const ListAhead&) = delete;
  ListAhead& operator=(const ListAhead&) = delete;

  // Begins to list those of `zones` that it has not begun, a few in all; the rest are listed when
  // asked for. Any thread.
  void Begin(const std::set<ZoneName>& zones);

  // The first time for a zone that was begun: waits for that list.
  Result<std::vector<Value>> ListNodes(const std::string& project, const std::string& zone,
                                       std::stop_token stop) override;

  Provider& Speaking(ApiVersion version) override;
  Result<Value> GetNode(const NodeName& name, std::stop_token stop) override;
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
  QueuedResources* queued() override { return provider_.queued(); }
  CustomJobs* custom_jobs() override { return provider_.custom_jobs(); }

 private:
  struct Begun {
    Result<std::vector<Value>> nodes{std::vector<Value>()};
    std::jthread thread;  // writes `nodes`; joined before they are read
  };

  Provider& provider_;
  std::stop_source stop_own_;
  std::stop_callback<std::function<void()>> stop_with_;
  std::mutex mutex_;
  std::map<ZoneName, Begun> begun_;
  std::set<ZoneName> ever_begun_;
};

}  // namespace podctl
