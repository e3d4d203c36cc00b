#include "plans/engine/list_ahead.h"

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

}  // namespace podctl
