#include "plans/list_ahead.h"

namespace podctl {
namespace {

constexpr std::size_t kMostBegun = 4;  // zones, each with a thread of its own

}  // namespace

ListAhead::ListAhead(Provider& provider, const std::stop_token& stop)
    : provider_(provider), stop_with_(stop, [this] { stop_own_.request_stop(); }) {}

void ListAhead::Begin(const std::set<ZoneName>& zones) {
  const std::lock_guard lock(mutex_);
  for (const ZoneName& zone : zones) {
    if (ever_begun_.size() == kMostBegun) break;
    if (!ever_begun_.insert(zone).second) continue;
    Begun& begun = begun_[zone];
    begun.thread = std::jthread([this, zone, &begun] {
      begun.nodes = provider_.ListNodes(zone.first, zone.second, stop_own_.get_token());
    });
  }
}

ListAhead::~ListAhead() {
  stop_own_.request_stop();
}

Result<std::vector<Value>> ListAhead::ListNodes(const std::string& project, const std::string& zone,
                                                std::stop_token stop) {
  std::map<ZoneName, Begun>::node_type begun;
  {
    const std::lock_guard lock(mutex_);
    begun = begun_.extract({project, zone});
  }
  if (!begun) return provider_.ListNodes(project, zone, std::move(stop));
  begun.mapped().thread.join();
  return std::move(begun.mapped().nodes);
}

Result<Value> ListAhead::GetNode(const NodeName& name, std::stop_token stop) {
  return provider_.GetNode(name, std::move(stop));
}

// Zones are listed ahead in v2.
Provider& ListAhead::Speaking(ApiVersion version) {
  return version == ApiVersion::kV2 ? *this : provider_.Speaking(version);
}

Result<Operation> ListAhead::CreateNode(const NodeName& name, const Value& node,
                                        const std::string& request_id, std::stop_token stop) {
  return provider_.CreateNode(name, node, request_id, std::move(stop));
}

Result<Operation> ListAhead::PatchNode(const NodeName& name, const Value& node,
                                       const std::vector<std::string>& update_mask,
                                       std::stop_token stop) {
  return provider_.PatchNode(name, node, update_mask, std::move(stop));
}

Result<Operation> ListAhead::DeleteNode(const NodeName& name, const std::string& request_id,
                                        std::stop_token stop) {
  return provider_.DeleteNode(name, request_id, std::move(stop));
}

Result<Operation> ListAhead::StartNode(const NodeName& name, std::stop_token stop) {
  return provider_.StartNode(name, std::move(stop));
}

Result<Operation> ListAhead::StopNode(const NodeName& name, std::stop_token stop) {
  return provider_.StopNode(name, std::move(stop));
}

Result<Operation> ListAhead::GetOperation(const std::string& operation, std::stop_token stop) {
  return provider_.GetOperation(operation, std::move(stop));
}

Result<std::vector<Operation>> ListAhead::ListOperations(const std::string& project,
                                                         const std::string& zone,
                                                         std::stop_token stop) {
  return provider_.ListOperations(project, zone, std::move(stop));
}

Result<std::vector<WorkerAttributes>> ListAhead::GetGuestAttributes(const NodeName& name,
                                                                    const std::string& query_path,
                                                                    std::stop_token stop) {
  return provider_.GetGuestAttributes(name, query_path, std::move(stop));
}

}  // namespace podctl
