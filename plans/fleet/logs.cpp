#include "plans/fleet/logs.h"

#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "providers/base/json.h"

namespace podctl {
namespace {

// A laptop that slept, a network that comes back: nobody wants to type it again.
constexpr std::chrono::minutes kPatience{30};

// How often it is written down how far the logs were shown: after a kill no more than that comes
// again.
constexpr std::chrono::seconds kKeepPace{2};

std::string PlacesText(const LogPlaces& places) {
  Value document = Value::EmptyMap();
  document.Set("format_version", "1.0");
  Value list = Value::EmptyList();
  for (const auto& [worker, place] : places) {
    Value entry = Value::EmptyMap();
    entry.Set("worker", worker);
    entry.Set("run", place.run);
    entry.Set("seen", place.seen);
    list.MutableList().push_back(std::move(entry));
  }
  document.Set("workers", std::move(list));
  return ToJson(document) + "\n";
}

// What cannot be read is a log that was never shown.
LogPlaces ReadPlaces(const KeptFile& file) {
  LogPlaces places;
  const auto text = file.Load();
  const auto document = text ? ParseJson(*text) : Result<Value>(text.error());
  if (!document || !(*document)["format_version"].AsString().starts_with("1.")) return places;
  for (const Value& entry : (*document)["workers"].AsList()) {
    const std::int64_t seen = entry["seen"].AsInt(-1);
    if (seen < 0 || entry["run"].AsString().empty()) continue;
    places[static_cast<int>(entry["worker"].AsInt(-1))] = {entry["run"].AsString(),
                                                           static_cast<std::uint64_t>(seen)};
  }
  return places;
}

// Writes down now and then, and at its end, how far the logs were shown. Of workers that were not
// asked this time it stays as it was.
class PlaceKeeper {
 public:
  PlaceKeeper(KeptFile& file, LogFollower& follower, Clock& clock)
      : file_(file), follower_(follower), places_(ReadPlaces(file)) {
    thread_ = std::jthread([this, &clock](const std::stop_token& end) {
      while (clock.SleepFor(kKeepPace, end)) Keep();
      Keep();
    });
  }
  const LogPlaces& before() const { return before_; }

 private:
  void Keep() {
    for (auto& [worker, place] : follower_.Places()) {
      LogPlace& known = places_[worker];
      if (known.run != place.run || known.seen < place.seen) known = place;
    }
    std::string text = PlacesText(places_);
    if (text == kept_) return;
    file_.Save(text);
    kept_ = std::move(text);
  }

  KeptFile& file_;
  LogFollower& follower_;
  LogPlaces places_;
  const LogPlaces before_ = places_;
  std::string kept_ = PlacesText(places_);
  std::jthread thread_;  // the last member: it uses the others
};

}  // namespace

int LogsReport::ExitCode() const {
  std::set<int> codes;
  for (const LogEnd& end : ends) {
    if (end.kind == LogEnd::Kind::kEnded) {
      codes.insert(end.exit_code);
    } else {
      codes.insert(end.kind == LogEnd::Kind::kOpen ? 0 : -1);
    }
  }
  return codes.size() == 1 && *codes.begin() >= 0 ? *codes.begin() : 1;
}

LogsReport ReadLogs(ssh::Transport& transport, Clock& clock, KeptFile& places,
                    const std::vector<WorkerAccess>& workers, const workers::LogRequest& request,
                    bool resume, LogWatcher& watcher, const std::stop_token& stop) {
  LogFollower follower(transport, clock, request, kPatience, watcher);
  const PlaceKeeper keeper(places, follower, clock);
  auto ends = follower.Run(workers, resume ? keeper.before() : LogPlaces(), stop);
  return {std::move(ends), follower.learned()};
}

}  // namespace podctl
