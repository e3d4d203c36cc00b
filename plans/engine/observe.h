// Asks the world what is there now, and settles what an earlier run left pending: each kind says
// what is asked, and what the answer means.
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

#include "plans/engine/kind.h"
#include "providers/base/error.h"
#include "providers/provider.h"
#include "state/state.h"

namespace podctl {

// Up to `parallelism` calls at once. The first failure is returned.
Result<Observation> Observe(const SurveyInput& input, Kinds kinds, Provider& provider,
                            int parallelism, const std::stop_token& stop);

// The state brought up to what was observed, without contacting anything. Notes for the user are
// appended to `notes`.
State Settle(State state, const Observation& observation, Kinds kinds,
             std::vector<std::string>* notes);

// ---- Lists nodes before anybody asks: some zones are begun while whoever wants them still reads
// the spec and the state.

using ZoneName = std::pair<std::string, std::string>;  // project, zone

class ListPrefetch {
 public:
  // `provider` is lent and must outlive this. The end of this, or of `stop`, stops what is under
  // way.
  ListPrefetch(Provider& provider, const std::stop_token& stop);
  ~ListPrefetch();
  ListPrefetch(const ListPrefetch&) = delete;
  ListPrefetch& operator=(const ListPrefetch&) = delete;

  // Begins to list those of `zones` that it has not begun, a few in all; the rest are listed when
  // asked for. Any thread.
  void Begin(const std::set<ZoneName>& zones);

  // As Provider::ListNodes. The first time for a zone that was begun: waits for that list.
  Result<std::vector<Value>> ListNodes(const std::string& project, const std::string& zone,
                                       std::stop_token stop);

 private:
  struct StartedList {
    Result<std::vector<Value>> nodes{std::vector<Value>()};
    std::jthread thread;  // writes `nodes`; joined before they are read
  };

  Provider& provider_;
  std::stop_source stop_own_;
  std::stop_callback<std::function<void()>> stop_with_;
  std::mutex mutex_;
  std::map<ZoneName, StartedList> begun_;
  std::set<ZoneName> ever_begun_;
};

}  // namespace podctl
