#include "plans/engine/observe.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace podctl {
namespace {

// Runs queries on some threads; what they bring back is taken in one at a time.
class QueryRunner {
 public:
  QueryRunner(std::vector<Query> queries, Provider& provider, std::stop_token stop,
              Observation* observation)
      : queries_(std::move(queries)),
        provider_(provider),
        stop_(std::move(stop)),
        observation_(observation) {}

  Result<void> Run(int parallelism) {
    const auto threads =
        std::min<std::size_t>(queries_.size(), static_cast<std::size_t>(std::max(1, parallelism)));
    {
      std::vector<std::jthread> workers;
      for (std::size_t i = 1; i < threads; ++i) workers.emplace_back([this] { Work(); });
      Work();
    }
    if (error_) return *error_;
    return {};
  }

 private:
  void Work() {
    for (std::size_t i = next_++; i < queries_.size(); i = next_++) {
      const ObservationUpdate update = queries_[i](provider_, stop_);
      const std::lock_guard lock(mutex_);
      const auto taken = update(observation_);
      if (!taken && !error_) error_ = taken.error();
    }
  }

  const std::vector<Query> queries_;
  Provider& provider_;
  const std::stop_token stop_;
  Observation* const observation_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace

Result<Observation> Observe(const SurveyInput& input, Kinds kinds, Provider& provider,
                            int parallelism, const std::stop_token& stop) {
  Observation observation;
  KindSurveys surveys;
  for (const Kind* kind : kinds) {
    KindSurveys own = kind->Survey(input);
    std::move(own.begin(), own.end(), std::back_inserter(surveys));
  }
  while (true) {
    std::vector<Query> queries;
    for (const auto& survey : surveys) {
      std::vector<Query> next = survey->Next(&observation);
      std::move(next.begin(), next.end(), std::back_inserter(queries));
    }
    if (queries.empty()) return observation;
    const auto done =
        QueryRunner(std::move(queries), provider, stop, &observation).Run(parallelism);
    if (!done) return done.error();
  }
}

State Settle(State state, const Observation& observation, Kinds kinds,
             std::vector<std::string>* notes) {
  for (const Kind* kind : kinds) kind->SettleAll(observation, &state, notes);
  return state;
}

namespace {

constexpr std::size_t kMostBegun = 4;  // zones, each with a thread of its own

}  // namespace

ListPrefetch::ListPrefetch(Provider& provider, const std::stop_token& stop)
    : provider_(provider), stop_with_(stop, [this] { stop_own_.request_stop(); }) {}

void ListPrefetch::Begin(const std::set<ZoneName>& zones) {
  const std::lock_guard lock(mutex_);
  for (const ZoneName& zone : zones) {
    if (ever_begun_.size() == kMostBegun) break;
    if (!ever_begun_.insert(zone).second) continue;
    StartedList& begun = begun_[zone];
    begun.thread = std::jthread([this, zone, &begun] {
      begun.nodes = provider_.ListNodes(zone.first, zone.second, stop_own_.get_token());
    });
  }
}

ListPrefetch::~ListPrefetch() {
  stop_own_.request_stop();
}

Result<std::vector<Value>> ListPrefetch::ListNodes(const std::string& project,
                                                   const std::string& zone, std::stop_token stop) {
  std::map<ZoneName, StartedList>::node_type begun;
  {
    const std::lock_guard lock(mutex_);
    begun = begun_.extract({project, zone});
  }
  if (!begun) return provider_.ListNodes(project, zone, std::move(stop));
  begun.mapped().thread.join();
  return std::move(begun.mapped().nodes);
}

}  // namespace podctl
